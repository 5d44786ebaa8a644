"""What `navigator run` says of a session is about that session, not about the ones before it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.conftest import Command


def test_a_failure_of_an_earlier_session_is_no_failure_of_this_one(
    command: Command, repository: Path
) -> None:
    command.run("project", "add", str(repository), "--name", "thing")
    command.run("task", "add", "thing", "Say what load() returns", "--kind", "docs")
    away = repository.with_name("away")
    repository.rename(away)
    first = command.json("run", "--until", "idle", "--time-scale", "0", code=1)
    assert (first["failed"], first["states"]) == (1, {"failed": 1})
    away.rename(repository)
    second = command.json("run", "--until", "idle", "--time-scale", "0", code=0)
    assert (second["failed"], second["states"]) == (0, {"failed": 1})
