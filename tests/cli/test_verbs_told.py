"""What commands print of verbs: lists, settings by command, pins, prompts and completion."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from navigator.cli import project as projects
from tests.cli.conftest import Command, git
from tests.journey.landing_bench import LandingBench


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LandingBench:
    return LandingBench(tmp_path, monkeypatch, landing="branch", proposals=2)


def test_from_the_list_of_what_waits_to_undoing_twice(bench: LandingBench) -> None:
    first, second = bench.waiting
    done = bench.desk.run("approve", "--yes", first, "--confirm", "unseen")
    assert f"{first}  landed on navigator/2026-01-01 as " in done.stdout.decode()
    assert "`navigator merge` merges" in done.stderr.decode()
    listed = bench.desk.run("proposals").stdout.decode()
    assert second in listed and first not in listed
    assert first in bench.desk.run("proposals", "--all").stdout.decode()
    assert [one["id"] for one in bench.desk.json("proposals")["proposals"]] == [first, second]
    assert [one["id"] for one in bench.desk.json("proposals", "--waiting")["proposals"]] == [second]
    assert "only one of" in bench.desk.run("proposals", "--all", "--waiting", codes=(2,)).stderr.decode()
    again = bench.desk.run("reject", "--yes", first, codes=(1,)).stdout.decode()
    assert f"{first}  has already landed on navigator/2026-01-01" in again
    assert f"{first}  undone: " in bench.desk.run("undo", "--yes", first).stdout.decode()
    twice = bench.desk.run("undo", "--yes", first, codes=(1,)).stdout.decode()
    assert f"{first}  has already been undone." in twice
    bench.desk.run("reject", "--yes", second)
    assert "Nothing waits for you" in bench.desk.run("proposals").stdout.decode()


def test_a_diff_as_a_document(bench: LandingBench) -> None:
    first, second = bench.waiting
    document = bench.desk.json("diff", first, second)
    assert [one["proposal"]["id"] for one in document["diffs"]] == [first, second]
    (file,) = document["diffs"][0]["files"]
    assert (file["path"], file["added"], file["removed"], file["labels"]) == ("d0/f.txt", 1, 1, ["H1"])
    lines = [(line["kind"], line["text"]) for line in file["hunks"][0]["lines"] if line["kind"] != " "]
    assert lines == [("-", "two"), ("+", "2")]
    (compared,) = bench.desk.json("diff", second, "--against", first)["diffs"]
    assert compared["against"] == first and len(compared["files"]) == 2


@pytest.mark.parametrize("tree", ["abc", "nothexadecimal"])
def test_a_pin_has_twelve_digits(bench: LandingBench, tree: str) -> None:
    first = bench.waiting[0]
    said = bench.desk.run("approve", "--yes", first, "--tree", tree, codes=(2,)).stderr.decode()
    assert "at least 12 digits" in said
    pinned = bench.proposal(first).tree[:12].upper()
    bench.desk.run("diff", first)
    assert bench.desk.json("approve", "--yes", first, "--tree", pinned)["decisions"][0]["landing"] == "landed"


def test_names_and_ids_complete(bench: LandingBench) -> None:
    def completed(words: str) -> list[str]:
        place = {"_NAVIGATOR_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": "2"}
        program = "from navigator.cli.main import main; main([])"
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=bench.desk.environment | place,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert completed("navigator approve p") == bench.waiting
    assert completed("navigator diff P2") == ["P2"]
    place = {
        "_NAVIGATOR_COMPLETE": "bash_complete",
        "COMP_WORDS": "navigator project set c",
        "COMP_CWORD": "3",
    }
    done = subprocess.run(
        [sys.executable, "-c", "from navigator.cli.main import main; main([])"],
        env=bench.desk.environment | place,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.split() == ["plain,code"]


def test_completion_makes_no_state(tmp_path: Path) -> None:
    place = {"_NAVIGATOR_COMPLETE": "bash_complete", "COMP_WORDS": "navigator approve P", "COMP_CWORD": "2"}
    kept = os.environ | {"NAVIGATOR_STATE": str(tmp_path / "none")}
    done = subprocess.run(
        [sys.executable, "-c", "from navigator.cli.main import main; main([])"],
        env=kept | place,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip() == "" and done.stderr == ""
    assert not (tmp_path / "none" / "navigator.db").exists()


def test_a_project_is_changed_by_command(command: Command, repository: Path) -> None:
    command.run("project", "add", str(repository), "--name", "thing")
    git(repository, "branch", "other")
    said = command.run("project", "set", "thing", "--landing", "current", "--base", "other").stdout
    assert said == "thing  lands on the current branch, works from other, tests: none\n"
    changed = command.json("project", "set", "thing", "--check", "make")["project"]
    assert (changed["landing"], changed["base"], changed["check"]) == ("current", "other", "make")
    assert "Name a setting to change" in command.run("project", "set", "thing", code=2).stderr
    assert "no branch" in command.run("project", "set", "thing", "--base", "gone", code=1).stderr


def test_settings_that_are_named_and_missing_are_an_error(command: Command) -> None:
    command.config.unlink()
    assert "which does not exist" in command.run("project", "list", code=2).stderr
    doctor = command.run("doctor", code=None).stdout
    assert "which does not exist" in doctor


@pytest.mark.parametrize(
    ("answers", "picked"),
    [
        (["y", "n", "yes"], "ac"),
        (["no", "ALL"], "bc"),
        (["what?", "y", "q"], "a"),
    ],
)
def test_all_and_quit_at_the_prompt_of_a_scan(
    monkeypatch: pytest.MonkeyPatch, answers: list[str], picked: str
) -> None:
    left = iter(answers)
    monkeypatch.setattr(click, "prompt", lambda *_, **__: next(left))
    found = [Path("/somewhere/a"), Path("/somewhere/b"), Path("/somewhere/c")]
    assert "".join(path.name for path in projects._picked(found)) == picked
    assert list(left) == []
