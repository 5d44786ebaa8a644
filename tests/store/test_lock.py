"""One writer: the kernel's lock, and what is said about its holder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from navigator.config.paths import StatePaths
from navigator.store.lock import StateLock, describe_holder
from tests.store.conftest import held

ROOT = Path(__file__).resolve().parents[2]

HOLD = """
import sys
from pathlib import Path
from navigator.config.paths import StatePaths
from navigator.store.lock import StateLock
lock = StateLock(StatePaths(Path(sys.argv[1])))
print(lock.acquire(), flush=True)
sys.stdin.read()
"""


def started(paths: StatePaths, program: str = HOLD) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", program, str(paths.root)]
    return subprocess.Popen(words, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def holds(process: subprocess.Popen[str]) -> bool:
    return process.stdout.readline() == "True\n"


def test_a_second_process_is_refused_and_told_by_whom(paths: StatePaths) -> None:
    process = started(paths)
    try:
        assert holds(process)
        lock = StateLock(paths)
        assert not lock.acquire()
        holder = lock.holder()
        assert holder["pid"] == process.pid
        assert holder["command"].startswith("-c ")
        assert holder["started"].endswith("Z")
        assert describe_holder(paths.lock).startswith(f"process {process.pid} (-c ")
    finally:
        process.communicate()
    assert lock.holder() is None
    assert lock.acquire()
    lock.release()


def test_the_kernel_releases_the_lock_of_a_killed_process(paths: StatePaths) -> None:
    process = started(paths)
    assert holds(process)
    process.kill()
    process.wait()
    lock = StateLock(paths)
    # Its note is still in the file, and nobody believes it.
    assert json.loads(paths.lock.read_bytes())["pid"] == process.pid
    assert lock.holder() is None
    assert lock.acquire()
    holder = lock.holder()
    assert holder["pid"] == os.getpid()
    lock.release()
    assert lock.holder() is None


def test_a_note_of_an_earlier_boot_or_of_a_reused_pid_is_not_believed(paths: StatePaths) -> None:
    with held(paths) as lock:
        note = lock.holder()
    for changed in ({"boot": "another"}, {"ticks": -1}, {"pid": 2**22 + 1}):
        paths.lock.write_text(json.dumps({**note, **changed}))
        assert StateLock(paths).holder() is None
    for garbage in ("", "[]", "{", '{"pid": "x"}'):
        paths.lock.write_text(garbage)
        assert StateLock(paths).holder() is None


def test_a_holder_in_another_pid_namespace_is_found_by_trying_the_lock(paths: StatePaths) -> None:
    with held(paths) as lock:
        assert lock.acquire()
        assert not StateLock(paths).acquire(), "two of one process exclude each other"
        note = lock.holder()
        paths.lock.write_text(json.dumps({**note, "pid": 2**22 + 1}))
        assert StateLock(paths).holder() == {**note, "pid": 2**22 + 1}


def test_a_child_does_not_inherit_the_lock(paths: StatePaths) -> None:
    with held(paths):
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
        )
    try:
        again = StateLock(paths)
        assert again.acquire()
        again.release()
    finally:
        child.communicate()


def test_a_blocking_wait_ends_when_the_holder_does(paths: StatePaths) -> None:
    process = started(paths)
    assert holds(process)
    waiter = started(paths, HOLD.replace("acquire(", "acquire(blocking=True"))
    assert waiter.poll() is None
    process.communicate()
    assert holds(waiter)
    waiter.communicate()


def test_the_lock_file_is_the_owners_alone(paths: StatePaths) -> None:
    previous = os.umask(0)
    try:
        with held(paths):
            assert paths.lock.stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(previous)
