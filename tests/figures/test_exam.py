"""The exam's arithmetic: what is counted where, when a figure is refused, and how often its interval holds the truth."""

from __future__ import annotations

import random
from collections import Counter
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures import exam
from navigator.figures.exam import (
    CANNOT_TELL,
    CHANCE,
    WORTH_IT,
    ExamCount,
    ExamPair,
    ExamScore,
    difference,
    exam_scores,
    paired,
    prevalence,
    worth_words,
)
from navigator.figures.intervals import share
from navigator.figures.rates import VerdictCount
from navigator.model.states import ExamSource, Verdict

REVISE, APPROVE, UNREVIEWED = Verdict.REVISE, Verdict.APPROVE, Verdict.UNREVIEWED


def count(
    verdict: Verdict,
    n: int,
    *,
    source: ExamSource = ExamSource.REVERSED_FIX,
    faulty: bool = True,
    **fields: object,
) -> ExamCount:
    values = {"model": "m", "prompt_version": "v", "source": source, "faulty": faulty, "verdict": verdict}
    return ExamCount.model_validate(values | {"n": n} | fields)


def clean(verdict: Verdict, n: int, **fields: object) -> ExamCount:
    return count(verdict, n, source=ExamSource.CLEAN, faulty=False, **fields)


def answered(caught: int, of: int, passed: int, of_clean: int) -> list[ExamCount]:
    return [
        count(REVISE, caught),
        count(APPROVE, of - caught),
        clean(APPROVE, passed),
        clean(REVISE, of_clean - passed),
    ]


def real(revise: int, approve: int, **fields: object) -> list[VerdictCount]:
    base = {"group": "all", "model": "m", "prompt_version": "v", "self_review": False}
    return [
        VerdictCount.model_validate(base | {"verdict": verdict, "n": n} | fields)
        for verdict, n in ((REVISE, revise), (APPROVE, approve))
    ]


def score(counts: list[ExamCount], verdicts: list[VerdictCount] | None = None) -> ExamScore:
    (found,) = exam_scores(counts, verdicts or [])
    return found


def test_the_published_example() -> None:
    """R = .35 of 200, Se = .7, Sp = .8: 30 % are faulty, 60 % of REVISE is right."""
    found = score(answered(42, 60, 48, 60), real(70, 130))
    assert found.faulty_share.value == pytest.approx(0.3)
    assert found.genuine_share.value == pytest.approx(0.6)
    assert found.youden.value == pytest.approx(0.5)
    assert found.verdict == WORTH_IT
    assert worth_words(found).startswith(
        "When this reviewer says REVISE it is right about 60 % of the time ["
    )


def test_a_share_is_refused_where_the_interval_of_j_holds_0() -> None:
    found = score(answered(24, 60, 42, 60), real(70, 130))
    assert found.genuine_share is None
    assert found.faulty_share is None
    assert found.reason == "the reviewer may be no better than chance (J is between -0.07 and 0.26)"
    assert "cannot be told" not in worth_words(found)  # it is worse: no better than chance
    assert found.verdict == CHANCE


def test_one_that_is_better_than_chance_may_still_raise_nothing_but_false_alarms() -> None:
    """4 of 32 is less than the false alarms that a specificity of .82 gives by itself."""
    found = score(answered(19, 22, 18, 22), real(4, 28))
    assert (found.genuine_share.value, found.genuine_share.low) == (0.0, 0.0)
    assert found.verdict == CANNOT_TELL
    assert found.why.startswith(
        "Better than chance, but it says REVISE to your proposals no more often than to clean items ("
    )
    assert not found.no_better_than_chance


def test_shares_need_reviews_of_proposals() -> None:
    good = answered(18, 20, 18, 20)
    assert score(good).reason.startswith("there is no first review")
    assert score(good, real(0, 10)).reason == "it has not said REVISE to a proposal yet"
    # Another version, another model, the model's own work: not this reviewer's verdicts on others' work.
    for other in ({"prompt_version": "w"}, {"model": "n"}, {"self_review": True}):
        assert score(good, real(5, 5, **other)).reason.startswith("there is no first review")


