"""What the statistics of the revise rate are worth, on simulated verdicts whose true rate is known.

    python benchmarks/evidence_simulation.py [--tiny | --full] [RUNS]

Every figure comes out of the code that the pages use: `revise_rate` for intervals, `newcombe` for differences, `watch` for
the monitor. Seeds are fixed; RUNS is per line, 2,000 with `--full`.
Aims: intervals hold the true rate in 94 to 97 of 100 cases, the monitor raises at most 5 false alarms in 100 when it is looked
at after each of 600 reviews. For delays there is no aim: they are what they are.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Iterator
from itertools import islice

from benchmarks.size import sized
from navigator.figures.changes import SHOWN_FROM, watch
from navigator.figures.compare import newcombe
from navigator.figures.rates import revise_rate
from navigator.model.records import VerdictCount
from navigator.model.states import Verdict

REVIEWS = 600
RATES = (0.05, 0.10, 0.20, 0.35, 0.50, 0.65, 0.80, 0.95)
FORMER = (5, 20, 50, 100, 300)


def drawn(rng: random.Random, n: int, rate: float) -> int:
    """How many of n verdicts are REVISE."""
    return sum(rng.random() < rate for _ in range(n))


def verdicts(rng: random.Random, rate: float) -> Iterator[bool]:
    """As many verdicts as the monitor is looked at."""
    return (rng.random() < rate for _ in range(REVIEWS))


def interval_coverage(rng: random.Random, n: int, runs: int) -> float:
    """How often the interval of a row of the revise rate holds the true rate, which lies anywhere from 10 to 65 %."""
    held = 0
    for _ in range(runs):
        rate = rng.uniform(0.10, 0.65)
        revise = drawn(rng, n, rate)
        counts = [
            VerdictCount(verdict=verdict, n=k)
            for verdict, k in ((Verdict.REVISE, revise), (Verdict.APPROVE, n - revise))
            if k
        ]
        (row,) = revise_rate(counts).rows
        held += row.low <= rate <= row.high
    return held / runs


def difference_coverage(rng: random.Random, n: int, runs: int) -> float:
    """How often Newcombe's interval holds the true difference of two rates, both anywhere from 10 to 65 %."""
    held = 0
    for _ in range(runs):
        one, other = rng.uniform(0.10, 0.65), rng.uniform(0.10, 0.65)
        low, high = newcombe(drawn(rng, n, one), n, drawn(rng, n, other), n)
        held += low <= one - other <= high
    return held / runs


def alarms(rng: random.Random, before: float, after: float, former: int, runs: int) -> list[int]:
    """The verdict at which the monitor first showed a change, of those runs in which it did."""
    shown = (watch(drawn(rng, former, before), former, verdicts(rng, after)).shown_at for _ in range(runs))
    return [at for at in shown if at is not None]


def alarms_after_a_bad_spell(rng: random.Random, rate: float, runs: int) -> float:
    """False alarms where the prompt is changed because the rate looks bad, and the change does nothing.

    It is changed as soon as 20 or more verdicts show at least 1.25 times the true rate, and not at all within 300 otherwise.
    Alarms are counted of the runs in which it was changed: the former rate is then too high more often than not.
    """
    changed = false = 0
    while changed < runs:
        revise = 0
        for n in range(1, 301):
            revise += rng.random() < rate
            if n >= 20 and revise / n >= 1.25 * rate:
                changed += 1
                false += watch(revise, n, verdicts(rng, rate)).shown_at is not None
                break
    return false / runs


def repeated_tests(rng: random.Random, rate: float, former: int, runs: int) -> float:
    """For comparison: false alarms of Newcombe's interval when it is looked at after every review from the tenth on."""
    false = 0
    for _ in range(runs):
        before, revise = drawn(rng, former, rate), 0
        for n, verdict in enumerate(islice(verdicts(rng, rate), REVIEWS), 1):
            revise += verdict
            if n >= 10:
                low, high = newcombe(revise, n, before, former)
                if not low <= 0 <= high:
                    false += 1
                    break
    return false / runs


def _tell(name: str, measure: Callable[[], object]) -> None:
    print(f"  {name:<58} {measure()}", flush=True)


def main() -> None:
    """Print one line per figure."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else sized(10, 200, 2000)
    print(
        f"SIMULATED VERDICTS, {runs:,} runs a line; the monitor is looked at after each of {REVIEWS} reviews"
    )
    print("95 % intervals: how often they hold the truth")
    for n in (30, 88, 200, 350):
        rng = random.Random(n)
        _tell(f"revise rate, n {n}", lambda n=n, rng=rng: f"{interval_coverage(rng, n, 5 * runs):.1%}")  # type: ignore[misc]
    for n in (30, 100):
        rng = random.Random(n)
        _tell(
            f"difference of two rates, n {n} each",
            lambda n=n, rng=rng: f"{difference_coverage(rng, n, 5 * runs):.1%}",  # type: ignore[misc]
        )
    print(f"monitor, false alarms ({SHOWN_FROM:.0f}:1 reached without a change)")
    print("  former verdicts:       " + "".join(f"{former:>8}" for former in FORMER))
    for rate in RATES:
        found = [
            len(alarms(random.Random(f"{rate}/{former}"), rate, rate, former, runs)) / runs
            for former in FORMER
        ]
        print(f"  rate {rate:<18.0%}" + "".join(f"{share:>8.1%}" for share in found), flush=True)
    rng = random.Random(5)
    _tell(
        "changed after a bad spell, rate 35 %",
        lambda: f"{alarms_after_a_bad_spell(rng, 0.35, runs // 2):.1%}",
    )
    _tell(
        "instead: Newcombe's interval after each review, 35 %, 100",
        lambda: f"{repeated_tests(rng, 0.35, 100, runs // 10):.1%}",
    )
    print("monitor, verdicts from a change of 35 % until it is shown")
    for after in (0.15, 0.20, 0.25):
        for former in (50, 100, 200, 400, 2000):
            found = alarms(random.Random(f"{after}/{former}"), 0.35, after, former, runs)
            half = sorted([*found, *[REVIEWS + 1] * (runs - len(found))])
            median = statistics.median_low(half)
            text = f"{median}" if median <= REVIEWS else f"more than {REVIEWS}"
            _tell(
                f"to {after:.0%}, {former:,} former verdicts",
                lambda text=text, found=found: (
                    f"median {text:<13} shown within {REVIEWS}: {len(found) / runs:.0%}"
                ),  # type: ignore[misc]
            )


if __name__ == "__main__":
    main()
