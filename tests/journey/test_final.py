"""The optional final reading: a cloud model, on a server of its own here, reads what the reviewer is done with."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from navigator.model.states import TaskState, Verdict
from tests.journey.room import Room, block, edit, text_of
from tests.journey.scripted_models import READER, Models, approval, objection, speaking

KEY = "gh" + "p_" + "aZ3bY4cX5dW6eV7fU8gT9hS1iR2jQ3kP4lO5"


@pytest.fixture
def cloud(room: Room) -> Iterator[Models]:
    """The final model, which approves."""
    with speaking(Models(lambda messages: "", lambda messages: approval())) as cloud:
        room.settle(final=f'enabled = true\nmodel = "{READER}"\nbase_url = "{cloud.url}"')
        yield cloud


def test_the_final_model_reads_last_and_what_it_says_decides_nothing(
    room: Room, models: Models, cloud: Models
) -> None:
    cloud.read = lambda messages: approval(findings=[objection("    return x * 2")], verdict="REVISE")
    proposal = room.done()
    task = proposal.task_id
    assert proposal.review is not None and proposal.final_review is not None
    assert (proposal.review.verdict, proposal.final_review.verdict) == (Verdict.APPROVE, Verdict.REVISE)
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert (len(models.read_by), len(cloud.read_by), len(models.written)) == (1, 1, 1)
    # The revise rate is the reviewer's.
    assert [row.verdict for row in room.read().verdict_counts()] == [Verdict.APPROVE]


@pytest.mark.parametrize(("allowed", "pattern"), [(True, "*.py"), (False, "*.py"), (True, "auth/**")])
def test_what_touches_a_careful_path_is_read_last_where_it_may_leave(
    room: Room, models: Models, cloud: Models, allowed: bool, pattern: str
) -> None:
    """Without `enabled`: only that."""
    text = room.config.read_text(encoding="utf-8").replace("enabled = true\n", "")
    entry = f'[[project]]\npath = "{room.repository}"\nescalate = {str(allowed).lower()}\ncareful = ["{pattern}"]\n'
    room.config.write_text(f"{text}{entry}", encoding="utf-8")
    proposal = room.done()
    task = proposal.task_id
    sent = allowed and pattern == "*.py"
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert (proposal.final_review is not None) is sent and len(cloud.read_by) == sent


def test_only_what_the_reviewer_is_done_with_is_sent(room: Room, models: Models, cloud: Models) -> None:
    """A change that is revised is read once at its end, not once a round."""
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
    assert newest.final_review is not None
    assert len(cloud.read_by) == 1
    assert "return 2 * x" in text_of(cloud.read_by[0])


@pytest.mark.parametrize("where", ["the change", "a file of the name"])
def test_what_a_model_is_never_shown_does_not_leave_the_machine(
    room: Room, models: Models, cloud: Models, where: str
) -> None:
    """A key in the change itself is read by the reviewer here, marked for the developer, and sent to nobody else."""
    models.write = lambda messages: (
        edit(f'return x * 2  # token = "{KEY}"')
        if where == "the change"
        else block(".env", "", "TOKEN=1\n") + edit("x")
    )
    proposal = room.done()
    assert room.task(proposal.task_id).state is TaskState.AWAITING_APPROVAL
    assert proposal.review is not None and proposal.final_review is not None
    assert (len(models.read_by), cloud.read_by) == (1, [])
    assert proposal.final_review.verdict is Verdict.UNREVIEWED
    assert proposal.final_review.summary.startswith("Not sent to the final model. ")
    assert KEY not in proposal.final_review.summary


def test_an_unreachable_final_model_keeps_the_task_until_it_answers(
    room: Room, models: Models, cloud: Models
) -> None:
    text = room.config.read_text(encoding="utf-8")
    room.config.write_text(text.replace(cloud.url, "http://127.0.0.1:9"), encoding="utf-8")
    task = room.queue()
    document = room.work()
    assert room.task(task).state is TaskState.FINAL_REVIEW
    assert "final" in document["reason"]
    room.config.write_text(text, encoding="utf-8")
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    (proposal,) = room.proposals()
    assert proposal.final_review is not None
