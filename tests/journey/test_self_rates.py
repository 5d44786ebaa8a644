"""What the page of the revise rate says where only the writer's own model reviewed, as under strategy `adapter`."""

from __future__ import annotations

import pytest

from navigator.figures.rates import RateTables, revise_rate
from navigator.model.records import VerdictCount
from navigator.model.states import Verdict
from navigator.model.text import plural
from navigator.sheet.statistics.revise_rate import PAGE, Rates


def test_self_reviews_have_a_rate_of_their_own_and_the_empty_one_says_why() -> None:
    counts = [
        VerdictCount(group="", verdict=verdict, stated_verdict=verdict, self_review=True, n=1)
        for verdict in (Verdict.REVISE, Verdict.APPROVE)
    ]
    found = Rates(
        whole=revise_rate(counts, whole=True),
        grouped=revise_rate(counts),
        weeks=RateTables(()),
        by="",
        existing=RateTables(()),
        own=revise_rate(counts, whole=True, own=True),
    )
    rate, own = PAGE.tables(found)
    assert (rate.rows, rate.empty) == ((), "no first-round verdict counts; not counted: 2 self-reviews")
    assert (own.title, own.rows[0].cells[0], own.rows[0].cells[2]) == ("SELF-REVIEWS", "50%", "2")


@pytest.mark.parametrize(
    ("count", "said"), [(0, "0 revisions"), (1, "1 revision"), (1200, "1,200 revisions")]
)
def test_one_thing_has_no_plural(count: int, said: str) -> None:
    assert plural(count, "revision") == said
