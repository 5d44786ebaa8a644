"""Hostile tasks beside honest ones in one session: the honest ones end as if alone, and the conductor answers throughout."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from pathlib import Path

import pytest

from navigator.actions.wire import NoConductor
from navigator.engine.acting import request
from navigator.model.states import CheckOutcome, TaskState
from tests.journey.answers import answer, finding
from tests.journey.room import GOOD, Room, block, text_of
from tests.journey.scripted_models import Messages
from tests.journey.support import PATIENCE, why_left_out
from tests.sandbox.support import needs_sandbox

PASSED, FAILED = CheckOutcome.PASSED, CheckOutcome.FAILED
HONEST = 2
LIMITS = "timeout_seconds = 5\nmemory_mb = 512"
SHARED = "m = mmap.mmap(-1, 400 << 20); m.write(b'x' * (400 << 20))"

TESTS = {
    "1,500 nested folders": ("for _ in range(1500): os.mkdir('d'); os.chdir('d')", PASSED),
    "memory that is shared": (f"os.fork(); {SHARED}; time.sleep(60)", FAILED),
    "a runner that is stopped": (
        "os.kill(1, signal.SIGSTOP); os.kill(os.getppid(), signal.SIGSTOP); os.kill(os.getpid(), signal.SIGSTOP)",
        FAILED,
    ),
}
"""What a hostile change has the project's tests do, and what is to be said of them."""

REVIEWS = {
    "100,000 keys": json.dumps({f"k{number}": number for number in range(100_000)}),
    "quotes of 400 kB": answer(*[finding(quote="a" * 400_000, hunk="H1")] * 4),
}
"""What a hostile reviewer says."""


def asked(messages: Messages, names: Iterable[str]) -> str:
    """Which of the hostile tasks the conversation is about; "" for an honest one."""
    return next((name for name in names if f"Hostile: {name}." in text_of(messages)), "")


def write(messages: Messages) -> str:
    if any(message["role"] == "assistant" for message in messages):
        return "NO_CHANGE: this is what was wanted"
    name = asked(messages, TESTS)
    if not name:
        return GOOD
    body, _ = TESTS[name]
    head = "import mmap, os, signal, time, unittest\n\n\nclass Hostile(unittest.TestCase):\n"
    return GOOD + block("test_hostile.py", "", f"{head}    def test_it(self):\n        {body}\n")


def read(messages: Messages) -> str:
    return REVIEWS.get(asked(messages, REVIEWS), answer())


class Asker(threading.Thread):
    """Asks a conductor for its status over and over while it lives."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.ended = path, threading.Event()
        self.silent = 0

    def run(self) -> None:
        while not self.ended.wait(0.05):
            try:
                request(self.path, "status", {}, timeout=PATIENCE)
            except NoConductor as error:
                # Not begun yet, ending, or ended; only an answer that does not come counts.
                self.silent += isinstance(error.__cause__, TimeoutError)


def ended(room: Room, task: str) -> tuple[object, ...]:
    """All that a developer is told of an honest task, apart from its name and how long it took."""
    proposal = room.proposal(task)
    tests = room.tests(task)
    verdict = proposal.review.verdict if proposal.review is not None else None
    return (
        room.task(task).state,
        proposal.tree,
        tests.outcome,
        tests.detail,
        verdict,
        why_left_out(room.read(), proposal.id),
    )


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(600)
@needs_sandbox
def test_honest_tasks_beside_hostile_ones_end_as_if_alone(bare: Room) -> None:
    room = bare
    room.models.write, room.models.read = write, read
    room.settle(checks=LIMITS)
    path = room.add()
    for name in ("loop", "node_modules", ".venv"):
        (path / name).symlink_to(name)
    desk = room.desk
    alone = room.queue("Honest, and alone")
    room.work()
    expected = ended(room, alone)
    assert expected[0] is TaskState.AWAITING_APPROVAL and expected[2] is PASSED

    hostile = {name: room.queue(f"Hostile: {name}.") for name in (*TESTS, *REVIEWS)}
    honest = [room.queue(f"Honest {number}") for number in range(HONEST)]
    asker = Asker(room.paths.socket)
    asker.start()
    try:
        desk.run("run", "--until", "idle")
    finally:
        asker.ended.set()
        asker.join()

    assert [ended(room, task) for task in honest] == [expected] * HONEST
    for name, (_, outcome) in TESTS.items():
        assert room.tests(hostile[name]).outcome is outcome, (name, room.tests(hostile[name]))
    for name, task in hostile.items():
        assert room.task(task).state is TaskState.AWAITING_APPROVAL, (name, room.task(task).reason)
    assert asker.silent == 0

    # And the next start goes well: nothing was left that stops it.
    assert list((room.paths.root / "checks").iterdir()) == []
    after = room.queue("Honest, and afterwards")
    room.work()
    assert ended(room, after) == expected
