"""Experiments at swaps, simulated: false alarms when looked at after every residency, and how soon a difference is found.

    python benchmarks/experiment_simulation.py [RUNS]

Uses the code of `navigator stats experiments`. Reviews of one residency are alike: its rate is drawn from a beta distribution,
and the mean may drift. Beside it a test of the pooled counts, repeated after every residency, as one would do it by hand.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Sequence

from navigator.evidence.experiment import Unit, evidence_path, interval
from navigator.evidence.intervals import Z_95
from navigator.evidence.monitor import SHOWN_FROM

RESIDENCIES = 100


def residencies(
    rng: random.Random,
    rates: tuple[float, float],
    alike: float,
    size: int,
    drift: float,
    *,
    second: float = 0.5,
) -> list[Unit]:
    """One experiment's residencies.

    Args:
        rates: of both arms.
        alike: correlation of two reviews in one residency, 0 to 1.
        size: reviews of a residency: 1 to twice that, drawn.
        drift: points by which both rates rise from the first residency to the last.
    """
    made = []
    for number in range(RESIDENCIES):
        arm = rng.random() < second
        mean = min(0.97, max(0.03, rates[arm] + drift * (number / RESIDENCIES - 0.5)))
        rate = mean
        if alike:
            total = 1 / alike - 1
            rate = rng.betavariate(mean * total, (1 - mean) * total)
        n = rng.randint(1, 2 * size - 1)
        made.append(Unit(arm, sum(rng.random() < rate for _ in range(n)) / n, n))
    return made


def shown_at(units: Sequence[Unit]) -> int | None:
    """Residencies until the evidence is 20:1."""
    path = evidence_path(units, 0.5, rates=True)
    return next((at for at, log in enumerate(path, 1) if log >= math.log(SHOWN_FROM)), None)


def pooled_at(units: Sequence[Unit]) -> int | None:
    """Residencies until two pooled shares differ at 5 %, looked at after each from the tenth on."""
    k, n = [0.0, 0.0], [0, 0]
    for at, unit in enumerate(units, 1):
        k[unit.second] += unit.value * unit.n
        n[unit.second] += unit.n
        if at < 10 or not all(n):
            continue
        rate = sum(k) / sum(n)
        spread = math.sqrt(max(1e-9, rate * (1 - rate) * (1 / n[0] + 1 / n[1])))
        if abs(k[1] / n[1] - k[0] / n[0]) > Z_95 * spread:
            return at
    return None


def main() -> None:
    """Print both tables."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    rng = random.Random(7)
    print(
        f"no difference, {RESIDENCIES} residencies, {runs} runs: shown by the evidence / by the pooled test"
    )
    for rate, alike, size, drift in (
        (0.35, 0.0, 10, 0.0),
        (0.35, 0.1, 10, 0.0),
        (0.35, 0.3, 10, 0.0),
        (0.35, 0.1, 10, 0.4),
        (0.05, 0.1, 10, 0.0),
        (0.35, 0.1, 3, 0.0),
        (0.35, 0.1, 30, 0.0),
    ):
        drawn = [residencies(rng, (rate, rate), alike, size, drift) for _ in range(runs)]
        false = [sum(found(units) is not None for units in drawn) / runs for found in (shown_at, pooled_at)]
        print(
            f"  rate {rate:.0%}, alike {alike}, mean size {size}, drift {drift}: {false[0]:.1%} / {false[1]:.1%}"
        )
    print("a difference: shown within 100 residencies, and the median of residencies until then")
    for other, alike, size in (
        (0.15, 0.0, 10),
        (0.2, 0.0, 10),
        (0.25, 0.0, 10),
        (0.15, 0.1, 10),
        (0.2, 0.1, 10),
        (0.25, 0.1, 10),
        (0.2, 0.1, 30),
        (0.2, 0.3, 10),
    ):
        found = [shown_at(residencies(rng, (0.35, other), alike, size, 0.0)) for _ in range(runs)]
        times = sorted(math.inf if at is None else at for at in found)
        print(
            f"  35% to {other:.0%}, alike {alike}, mean size {size}: {sum(at is not None for at in found) / runs:.0%},"
            f" median {times[runs // 2]:g}"
        )
    few = max(20, runs // 20)
    held = 0
    for _ in range(few):
        low, high = interval(residencies(rng, (0.35, 0.2), 0.1, 10, 0.0), 0.5, rates=True)
        held += low is not None and high is not None and low <= -0.15 <= high
    print(f"the interval holds the difference at every residency: {held / few:.1%} of {few} runs")


if __name__ == "__main__":
    main()
