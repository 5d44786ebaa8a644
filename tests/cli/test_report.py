"""`navigator report` and the formats of `navigator stats`, as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from tests.cli.conftest import Command
from tests.tui import world

pytestmark = pytest.mark.xdist_group("report")


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """A state that no test of this file changes."""
    folder = tmp_path_factory.mktemp("filled")
    (folder / "config.toml").write_text('[swap]\nstrategy = "resident"\n')
    world.fill(StatePaths(folder / "state").ensure())
    return Command(folder / "state", folder / "config.toml")


def test_a_report_is_one_file_and_replaces_none_unasked(filled: Command, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    filled.run("report", str(file))
    page = file.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "IS THE REVIEWER WORTH IT?" in page
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".html"] == ["report.html"]
    file.write_text("mine")
    refused = filled.run("report", str(file), code=None)
    assert refused.returncode != 0 and "exists" in refused.stderr
    assert file.read_text() == "mine"
    absent = filled.run("report", str(tmp_path / "absent" / "report.html"), code=None)
    assert absent.returncode != 0
    assert "cannot be written" in absent.stderr and "folder that exists" in absent.stderr
    file.unlink()
    filled.run("report", str(file), "--since", "2026-11-10")
    assert "WHAT HAPPENED SINCE TUESDAY 10 NOVEMBER 00:00?" in file.read_text(encoding="utf-8")


def test_without_a_file_the_account_is_told(filled: Command) -> None:
    said = filled.run("report", "--since", "2026-11-19").stdout
    assert said.startswith("WHAT HAPPENED SINCE THURSDAY 19 NOVEMBER 00:00?\n")
    assert "\nwaits " in said and "T162 pinyon: failed: NO_MATCH in build/rules.mk" in said
    told = filled.json("report", "--since", "2026-11-19")
    assert told["rehearsal"] is False
    assert sum(told["waits"].values()) == 9 and told["since"] == "2026-11-19T00:00:00.000Z"
    assert [one["tasks"] for one in told["troubles"]] == [1, 1]


def test_without_a_name_the_questions_are_answered(filled: Command) -> None:
    said = filled.run("stats").stdout
    places = [said.index(words) for words in ("WORTH IT?", "COST?")]
    assert places == sorted(places)
    assert set(filled.json("stats")) == {"worth", "cost", "rehearsal"}
    assert filled.json("stats") == filled.json("stats", "summary")
    words = ("stats", "reviewer", "--by", "kind", "--format")
    rows, lines = (filled.run(*words, form).stdout.splitlines() for form in ("csv", "jsonl"))
    assert len(rows) == len(lines) + 1 > 2 and json.loads(lines[0])["figure"] in rows[1]
    refused = filled.run("stats", "cost", "--json", "--format", "csv", code=None).stderr
    assert "contradict each other" in refused