@pytest.mark.parametrize(
    ("caught", "of", "passed", "of_clean", "verdict"),
    [
        (5, 10, 5, 10, CANNOT_TELL),  # chance, and too few to say so
        (8, 16, 8, 16, CHANCE),
        (7, 15, 12, 15, CANNOT_TELL),  # J = 0.27 [-0.08 to 0.55]: more items will tell
        (14, 16, 14, 16, WORTH_IT),
        (0, 20, 20, 20, CHANCE),  # it never objects
        (0, 6, 0, 6, CANNOT_TELL),  # worse than a coin, and too few to say so
        (2, 15, 2, 15, CHANCE),  # worse than a coin
        (3, 3, 0, 0, CANNOT_TELL),  # no clean items
    ],
)
def test_verdicts(caught: int, of: int, passed: int, of_clean: int, verdict: str) -> None:
    found = score(answered(caught, of, passed, of_clean))
    assert found.verdict == verdict
    assert found.no_better_than_chance is (verdict == CHANCE)


def test_unread_answers_count_beside_the_others() -> None:
    found = score([*answered(8, 10, 9, 10), count(UNREVIEWED, 3), clean(UNREVIEWED, 2)])
    assert (found.answers, found.unreviewed, found.decided) == (25, 5, 20)
    assert (found.specificity.k, found.specificity.n) == (9, 10)


def test_reviewers_are_never_pooled() -> None:
    rows = [
        count(REVISE, 5, newest="2026-01-01"),
        count(REVISE, 4, prompt_version="w", newest="2026-01-03"),
        count(REVISE, 3, model="n", newest="2026-01-02"),
    ]
    found = exam_scores(rows)
    assert [(one.model, one.prompt_version, one.answers) for one in found] == [
        ("m", "w", 4),
        ("n", "v", 3),
        ("m", "v", 5),
    ]


def test_sizes_and_places() -> None:
    rows = [
        count(REVISE, 18, size=0, placed=True, named=True),
        count(REVISE, 2, size=10, placed=True, named=False),
        count(APPROVE, 14, size=150, placed=True),
        count(REVISE, 1, size=50),
        clean(APPROVE, 10, size=0),
        clean(REVISE, 2, size=150),
    ]
    found = score(rows)
    sizes = {row.size: (row.sensitivity.k, row.sensitivity.n, row.specificity.n) for row in found.by_size}
    assert sizes == {"<10": (18, 18, 10), "10–49": (2, 2, 0), "50–149": (1, 1, 0), "≥150": (0, 14, 2)}
    assert (found.named.k, found.named.n) == (18, 20)


@given(st.integers(1, 40), *[st.integers(0, 40)] * 5)
def test_whatever_is_counted_the_figures_are_shares(
    revise: int, approve: int, caught: int, missed: int, passed: int, alarms: int
) -> None:
    found = score(
        [count(REVISE, caught), count(APPROVE, missed), clean(APPROVE, passed), clean(REVISE, alarms)],
        real(revise, approve),
    )
    for estimate in (found.faulty_share, found.genuine_share):
        if estimate is not None:
            assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    if found.youden is not None:
        assert -1 <= found.youden.low <= found.youden.value <= found.youden.high <= 1
        assert (found.genuine_share is not None) == (found.youden.low > 0)
    assert worth_words(found)


