"""The monitor: the evidence is the ratio it claims to be, a fair bet, and raises few false alarms at any number of looks."""

from __future__ import annotations

import math
import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.figures.changes import SHOWN_FROM, watch

FORMER = st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
VERDICTS = st.lists(st.booleans(), max_size=120)


def beta(a: float, b: float) -> float:
    """The logarithm of the beta function."""
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


@given(FORMER, VERDICTS)
def test_the_evidence_is_a_ratio_of_two_beta_binomial_mixtures(
    former: tuple[int, int], verdicts: list[bool]
) -> None:
    """Computed at once from the counts, instead of verdict by verdict; the order of verdicts does not matter."""
    revise, n = former
    k, m = sum(verdicts), len(verdicts)
    a, b = 0.5 + revise, 0.5 + n - revise
    near = 4 * a / (a + b)
    other = beta(near + k, 4 - near + m - k) - beta(near, 4 - near)
    same = beta(a + k, b + m - k) - beta(a, b)
    found = watch(revise, n, verdicts)
    assert math.log(found.evidence) == pytest.approx(other - same, abs=1e-6)
    assert (found.revise, found.n) == (k, m)
    assert watch(revise, n, sorted(verdicts)).evidence == pytest.approx(found.evidence, rel=1e-6)


@given(FORMER, VERDICTS)
def test_while_the_rate_is_the_same_the_next_verdict_is_a_fair_bet(
    former: tuple[int, int], verdicts: list[bool]
) -> None:
    """What makes it safe to look at any time: the expected evidence after one more verdict is the evidence now."""
    revise, n = former
    chance = (0.5 + revise + sum(verdicts)) / (1 + n + len(verdicts))
    now, if_revise, if_not = (
        watch(revise, n, more).evidence for more in (verdicts, [*verdicts, True], [*verdicts, False])
    )
    assert chance * if_revise + (1 - chance) * if_not == pytest.approx(now)


def test_nothing_before_or_since_shows_nothing() -> None:
    nothing = watch(3, 10, [])
    assert (nothing.evidence, nothing.strongest, nothing.shown_at) == (1.0, 1.0, None)
    assert watch(0, 0, [True] * 500).shown_at is None


def test_what_was_shown_stays_shown() -> None:
    fallen = [False] * 40
    found = watch(40, 80, fallen)
    assert found.shown_at is not None and found.evidence == found.strongest >= SHOWN_FROM
    risen_again = watch(40, 80, [*fallen, *[True] * 40])
    assert risen_again.evidence < 1 < SHOWN_FROM <= risen_again.strongest
    assert risen_again.shown_at == found.shown_at


def test_overwhelming_evidence_is_still_a_number() -> None:
    assert math.isfinite(watch(0, 5000, [True] * 3000).evidence)


@pytest.mark.parametrize(("revise", "n"), [(-1, 3), (4, 3)])
def test_what_is_no_proportion_is_refused(revise: int, n: int) -> None:
    with pytest.raises(ValueError, match="no proportion"):
        watch(revise, n, [])


def alarms(seed: str, before: float, after: float, former: int, runs: int) -> list[float]:
    """At which of 600 verdicts a change was shown, in each run; infinity where it never was."""
    rng = random.Random(seed)
    found = []
    for _ in range(runs):
        revise = sum(rng.random() < before for _ in range(former))
        at = watch(revise, former, (rng.random() < after for _ in range(600))).shown_at
        found.append(math.inf if at is None else at)
    return found


@pytest.mark.parametrize("former", [20, 100, 300])
@pytest.mark.parametrize("rate", [0.1, 0.35, 0.8])
def test_few_false_alarms_with_a_look_after_each_of_600_verdicts(rate: float, former: int) -> None:
    shown = [at for at in alarms(f"{rate}/{former}", rate, rate, former, 400) if at < math.inf]
    assert len(shown) / 400 <= 0.05


@pytest.mark.parametrize(("former", "soonest", "latest"), [(100, 90, 240), (400, 50, 110), (2000, 50, 90)])
def test_a_fall_from_35_to_20_percent_is_seen(former: int, soonest: int, latest: int) -> None:
    """How soon depends on how well the former rate is known; benchmarks/evidence_simulation.py has the figures."""
    assert soonest <= statistics.median(alarms(f"{former}", 0.35, 0.20, former, 400)) <= latest


def test_a_prompt_changed_for_its_bad_luck_raises_no_more_false_alarms() -> None:
    """The former rate is too high more often than not when it is what made somebody change the prompt."""
    rng = random.Random(11)
    changed = false = 0
    while changed < 300:
        revise = 0
        for n in range(1, 301):
            revise += rng.random() < 0.35
            if n >= 20 and revise / n >= 0.45:
                changed += 1
                false += watch(revise, n, (rng.random() < 0.35 for _ in range(600))).shown_at is not None
                break
    assert false / changed <= 0.05
