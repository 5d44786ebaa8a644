"""A generator that tries to get out of its proposal, and a reviewer who approves of everything."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.git.world import fingerprint
from tests.journey.room import block, whole
from tests.journey.scripted_models import Messages, Models, approval, objection, speaking
from tests.journey.support import Desk, differences, git, make_repository, toml_of

NASTY = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u200b"
"""A title, a cleared screen, a C1 sequence, a reversed line, a character without width."""


def new_file(path: str, content: str = "owned = True") -> str:
    return block(path, "", f"{content}\n")


def rename(path: str, to: str) -> str:
    return f"{path}\n<<<<<<< RENAME\n{to}\n>>>>>>> RENAME\n"


def delete(path: str) -> str:
    return f"{path}\n<<<<<<< DELETE\n>>>>>>> DELETE\n"


OUT = r"outside|climbs|root|absolute"
DOT_GIT = r"\.git|git's own"
ESCAPES = {
    "parent": (new_file("../owned.py"), OUT),
    "absolute": (new_file("{outside}/owned.py"), OUT),
    "git-config": (whole(".git/config", "[core]\n\tfsmonitor = touch owned\n"), DOT_GIT),
    "through-link": (new_file("link/owned.py"), r"link"),
    "link-itself": (whole("link", "owned = True\n"), r"link"),
    "renamed-out": (rename("README.md", "../README.md"), OUT),
    "deleted-git": (delete(".git/config"), DOT_GIT),
    "escape": (new_file("src/\x1b[2Jb.py"), r"control|characters"),
    "nul": (new_file("src/data.bin", "a\0b"), r"NUL|binary"),
    "ten-megabytes": (new_file("src/big.txt", "0123456789abcde\n" * 655_360), r"large|MiB|bytes|long"),
    "submodule": (new_file("vendored/.git", "gitdir: ../../outside"), DOT_GIT),
    "half-a-block": ("README.md\n<<<<<<< SEARCH\n# Hello\n=======\nowned", r"MARKER"),
}
"""Case -> answer of each form, and what the task's reason must say, as a pattern.

None may become a proposal; tests/edits has every path that is refused.
"""

SHOWN = {
    "content": (new_file("notes.txt", f"plain {NASTY} text"), approval()),
    "prose": (f"I did it {NASTY}.\n\n{new_file('more.txt', 'plain')}", approval(summary=f"Good {NASTY}")),
    "review": (
        new_file("third.txt", "the line"),
        approval(
            findings=[objection("the line", severity="minor", trigger=NASTY, message=f"Hm {NASTY}")],
            summary=NASTY,
        ),
    ),
    "unanchored": (
        new_file("fourth.txt", "x"),
        approval(findings=[objection(f"not there {NASTY}", message=NASTY)]),
    ),
    "refusal": (f"NO_CHANGE: {NASTY} nothing to do\n", approval()),
    "path": (new_file(f"src/{NASTY}.py"), approval()),
}
"""Case -> answer and review that carry characters which a terminal would obey."""


def case_of(messages: Messages) -> str:
    """The case that a conversation is about: its task's first line names it."""
    found = re.search(r"case <([\w-]+)>", messages[1]["content"])
    assert found is not None
    return found[1]


@dataclass(frozen=True)
class Scene:
    """Everything after one session with the escaping model."""

    desk: Desk
    repository: Path
    before: dict[str, str]
    after: dict[str, str]
    tasks: dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("escape")
    outside = folder / "outside"
    outside.mkdir()
    (outside / "kept.txt").write_text("kept\n")
    repository = folder / "code"
    repository.mkdir()
    (repository / "link").symlink_to("../outside")
    code = {"src/app.py": b"def main():\n    return 1\n", "src/__init__.py": b""}
    make_repository(repository, code | {"README.md": b"# Hello\n"})
    answers = {name: answer.replace("{outside}", str(outside)) for name, (answer, _) in ESCAPES.items()}
    answers |= {name: answer for name, (answer, _) in SHOWN.items()}

    def write(messages: Messages) -> str:
        return answers[case_of(messages)]

    def read(messages: Messages) -> str:
        return SHOWN.get(case_of(messages), ("", approval()))[1]

    with speaking(Models(write, read)) as models:
        desk = Desk.make(folder / "desk", models.settings)
        desk.read("project", "add", str(repository), "--name", "code")
        queue = folder / "tasks.toml"
        tasks = [{"project": "code", "text": f"Rename, move or delete: case <{name}>"} for name in answers]
        queue.write_text(toml_of(tasks), encoding="utf-8")
        desk.read("task", "add", "--from", str(queue))
        before = around(folder)
        desk.read("run", "--until", "idle", codes=(0, 1))
    listed = json.loads(desk.read("task", "list", "--json"))["tasks"]
    by_case = {task["text"].partition("<")[2].rstrip(">"): task for task in listed}
    after = around(folder)
    desk.read("approve", "--all-reviewed", "--include-unseen", "--yes", codes=(0, 1))
    yield Scene(desk, repository, before, after, by_case)


def around(folder: Path) -> dict[str, str]:
    """The user's repository and everything beside the state folder."""
    return {name: seen for name, seen in fingerprint(folder).items() if not name.startswith("desk/state")}


@pytest.mark.slow
def test_an_escape_ends_failed_and_says_why_and_leaves_nothing_anywhere(scene: Scene) -> None:
    assert differences(scene.before, scene.after) == []
    for name, (_, why) in ESCAPES.items():
        task = scene.tasks[name]
        assert task["state"] == "failed", (name, task["reason"])
        assert re.search(why, task["reason"], re.IGNORECASE), (name, task["reason"])
        assert not [character for character in task["reason"] if ord(character) < 32], name
    with scene.desk.reading() as store:
        proposals = store.proposals()
    assert {proposal.task_id for proposal in proposals} <= {scene.tasks[name]["id"] for name in SHOWN}
    proposed = {path for proposal in proposals for path in proposal.paths}
    assert proposed <= {"notes.txt", "more.txt", "third.txt", "fourth.txt"}
    for branch in git(scene.repository, "for-each-ref", "--format=%(refname)", "refs/heads").splitlines():
        landed = {*git(scene.repository, "ls-tree", "-r", "--name-only", branch).splitlines()}
        assert landed <= {"README.md", "link", "src/__init__.py", "src/app.py"} | proposed


@pytest.mark.slow
def test_no_character_that_a_terminal_obeys_gets_there_raw(scene: Scene) -> None:
    with scene.desk.reading() as store:
        made = {name: store.proposals(task_id=scene.tasks[name]["id"]) for name in SHOWN}
    assert {name for name, proposals in made.items() if not proposals} == {"refusal", "path"}
    commands = [("task", "show", scene.tasks[name]["id"]) for name in SHOWN]
    commands += [("diff", proposals[0].id) for proposals in made.values() if proposals]
    commands += [("task", "list"), ("proposals",), ("status",), ("proposals", "--json")]
    commands += [(*commands[0], "--json"), ("approve", "--all-reviewed", "--include-unseen", "--yes")]
    for words in commands:
        assert obeyed(scene.desk.read(*words, codes=(0, 1))) == [], words
    assert "U+202E" in scene.desk.read("diff", made["content"][0].id)


def obeyed(text: str) -> list[str]:
    """Characters that steer a terminal or hide in it, all but the newline."""
    steering = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return [hex(ord(char)) for char in text if char != "\n" and unicodedata.category(char) in steering]
