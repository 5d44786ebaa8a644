"""The scheduler against its opponents on random workloads: ratio to the optimum (few tasks) or to a lower bound (many).

Nothing is measured: a virtual clock, with the speeds and swaps of `docs/timing-model.md`. Reference: the bound of each workload.

    python -m benchmarks.policy [WORKLOADS]

The tables are printed at the end; 200 workloads take about eight minutes of processor time. What is under way is on stderr.
"""

from __future__ import annotations

import random
import statistics
import sys
from collections import defaultdict
from dataclasses import replace

from navigator.domain.snapshot import BatchRules
from navigator.scheduling.simulator.bounds import bound, lower_bound
from navigator.scheduling.simulator.policies import contenders
from navigator.scheduling.simulator.scenario import ARRIVALS, PUBLISHED, Scenario, workload
from navigator.scheduling.simulator.session import simulate

WORKLOADS = 200
SESSION = 701.0


def drawn(number: int) -> Scenario:
    """A random scenario; every other one small enough for the exact optimum."""
    rng = random.Random(number)
    swap_in = rng.choice((4.0, 15.0, 42.7, 90.0))
    scenario = Scenario(
        name=f"workload {number}",
        tasks=rng.choice((2, 3, 4)) if number % 2 else rng.randrange(10, 120),
        arrivals=rng.choice(ARRIVALS),
        hours=rng.choice((0.2, 0.5, 2.0, 8.0)),
        revise_rate=rng.choice((0.0, 0.2, 0.35, 0.6)),
        check_seconds=rng.choice((0.0, 5.0, 60.0)),
        spread=rng.choice((0.0, 0.5, 1.0)),
        swap_in=swap_in,
        swap_back=0.77 * swap_in,
        seed=number,
    )
    return replace(scenario, arrivals="at once") if number % 10 == 0 else scenario


def published_session() -> None:
    """The published batch beside its 701 s, with more streams, revisions and prompts."""
    print(
        f"The published batch against its {SESSION:.0f} s. Prompts are not counted there; here in the last column."
    )
    print(
        f"{'swaps':14} {'streams':>7} {'revise rate':>11} {'seconds':>8} {'ratio':>6} {'bound':>6} {'to bound':>8}"
        f" {'with prompts':>12}"
    )
    for name, (there, back) in {"42.7 / 32.7 s": (42.7, 32.7), "5 / 4 s (sleep)": (5.0, 4.0)}.items():
        for streams in (1, 8, 16, 30):
            for rate in (0.0, 0.35):
                scenario = replace(
                    PUBLISHED, swap_in=there, swap_back=back, streams=(streams, streams), revise_rate=rate
                )
                spans = [
                    simulate(
                        one, workload(one), contenders(BatchRules())[0].policy, BatchRules(), "idle"
                    ).makespan
                    for one in (
                        scenario,
                        replace(scenario, prompt_tokens=8000.0, review_prompt_tokens=6000.0),
                    )
                ]
                least = lower_bound(scenario, workload(scenario)).makespan
                print(
                    f"{name:14} {streams:7} {rate:11.2f} {spans[0]:8.0f} {spans[0] / SESSION:6.2f}"
                    f" {least / SESSION:6.2f}"
                    f" {spans[0] / least:8.3f} {spans[1] / SESSION:12.2f}"
                )


def main() -> None:
    """Print mean and worst ratios by policy and kind of bound, then the published batch."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else WORKLOADS
    found: defaultdict[tuple[str, str], list[tuple[float, float, int]]] = defaultdict(list)
    for number in range(count):
        print(f"workload {number + 1} of {count}", end="\r", file=sys.stderr, flush=True)
        scenario = drawn(number)
        jobs = workload(scenario)
        least = bound(scenario, jobs, sessions=1500)
        for contender in contenders(BatchRules()):
            outcome = simulate(scenario, jobs, contender.policy, contender.rules)
            ratios = (outcome.makespan / least.makespan, outcome.mean_wait / least.mean_wait, outcome.swaps)
            found[least.kind, contender.name].append(ratios)
    print(
        f"{count} random workloads, simulated. Ratios to the bound of the same workload; swaps per workload."
    )
    print(
        f"{'bound':12} {'policy':13} {'n':>4} {'makespan':>9} {'worst':>7} {'wait':>7} {'worst':>7} {'swaps':>7}"
    )
    for (kind, name), rows in sorted(found.items()):
        spans, waits, swaps = zip(*rows, strict=True)
        print(
            f"{kind:12} {name:13} {len(rows):4} {statistics.fmean(spans):9.2f} {max(spans):7.2f}"
            f" {statistics.fmean(waits):7.2f} {max(waits):7.2f} {statistics.fmean(swaps):7.1f}"
        )
    print()
    published_session()


if __name__ == "__main__":
    main()
