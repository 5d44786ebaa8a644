"""Escalation: another reading of one proposal, by the reviewer or by a model on another machine, and what may leave for that."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from click.testing import CliRunner

from navigator.actions.deciding import Pinned
from navigator.actions.escalate import Escalate, EscalateArgs
from navigator.cli.main import cli
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.states import Escalation, TaskState, Verdict
from navigator.sheet.statistics.cost import read_costs
from tests.journey.room import Room, block
from tests.journey.scripted_models import READER, Models, Refusal, Said, approval, objection, speaking
from tests.journey.support import why_left_out


@dataclass
class Place:
    """A room whose final model is off unless something is escalated."""

    room: Room
    cloud: Models

    def escalate(self, proposal: str, **fields: Any) -> dict[str, Any]:
        return self.room.act("escalate", proposals=[{"id": proposal}], **fields)

    def state(self) -> TaskState:
        (task,) = self.room.read().tasks()
        return task.state


@pytest.fixture
def place(room: Room) -> Iterator[Place]:
    with speaking(Models(lambda messages: "", lambda messages: approval())) as cloud:
        room.settle(final=f'model = "{READER}"\nbase_url = "{cloud.url}"\nprice = [2, 10.0]')
        yield Place(room, cloud)


def test_a_second_reading_stands_beside_the_first_and_decides_nothing(place: Place) -> None:
    room, local = place.room, place.room.models
    room.queue()
    room.work()
    local.read = lambda messages: approval(findings=[objection("    return x * 2")], verdict="REVISE")
    assert place.escalate("P1")["proposals"][0]["again"]
    assert place.state() is TaskState.AWAITING_REVIEW
    with pytest.raises(Conflict, match="escalated already"):
        place.escalate("P1")
    place.escalate("P1", withdraw=True)
    assert place.state() is TaskState.AWAITING_APPROVAL
    with pytest.raises(Conflict, match="not escalated"):
        place.escalate("P1", withdraw=True)
    place.escalate("P1")
    room.work()
    (proposal,) = room.proposals()
    assert place.state() is TaskState.AWAITING_APPROVAL
    assert proposal.review is not None and proposal.first_review is not None
    assert (proposal.first_review.verdict, proposal.review.verdict) == (Verdict.APPROVE, Verdict.REVISE)
    assert room.task("T1").escalated is Escalation.NONE
    assert len(local.written) == 1  # its REVISE sends nothing back
    assert [row.verdict for row in room.read().verdict_counts()] == [Verdict.APPROVE]  # the first one counts
    # Asked until it approves: no batch takes that for an approval.
    local.read = lambda messages: approval()
    room.queue("Another", files=[])
    assert why_left_out(
        proposal.model_copy(update={"review": proposal.first_review, "first_review": proposal.review})
    )


def test_nothing_leaves_a_project_that_does_not_allow_it(place: Place) -> None:
    place.room.queue()
    place.room.work()
    with pytest.raises(Conflict, match="does not let"):
        place.escalate("P1", final=True)
    place.room.act("project.set", name="code", escalate=True)
    place.escalate("P1", final=True)
    # Taken back before it was sent: what is asked at the time of sending decides.
    place.room.act("project.set", name="code", escalate=False)
    place.room.work()
    (proposal,) = place.room.proposals()
    assert place.state() is TaskState.AWAITING_APPROVAL
    assert proposal.final_review is not None and proposal.final_review.verdict is Verdict.UNREVIEWED
    assert place.cloud.read_by == []


def test_the_final_model_reads_what_was_shown_and_its_price_is_counted(place: Place) -> None:
    room, cloud = place.room, place.cloud
    cloud.read = lambda messages: Said(approval(), usage=(3_000, 400))
    room.queue()
    room.work()
    room.act("project.set", name="code", escalate=True)
    args = EscalateArgs(proposals=(Pinned(id="P1"),), final=True)
    question = Escalate().question(room.read(), args)
    assert question is not None
    shown = "\n".join(question.lines)
    assert READER in shown and "app.py" in shown and place.cloud.url.removeprefix("http://") in shown
    row = place.escalate("P1", final=True)["proposals"][0]
    room.work()
    (sent,) = cloud.read_by
    assert row["characters"] == sum(len(message["content"]) for message in sent)
    assert f"{row['characters']:,} characters" in shown and list(row["files"]) == ["app.py"]
    (proposal,) = room.proposals()
    assert proposal.review is not None and proposal.final_review is not None
    assert proposal.final_review.price == pytest.approx((2 * 3_000 + 10 * 400) / 1e6)
    spent = read_costs(room.read(), "").made
    assert (spent.final_reviews, spent.final_price) == (1, proposal.final_review.price)
    assert place.state() is TaskState.AWAITING_APPROVAL


def test_a_final_model_that_does_not_answer_gives_the_proposal_back(place: Place) -> None:
    place.cloud.read = lambda messages: Refusal(401)
    place.room.queue()
    place.room.work()
    place.room.act("project.set", name="code", escalate=True)
    place.escalate("P1", final=True)
    place.room.work()
    (task,) = place.room.read().tasks()
    assert task.state is TaskState.AWAITING_APPROVAL and not task.escalated
    assert task.reason.startswith("The final model did not answer")


def test_without_a_terminal_nothing_is_sent_unless_it_is_said(place: Place) -> None:
    place.room.queue()
    place.room.work()
    place.room.act("project.set", name="code", escalate=True)
    done = CliRunner().invoke(cli, ["escalate", "P1", "--final"])
    assert isinstance(done.exception, NavigatorError) and "before you confirm" in str(done.exception)
    assert place.state() is TaskState.AWAITING_APPROVAL


@pytest.mark.parametrize("where", ["line", "name"])
def test_a_change_that_holds_a_secret_is_not_offered_to_it(place: Place, where: str) -> None:
    secret = "gh" + "p_" + "aZ3bY4cX5dW6eV7fU8gT9hS1iR2jQ3kP4lO5"
    new = f"key_{secret}_x.py" if where == "name" else "new.py"
    content = f"TOKEN = '{secret}'\n" if where == "line" else "x = 1\n"
    place.room.models.write = lambda messages: block(new, "", content)
    place.room.queue(files=[])
    place.room.work()
    place.room.act("project.set", name="code", escalate=True)
    with pytest.raises(Conflict, match="may not leave this machine") as refused:
        place.escalate("P1", final=True)
    assert secret not in str(refused.value)
    assert place.state() is TaskState.AWAITING_APPROVAL
