"""What the review screen's head says of the reading itself: unread, in parts, turned round; and which findings decide nothing."""

from __future__ import annotations

from dataclasses import replace

from navigator.model.models import Finding, Project, Proposal, Review, Task
from navigator.model.states import Criterion, FindingKind, Severity, TaskState, Verdict
from navigator.tui.review.context import REMARK, ReviewContext, finding_notes
from navigator.tui.review.words import warning_lines
from tests.sheet.cards import CARD


def shown(review: Review) -> tuple[ReviewContext, Proposal]:
    proposal = Proposal(
        id="P2",
        task_id="T1",
        project_id=1,
        project="p",
        attempt=0,
        round=1,
        base_commit="b",
        tree="t",
        review=review,
    )
    task = Task(
        id="T1",
        project_id=1,
        project="p",
        text="x",
        state=TaskState.AWAITING_APPROVAL,
        created="",
        updated="",
    )
    card = replace(CARD, proposal="P2", verdict=review.verdict, stated=review.stated_verdict)
    project = Project(id=1, name="p", path="/p")
    return ReviewContext(task, project, (proposal,), facts={"P2": card}), proposal


def lines(review: Review, width: int = 120) -> list[str]:
    context, proposal = shown(review)
    return ["".join(text for text, _ in line) for line in warning_lines(context, proposal, (), width)]


def test_the_parts_and_the_stated_verdict_share_a_line() -> None:
    review = Review(verdict=Verdict.APPROVE, stated_verdict=Verdict.REVISE, parts=4)
    (line,) = lines(review, 160)
    assert line.startswith("the reviewer said REVISE, overruled: no blocker or major finding of it counts")
    assert line.endswith("   reviewed in 4 parts")


def test_why_it_was_not_reviewed_is_said() -> None:
    review = Review(
        verdict=Verdict.UNREVIEWED, summary="Too large to be reviewed whole: hunk H1\x1b[2J of a.py."
    )
    (line,) = lines(review)
    assert line.startswith("? unreviewed: Too large to be reviewed whole: hunk H1")
    assert "\x1b" not in line


def test_a_remark_says_that_it_decides_nothing() -> None:
    made = Finding(
        kind=FindingKind.WRONG,
        severity=Severity.MAJOR,
        criterion=Criterion.CORRECTNESS,
        message="m",
        anchored=True,
        remark=True,
    )
    context, proposal = shown(Review(verdict=Verdict.APPROVE, findings=(made,)))
    (note,) = finding_notes(context, proposal)
    assert note.remarks == (REMARK,)