@pytest.mark.parametrize("items", [15, 60])
@pytest.mark.parametrize("se, sp", [(0.7, 0.8), (0.5, 0.5), (0.95, 0.98)])
def test_the_interval_of_j_covers_what_it_says(items: int, se: float, sp: float) -> None:
    """Exactly: over every outcome, with its probability."""
    held = 0.0
    for caught in range(items + 1):
        for alarms in range(items + 1):
            low, high = difference(caught, items, alarms, items)
            if low <= se + sp - 1 <= high:
                one = comb(items, caught) * se**caught * (1 - se) ** (items - caught)
                held += one * comb(items, alarms) * (1 - sp) ** alarms * sp ** (items - alarms)
    assert 0.944 <= held <= 0.985


def _drawn(rng: random.Random, n: int, share_of: float) -> int:
    return sum(rng.random() < share_of for _ in range(n))


def test_intervals_hold_the_truth_and_the_estimate_is_unbiased(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exam, "DRAWS", 300)
    n, items, faulty, se, sp = 100, 20, 0.35, 0.9, 0.95
    rng = random.Random(5)
    rate = faulty * se + (1 - faulty) * (1 - sp)
    right = se * faulty / rate
    held = {"faulty": 0, "genuine": 0}
    estimates = []
    for _ in range(200):
        revise, caught, passed = _drawn(rng, n, rate), _drawn(rng, items, se), _drawn(rng, items, sp)
        estimates.append((revise / n + passed / items - 1) / (caught / items + passed / items - 1))
        of_all, of_revise = prevalence(share(revise, n), share(caught, items), share(passed, items))
        held["faulty"] += of_all.low <= faulty <= of_all.high
        held["genuine"] += of_revise.low <= right <= of_revise.high
    # 200 tries: a true 95 % stays within 92 to 98 %; Jeffreys' intervals of few items are a little conservative.
    assert all(0.92 <= one / 200 <= 0.99 for one in held.values()), held
    assert sum(estimates) / 200 == pytest.approx(faulty, abs=0.03)


def pairs(rng: random.Random, n: int, first: float, second: float, shared: float) -> list[ExamPair]:
    """Verdicts of two readers of known skill on n faulty and n clean items; with `shared` the second says what the first says,
    where that leaves its rate as it is."""
    made: Counter[tuple[bool, Verdict, Verdict]] = Counter()
    for faulty in (True, False):
        right, other = (REVISE, APPROVE) if faulty else (APPROVE, REVISE)
        for _ in range(n):
            draw = rng.random()
            again = draw if rng.random() < shared else rng.random()
            made[faulty, right if draw < first else other, right if again < second else other] += 1
    return [
        ExamPair(model="r", prompt_version="v", faulty=faulty, first=one, second=two, n=count)
        for (faulty, one, two), count in made.items()
    ]


@pytest.mark.parametrize(("first", "second", "shared"), [(0.5, 0.5, 0.0), (0.85, 0.95, 0.7)])
def test_the_gain_of_a_second_model_is_covered_in_as_many_runs_as_it_says(
    first: float, second: float, shared: float
) -> None:
    rng, hits = random.Random(7), Counter[str]()
    for _ in range(200):
        found = paired(pairs(rng, 40, first, second, shared))
        for name, side in (("sensitivity", found.sensitivity), ("specificity", found.specificity)):
            hits[f"{name} gain"] += side.gain.low <= second - first <= side.gain.high
            hits[f"{name} first"] += side.first.low <= first <= side.first.high
            hits[f"{name} second"] += side.second.low <= second <= side.second.high
    # 95 %: of 200 runs, fewer than 181 happen by chance once in 1,000 times.
    assert min(hits.values()) >= 181, hits


def test_synthetic_cases_count_only_while_there_is_nothing_else() -> None:
    synthetic = ExamSource.SYNTHETIC
    alone = [count(REVISE, 12, source=synthetic), count(APPROVE, 12, source=synthetic, faulty=False)]
    (score,) = exam_scores(alone)
    assert "24 synthetic cases, which flatter every model" in worth_words(score)
    assert score.sensitivity.n == 12 and score.flattered
    (score,) = exam_scores([*alone, count(REVISE, 3)])
    assert score.sensitivity.n == 3 and not score.flattered
