"""`[on]`: the user's commands get what happened, each at least once, and no command of theirs holds up or breaks anything."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from navigator.store.database import open_writer
from navigator.store.writes.writer import Store
from tests.cli.conftest import REHEARSAL, Command
from tests.git.world import git, make_repo

EXAMPLES = Path(__file__).parents[2] / "examples"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "tr0ub4dor-and-3"
RUN = ("run", "--until", "idle", "--time-scale", "0")
NOTE = "import os, sys; os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT), sys.stdin.buffer.read())"


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Where the commands write what they are given."""
    return tmp_path / "told.jsonl"


@pytest.fixture
def command(tmp_path: Path, told: Path) -> Command:
    """Every event is noted; `failed` and `swap_failed` have commands that cannot work."""
    config = tmp_path / "config.toml"
    note = json.dumps([sys.executable, "-c", NOTE, str(told)])
    config.write_text(
        REHEARSAL + f"[on]\nlanded = {note}\nreviewed = {note}\nbatch_ready = {note}\nfailed = {note}\n"
    )
    made = Command(tmp_path / "state", config)
    repo = make_repo(tmp_path / "thing")
    (repo / "notes.md").write_text("# Notes\n\n- one \n- two\n")
    (repo / ".env").write_text(f"DB_PASSWORD={PASSWORD}\n")
    git(repo, "add", "-Af")
    git(repo, "commit", "-qm", "Add notes")
    made.run("project", "add", str(repo))
    return made


def lines(told: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []


def survivors(command: Command) -> list[str]:
    """Processes that were started by a conductor of this state folder and still run."""
    mark, found = f"NAVIGATOR_STATE={command.state}".encode(), []
    for entry in Path("/proc").iterdir():
        with suppress(OSError):
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_bytes().decode())
    return found


def log_of(command: Command) -> str:
    return "".join(file.read_text() for file in command.state.rglob("*.log"))


def test_each_event_reaches_its_command_once(command: Command, told: Path) -> None:
    text = f"Clean up trailing whitespace in notes.md {SECRET} {PASSWORD}"
    command.run("task", "add", "thing", text, "--kind", "docs")
    command.run(*RUN, code=None)
    command.run("review", "thing", "HEAD")
    command.run(*RUN, code=None)
    approved = command.json("approve", "--all-reviewed", "--include-unseen", "--yes", code=None)
    landings = sum(one.get("landing") == "landed" for one in approved["decisions"])
    assert landings
    # Nothing runs yet: the approval was made without a conductor; the next one tells of it.
    before = [one["event"] for one in lines(told)]
    assert set(before) == {"reviewed", "batch_ready"}
    assert (
        before.count("batch_ready") == 2
    )  # a residency after which all is revised has nothing for the developer
    command.run(*RUN, code=None)
    said = lines(told)
    assert [one["event"] for one in said[len(before) :]] == ["landed"] * landings
    assert len({one["id"] for one in said}) == len(said)
    assert all(one["rehearsal"] for one in said)
    landed = said[-1]
    assert landed["proposal"]["branch"].startswith("navigator/")
    assert (
        git(Path(landed["project"]["path"]), "rev-parse", landed["proposal"]["branch"]).strip()
        == (landed["proposal"]["commit"])
    )
    text = told.read_text()
    assert SECRET not in text
    assert PASSWORD not in text
    command.run(*RUN, code=None)
    assert lines(told) == said


def test_the_end_of_a_run_has_its_account_without_secrets(command: Command, told: Path) -> None:
    note = json.dumps([sys.executable, "-c", NOTE, str(told)])
    command.config.write_text(f"{REHEARSAL}[on]\nrun_ended = {note}\n")
    text = f"Clean up trailing whitespace in notes.md {'x' * 30}{PASSWORD} {SECRET}"
    command.run("task", "add", "thing", text, "--kind", "docs")
    command.run("task", "add", "thing", f"Nothing that it knows {SECRET}")
    command.run(*RUN, code=None)
    (said,) = lines(told)
    assert said["event"] == "run_ended" and said["since"] == said["account"]["since"]
    assert said["text"].startswith("WHAT HAPPENED SINCE ")
    assert "tasks in 1 project" in said["text"] and sum(said["account"]["waits"].values()) == 2
    assert "[redacted" in told.read_text() and said["rehearsal"]
    # Not a piece of them either: what is cut was redacted before.
    assert PASSWORD[:8] not in told.read_text() and SECRET[:12] not in told.read_text()
    # A command that waits for its own task is no run.
    command.run("review", "thing", "HEAD", code=None)
    assert lines(told) == [said]


@pytest.mark.parametrize(
    ("reviewed", "words"),
    [
        (
            ["sh", "-c", "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000' & kill -STOP $$"],
            "did not end within 0.5 s and was stopped",
        ),
        (
            ["sh", "-c", "head -c 9000000 /dev/zero | tr '\\0' x; echo broken >&2; exit 3"],
            "ended with 3: broken",
        ),
        (["/nowhere/at/all"], "does not exist or is not executable"),
    ],
)
def test_a_command_that_fails_is_logged_and_nothing_else(
    command: Command, told: Path, reviewed: list[str], words: str
) -> None:
    command.config.write_text(
        REHEARSAL
        + f"[on]\nreviewed = {json.dumps(reviewed)}\ntimeout_seconds = {0.5 if 'within' in words else 30}\n"
    )
    command.run("task", "add", "thing", "Clean up trailing whitespace in notes.md", "--kind", "docs")
    session = command.json(*RUN, code=None)
    assert session["states"] == {"awaiting_approval": 1}
    assert words in log_of(command)
    assert survivors(command) == []


