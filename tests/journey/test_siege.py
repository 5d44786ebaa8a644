"""Hostile tasks beside honest ones in one session: the honest ones end as if alone, and the conductor answers throughout.

`pytest -s` prints how long the conductor's answers to `status` took.
"""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from navigator.actions.wire import NoConductor, RemoteError
from navigator.engine.client import request
from navigator.model.states import CheckOutcome, TaskState
from tests.journey.answers import answer, finding
from tests.journey.scripted_models import Messages, Models, speaking
from tests.journey.support import Desk, why_left_out
from tests.journey.test_checks import GOOD, Room, new_file
from tests.sandbox.support import needs_sandbox

PASSED, FAILED = CheckOutcome.PASSED, CheckOutcome.FAILED
HONEST = 20
BOUND = 10.0
"""Seconds in which every `status` is answered, on a machine that is busy with other tests."""

LIMITS = "[checks]\ntimeout_seconds = 25\nmemory_mb = 512\n"
SHARED = "m = mmap.mmap(-1, 400 << 20); m.write(b'x' * (400 << 20))"

TESTS = {
    "a line of 200,000 characters": ("print('x' * 200_000)", PASSED),
    "8 MiB of one character": ("print('x' * (8 << 20))", FAILED),
    "1,500 nested folders": ("for _ in range(1500): os.mkdir('d'); os.chdir('d')", PASSED),
    "links that lead to themselves": (
        "os.symlink('a', 'b'); os.symlink('b', 'a'); os.symlink('.', 'c')",
        PASSED,
    ),
    "files without a name": (
        "for n in range(40): fd = os.open(str(n), 66); os.unlink(str(n)); os.posix_fallocate(fd, 0, 100 << 20)\n"
        "        time.sleep(60)",
        FAILED,
    ),
    "memory without a process": (
        "for n in range(60): fd = os.memfd_create('a'); [os.write(fd, b'x' * (1 << 20)) for _ in range(20)]\n"
        "        time.sleep(60)",
        FAILED,
    ),
    "memory that is shared": (f"os.fork(); {SHARED}; time.sleep(60)", FAILED),
    "success before the end": ("os._exit(0)", FAILED),
    "a runner that is stopped": (
        "os.kill(1, signal.SIGSTOP); os.kill(os.getppid(), signal.SIGSTOP); os.kill(os.getpid(), signal.SIGSTOP)",
        FAILED,
    ),
}
"""What a hostile change has the project's tests do, and what is to be said of them."""

REVIEWS = {
    "100,000 keys": json.dumps({f"k{number}": number for number in range(100_000)}),
    "a quote of 400 kB": answer(finding(quote="a" * 400_000, hunk="H1")),
    "200,000 braces": '{"' * 200_000,
}
"""What a hostile reviewer says."""


def asked(messages: Messages, names: Iterable[str]) -> str:
    """Which of the hostile tasks the conversation is about; "" for an honest one."""
    said = "\n".join(message["content"] for message in messages)
    return next((name for name in names if f"Hostile: {name}." in said), "")


def write(messages: Messages) -> str:
    if any(message["role"] == "assistant" for message in messages):
        return "NO_CHANGE: this is what was wanted"
    name = asked(messages, TESTS)
    if not name:
        return GOOD
    body, _ = TESTS[name]
    head = "import mmap, os, signal, time, unittest\n\n\nclass Hostile(unittest.TestCase):\n"
    return GOOD + new_file("test_hostile.py", f"{head}    def test_it(self):\n        {body}\n")


def read(messages: Messages) -> str:
    return REVIEWS.get(asked(messages, REVIEWS), answer())


@pytest.fixture
def models() -> Iterator[Models]:
    with speaking(Models(write=write, read=read)) as served:
        yield served


@pytest.fixture
def room(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> Room:
    made = Room(tmp_path, models, monkeypatch)
    made.config.write_text(models.settings + LIMITS, encoding="utf-8")
    return made


class Asker(threading.Thread):
    """Asks a conductor for its status over and over while it lives."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.ended = path, threading.Event()
        self.took: list[float] = []
        self.silent = 0

    def run(self) -> None:
        while not self.ended.wait(0.05):
            began = time.monotonic()
            try:
                request(self.path, "status", {}, timeout=BOUND)
            except RemoteError:
                pass  # "The conductor is ending." is an answer
            except NoConductor as error:
                # Not begun yet, or ended; only an answer that does not come counts.
                self.silent += isinstance(error.__cause__, TimeoutError)
                continue
            self.took.append(time.monotonic() - began)

    def told(self) -> str:
        """Median, 99th percentile and worst, in milliseconds."""
        cuts = statistics.quantiles(self.took, n=100)
        figures = [f"{1000 * seconds:.0f} ms" for seconds in (cuts[49], cuts[98], max(self.took))]
        return f"status: {len(self.took)} answers; median {figures[0]}, 99 % {figures[1]}, worst {figures[2]}"


def ended(room: Room, task: str) -> tuple[object, ...]:
    """All that a developer is told of an honest task, apart from its name and how long it took."""
    proposal = room.proposal(task)
    tests = room.tests(task)
    verdict = proposal.review.verdict if proposal.review is not None else None
    return room.task(task).state, proposal.tree, tests.outcome, tests.detail, verdict, why_left_out(proposal)


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(600)
@needs_sandbox
def test_honest_tasks_beside_hostile_ones_end_as_if_alone(room: Room) -> None:
    path = room.add()
    for name in ("loop", "node_modules", ".venv"):
        (path / name).symlink_to(name)
    desk = Desk(room.paths.root, room.config)
    alone = room.queue("Honest, and alone")
    desk.run("run", "--until", "idle")
    expected = ended(room, alone)
    assert expected[0] is TaskState.AWAITING_APPROVAL and expected[2] is PASSED

    hostile = {name: room.queue(f"Hostile: {name}.") for name in (*TESTS, *REVIEWS)}
    honest = [room.queue(f"Honest {number}") for number in range(HONEST)]
    asker = Asker(room.paths.socket)
    asker.start()
    began = time.monotonic()
    try:
        desk.run("run", "--until", "idle")
    finally:
        asker.ended.set()
        asker.join()
    print(
        f"{len(hostile)} hostile and {HONEST} honest tasks: {time.monotonic() - began:.0f} s; {asker.told()}"
    )

    assert [ended(room, task) for task in honest] == [expected] * HONEST
    for name, (_, outcome) in TESTS.items():
        assert room.tests(hostile[name]).outcome is outcome, (name, room.tests(hostile[name]))
    for name, task in hostile.items():
        assert room.task(task).state is TaskState.AWAITING_APPROVAL, (name, room.task(task).reason)
    assert asker.silent == 0 and max(asker.took) < BOUND

    # And the next start goes well: nothing was left that stops it.
    assert list((room.paths.root / "checks").iterdir()) == []
    after = room.queue("Honest, and afterwards")
    desk.run("run", "--until", "idle")
    assert ended(room, after) == expected
