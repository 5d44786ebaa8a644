"""An agent in place of the model's answer, from a queued task to a commit."""

from __future__ import annotations

from navigator.domain.states import TaskState
from tests.cascade.support import commits_of_proposals
from tests.cascade.test_conductor import Room


def test_the_edited_copy_becomes_a_proposal_and_lands(room: Room) -> None:
    task = room.queue("Make double() multiply ASK=3")
    session = room.work()
    (proposal,) = room.proposals()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL, room.task(task).reason
    assert (proposal.way, proposal.paths) == ("agent scripted 1.0", ("app.py",))
    assert proposal.summary == "I read the file.\n\nMultiplied instead of adding."
    (turn,) = room.read().agent_turns(task)
    assert (turn.outcome, turn.requests, turn.refused, turn.files_read) == ("ok", 3, 0, 1)
    assert turn.tools == {"read": 3}
    calls = [call for call in room.read().calls(task_id=task) if call.purpose == "agent"]
    assert [(call.seq, call.outcome, call.model) for call in calls] == [
        (number, "ok", "scripted/writer") for number in range(3)
    ]
    assert session["calls"] == {"made": 4, "repeated": 0, "lost": 0, "running": 0}
    assert len(room.models.written) == 3
    room.decide("approve", proposal)
    room.work()
    assert len(commits_of_proposals(room.repository)) == 1
    assert room.task(task).state is TaskState.LANDED
