"""An agent in place of the model's answer, from a queued task to a commit."""

from __future__ import annotations

import asyncio
import threading

from navigator.actions.registry import perform
from navigator.config.settings import load_settings
from navigator.engine.conductor import Conductor
from navigator.journey.dependencies import Dependencies
from navigator.model.models import Proposal
from navigator.model.states import TaskState
from navigator.setup.doctor import try_agent
from tests.agents.conftest import object_first
from tests.agents.test_misbehaving import left
from tests.journey.room import Room
from tests.journey.scripted_models import Messages
from tests.journey.support import commits_of_proposals, git
from tests.records import calls_of


def test_the_edited_copy_becomes_a_proposal_and_lands(room: Room) -> None:
    task = room.queue("Make double() multiply ASK=3")
    session = room.work()
    (proposal,) = room.proposals()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL, room.task(task).reason
    assert (proposal.way, proposal.paths) == ("agent scripted 1.0", ("app.py",))
    assert proposal.summary == "I read the file.\n\nMultiplied instead of adding."
    (turn,) = room.read().agent_turns(task)
    assert (turn.outcome, turn.requests, turn.refused) == ("ok", 3, 0)
    calls = [call for call in calls_of(room.read(), task) if call.purpose == "agent"]
    assert [call.seq for call in calls] == [0, 1, 2]
    assert {(call.outcome, call.model) for call in calls} == {("ok", "scripted/writer")}
    assert session["calls"] == {"made": 4, "repeated": 0, "lost": 0, "running": 0}
    assert len(room.models.written) == 3
    room.decide("approve", proposal)
    room.work()
    assert len(commits_of_proposals(room.repository)) == 1
    assert room.task(task).state is TaskState.LANDED


def test_a_revision_is_a_new_session_that_is_told_everything(room: Room) -> None:
    object_first(room, 1)
    task = room.queue("Make double() multiply ASK=1")
    room.work()
    first, second = room.read().agent_turns(task)
    assert (first.round, first.purpose, second.round, second.purpose) == (0, "write", 1, "revise")
    (_, asked) = room.models.written
    assert "An earlier session changed code" in asked[0]["content"]
    (proposal,) = [one for one in room.proposals() if one.round == 1]
    assert proposal.way == "agent scripted 1.0"
    assert blob(room, proposal) == "def double(x):\n    return 2 * x"
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert list((room.paths.root / "agents").iterdir()) == []


def test_failing_tests_go_back_to_the_agent(room: Room) -> None:
    check = "python3 -B -c 'import app; assert app.double(3) == 6'"
    room.act("project.set", name="code", check=check)
    task = room.queue("Make double() multiply ASK=1 BEHAVE=clumsy")
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL, room.task(task).reason
    turns = room.read().agent_turns(task)
    assert [(turn.purpose, turn.outcome) for turn in turns] == [("write", "tests_failed"), ("tests", "ok")]
    (proposal,) = room.proposals()
    assert blob(room, proposal) == "def double(x):\n    return x * 2"
    assert [(one.name, one.outcome.value) for one in proposal.checks][-1] == ("tests", "passed")


def test_what_tools_leave_behind_is_no_part_of_the_change(room: Room) -> None:
    """The project has no `.gitignore`; the one that the agent wrote keeps a folder all the same."""
    task = room.queue("Make double() multiply ASK=0 BEHAVE=tests")
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL, room.task(task).reason
    (proposal,) = room.proposals()
    assert set(proposal.paths) == {"app.py", "mine/.gitignore", "mine/__pycache__/kept.txt"}


def test_doctor_starts_the_agent_and_asks_the_model_nothing(room: Room) -> None:
    assert asyncio.run(try_agent(load_settings(room.config))) == "scripted 1.0"
    assert room.models.written == [] and left(room) == []


def blob(room: Room, proposal: Proposal) -> str:
    return git(next(room.paths.private.glob("*.git")), "show", f"{proposal.tree}:app.py")


def test_a_cancelled_task_ends_its_agent_and_what_it_asked_for(room: Room) -> None:
    asked, answer = threading.Event(), threading.Event()

    def write(messages: Messages) -> str:
        asked.set()
        answer.wait(60)
        return "late"

    room.models.write = write
    task = room.queue("Make double() multiply ASK=2")

    async def meanwhile(world: Dependencies, conductor: Conductor) -> None:
        await asyncio.to_thread(asked.wait)
        await perform(world, "task.cancel", {"ids": [task]})

    try:
        room.work(meanwhile=meanwhile)
    finally:
        answer.set()
    assert room.task(task).state is TaskState.CANCELLED
    assert [turn.outcome for turn in room.read().agent_turns(task)] == ["lost"]
    (call,) = [call for call in calls_of(room.read(), task) if call.purpose == "agent"]
    assert (call.outcome, call.usage.completion_tokens) == ("cancelled", 0)
    assert left(room) == []
    assert room.proposals() == []
