"""A writer that looks before it writes: what it is shown, what is kept, where it ends, and what a restart does."""

from __future__ import annotations

from typing import Any

import pytest

from navigator.model.states import LookOutcome, Role, TaskState, Verdict
from tests.journey.room import Room, block, text_of
from tests.journey.scripted_models import Messages, approval, objection
from tests.records import calls_of

FAR = "".join(f"# line {n}\n" for n in range(1, 1500)) + "RATE = 2\n" + "# more\n" * 1500
FILES = {
    "lib/far.py": FAR,
    "lib/use.py": "from lib.far import RATE\n\n\ndef cost(x):\n    return RATE * x\n",
    ".env": "TOKEN=hunter2hunter2\n",
    "lib/keys.py": 'KEY = "' + "-----BEGIN RSA PRIVATE KEY-----" + '"\n',
}
CHANGE = block("lib/far.py", "RATE = 2\n", "RATE = 3\n")


def look(*lines: str) -> str:
    return "I want to see more.\n\n<<<<<<< LOOK\n" + "\n".join(lines) + "\n>>>>>>> LOOK\n"


def turns(messages: Messages) -> int:
    """How often the writer has looked in this conversation."""
    return sum("<<<<<<< LOOK" in message["content"] for message in messages if message["role"] == "assistant")


@pytest.fixture
def far(room: Room) -> Room:
    (room.repository / "lib").mkdir()
    room.commit(FILES)
    return room


def queue(room: Room, **fields: Any) -> str:
    return room.queue("Triple what things cost", files=[], **fields)


def test_what_it_asks_for_is_shown_in_the_same_conversation(far: Room) -> None:
    def write(messages: Messages) -> str:
        answers = (look("search ^RATE *.py", "uses RATE"), look("read lib/far.py:1600-1602"), CHANGE)
        return answers[turns(messages)]

    far.models.write = write
    task = queue(far)
    far.work()
    (proposal,) = far.proposals()
    assert (proposal.way, proposal.paths) == ("looking", ("lib/far.py",))
    first, second, third = far.models.written
    assert third[: len(second)] == second
    assert second[: len(first)] == first, "the prefix cache serves a longer conversation"
    assert "  1500| RATE = 2" in second[-1]["content"]
    assert "lib/use.py" in second[-1]["content"]
    assert "You may look 5 more times" in second[-1]["content"]
    kept = far.read().looks(task)
    assert [(one.turn, one.kind) for one in kept] == [(1, "search"), (1, "uses"), (2, "read")]
    assert {one.outcome for one in kept} == {LookOutcome.SHOWN} and kept[0].paths == ("lib/far.py",)
    assert sum(call.outcome == "looked" for call in calls_of(far.read(), task)) == 2
    assert not any(call.repeat for call in calls_of(far.read(), task))


def test_one_that_never_writes_is_stopped(far: Room) -> None:
    far.models.write = lambda messages: look(f"read lib/far.py:{len(messages)}-{len(messages) + 3}")
    task = queue(far)
    far.work()
    assert far.task(task).state is TaskState.FAILED
    assert "no look left" in far.task(task).reason
    calls = calls_of(far.read(), task)
    assert sum(call.outcome == "looked" for call in calls) == 6
    assert len(calls) < 15
    # Without looks none is offered.
    far.settle(generator="looks = 0")
    before = len(far.models.written)
    task = queue(far)
    far.work()
    assert "LOOK" not in far.models.written[before][0]["content"]
    assert (far.task(task).state, far.read().looks(task)) == (TaskState.FAILED, [])


def test_a_repair_and_a_revision_look_too_and_see_what_was_seen_before(far: Room) -> None:
    asked: list[Messages] = []

    def write(messages: Messages) -> str:
        asked.append(messages)
        last = messages[-1]["content"]
        if "Nothing was written" in last:
            return look("read lib/far.py:1499-1501")
        if "asks for a revision" in last:
            return look("read lib/use.py")
        if turns(messages) == 0:
            return look("search RATE")
        if turns(messages) == 1:
            return CHANGE.replace("RATE = 2", "RATE = 22")
        return CHANGE if turns(messages) == 2 else CHANGE.replace("RATE = 3", "RATE = 4")

    far.models.write = write
    rounds = iter([approval(findings=[objection("RATE = 3")], verdict="REVISE")])
    far.models.read = lambda messages: next(rounds, approval())
    task = queue(far)
    far.work()
    assert [(one.round, one.turn) for one in far.read().looks(task)] == [(0, 1), (0, 2), (1, 1)]
    newest = far.proposals()[-1]
    assert (newest.round, newest.way) == (1, "looking")
    assert turns(asked[-1]) == 3
    assert sum(call.outcome == "refused" for call in calls_of(far.read(), task)) == 1


def test_a_reviewer_may_look_at_the_proposed_tree_where_the_settings_say_so(far: Room) -> None:
    far.config.write_text(f"{far.models.settings}\n".replace("[swap]", "looks = 2\n[swap]"), encoding="utf-8")
    far.models.write = lambda messages: CHANGE
    far.models.read = lambda messages: approval() if turns(messages) else look("search RATE", "read .env")
    task = queue(far, complexity="simple")
    far.work()
    (proposal,) = far.proposals()
    assert proposal.review is not None
    assert proposal.review.verdict is Verdict.APPROVE
    first, second = far.models.read_by
    assert "look at the repository as it is with the change" in first[-1]["content"]
    assert "RATE = 3" in second[-1]["content"]
    assert "hunter2" not in text_of(second)
    assert [(one.role, one.turn) for one in far.read().looks(task)] == [(Role.REVIEWER, 1)] * 2
    assert proposal.way == "blocks", "the way is the writer's"
    purposes = [(call.purpose, call.outcome) for call in calls_of(far.read(), task)]
    assert purposes == [("generate", "ok"), ("review look", "looked"), ("review look", "ok")]
