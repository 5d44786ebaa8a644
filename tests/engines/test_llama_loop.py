"""The whole loop against llama.cpp: commands, conductor, store, git. Only the model's sense is missing.

Random text is no edit, so every task has to end where a person can read why. A grammar in `extra_body` then makes
the same model write a well-formed edit, and the loop goes on through the review to a landed commit.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engines.llama import ALIAS, TOKENIZER, Server
from tests.git.world import fingerprint, git, make_repo

pytestmark = [pytest.mark.engines, pytest.mark.xdist_group("engines")]

TASKS = ("Add a function three().", "Raise LIMIT to 20.", "Say in the README what this is.")

# Token 2 ends an answer, as does token 0.
NONSENSE = "top_k = 0\nmin_p = 0.0\nlogit_bias = [[2, 5.0]]"
AN_EDIT = r"""grammar = '''
root ::= "A note.\n\nnotes/" [a-z]{12} ".txt\n<<<<<<< SEARCH\n=======\n" [a-z ]{1,30} "\n>>>>>>> REPLACE\n"
'''"""
SHORT_STRINGS = """logit_bias = [['"', 5.0]]"""

Navigator = Callable[..., Any]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Dev Eloper")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "dev@example.org")
    return make_repo(tmp_path / "thing")


def configured(
    tmp_path: Path,
    url: str,
    generator: str,
    reviewer: str = "",
    most: int = 200,
    *,
    reviewer_url: str = "",
    strategy: str = 'strategy = "resident"',
    models: tuple[str, str] = (ALIAS, ALIAS),
) -> Navigator:
    """Settings for one state folder, both roles at this address; returns what runs `navigator` on it."""
    writer, reader = (
        f'model = "{model}"\nbase_url = "{at}"\ncontext_tokens = 16384\ntemperature = 1.0\ntop_p = 1.0\n'
        for model, at in zip(models, (url, reviewer_url or url), strict=True)
    )
    settings = tmp_path / "navigator.toml"
    settings.write_text(
        f'[generator]\n{writer}max_tokens = {most}\ntokenizer = "{TOKENIZER}"\n'
        f"[generator.extra_body]\n{generator}\n"
        f"[reviewer]\n{reader}max_tokens = 4000\n[reviewer.extra_body]\n{reviewer}\n"
        f"[swap]\n{strategy}\n[batch]\nmax_wait_minutes = 0\nquiet_minutes = 0\nrevisions = 0\n",
        encoding="utf-8",
    )
    environment = environment_of(tmp_path)

    def navigator(*words: str, code: int = 0) -> Any:
        done = subprocess.run(
            [sys.executable, "-m", "navigator", *words, "--json"],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == code, done.stderr.decode()
        return json.loads(done.stdout)

    return navigator


def environment_of(tmp_path: Path) -> dict[str, str]:
    names = {"NAVIGATOR_CONFIG": str(tmp_path / "navigator.toml"), "NAVIGATOR_STATE": str(tmp_path / "state")}
    return os.environ | names


def queue(navigator: Navigator, repo: Path) -> None:
    navigator("project", "add", str(repo))
    for text in TASKS:
        navigator("task", "add", repo.name, text)


def test_what_is_no_edit_ends_each_task_with_its_reason_and_touches_nothing(
    tmp_path: Path, repo: Path, engine: Server
) -> None:
    before = fingerprint(repo)
    navigator = configured(tmp_path, engine.url, NONSENSE)
    queue(navigator, repo)
    session = navigator("run", "--until", "idle", code=1)  # 1: there are failed tasks
    assert session["states"] == {"failed": 3}
    assert session["proposals"] == 0
    assert session["calls"] == {"made": 9, "repeated": 0, "lost": 0, "running": 0}
    assert not session["rehearsal"]
    tasks = navigator("task", "list")["tasks"]
    assert [task["text"] for task in tasks] == list(TASKS)
    assert all("did not apply (MARKER" in task["reason"] for task in tasks)
    assert fingerprint(repo) == before


def test_an_edit_goes_all_the_way_through_the_review_to_a_branch(
    tmp_path: Path, repo: Path, engine: Server
) -> None:
    before = fingerprint(repo)
    navigator = configured(tmp_path, engine.url, AN_EDIT, SHORT_STRINGS)
    queue(navigator, repo)
    session = navigator("run", "--until", "idle")
    assert session["states"] == {"awaiting_approval": 3}
    assert sum(session["verdicts"].values()) == 3
    assert session["calls"]["lost"] == 0
    assert fingerprint(repo) == before

    proposals = navigator("proposals")["proposals"]
    assert {proposal["model"] for proposal in proposals} == {ALIAS}
    assert all(proposal["usage"]["prompt_tokens"] > 0 for proposal in proposals)
    assert all(proposal["usage"]["completion_tokens"] > 0 for proposal in proposals)

    head = git(repo, "rev-parse", "HEAD")
    # A random model may overrule itself and say which hunks it read as it likes: an approval names what it has to.
    named = [
        word
        for proposal in proposals
        for mark in proposal["marks"]
        if mark["confirm"]
        for word in ("--confirm", f"{proposal['id']}:{mark['confirm']}")
    ]
    navigator("approve", *(proposal["id"] for proposal in proposals), "--yes", "--confirm", "unseen", *named)
    states = [task["state"] for task in navigator("task", "list")["tasks"]]
    assert states == ["landed"] * 3
    # A batch ends when nothing is in review any more: where both models answer, that may be more than one.
    branches = git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/navigator/").splitlines()
    landed = [git(repo, "diff", "--name-only", head, branch).splitlines() for branch in branches]
    assert sum(map(len, landed)) == 3
    assert git(repo, "rev-parse", "HEAD") == head
    assert git(repo, "status", "--porcelain") == ""
