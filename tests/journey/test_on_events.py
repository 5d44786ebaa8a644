"""`[on]`: the user's commands get what happened, each at least once, and no command of theirs holds up or breaks anything."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import pytest

from navigator.engine import on_events
from navigator.model.states import TaskState
from navigator.process import runner
from tests.git.world import git, make_repo
from tests.journey.room import FILES, Room
from tests.journey.support import running

EXAMPLES = Path(__file__).parents[2] / "examples"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "tr0ub4dor-and-3"
RUN = ("run", "--until", "idle")
NOTE = "import os, sys; os.write(os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT), sys.stdin.buffer.read())"


HANGS = "trap '' TERM; setsid sh -c 'trap \"\" TERM; sleep 1000' & kill -STOP $$"
FLOODS = "head -c 9000000 /dev/zero | tr '\\0' x; echo broken >&2; exit 3"


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Where the commands write what they are given."""
    return tmp_path / "told.jsonl"


@pytest.fixture
def room(bare: Room) -> Room:
    bare.add(FILES | {".env": f"DB_PASSWORD={PASSWORD}\n"}, check="")
    return bare


def note(room: Room, told: Path, *kinds: str) -> None:
    """Have events of these kinds noted."""
    command = json.dumps([sys.executable, "-c", NOTE, str(told)])
    room.settle(on="\n".join(f"{kind} = {command}" for kind in kinds))


def lines(told: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []


def survivors(room: Room) -> list[tuple[int, str]]:
    """Processes that were started by a conductor of this state folder and still run."""
    return running(f"NAVIGATOR_STATE={room.paths.root}")


def test_each_event_reaches_its_command_once(room: Room, told: Path) -> None:
    room.done("Before anything was to be told")
    note(room, told, "landed", "reviewed", "batch_ready", "failed")
    proposal = room.done(f"Make double() multiply {SECRET} {PASSWORD}")
    # Nothing runs yet: the approval is made without a conductor; the next one tells of it.
    assert room.approve(proposal)["landing"] == "landed"
    before = [one["event"] for one in lines(told)]
    assert sorted(before) == ["batch_ready", "reviewed"]
    room.work()
    said = lines(told)
    assert [one["event"] for one in said[len(before) :]] == ["landed"]
    assert len({one["id"] for one in said}) == len(said) and not any(one["rehearsal"] for one in said)
    landed = said[-1]["proposal"]
    assert landed["branch"].startswith("navigator/")
    assert git(room.repository, "rev-parse", landed["branch"]) == landed["commit"]
    assert SECRET not in told.read_text() and PASSWORD not in told.read_text()
    room.work()
    assert lines(told) == said


def test_the_end_of_a_run_is_told_and_that_of_a_command_is_not(room: Room, told: Path) -> None:
    note(room, told, "run_ended")
    room.desk.read(*RUN)
    (said,) = lines(told)
    assert said["event"] == "run_ended" and said["since"] < said["at"]
    room.desk.read("review", "code", "HEAD")
    assert lines(told) == [said]


@pytest.mark.parametrize(
    ("reviewed", "words"),
    [
        (["sh", "-c", HANGS], "did not end within 0.5 s and was stopped"),
        (["sh", "-c", FLOODS], "ended with 3: broken"),
        (["/nowhere/at/all"], "does not exist or is not executable"),
    ],
)
def test_a_command_that_fails_is_logged_and_nothing_else(
    room: Room, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, reviewed: Any, words: str
) -> None:
    monkeypatch.setattr(logging.getLogger("navigator"), "propagate", True)
    monkeypatch.setattr(runner, "GRACE", 0.5)
    if "within" in words:
        monkeypatch.setattr(on_events, "LONGEST_SECONDS", 0.5)
    room.settle(on=f"reviewed = {json.dumps(reviewed)}")
    assert room.task(room.done().task_id).state is TaskState.AWAITING_APPROVAL
    assert words in caplog.text
    assert survivors(room) == []


def test_killed_while_a_command_runs_it_runs_again_with_the_same_id(room: Room, told: Path) -> None:
    begun = told.with_name("begun")
    script = f"import sys, time; open({str(begun)!r}, 'a').write(sys.stdin.readline()); time.sleep(600)"
    room.settle(on=f"reviewed = {json.dumps([sys.executable, '-c', script])}")
    room.queue()
    conductor = room.desk.start(*RUN, start_new_session=True)
    try:
        while not lines(begun):
            assert conductor.poll() is None
            time.sleep(0.02)
    finally:
        os.killpg(conductor.pid, signal.SIGKILL)
        conductor.communicate()
    while survivors(room):
        time.sleep(0.02)
    note(room, told, "reviewed")
    room.work()
    (said,), (first,) = lines(told), lines(begun)
    assert said["id"] == first["id"]


def test_an_event_that_cannot_be_told_does_not_keep_back_the_next(
    room: Room, told: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logging.getLogger("navigator"), "propagate", True)
    note(room, told, "batch_ready", "swap_failed")
    room.work()
    with room.world() as world, world.store.transaction() as tx:
        tx.event("batch_ended")  # it says of no batch which
        tx.event("swap_added", data={"outcome": "failed"})
    room.work()
    assert [one["event"] for one in lines(told)] == ["swap_failed"]
    assert "(batch_ended) was left out" in caplog.text


def test_issues_become_tasks(room: Room, tmp_path: Path) -> None:
    issues = [
        {"number": 7, "title": 'Rounding is "off"', "body": "Half-even.\r\n\x7f\\ \u2028 '''\"\"\""},
        {"iid": 8, "title": "x" * 30_000, "description": None},
    ]
    words = [sys.executable, str(EXAMPLES / "issues.py"), "code"]
    done = subprocess.run(words, input=json.dumps(issues), capture_output=True, text=True, check=True)
    made = done.stdout
    assert len(tomllib.loads(made)["task"]) == 2
    file = tmp_path / "tasks.toml"
    file.write_text(made)
    room.desk.read("task", "add", "--from", str(file))
    assert any(task.text.startswith('Rounding is "off" (#7)') for task in room.read().tasks())


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
    branch = "navigator/2026-01-01-a"
    proposal = {"branch": branch, "title": "--web", "summary": "Ends.", "verdict": "APPROVE"}
    said = {
        "event": "landed",
        "id": 1,
        "rehearsal": False,
        "project": {"path": str(repo)},
        "proposal": proposal,
    }
    environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}

    def run(document: dict[str, Any]) -> None:
        words = [sys.executable, str(EXAMPLES / "events" / "pull_request.py"), "gh"]
        subprocess.run(words, input=json.dumps(document), text=True, env=environment, check=True)

    run(said | {"rehearsal": True})
    run(said | {"proposal": proposal | {"branch": "main"}})
    assert not called.exists()
    run(said)
    assert "--title=--web" in called.read_text().splitlines()
    assert branch in git(origin, "branch", "--list")
