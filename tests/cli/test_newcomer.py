"""What somebody meets who tries things the first time: overwriting, ages, wrong names, errors as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Command


def test_export_writes_every_table_and_not_over_what_is_there(
    command: Command, repository: Path, tmp_path: Path
) -> None:
    command.run("project", "add", str(repository), "--name", "thing")
    command.run("task", "add", "thing", "Say what load() returns", "--kind", "docs")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "tasks.jsonl").write_text("mine\n")
    refused = command.run("export", str(folder), code=1)
    assert "is not empty" in refused.stderr
    assert [path.name for path in folder.iterdir()] == ["tasks.jsonl"]
    assert (folder / "tasks.jsonl").read_text() == "mine\n"
    (folder / "tasks.jsonl").unlink()
    command.run("export", str(folder))
    rows = [json.loads(line) for line in (folder / "tasks.jsonl").read_text().splitlines()]
    assert [(row["id"], row["state"]) for row in rows] == [("T1", "queued")]
    assert (folder / "events.jsonl").stat().st_size > 0


def test_a_slip_in_a_key_is_said_before_what_it_makes_missing(
    command: Command, repository: Path, tmp_path: Path
) -> None:
    command.run("project", "add", str(repository), "--name", "thing")
    source = tmp_path / "tasks.toml"
    source.write_text('[[task]]\nproject = "thing"\ntxet = "Mend it"\n')
    refused = command.run("task", "add", "--from", str(source), code=2).stderr
    assert "no argument 'tasks[1].txet'" in refused
    assert "text" in refused
    assert "required" not in refused


@pytest.mark.parametrize(
    ("words", "exit_code", "code", "says"),
    [
        (("task", "show", "T7"), 2, "not_found", "There is no task T7."),
        (("run", "--stop"), 1, "no_conductor", "No conductor is running."),
        (("approve", "P7"), 2, "not_found", "There is no proposal P7."),
        (("task", "add", "thing", "Do it", "--kind", "nosuch"), 2, "usage", "nosuch"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_error_is_a_document_too_where_one_was_asked_for(
    command: Command, words: tuple[str, ...], exit_code: int, code: str, says: str
) -> None:
    done = command.run(*words, "--json", code=exit_code)
    error = json.loads(done.stdout)["error"]
    assert set(error) == {"message", "hint", "code"}
    assert error["code"] == code
    assert says in error["message"]
    assert says in done.stderr
    # Without --json, and where it is only a word of a text, stdout stays empty.
    assert command.run(*words, code=exit_code).stdout == ""
    assert command.run("task", "add", "--", "nosuch", "Write", "--json", code=2).stdout == ""


def test_an_empty_file_replaces_no_prompt(command: Command) -> None:
    """The shell makes it before `prompts show review > review.md` runs."""
    own = command.config.parent / "prompts" / "review.md"
    own.parent.mkdir()
    own.touch()
    assert command.run("prompts", "show", "review").stdout.startswith("---\nname: review\n")