def test_killed_while_a_command_runs_it_runs_again_with_the_same_id(command: Command, told: Path) -> None:
    begun = told.with_name("begun")
    script = f"import sys, time; open({str(begun)!r}, 'a').write(sys.stdin.readline()); time.sleep(600)"
    settings = command.config.read_text()
    command.config.write_text(REHEARSAL + f"[on]\nreviewed = {json.dumps([sys.executable, '-c', script])}\n")
    command.run("task", "add", "thing", "Clean up trailing whitespace in notes.md", "--kind", "docs")
    conductor = subprocess.Popen(
        [sys.executable, "-m", "navigator", *RUN],
        env=command.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        while not lines(begun):
            assert conductor.poll() is None
            time.sleep(0.02)
    finally:
        os.killpg(conductor.pid, signal.SIGKILL)
        conductor.wait()
    while survivors(command):
        time.sleep(0.02)
    command.config.write_text(settings)
    command.run(*RUN, code=None)
    reviewed = [one for one in lines(told) if one["event"] == "reviewed"]
    assert [one["id"] for one in reviewed] == [one["id"] for one in lines(begun)]


def test_an_event_that_cannot_be_told_does_not_keep_back_the_next(command: Command, told: Path) -> None:
    note = json.dumps([sys.executable, "-c", NOTE, str(told)])
    command.config.write_text(f"{REHEARSAL}[on]\nbatch_ready = {note}\nswap_failed = {note}\n")
    command.run(*RUN, code=None)
    with (
        closing(open_writer(command.state / "navigator.db")) as connection,
        Store(connection).transaction() as tx,
    ):
        tx.event("batch_ended")  # it says of no batch which
        tx.event("swap_added", data={"outcome": "failed"})
    command.run(*RUN, code=None)
    assert [one["event"] for one in lines(told)] == ["swap_failed"]
    assert "(batch_ended) was left out" in log_of(command)


def test_what_happened_before_on_was_set_is_not_told(command: Command, told: Path) -> None:
    settings = command.config.read_text()
    command.config.write_text(REHEARSAL)
    command.run("task", "add", "thing", "Clean up trailing whitespace in notes.md", "--kind", "docs")
    command.run(*RUN, code=None)
    command.config.write_text(settings)
    command.run(*RUN, code=None)
    assert lines(told) == []


def test_issues_become_tasks(command: Command, tmp_path: Path) -> None:
    issues = [
        {"number": 7, "title": 'Rounding is "off"', "body": "Half-even.\r\n\x7f\\ \u2028 '''\"\"\""},
        {"iid": 8, "title": "x" * 30_000, "description": None},
    ]
    made = subprocess.run(
        [sys.executable, str(EXAMPLES / "issues.py"), "thing"],
        input=json.dumps(issues),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert len(tomllib.loads(made)["task"]) == 2
    file = tmp_path / "tasks.toml"
    file.write_text(made)
    command.run("task", "add", "--from", str(file))
    texts = [task["text"] for task in command.json("task", "list")["tasks"]]
    assert any(text.startswith('Rounding is "off" (#7)') for text in texts)


def test_the_example_pushes_a_branch_and_opens_a_request(tmp_path: Path) -> None:
    """With a `gh` that notes how it was called: the real one talks to GitHub."""
    origin, repo, tools = tmp_path / "origin.git", make_repo(tmp_path / "thing"), tmp_path / "bin"
    subprocess.run(["git", "init", "-q", "--bare", str(origin)], check=True)
    git(repo, "remote", "add", "origin", str(origin))
    git(repo, "branch", "navigator/2026-01-01-a")
    tools.mkdir()
    called = tmp_path / "called"
    (tools / "gh").write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {called}\n')
    (tools / "gh").chmod(0o755)
    proposal = {
        "branch": "navigator/2026-01-01-a",
        "title": "--web",
        "summary": "Ends.",
        "verdict": "APPROVE",
    }
    said = {
        "event": "landed",
        "id": 1,
        "rehearsal": False,
        "project": {"path": str(repo)},
        "proposal": proposal,
    }
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}

    def run(document: dict[str, Any]) -> None:
        subprocess.run(
            [sys.executable, str(EXAMPLES / "events" / "pull_request.py"), "gh"],
            input=json.dumps(document),
            text=True,
            env=environment,
            check=True,
        )

    run(said | {"rehearsal": True})
    run(said | {"proposal": proposal | {"branch": "main"}})
    assert not called.exists()
    run(said)
    assert "--title=--web" in called.read_text().splitlines()
    assert "navigator/2026-01-01-a" in git(origin, "branch", "--list")
