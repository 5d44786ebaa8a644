"""The three answers: what they claim, what they refuse, and that each figure is one that was counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from navigator.figures.changes import VersionChange, Watched, watch
from navigator.figures.cost import Cost, cost
from navigator.figures.exam import ExamScore, exam_scores
from navigator.figures.intervals import Durations
from navigator.figures.outcomes import outcomes, revisions
from navigator.figures.rates import RateRow, revise_rate
from navigator.figures.reproductions import finding_tests
from navigator.figures.swaps import RoundTrip
from navigator.model.exam import ExamCount
from navigator.model.outcomes import SwapTotals, WorkTotals, Yield
from navigator.model.records import CallTotals, DecisionCount, VerdictCount, VersionCount
from navigator.model.states import DecisionKind, ExamSource, Role, Verdict
from navigator.sheet.statistics.summary import SummaryAnswer, better, price, worth

NO_REVISION = revisions(())
NO_TEST = finding_tests((), ())


def score(caught: int, missed: int, passed: int, objected: int, revise: int = 35, of: int = 100) -> ExamScore:
    def count(faulty: bool, said: Verdict, n: int) -> ExamCount:
        source = ExamSource.REVERSED_FIX if faulty else ExamSource.CLEAN
        return ExamCount(
            model="big",
            prompt_version="review@1",
            source=source,
            faulty=faulty,
            verdict=said,
            n=n,
            tokens=0,
            seconds=0,
            newest="2026-11-20T00:00:00.000Z",
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


def decided(*rows: tuple[Verdict, DecisionKind, int]) -> SummaryAnswer:
    counts = [DecisionCount(verdict=verdict, decision=kind, n=n) for verdict, kind, n in rows]
    return worth(None, outcomes((), counts), NO_REVISION, NO_TEST)


def test_without_an_exam_it_is_not_measured_and_the_commands_are_named() -> None:
    found = decided((Verdict.APPROVE, DecisionKind.REJECT, 3), (Verdict.APPROVE, DecisionKind.APPROVE, 58))
    assert not found.known and "Not measured yet" in found.sentence
    assert "navigator exam prepare" in found.sentence and "navigator exam run" in found.sentence
    figure = found.figures["rejected_after_approve"]
    assert (figure.value, figure.n, figure.source) == (3 / 61, 61, "outcomes")


@pytest.mark.parametrize(
    ("found", "known", "said"),
    [
        (score(45, 5, 46, 4), True, "Yes. When this reviewer says REVISE it is right"),
        (score(50, 50, 50, 50), True, "No. The exam finds this reviewer no better than chance"),
        (score(2, 2, 2, 1), False, "Cannot tell yet."),
        (score(60, 40, 60, 40, revise=43), True, "Partly"),
    ],
)
def test_whether_the_reviewer_is_worth_it(found: ExamScore, known: bool, said: str) -> None:
    answer = worth(found, outcomes((), ()), NO_REVISION, NO_TEST)
    assert answer.known is known and answer.sentence.startswith(said)
    if said.startswith("Yes"):
        caught, j = (answer.figures[name] for name in ("known_faults_caught", "better_than_chance"))
        assert (caught.value, caught.n, caught.source) == (0.9, 50, "reviewer")
        assert caught.low is not None and caught.high is not None and caught.low < 0.9 < caught.high
        assert j.value == pytest.approx(0.82) and j.low is not None and j.low > 0
    assert ("revise_that_is_right" in answer.figures) is (said[:3] in ("Yes", "Par"))


def changed(before: tuple[int, int], since: Sequence[bool], **versions: str) -> Watched:
    old = VersionCount(
        writer_model="small",
        writer_prompt="generate@1",
        way="blocks",
        model="big",
        prompt_version="review@1",
        first="2026-10-01T00:00:00.000Z",
        last="2026-10-20T00:00:00.000Z",
    )
    new = old.model_copy(
        update={"first": "2026-11-03T00:00:00.000Z", "last": "2026-11-20T00:00:00.000Z", **versions}
    )
    change = VersionChange(new, old, back=False, since=new.first)
    return Watched(change, *before, watch(*before, since))


@pytest.mark.parametrize(
    ("before", "since", "versions", "known", "said"),
    [
        ((90, 200), [False] * 60, "writer_prompt", True, "Yes. The revise rate fell from 45%"),
        ((40, 200), [True] * 40, "writer_prompt", True, "No. The revise rate rose from 20%"),
        ((90, 200), [True, False], "writer_prompt", False, "No change of the revise rate is shown since x@2"),
        (
            (90, 200),
            [False] * 60,
            "prompt_version",
            False,
            "Cannot tell: the reviewer itself changed with x@2",
        ),
    ],
)
def test_whether_it_became_better(
    before: tuple[int, int], since: list[bool], versions: str, known: bool, said: str
) -> None:
    found = better([changed(before, since, **{versions: "x@2"})], ())
    assert found.known is known and found.sentence.startswith(said)
    if said.startswith("Yes"):
        rate = found.figures["revise_rate_since"]
        assert "x@2 (Nov 3)" in found.sentence and (rate.value, rate.n) == (0.0, 60)


def weeks(*counts: tuple[int, int]) -> tuple[RateRow, ...]:
    rows = [
        VerdictCount(group=f"2026-{number // 4 + 1:02}-{number % 4 * 7 + 1:02}", verdict=verdict, n=n)
        for number, (revise, approve) in enumerate(counts)
        for verdict, n in ((Verdict.REVISE, revise), (Verdict.APPROVE, approve))
        if n
    ]
    return revise_rate(rows).rows


@pytest.mark.parametrize(
    ("counts", "start", "known"),
    [
        ([(20, 20)] * 4 + [(4, 36)] * 4, "Yes.", True),
        ([(4, 36)] * 4 + [(20, 20)] * 4, "No.", True),
        ([(14, 26)] * 8, "No change of the revise rate is shown", False),
        ([(14, 26)] * 4, "Cannot tell yet: the newest 4 weeks have 160 verdicts and those before 0", False),
        ([], "Cannot tell yet", False),
    ],
)
def test_without_a_change_the_newest_weeks_are_compared(
    counts: list[tuple[int, int]], start: str, known: bool
) -> None:
    found = better((), weeks(*counts))
    assert found.known is known and found.sentence.startswith(start)


def spent(accepted: int) -> Cost:
    made = Yield(accepted=accepted, proposals=60, reviews=50)
    work = [
        WorkTotals(
            role=Role.GENERATOR, work="write", calls=60, prompt_tokens=900_000, completion_tokens=60_000
        )
    ]
    calls = [CallTotals(role=Role.GENERATOR, model="small", calls=60, seconds=4000, busy_seconds=900.0)]
    return cost(made, work, calls, SwapTotals(n=4, seconds=100.0))


def test_the_price_is_everything_spent_over_what_was_accepted() -> None:
    found = price(spent(40))
    assert found.known
    assert found.sentence == "An accepted change costs 24,000 tokens and 25 s of the GPU, 10% of it swaps."
    assert found.figures["seconds_per_accepted_change"].value == 25.0
    assert found.figures["swap_share_of_time"].n == 4


def test_the_round_trip_is_that_of_the_strategy_with_most() -> None:
    few, many = (
        RoundTrip(name, Durations(n=n, mean=median, median=median, p95=median), {})
        for name, n, median in (("sleep", 3, 4.0), ("systemd", 9, 75.4))
    )
    figure = price(spent(40), [few, many]).figures["swap_round_trip_median"]
    assert (figure.value, figure.n, figure.unit) == (75.4, 9, "s")


def test_a_price_of_few_is_an_anecdote_and_of_none_is_not_told() -> None:
    assert price(spent(4)).sentence.endswith("Anecdotal: 4 accepted.")
    none = price(spent(0))
    assert not none.known and none.sentence.startswith("Nothing was accepted yet")
    nothing = price(
        replace(
            spent(0),
            model_time=replace(spent(0).model_time, total=0.0),
            swaps=cost(Yield(), (), (), SwapTotals()).swaps,
        )
    )
    assert not nothing.known and "navigator run" in nothing.sentence
