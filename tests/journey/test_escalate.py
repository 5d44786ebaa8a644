"""Escalation: another reading of one proposal, by the reviewer or by a model on another machine, and what may leave for that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from navigator.actions.deciding import Pinned
from navigator.actions.escalate import Escalate
from navigator.cli.main import cli
from navigator.figures.queries import verdict_counts
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.states import Escalation, TaskState, Verdict
from tests.journey.room import Room, block, edit, text_of
from tests.journey.scripted_models import READER, Models, Refusal, Said, approval, objection, speaking

KEY = "gh" + "p_" + "aZ3bY4cX5dW6eV7fU8gT9hS1iR2jQ3kP4lO5"


@pytest.fixture
def cloud(room: Room) -> Iterator[Models]:
    """The final model, which approves; off unless something is escalated."""
    with speaking(Models(lambda messages: "", lambda messages: approval())) as cloud:
        room.settle(final=f'model = "{READER}"\nbase_url = "{cloud.url}"')
        yield cloud


@pytest.fixture
def always(room: Room, cloud: Models) -> Models:
    """It reads every change."""
    room.settle(final=f'enabled = true\nmodel = "{READER}"\nbase_url = "{cloud.url}"')
    return cloud


def escalate(room: Room, proposal: str = "P1", **fields: Any) -> dict[str, Any]:
    done = room.act("escalate", proposals=[{"id": proposal}], **fields)
    return dict(done["proposals"][0])


def test_a_second_reading_stands_beside_the_first_and_decides_nothing(room: Room, cloud: Models) -> None:
    local = room.models
    room.queue()
    room.work()
    local.read = lambda messages: approval(findings=[objection("    return x * 2")], verdict="REVISE")
    assert escalate(room)["again"]
    assert room.task("T1").state is TaskState.AWAITING_REVIEW
    with pytest.raises(Conflict, match="escalated already"):
        escalate(room)
    room.work()
    (proposal,) = room.proposals()
    assert room.task("T1").state is TaskState.AWAITING_APPROVAL
    assert proposal.review is not None and proposal.first_review is not None
    assert (proposal.first_review.verdict, proposal.review.verdict) == (Verdict.APPROVE, Verdict.REVISE)
    assert room.task("T1").escalated is Escalation.NONE
    assert len(local.written) == 1  # its REVISE sends nothing back
    assert [row.verdict for row in verdict_counts(room.read())] == [Verdict.APPROVE]  # the first one counts


def test_the_final_model_reads_what_was_shown_where_it_may(room: Room, cloud: Models) -> None:
    room.queue()
    room.work()
    with pytest.raises(Conflict, match="does not let"):
        escalate(room, final=True)
    room.act("project.set", name="code", escalate=True)
    # Without a terminal nothing is sent unless it is said.
    done = CliRunner().invoke(cli, ["escalate", "P1", "--final"])
    assert isinstance(done.exception, NavigatorError) and "no terminal to confirm at" in str(done.exception)
    assert room.task("T1").state is TaskState.AWAITING_APPROVAL
    # Taken back before it was sent: what is asked at the time of sending decides.
    escalate(room, final=True)
    room.act("project.set", name="code", escalate=False)
    room.work()
    (proposal,) = room.proposals()
    assert room.task("T1").state is TaskState.AWAITING_APPROVAL
    assert proposal.final_review is not None and proposal.final_review.verdict is Verdict.UNREVIEWED
    assert cloud.read_by == []
    # One that does not answer gives the proposal back.
    room.act("project.set", name="code", escalate=True)
    cloud.read = lambda messages: Refusal(401)
    escalate(room, final=True)
    room.work()
    (task,) = room.read().tasks()
    assert task.state is TaskState.AWAITING_APPROVAL and not task.escalated
    assert task.reason.startswith("The final model did not answer")
    cloud.read = lambda messages: Said(approval(), usage=(3_000, 400))
    question = Escalate(proposals=(Pinned(id="P1"),), final=True).question(room.read())
    assert question is not None
    shown = "\n".join(question.lines)
    assert READER in shown and "app.py" in shown and cloud.url.removeprefix("http://") in shown
    row = escalate(room, final=True)
    room.work()
    sent = cloud.read_by[-1]
    assert row["characters"] == sum(len(message["content"]) for message in sent)
    assert f"{row['characters']:,} characters" in shown and list(row["files"]) == ["app.py"]
    (proposal,) = room.proposals()
    assert proposal.review is not None and proposal.final_review is not None
    assert room.task("T1").state is TaskState.AWAITING_APPROVAL


def test_a_change_that_holds_a_secret_is_not_offered_to_it(room: Room, cloud: Models) -> None:
    """In a line, or in the name of a file."""
    room.models.write = lambda messages: (
        block(f"key_{KEY}_x.py", "", "x = 1\n")
        if "name" in text_of(messages[1:])
        else block("new.py", "", f"TOKEN = '{KEY}'\n")
    )
    for text in ("Line", "File of a name"):
        room.queue(text, files=[])
    room.work()
    room.act("project.set", name="code", escalate=True)
    for proposal in room.proposals():
        with pytest.raises(Conflict, match="may not leave this machine") as refused:
            escalate(room, proposal.id, final=True)
        assert KEY not in str(refused.value)
    assert {task.state for task in room.read().tasks()} == {TaskState.AWAITING_APPROVAL}


# The final reading of every change, or of what touches a careful path


@pytest.mark.parametrize(("allowed", "pattern"), [(False, "*.py"), (True, "auth/**")])
def test_a_careful_path_is_read_last(room: Room, cloud: Models, allowed: bool, pattern: str) -> None:
    """Without `enabled`: only that, and where it may leave."""
    text = room.config.read_text(encoding="utf-8")
    entry = f'[[project]]\npath = "{room.repository}"\nescalate = {str(allowed).lower()}\ncareful = ["{pattern}"]\n'
    room.config.write_text(f"{text}{entry}", encoding="utf-8")
    proposal = room.done()
    task = proposal.task_id
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert proposal.final_review is None and cloud.read_by == []
    # The same where it may leave and is touched.
    room.config.write_text(
        f"{text}{entry.replace('false', 'true').replace('auth/**', '*.py')}", encoding="utf-8"
    )
    assert room.done("Again").final_review is not None and len(cloud.read_by) == 1


def test_only_what_the_reviewer_is_done_with_is_sent(room: Room, models: Models, always: Models) -> None:
    """A change that is revised is read once at its end, not once a round; and what the final model says decides nothing."""
    always.read = lambda messages: approval(findings=[objection("    return 2 * x")], verdict="REVISE")
    models.read = lambda messages: (
        approval(findings=[objection("    return x * 2")], verdict="REVISE")
        if len(models.read_by) == 1
        else approval(addressed=[{"finding": 1, "met": True, "why": "It is gone."}])
    )
    models.write = lambda messages: edit("return x * 2" if len(models.written) == 1 else "return 2 * x")
    room.queue()
    room.work()
    newest = room.proposals()[-1]
    assert newest.round == 1
    assert newest.review is not None and newest.final_review is not None
    assert (newest.review.verdict, newest.final_review.verdict) == (Verdict.APPROVE, Verdict.REVISE)
    assert room.task(newest.task_id).state is TaskState.AWAITING_APPROVAL
    assert (len(models.read_by), len(always.read_by), len(models.written)) == (2, 1, 2)
    # The revise rate is the reviewer's.
    assert [row.verdict for row in verdict_counts(room.read())] == [Verdict.REVISE]
    assert "return 2 * x" in text_of(always.read_by[0])


def test_what_no_model_is_shown_does_not_leave_the_machine(room: Room, always: Models) -> None:
    """A key in the change itself is read by the reviewer here, marked for the developer, and sent to nobody else."""
    room.models.write = lambda messages: (
        block(".env", "", "TOKEN=1\n") + edit("x")
        if "withheld" in text_of(messages[1:])
        else edit(f'return x * 2  # token = "{KEY}"')
    )
    for text in ("Write a key", "Write a withheld file"):
        room.queue(text)
    room.work()
    assert (len(room.models.read_by), always.read_by) == (2, [])
    for proposal in room.proposals():
        assert room.task(proposal.task_id).state is TaskState.AWAITING_APPROVAL
        assert proposal.review is not None and proposal.final_review is not None
        assert proposal.final_review.verdict is Verdict.UNREVIEWED
        assert proposal.final_review.summary.startswith("Not sent to the final model. ")
        assert KEY not in proposal.final_review.summary


def test_an_unreachable_final_model_keeps_the_task(room: Room, always: Models) -> None:
    text = room.config.read_text(encoding="utf-8")
    room.config.write_text(text.replace(always.url, "http://127.0.0.1:9"), encoding="utf-8")
    task = room.queue()
    document = room.work()
    assert room.task(task).state is TaskState.FINAL_REVIEW
    assert "final" in document["reason"]
    room.config.write_text(text, encoding="utf-8")
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    (proposal,) = room.proposals()
    assert proposal.final_review is not None
