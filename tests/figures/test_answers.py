"""Is the reviewer worth it, and what does it cost: what the answers claim, and what they refuse."""

from __future__ import annotations

import pytest

from navigator.figures.cost import Cost, SwapTotals, WorkTotals, Yield
from navigator.figures.exam import ExamScore
from navigator.figures.pages import price, worth
from navigator.model.states import Role
from tests.figures.test_exam import answered, real, score


def asked(caught: int, missed: int, passed: int, objected: int, revise: int = 35) -> ExamScore:
    return score(answered(caught, caught + missed, passed, passed + objected), real(revise, 100 - revise))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (None, "Not measured yet. `navigator exam prepare` and `navigator exam run` try"),
        (asked(45, 5, 46, 4), "Yes. When this reviewer says REVISE it is right"),
        (asked(50, 50, 50, 50), "No. The exam finds this reviewer no better than chance"),
        (asked(2, 2, 2, 1), "Cannot tell yet."),
        (asked(60, 40, 60, 40, revise=43), "Partly"),
    ],
)
def test_whether_the_reviewer_is_worth_it(found: ExamScore | None, said: str) -> None:
    assert worth(found).startswith(said)


def spent(accepted: int) -> Cost:
    made = Yield(accepted=accepted, proposals=60, reviews=50)
    tokens = {"prompt_tokens": 900_000, "completion_tokens": 60_000}
    work = WorkTotals(role=Role.GENERATOR, work="write", calls=60, seconds=4000, busy_seconds=900.0, **tokens)
    return Cost(made, [work], SwapTotals(n=4, seconds=100.0))


def test_the_price_is_everything_spent_over_what_was_accepted_and_of_few_an_anecdote() -> None:
    found = price(spent(40))
    assert found == "An accepted change costs 24,000 tokens and 25 s of the GPU, 10% of it swaps."
    assert price(spent(4)).endswith("Anecdotal: 4 accepted.")
    none = price(spent(0))
    assert none.startswith("Nothing was accepted yet")
    nothing = price(Cost(Yield(), (), SwapTotals()))
    assert "navigator run" in nothing
