"""Tasks that attack the conductor beside honest ones: these end as if they were alone, and the conductor answers throughout."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from click.testing import CliRunner

from navigator.actions.wire import NoConductor, NotResponding, RemoteError
from navigator.cli.status import status
from navigator.engine.client import request
from navigator.journey.reviewing.grounding import read_review
from navigator.model.states import TaskState
from tests.journey.answers import answer, finding
from tests.journey.scripted_models import Messages, Models, speaking
from tests.journey.test_checks import CODE, GOOD, PASSED, Room, new_file
from tests.sandbox.support import needs_sandbox

RUNNER = (
    "import pathlib\nfor path in sorted(pathlib.Path('.').glob('evil_*.py')): exec(path.read_text())\n"
    "print('1 passed in 1s')\n"
)
"""The project's check: it runs what a change brings along, then passes."""

EVIL = {
    "one long line": "print('x' * 400_000)",
    "spaces": "print('FAILED a.b::' + ' ' * 400_000 + 'x')",
    "blank lines": "print('\\n' * 2_000_000)",
    "drawn over": "print('a\\r' * 1_000_000)",
    "deep folders": "import os\nfor _ in range(2000): os.mkdir('d'); os.chdir('d')\n",
}
HONEST = 4
DEEP_KEYS = "a." * 60_000 + "a = 1\n"


@pytest.fixture
def models() -> Iterator[Models]:
    with speaking(Models(write=write, read=read)) as served:
        yield served


@pytest.fixture
def room(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> Room:
    return Room(tmp_path, models, monkeypatch)


def _task(messages: Messages) -> str:
    return "\n".join(str(message["content"]) for message in messages)


def write(messages: Messages) -> str:
    said = _task(messages)
    for name, code in EVIL.items():
        if f"Evil: {name}" in said:
            return GOOD + new_file("evil_a.py", code + "\n")
    if "Evil: keys" in said:
        return GOOD + new_file("keys.toml", DEEP_KEYS)
    return GOOD


def read(messages: Messages) -> str:
    said = _task(messages)
    if "Evil: quotes" in said:
        return answer(*[finding(quote="a" * 200_000, hunk="H1") for _ in range(8)])
    if "Evil: braces" in said:
        return '{"' * 200_000
    return answer()


class Asker(threading.Thread):
    """Asks for the conductor's status over and over, and keeps how long each answer took."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.ended = path, threading.Event()
        self.took: list[float] = []

    def run(self) -> None:
        while not self.ended.wait(0.02):
            began = time.monotonic()
            try:
                request(self.path, "status", {}, timeout=60)
            except (NoConductor, RemoteError):  # not yet, or not any more
                continue
            self.took.append(time.monotonic() - began)


@pytest.mark.sandbox
@needs_sandbox
def test_honest_tasks_beside_hostile_ones_end_as_if_alone(room: Room) -> None:
    room.add({"app.py": CODE, "check.py": RUNNER}, check="python3 check.py")
    evil = [room.queue(f"Evil: {name}") for name in (*EVIL, "keys", "quotes", "braces")]
    honest = [room.queue(f"Honest {number}") for number in range(HONEST)]
    asker = Asker(room.paths.socket)
    asker.start()
    try:
        room.work()
    finally:
        asker.ended.set()
        asker.join()
    for task in honest:
        assert room.task(task).state is TaskState.AWAITING_APPROVAL
        assert room.tests(task).outcome is PASSED
    for task in evil:
        assert room.task(task).state in (TaskState.AWAITING_APPROVAL, TaskState.FAILED)
    # Before parsers were bounded, one such task held every answer up for minutes. The machine may be busy besides.
    assert len(asker.took) > 20
    late = [took for took in asker.took if took > 1.0]
    assert len(late) <= len(asker.took) // 20 and max(asker.took) < 5.0, sorted(asker.took)[-5:]


def test_a_review_of_very_many_braces_is_unreadable_at_once() -> None:
    from navigator.journey.reviewing.answer import UnreadableReview

    with pytest.raises(UnreadableReview):
        read_review('{"' * 200_000)


def test_a_stopped_conductor_is_told_from_an_absent_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    monkeypatch.setenv("NAVIGATOR_STATE", str(state))
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(tmp_path / "config.toml"))
    (tmp_path / "config.toml").write_text("")
    runner = CliRunner()
    assert "No conductor is running" in runner.invoke(status).output
    holding = (
        "import socket, time\nfrom navigator.config.paths import StatePaths\nfrom navigator.store.lock import StateLock\n"
        f"from pathlib import Path\npaths = StatePaths(Path({str(state)!r})).ensure()\nlock = StateLock(paths)\n"
        "assert lock.acquire()\nserver = socket.socket(socket.AF_UNIX)\nserver.bind(str(paths.socket))\nserver.listen()\n"
        "print('ready', flush=True)\ntime.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", holding], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None and process.stdout.readline() == b"ready\n"
            os.kill(process.pid, signal.SIGSTOP)
            said = runner.invoke(status)
            assert f"process {process.pid}) is running but not responding" in said.output
            assert said.exit_code == 0
        finally:
            process.kill()


def test_a_request_that_is_not_answered_is_not_an_absent_conductor(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "s"))
        server.listen()
        with pytest.raises(NotResponding):
            request(tmp_path / "s", "status", {}, timeout=0.1)


def test_a_conductor_that_too_many_wait_for_is_not_absent(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, ExitStack() as waiting:
        server.bind(str(tmp_path / "s"))
        server.listen(0)
        with pytest.raises(BlockingIOError):
            for _ in range(10):
                client = waiting.enter_context(socket.socket(socket.AF_UNIX))
                client.settimeout(5)
                client.connect(str(tmp_path / "s"))
        with pytest.raises(NotResponding):
            request(tmp_path / "s", "status", {}, timeout=5)
