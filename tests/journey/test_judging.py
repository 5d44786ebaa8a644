"""What the developer says of findings: kept, shown, counted, and heeded when the reviewer says it again."""

from __future__ import annotations

from typing import Any

import pytest

from navigator.figures.intervals import share
from navigator.figures.page import PageQuestion, declared, document
from navigator.model.errors import NotFound
from navigator.model.records import Comment, JudgementCount
from navigator.model.states import Criterion, Judgement, Severity, Verdict
from navigator.sheet.writing import ENOUGH_JUDGED, comment_text, record_words
from tests.journey.answers import grounded
from tests.journey.room import Room, review_of
from tests.journey.scripted_models import approval, objection

NOTE = "\x1b[31m[bold]x is never a string[/bold]\n# heading"


@pytest.fixture
def room(room: Room) -> Room:
    """A reviewer that always objects, in other words each time."""
    said = iter(range(1_000))

    def read(messages: Any) -> str:
        finding = objection("return x * 2", severity="blocker", message=f"Objection {next(said)}.")
        return approval(findings=[finding], verdict="REVISE")

    room.models.read = read
    room.settle(batch="revisions = 0")
    return room


def test_what_was_judged_wrong_does_not_count_when_it_is_said_again(room: Room) -> None:
    first = room.done()
    assert review_of(first).verdict is Verdict.REVISE
    room.act("finding.judge", proposal=first.id, number=1, judgement="wrong", note=NOTE)
    assert review_of(room.proposals()[0]).verdict is Verdict.REVISE, "the developer's word changes no verdict"
    room.decide("send-back", first, note="Try again.")
    room.work()
    second = room.proposals()[-1]
    assert second.attempt == 1
    (finding,) = review_of(second).findings
    assert finding.message != review_of(first).findings[0].message
    assert finding.remark and finding.dismissed
    assert finding.judged is not None and finding.judged.note == NOTE
    assert review_of(second).verdict is Verdict.APPROVE
    assert review_of(second).stated_verdict is Verdict.REVISE
    # Only what was judged wrong loses its weight.
    other = room.done("Another")
    for judgement in ("wrong", "not_worth_it"):
        room.act("finding.judge", proposal=other.id, number=1, judgement=judgement)
    room.decide("send-back", other, note="Try again.")
    room.work()
    assert review_of(room.proposals()[-1]).verdict is Verdict.REVISE


def test_it_is_counted_once_and_can_be_taken_back(room: Room) -> None:
    proposal = room.done()
    for judgement in ("right", "wrong"):
        room.act("finding.judge", proposal=proposal.id, number=1, judgement=judgement)
    (counted,) = room.read().judgement_counts()
    assert (counted.judgement, counted.n, counted.project) == (Judgement.WRONG, 1, "code")
    every, *by = document(declared("reviewer")(room.read(), PageQuestion()))["judged"]["rows"]
    assert (every["right"]["k"], every["right"]["n"]) == (0, 1)
    assert [next(iter(row)) for row in by] == ["criterion", "severity", "project", "prompt"]
    room.act("finding.judge", proposal=proposal.id, number=1)
    assert room.read().judgement_counts() == []
    assert review_of(room.proposals()[0]).findings[0].judged is None
    said = [one.data["judgement"] for one in room.read().events(0) if one.kind == "finding_judged"]
    assert said == ["right", "wrong", ""]
    with pytest.raises(NotFound, match="has no finding 2; it has 1 finding"):
        room.act("finding.judge", proposal=proposal.id, number=2, judgement="right")


def counts(*rows: tuple[str, Severity, Criterion, Judgement, int]) -> list[JudgementCount]:
    return [
        JudgementCount(
            project=where, severity=severity, criterion=criterion, prompt_version="", judgement=word, n=n
        )
        for where, severity, criterion, word, n in rows
    ]


def test_the_record_is_that_of_the_narrowest_sort_with_enough_of_it() -> None:
    finding = grounded()
    right, wrong = Judgement.RIGHT, Judgement.WRONG
    major, minor, correct = Severity.MAJOR, Severity.MINOR, Criterion.CORRECTNESS
    few = counts(("a", major, correct, right, ENOUGH_JUDGED - 1))
    assert record_words(few, "a", finding) == ""
    low, high = (round(100 * bound) for bound in (share(3, 14).low, share(3, 14).high))
    here = counts(
        ("a", major, correct, right, 3), ("a", major, correct, wrong, 11), ("a", minor, correct, right, 9)
    )
    assert record_words(here, "a", finding) == f"like this, here: right in 3 of 14 [{low}–{high} %]"
    wider = counts(("a", minor, correct, right, 5))
    assert record_words(wider, "a", finding).startswith("on correctness, here: right in 5 of 5 ")
    assert record_words(wider, "b", finding).startswith("on correctness, in all projects: right in 5 of 5 ")
    assert record_words(counts(("a", major, Criterion.SAFETY, right, 9)), "a", finding) == ""


def test_a_comment_on_a_whole_file_names_no_line() -> None:
    where = {"id": 1, "task_id": "T1", "proposal_id": "P1", "path": "app.py", "created": ""}
    about = Comment(**where, line=0, text="Why is it here?")
    assert comment_text(about) == "app.py\n  Why is it here?"
    assert (
        comment_text(about.model_copy(update={"line": 3, "quote": " x = 1\n"}))
        == "app.py:3: x = 1\n  Why is it here?"
    )
