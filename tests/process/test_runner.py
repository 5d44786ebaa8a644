"""Programs are started in one place, keep their limits, and end with everything they started, whatever they do against it."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest

from navigator.process import runner
from navigator.process.runner import OUTPUT, PIPE, TIME, Ended, run, running, start

PACKAGE = Path(__file__).parents[2] / "navigator"

STUBBORN = """
trap '' TERM HUP INT
echo $$ >> pids
setsid sh -c 'trap "" TERM; echo $$ >> pids; kill -STOP $$; sleep 1000' &
sh -c '(setsid sh -c "trap \\"\\" TERM; echo \\$\\$ >> pids; exec sleep 1000") &'
while [ $(wc -l < pids) -lt 3 ]; do sleep 0.01; done
"""
"""Three processes: one that ignores SIGTERM, one stopped in a session of its own, one whose parent has ended too."""


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "GRACE", 0.3)


def alive(folder: Path) -> list[int]:
    pids = map(int, (folder / "pids").read_text().split())
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def script(folder: Path, last: str) -> list[str]:
    return ["sh", "-c", f"cd '{folder}'; {STUBBORN} {last}"]


async def test_nothing_survives_the_limit_of_time(tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        await running(script(tmp_path, "kill -STOP $$"), 1.0)
    assert len((tmp_path / "pids").read_text().split()) == 3
    assert alive(tmp_path) == []


def test_one_without_a_keeper_ends_with_what_it_started(tmp_path: Path) -> None:
    child = "setsid sh -c 'echo $$ >> pids; kill -STOP $$'"
    whole = f"cd '{tmp_path}'; trap '' TERM; echo $$ >> pids; {child} & while :; do sleep 1; done"
    process = start(["sh", "-c", whole])
    pids = tmp_path / "pids"
    while not pids.exists() or len(pids.read_text().split()) < 2:
        time.sleep(0.01)
    process.end(0.1)
    states = [Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] for pid in alive(tmp_path)]
    assert not set(states) - {"Z"}, "at most process 1 has not looked at one yet"


async def test_nothing_survives_a_cancellation_or_a_failure(tmp_path: Path) -> None:
    task = asyncio.create_task(running(script(tmp_path, "sleep 1000"), 60.0))
    while not (tmp_path / "pids").exists() or len((tmp_path / "pids").read_text().split()) < 3:
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert alive(tmp_path) == []
    assert (await running(script(tmp_path, "exit 3"), 60.0, leaves=True)).code == 3
    assert alive(tmp_path) == []


def test_nothing_survives_the_death_of_who_started_it(tmp_path: Path) -> None:
    words = script(tmp_path, "sleep 1000")
    program = (
        "import asyncio\nfrom navigator.process import runner\nrunner.GRACE = 0.3\n"
        f"asyncio.run(runner.running({words!r}, 60.0))"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as child:
        while not (tmp_path / "pids").exists() or len((tmp_path / "pids").read_text().split()) < 3:
            assert child.poll() is None
            time.sleep(0.01)
        child.kill()
    deadline = time.monotonic() + 60
    while alive(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert alive(tmp_path) == []


async def test_what_ends_well_may_leave_a_server(tmp_path: Path) -> None:
    ended = await running(script(tmp_path, "echo up; exit 0"), 60.0, leaves=True)
    try:
        assert (ended.code, ended.lines) == (0, ["up"])
        assert len(alive(tmp_path)) == 2
    finally:
        for pid in alive(tmp_path):
            os.kill(pid, signal.SIGKILL)


async def test_who_floods_and_does_not_read_is_ended_and_the_loop_is_left_clean() -> None:
    flood = "import os\nwhile True: os.write(1, b'x' * 65536); os.write(2, b'y' * 65536)"
    process = start([sys.executable, "-c", flood], stdin=PIPE, stdout=PIPE, stderr=PIPE)
    out, into, _ = await process.streams()
    into.write(b"z" * 1_000_000)
    await out.read(1)
    process.leave()
    await asyncio.to_thread(process.end, 0.2)
    assert process.returncode in (
        -signal.SIGTERM,
        1,
        120,
    )  # or it ended at the closed pipe, before the signal came
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await asyncio.sleep(0)
        gc.collect()


def test_a_writer_that_waits_for_room_may_still_end_by_itself() -> None:
    polite = "import os, signal, sys\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\n"
    polite += "while True: os.write(1, b'x' * 65536)"
    process = start([sys.executable, "-c", polite], stdout=PIPE)
    assert process.stdout is not None
    process.stdout.read(1)
    process.end(grace=30.0)
    assert process.returncode == 7


def test_limits_of_time_and_output() -> None:
    assert run(["sleep", "1000"], 0.1).cut == TIME
    ended = run(["sh", "-c", "yes"], 60.0, most=1000)
    assert (ended.cut, len(ended.out)) == (OUTPUT, 1000)
    tail = run(["sh", "-c", "head -c 900000 /dev/zero; echo end"], 60.0, most=4, tail=True)
    assert (tail.out, tail.cut) == (b"end\n", "")
    assert run(["sleep", "1000"], 60.0, look=lambda pid: f"saw {pid > 1}").cut == "saw True"
    large = bytes(range(256)) * 40_000
    assert run(["cat"], 60.0, given=large, most=len(large)) == Ended(0, large)


async def test_a_program_that_is_not_there() -> None:
    with pytest.raises(FileNotFoundError):
        run(["/nowhere/at/all"], 1.0)
    with pytest.raises(FileNotFoundError):
        await running(["/nowhere/at/all"], 1.0)
    assert (await running(["sh", "-c", "kill -KILL $$"], 60.0)).code == -signal.SIGKILL


def test_nothing_else_starts_or_ends_a_process() -> None:
    ways = re.compile(
        r"\bsubprocess\b|\bPopen\b|create_subprocess|os\.(system|popen|fork|posix_spawn|spawn\w+|killpg)\b"
        r"|os\.kill\((?!pid, 0\))|pidfd_(open|send)|\bmultiprocessing\b|ProcessPoolExecutor"
    )
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        if ways.search(path.read_text("utf-8").replace('"subprocess"', ""))
    }
    assert found == {"process/runner.py", "process/keeper.py"}
