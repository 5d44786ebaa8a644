"""Two arms drawn at random for each residency, compared in a way that may be looked at after every residency.

The residency is the unit, not the review: reviews within one share prompts, projects and a day, and are alike. For each
residency in turn two predictions of its *arm* are compared, made from its outcome and the outcomes before: "the arm has
nothing to do with the outcome", which is the probability it was drawn with, and "the second arm lies higher by d". The product
of their ratios is the evidence for d. Whatever the outcomes are, if the arms do not matter the ratio has mean 1, because the
draw was ours: the product is a nonnegative martingale that starts at 1, and by Ville's inequality it ever reaches 20 with a
chance of at most 5 %. Nothing is assumed about how alike reviews in one residency are, how outcomes drift, or how many reviews
a residency has. Assumptions only decide how soon a difference is found: the prediction takes outcomes as normal about their
mean, with a variance within residencies and one between them that are estimated from the residencies so far. The mean over
several d, up and down, is again such a martingale (method of mixtures: Robbins 1970).

The interval holds all differences that, taken off the second arm, leave evidence below 20 throughout (test inversion). It
covers the difference at all times together with at least 95 %, if the arm moves each residency's outcome by the same amount.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.domain.experiment import SHARES, Experiment, ResidencyOutcome
from navigator.evidence.intervals import Share, share
from navigator.evidence.monitor import SHOWN_FROM

_EFFECTS = {True: (0.05, 0.1, 0.2, 0.4, 0.8, 1.6), False: (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)}
"""Differences that are looked for, up and down: in points of a share, or of the logarithm of a speed."""

_BETWEEN = {True: 0.01, False: 0.01}
"""Variance between residencies that is assumed before there are any, counted as `_PRIOR` residencies."""

_PRIOR = 2.0
_LEAST = 1e-4
_STEP = 0.01
_MOST = 30.0


def draw(seed: str, number: int, second: float) -> bool:
    """Whether residency `number` of an experiment gets the second arm: the same for the same seed, whenever it is asked.

    Args:
        second: the share of residencies that do.
    """
    digest = hashlib.sha256(f"{seed} {number}".encode()).digest()
    return int.from_bytes(digest[:8]) < second * 2**64


@dataclass(frozen=True, slots=True)
class Unit:
    """One residency: its arm, its outcome (a share, or the logarithm of a speed), and how many it was counted from."""

    second: bool
    value: float
    n: int


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One arm: its residencies, the share over all its reviews, or the geometric mean of its speeds."""

    arm: str
    residencies: int
    n: int
    rate: Share | None
    speed: float | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What an experiment says so far.

    Attributes:
        counted: residencies that are over and had an outcome.
        waiting: those that are over and come later, because proposals of an earlier one still wait for their verdict.
        difference: second arm less first: in points of a share (0.1 is 10 points), or as a share of the first arm's speed.
        low, high: the interval that holds at all times together; None where there is no difference to give.
        evidence: for any difference against none, now; `strongest` the most it ever was.
        decided_at: residencies it took to reach 20:1; None where it did not.
        over: it ends here undecided: as many residencies as were asked for.
    """

    arms: tuple[ArmFigures, ArmFigures]
    counted: int
    waiting: int
    difference: float | None
    low: float | None
    high: float | None
    evidence: float
    strongest: float
    decided_at: int | None
    over: bool


def compare(experiment: Experiment, rows: Sequence[ResidencyOutcome]) -> Comparison:
    """Compare the arms.

    Args:
        rows: residencies in the order of their numbers.
    """
    rates = experiment.outcome in SHARES
    settled, waiting = _settled(rows)
    units = [unit for row in settled if (unit := _unit(experiment, row, rates)) is not None]
    path = evidence_path(units, experiment.share, rates=rates)
    decided_at = next((at for at, log in enumerate(path, 1) if log >= math.log(SHOWN_FROM)), None)
    low, high = interval(units, experiment.share, rates=rates)
    arms = (_arm(experiment, 0, settled, rates), _arm(experiment, 1, settled, rates))
    return Comparison(
        arms=arms,
        counted=len(units),
        waiting=waiting,
        difference=_difference(arms, rates=rates),
        low=low if rates or low is None else math.expm1(low),
        high=high if rates or high is None else math.expm1(high),
        evidence=_exp(path[-1] if path else 0.0),
        strongest=_exp(max(path, default=0.0)),
        decided_at=decided_at,
        over=decided_at is None and len(settled) >= experiment.residencies,
    )


def _settled(rows: Sequence[ResidencyOutcome]) -> tuple[list[ResidencyOutcome], int]:
    """Residencies that are over and whose outcome is final, in order: what was once counted never changes."""
    ended = [row for row in rows if row.ended]
    first_open = next((place for place, row in enumerate(ended) if row.open), len(ended))
    return ended[:first_open], len(ended) - first_open


def _unit(experiment: Experiment, row: ResidencyOutcome, rates: bool) -> Unit | None:
    second = row.arm == experiment.arms[1]
    if rates:
        return Unit(second, row.hits / row.n, row.n) if row.n else None
    return Unit(second, math.log(row.value), row.n) if row.value > 0 else None


def _arm(experiment: Experiment, which: int, rows: Iterable[ResidencyOutcome], rates: bool) -> ArmFigures:
    mine = [row for row in rows if row.arm == experiment.arms[which]]
    n = sum(row.n for row in mine)
    if rates:
        counted = sum(row.n > 0 for row in mine)
        return ArmFigures(experiment.arms[which], counted, n, share(sum(row.hits for row in mine), n), None)
    logs = [math.log(row.value) for row in mine if row.value > 0]
    speed = math.exp(math.fsum(logs) / len(logs)) if logs else None
    return ArmFigures(experiment.arms[which], len(logs), n, None, speed)


def _difference(arms: tuple[ArmFigures, ArmFigures], *, rates: bool) -> float | None:
    if rates:
        first, second = (arm.rate.rate if arm.rate else None for arm in arms)
        return None if first is None or second is None else second - first
    slow, fast = (arm.speed for arm in arms)
    return None if slow is None or fast is None else fast / slow - 1


def evidence_path(units: Sequence[Unit], second: float, *, rates: bool, shift: float = 0.0) -> list[float]:
    """The logarithm of the evidence after each residency.

    Args:
        second: the chance with which a residency got the second arm.
        rates: values are shares; else logarithms of speeds.
        shift: a difference that is taken off the second arm first: its evidence is then against just that difference.
    """
    effects = [sign * size for size in _EFFECTS[rates] for sign in (1, -1)]
    logs = [0.0] * len(effects)
    path: list[float] = []
    seen = _Seen(rates)
    for unit in units:
        value = unit.value - shift if unit.second else unit.value
        centre, variance = seen.take(value, unit.n)
        for place, effect in enumerate(effects):
            # With equal variances the logarithm of the arms' odds is linear in the outcome, about the middle between their means.
            middle = centre + effect * (0.5 - second)
            slope = max(-_MOST, min(_MOST, effect * (value - middle) / variance))
            logs[place] += (slope if unit.second else 0.0) - math.log(1 - second + second * math.exp(slope))
        top = max(logs)
        path.append(top + math.log(math.fsum(math.exp(log - top) for log in logs) / len(logs)))
    return path


class _Seen:
    """Mean and variance of the outcomes so far, the present one included: the arm of the present one is not looked at."""

    def __init__(self, rates: bool) -> None:
        self._rates = rates
        self._values: list[tuple[float, int]] = []

    def take(self, value: float, n: int) -> tuple[float, float]:
        """Add an outcome; returns the centre and the variance of an outcome counted from `n`."""
        self._values.append((value, n))
        weight = float(sum(n for _, n in self._values)) if self._rates else float(len(self._values))
        total = (
            sum(value * n for value, n in self._values) if self._rates else sum(v for v, _ in self._values)
        )
        centre = total / weight
        within = 0.0
        if self._rates:
            rate = min(0.99, max(0.01, (total + 0.5) / (weight + 1)))
            within = rate * (1 - rate)
        beyond = sum((value - centre) ** 2 - within / n for value, n in self._values)
        assumed = _PRIOR * _BETWEEN[self._rates]
        between = max(_LEAST, (assumed + max(0.0, beyond)) / (_PRIOR + len(self._values)))
        return centre, between + within / n


def interval(units: Sequence[Unit], second: float, *, rates: bool) -> tuple[float | None, float | None]:
    """The differences that were never shown to be wrong: from the lowest to the highest, in steps of 0.01, rounded outwards."""
    if len({unit.second for unit in units}) < 2:
        return None, None
    limit, steps = math.log(SHOWN_FROM), round(1 / _STEP)
    kept = [
        step * _STEP
        for step in range(-steps, steps + 1)
        if max(evidence_path(units, second, rates=rates, shift=step * _STEP)) < limit
    ]
    if not kept:
        return None, None
    return max(-1.0, kept[0] - _STEP), min(1.0, kept[-1] + _STEP)


def _exp(logarithm: float) -> float:
    return math.exp(min(logarithm, 700.0))  # beyond that a float is infinite, which JSON does not know
