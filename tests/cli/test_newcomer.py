"""What somebody meets who tries things the first time: strays, overwriting, ages, wrong names, errors as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Command


def test_a_file_among_the_prompts_that_is_none_is_named_and_the_rest_listed(command: Command) -> None:
    folder = command.config.parent / "prompts"
    folder.mkdir()
    (folder / "notes.md").write_text("# What I mean to try\n")
    done = command.run("prompts", "list", "--json")
    assert "generate" in {row["name"] for row in json.loads(done.stdout)["prompts"]}
    assert f"{folder / 'notes.md'} is no prompt" in done.stderr
    # One that would take a packaged template's place is another matter.
    (folder / "generate.md").write_text("# Write it well\n")
    assert "no front matter" in command.run("prompts", "check", code=2).stderr


def test_export_does_not_write_over_what_is_not_its_own(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "tasks.jsonl").write_text("mine\n")
    refused = command.run("export", str(folder), code=1)
    assert "tasks.jsonl" in refused.stderr
    assert "--overwrite" in refused.stderr
    assert [path.name for path in folder.iterdir()] == ["tasks.jsonl"]
    assert (folder / "tasks.jsonl").read_text() == "mine\n"
    command.run("export", str(folder), "--overwrite")
    assert (folder / "tasks.jsonl").read_text() == ""
    command.run("export", str(folder))


def test_since_takes_an_age_as_gc_does(command: Command) -> None:
    assert command.json("stats", "revise-rate", "--since", "7d")["rows"] == []
