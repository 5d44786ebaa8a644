"""`navigator context`: what would be sent, for tasks that wait and tasks that have begun, without a trace."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Command, git
from tests.git.world import fingerprint


def queue(command: Command, repository: Path, text: str = "Compare with None by identity") -> str:
    command.run("project", "add", str(repository), "--name", "thing")
    added = command.json("task", "add", "thing", text, "--kind", "fix", "--file", "thing.py")
    return str(added["tasks"][0]["id"])


def test_a_waiting_task_is_shown_whole_and_nothing_changes(command: Command, repository: Path) -> None:
    (repository / ".env").write_text("PASSWORD=hunter2\n")
    (repository / "secret.py").write_text("KEY = 'AKIA" + "QWERTYUIOPASDF23'\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "more")
    task = queue(command, repository)
    before = fingerprint(repository)

    (shown,) = command.json("context", task)["contexts"]
    assert (shown["task"], shown["project"]) == (task, "thing")
    assert shown["base_note"] == "the base it would begin on now"
    assert shown["base"] == git(repository, "rev-parse", "HEAD").strip()
    parts = {(piece["part"], piece["path"]): piece for piece in shown["pieces"]}
    assert parts["file", "thing.py"]["why"] == "named" and not parts["file", "thing.py"]["shared"]
    assert [piece["part"] for piece in shown["pieces"]][:2] == ["instructions", "tree"]
    assert [piece["shared"] for piece in shown["pieces"]] == sorted(
        (piece["shared"] for piece in shown["pieces"]), reverse=True
    ), "what all tasks share comes first"
    assert sum(piece["tokens"] for piece in shown["pieces"]) == shown["tokens"] <= shown["room"]
    assert shown["context_tokens"] <= shown["budget"]
    assert shown["exact"] is False and "tokenizer" in shown["why_estimate"]
    assert shown["hidden"] == {"holds what looks like an AWS access key": 1, "may hold secrets": 1}

    assert fingerprint(repository) == before
    assert command.json("task", "show", task)["task"]["base_commit"] == ""

    said = command.run("context", task).stdout
    assert "thing.py" in said and "named" in said and "estimated" in said and "hunter2" not in said


def test_an_old_task_is_shown_on_its_own_base(command: Command, repository: Path) -> None:
    task = queue(command, repository)
    base = git(repository, "rev-parse", "HEAD").strip()
    command.json("run", "--until", "idle", "--time-scale", "0")
    (repository / "thing.py").write_text("changed = True\n")
    git(repository, "commit", "-q", "-am", "later")

    (shown,) = command.json("context", task)["contexts"]
    assert (shown["base"], shown["base_note"]) == (base, "the base of this attempt")
    assert "REHEARSAL" in command.run("task", "show", task).stderr
