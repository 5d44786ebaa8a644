"""What commands print of verbs: lists, settings by command, pins and prompts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command, at, git
from tests.journey.landing_bench import LandingBench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LandingBench:
    return LandingBench(tmp_path, monkeypatch, landing="branch", proposals=2)


def test_from_the_list_of_what_waits_to_undoing_twice(bench: LandingBench) -> None:
    first, second = bench.waiting
    done = at(bench).run("approve", "--yes", first, "--confirm", "unseen")
    assert f"{first}  landed on navigator/2026-01-01 as " in done.stdout
    assert "`navigator merge` merges" in done.stderr
    listed = at(bench).run("proposals").stdout
    assert second in listed and first not in listed
    assert first in at(bench).run("proposals", "--all").stdout
    assert [one["id"] for one in at(bench).json("proposals")["proposals"]] == [first, second]
    assert [one["id"] for one in at(bench).json("proposals", "--state", "open")["proposals"]] == [second]
    assert "only one of" in at(bench).run("proposals", "--all", "--state", "open", code=2).stderr
    again = at(bench).run("reject", "--yes", first, code=1).stdout
    assert f"{first}  has already landed on navigator/2026-01-01" in again
    assert f"{first}  undone: " in at(bench).run("undo", "--yes", first).stdout
    twice = at(bench).run("undo", "--yes", first, code=1).stdout
    assert f"{first}  has already been undone." in twice
    at(bench).run("reject", "--yes", second)
    assert "Nothing waits for you" in at(bench).run("proposals").stdout


def test_a_diff_as_a_document(bench: LandingBench) -> None:
    first, second = bench.waiting
    document = at(bench).json("diff", first, second)
    assert [one["proposal"]["id"] for one in document["diffs"]] == [first, second]
    (file,) = document["diffs"][0]["files"]
    assert (file["path"], file["added"], file["removed"], file["labels"]) == ("d0/f.txt", 1, 1, ["H1"])
    lines = [(line["kind"], line["text"]) for line in file["hunks"][0]["lines"] if line["kind"] != " "]
    assert lines == [("-", "two"), ("+", "2")]
    (compared,) = at(bench).json("diff", second, "--against", first)["diffs"]
    assert compared["against"] == first and len(compared["files"]) == 2


def test_a_pin_has_twelve_digits(bench: LandingBench) -> None:
    first = bench.waiting[0]
    for tree in ("abc", "nothexadecimal"):
        said = at(bench).run("approve", "--yes", first, "--tree", tree, code=2).stderr
        assert "at least 12 digits" in said
    pinned = bench.proposal(first).tree[:12].upper()
    at(bench).run("diff", first)
    assert at(bench).json("approve", "--yes", first, "--tree", pinned)["decisions"][0]["landing"] == "landed"


def test_a_project_is_changed_by_command(command: Command, repository: Path) -> None:
    command.run("project", "add", str(repository), "--name", "thing")
    git(repository, "branch", "other")
    said = command.run("project", "set", "thing", "--landing", "current", "--base", "other").stdout
    assert said == "thing  landing is current, base is other\n"
    changed = command.json("project", "set", "thing", "--check", "make")["project"]
    assert (changed["landing"], changed["base"], changed["check"]) == ("current", "other", "make")
    assert "Name a setting to change" in command.run("project", "set", "thing", code=2).stderr
    assert "no branch" in command.run("project", "set", "thing", "--base", "gone", code=1).stderr


def test_settings_that_are_named_and_missing_are_an_error(command: Command) -> None:
    command.config.unlink()
    assert "which does not exist" in command.run("project", "list", code=2).stderr
    doctor = command.run("doctor", code=None).stdout
    assert "which does not exist" in doctor
