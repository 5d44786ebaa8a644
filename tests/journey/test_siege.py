"""Hostile tasks beside honest ones in one session: the honest ones end as if alone, and the conductor answers throughout."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable

import pytest

from navigator.engine.acting import request
from navigator.engine.wire import NoConductor
from navigator.model.states import CheckOutcome, TaskState
from tests.journey.answers import answer, finding
from tests.journey.room import GOOD, Room, block, text_of
from tests.journey.scripted_models import Messages
from tests.journey.support import PATIENCE, why_left_out
from tests.sandbox.support import needs_sandbox

PASSED, FAILED = CheckOutcome.PASSED, CheckOutcome.FAILED
TESTS = {
    "nested folders": ("for _ in range(1500): os.mkdir('d'); os.chdir('d')", PASSED),
    "a stopped runner": ("os.kill(1, signal.SIGSTOP); os.kill(os.getpid(), signal.SIGSTOP)", FAILED),
}
"""What a hostile change has the project's tests do, and how they end."""
REVIEWS = {
    "many keys": json.dumps({f"k{number}": number for number in range(100_000)}),
    "long quotes": answer(*[finding(quote="a" * 400_000, hunk="H1")] * 4),
}


def hostile(messages: Messages, names: Iterable[str]) -> str:
    """Which of the hostile tasks the conversation is about; "" for an honest one."""
    return next((name for name in names if f"Hostile: {name}." in text_of(messages)), "")


def write(messages: Messages) -> str:
    if any(message["role"] == "assistant" for message in messages):
        return "NO_CHANGE: this is what was wanted"
    name = hostile(messages, TESTS)
    if not name:
        return GOOD
    head = "import os, signal, unittest\n\n\nclass Hostile(unittest.TestCase):\n    def test_it(self):\n"
    return GOOD + block("test_hostile.py", "", f"{head}        {TESTS[name][0]}\n")


def read(messages: Messages) -> str:
    return REVIEWS.get(hostile(messages, REVIEWS), answer())


def ended(room: Room, task: str) -> tuple[object, ...]:
    """What a developer sees of an honest task, apart from its name and how long it took."""
    proposal, tests = room.proposal(task), room.tests(task)
    assert proposal.review is not None
    left_out = why_left_out(room.read(), proposal.id)
    return (
        room.task(task).state,
        proposal.tree,
        tests.outcome,
        tests.detail,
        proposal.review.verdict,
        left_out,
    )


@pytest.mark.slow
@pytest.mark.sandbox
@needs_sandbox
def test_honest_tasks_beside_hostile_ones_end_as_if_alone(bare: Room) -> None:
    room = bare
    room.models.write, room.models.read = write, read
    room.settle(checks="timeout_seconds = 5\nmemory_mb = 512")
    room.add()
    desk = room.desk
    alone = room.queue("Honest, and alone")
    room.work()
    expected = ended(room, alone)
    assert expected[0] is TaskState.AWAITING_APPROVAL and expected[2] is PASSED

    bad = {name: room.queue(f"Hostile: {name}.") for name in (*TESTS, *REVIEWS)}
    honest = room.queue("Honest, beside them")
    over, silent = threading.Event(), []

    def ask() -> None:
        while not over.wait(0.2):
            try:
                request(room.paths.socket, "status", {}, timeout=PATIENCE)
            except NoConductor as error:
                # Not begun yet, ending, or ended; only an answer that does not come counts.
                silent.extend([error] if isinstance(error.__cause__, TimeoutError) else [])

    asker = threading.Thread(target=ask)
    asker.start()
    try:
        desk.run("run", "--until", "idle")
    finally:
        over.set()
        asker.join()
    assert ended(room, honest) == expected
    for name, task in bad.items():
        assert room.task(task).state is TaskState.AWAITING_APPROVAL, (name, room.task(task).reason)
    assert [room.tests(bad[name]).outcome for name in TESTS] == [outcome for _, outcome in TESTS.values()]
    assert not silent
    assert not list((room.paths.root / "checks").iterdir())
