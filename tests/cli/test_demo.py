"""The demo, as a stranger runs it first."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from navigator.swap.strategies.rehearsal import MODULE_VARIABLE
from tests.cli.conftest import Command, git

pytestmark = pytest.mark.slow

SMALL = ("demo", "--headless", "--projects", "1", "--tasks", "2", "--time-scale", "0")


@pytest.fixture(autouse=True)
def samples(monkeypatch: pytest.MonkeyPatch) -> None:
    """The models play the sample tasks, as for a user."""
    monkeypatch.delenv(MODULE_VARIABLE)


def test_demo_ends_with_the_promised_document(command: Command, tmp_path: Path) -> None:
    words = ("--projects", "3", "--tasks", "6", "--time-scale", "0", "--state", str(tmp_path / "demo"))
    document = command.json("demo", "--headless", *words)
    assert (document["projects"], document["tasks"]) == (3, 6)
    assert document["rehearsal"] is True
    assert set(document["verdicts"]) == {"approve", "revise", "unreviewed"}
    assert document["swaps"] <= 2 * (document["rounds"] - 1) + 1
    assert document["serial_seconds"] > document["model_seconds"] > document["wall_seconds"]
    assert document["states"].get("failed", 0) <= 2
    reviewed = sum(document["verdicts"].values())
    assert reviewed == document["proposals"]
    there = Command(tmp_path / "demo", tmp_path / "demo" / "demo.toml")
    told = there.json("report")
    assert sum(told["waits"].values()) == document["tasks"] and told["rehearsal"]
    assert len(told["projects"]) == 3 and told["cost"]["swaps"]["n"] == document["loads"]
    shown = there.run("report").stdout.splitlines()
    assert len(shown) <= 22 and "6 tasks in 3 projects" in " ".join(shown)
    script = Path(__file__).parents[2] / "examples" / "morning_report.py"
    environment = there.environment() | {"NAVIGATOR": f"{sys.executable} -m navigator"}
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, env=environment, check=True
    )
    assert "wait for you in 3 projects" in done.stdout
    assert "REHEARSAL" in done.stdout
    # A second demo in the folder goes on with what is there.
    again = command.run("demo", "--headless", *words).stdout
    assert f"export NAVIGATOR_STATE={there.state}" in again
    assert len(there.json("task", "list")["tasks"]) == 6
    result = there.json("approve", "--all-reviewed", "--include-unseen", "--yes")
    for row in result["left_out"]:
        assert row["mark"] in ("revise", "unreviewed", "overlap", "confirm"), row
    assert result["decisions"]
    projects = {row["id"]: row["project"] for row in there.json("proposals")["proposals"]}
    for row in result["decisions"]:
        assert row["landing"] == "landed"
        folder = there.state / "samples" / projects[row["id"]]
        trailer = "--format=%(trailers:key=Navigator-Proposal,valueonly)"
        assert git(folder, "log", "-1", trailer, row["commit"]).strip() == row["id"]
        assert git(folder, "status", "--porcelain") == ""


def test_a_headless_demo_leaves_nothing_and_says_why_nothing_was_tested(
    command: Command, tmp_path: Path
) -> None:
    temporary, programs = tmp_path / "tmp", tmp_path / "bin"
    temporary.mkdir()
    programs.mkdir()
    for name in ("git", "python3"):
        (programs / name).symlink_to(shutil.which(name) or "")
    environment = command.environment() | {"TMPDIR": str(temporary), "PATH": str(programs)}
    del environment["NAVIGATOR_STATE"]
    done = subprocess.run(
        [sys.executable, "-m", "navigator", *SMALL],
        capture_output=True,
        text=True,
        env=environment,
        check=True,
        timeout=240,
    )
    assert str(temporary / "navigator-demo-") in done.stderr
    assert "Nothing is kept." in done.stdout
    assert list(temporary.iterdir()) == []
    assert (
        "Nothing was tested: bubblewrap is not installed. Install it (`apt install bubblewrap`" in done.stdout
    )


def test_the_demo_refuses_a_folder_of_real_work_before_it_touches_it(
    command: Command, repository: Path
) -> None:
    command.config.write_text("")
    command.run("project", "add", str(repository))
    done = command.run(*SMALL, code=None)
    assert done.returncode == 1
    assert done.stderr.startswith("navigator: ")
    assert "holds real work" in done.stderr
    assert "REHEARSAL" not in done.stderr
    assert not (command.state / "demo.toml").exists()
