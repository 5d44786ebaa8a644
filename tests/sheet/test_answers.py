"""Is the reviewer worth it, and what does it cost: what the answers claim, and what they refuse."""

from __future__ import annotations

import pytest

from navigator.figures.exam import ExamScore, exam_scores
from navigator.model.records import ExamCount, SwapTotals, VerdictCount, WorkTotals, Yield
from navigator.model.states import ExamSource, Role, Verdict
from navigator.sheet.statistics.cost import Cost
from navigator.sheet.statistics.pages import price, worth


def score(caught: int, missed: int, passed: int, objected: int, revise: int = 35, of: int = 100) -> ExamScore:
    def count(faulty: bool, said: Verdict, n: int) -> ExamCount:
        source = ExamSource.REVERSED_FIX if faulty else ExamSource.CLEAN
        return ExamCount(
            model="big", prompt_version="review@1", source=source, faulty=faulty, verdict=said, n=n
        )

    counts = [
        count(True, Verdict.REVISE, caught),
        count(True, Verdict.APPROVE, missed),
        count(False, Verdict.APPROVE, passed),
        count(False, Verdict.REVISE, objected),
    ]
    verdicts = [
        VerdictCount(model="big", prompt_version="review@1", verdict=said, n=n)
        for said, n in ((Verdict.REVISE, revise), (Verdict.APPROVE, of - revise))
    ]
    (found,) = exam_scores([row for row in counts if row.n], verdicts)
    return found


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "Not measured yet. `navigator exam prepare` and `navigator exam run` try"),
        (score(45, 5, 46, 4), "Yes. When this reviewer says REVISE it is right"),
        (score(50, 50, 50, 50), "No. The exam finds this reviewer no better than chance"),
        (score(2, 2, 2, 1), "Cannot tell yet."),
        (score(60, 40, 60, 40, revise=43), "Partly"),
    ],
)
def test_whether_the_reviewer_is_worth_it(found: ExamScore | None, said: str) -> None:
    assert worth(found).startswith(said)


def spent(accepted: int) -> Cost:
    made = Yield(accepted=accepted, proposals=60, reviews=50)
    work = [
        WorkTotals(
            role=Role.GENERATOR,
            work="write",
            calls=60,
            prompt_tokens=900_000,
            completion_tokens=60_000,
            seconds=4000,
            busy_seconds=900.0,
        )
    ]
    return Cost(made, work, SwapTotals(n=4, seconds=100.0))


def test_the_price_is_everything_spent_over_what_was_accepted_and_of_few_an_anecdote() -> None:
    found = price(spent(40))
    assert found == "An accepted change costs 24,000 tokens and 25 s of the GPU, 10% of it swaps."
    assert price(spent(4)).endswith("Anecdotal: 4 accepted.")
    none = price(spent(0))
    assert none.startswith("Nothing was accepted yet")
    nothing = price(Cost(Yield(), (), SwapTotals()))
    assert "navigator run" in nothing
