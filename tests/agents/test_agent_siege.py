"""Hostile agents beside honest ones in one session: the honest ones end as if alone, no file outside
changes, and the conductor answers, stays small and obeys.

`pytest -s` prints how long the answers took and how large the conductor was.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from pathlib import Path

import pytest

from navigator.config.settings import AgentSettings
from navigator.model.states import TaskState
from tests.agents.conftest import configure
from tests.agents.test_misbehaving import left
from tests.journey.room import Room
from tests.journey.support import Desk
from tests.journey.test_siege import Asker
from tests.swap.desk import wait_for

WHOLE = bool(os.environ.get("NAVIGATOR_AGENT_SIEGE"))
"""Twenty honest agents and five ends; else four and one."""

HOSTILE = ("pipes", "fork", "fill")
HONEST = 20 if WHOLE else 4
ENDS = 5 if WHOLE else 1
MOST_MEMORY = 400 << 10
"""Of the conductor, in KiB."""


def digest_of(folder: Path) -> str:
    """Every entry below a folder, with its mode and content, in one word."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        info = path.lstat()
        content = os.fsencode(path.readlink()) if path.is_symlink() else b""
        content = path.read_bytes() if path.is_file() and not content else content
        found.update(f"{path} {info.st_mode} {hashlib.sha256(content).hexdigest()}\n".encode())
    return found.hexdigest()


def most_memory(pid: int) -> int:
    """The largest a process was, in KiB; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def ended(room: Room, task: str) -> tuple[object, ...]:
    """What became of an honest task."""
    made = [(one.round, one.tree, one.summary) for one in room.proposals() if one.task_id == task]
    return room.task(task).state, made, [turn.outcome for turn in room.read().agent_turns(task)]


@pytest.mark.slow
@pytest.mark.timeout(1200 if WHOLE else 300)
def test_hostile_agents_beside_honest_ones(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    home = room.config.parent / "home"
    (home / ".vibe").mkdir(parents=True)
    (home / ".vibe" / "config.toml").write_text("the user's")
    (home / "config.toml").write_text("the user's")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(AgentSettings, "disk_mb", 64)
    configure(room, "minutes = 0.5\n", "vibe", OPENAI_BASE_URL="{base_url}")
    desk = Desk(room.paths.root, room.config)
    before = digest_of(home)
    alone = room.queue("Honest, and alone ASK=1")
    desk.run("run", "--until", "idle")
    expected = ended(room, alone)
    assert expected[0] is TaskState.AWAITING_APPROVAL

    hostile = {how: room.queue(f"Hostile. ASK=0 BEHAVE={how}") for how in HOSTILE}
    honest = [room.queue(f"Honest {number} ASK=1") for number in range(HONEST)]
    asker = Asker(room.paths.socket)
    asker.start()
    ends, most = [], 0
    try:
        for number in range(ENDS):
            child = desk.start("run", "--until", "idle")
            wait_for(lambda: left(room))  # an agent is at work
            time.sleep(number)  # whatever it does then
            most = max(most, most_memory(child.pid))
            began = time.monotonic()
            child.send_signal(signal.SIGTERM)
            out, _ = child.communicate(timeout=60)
            assert b"session" in out  # it said what it had done
            ends.append(time.monotonic() - began)
        child = desk.start("run", "--until", "idle")
        while child.poll() is None:
            most = max(most, most_memory(child.pid))
            time.sleep(0.1)
        child.communicate()
    finally:
        asker.ended.set()
        asker.join()
    slowest = ", ".join(f"{seconds:.1f} s" for seconds in ends)
    print(f"{len(hostile)} hostile, {HONEST} honest; {most >> 10} MiB; ended in {slowest}")

    assert [ended(room, task)[:2] for task in honest] == [expected[:2]] * HONEST
    for how, task in hostile.items():
        assert room.task(task).state is TaskState.FAILED, (how, room.task(task).reason)
    assert digest_of(home) == before
    assert asker.silent == 0
    assert most < MOST_MEMORY
    assert left(room) == []
