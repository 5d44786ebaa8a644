"""Whether the next review should wait for the next task: rules that know when tasks came, beside the one that does not.

    python -m benchmarks.next_arrival [PATIENCE]

Thirty equal tasks, 40 to 400 s apart, evenly or at random (three seeds), urgent or not. When a task may come is taken from
the last 20 gaps: of those longer than the time since the last task, each is as likely as the others and as no further
task at all, which is all the more likely the fewer gaps are known. Waiting for it saves a round trip, at the price that the
patience gives it, and the next task's wait for the generator; it costs the waiting of what is written.

The cost of a workload is the mean (weighted) wait and `patience` times the swap seconds of a task. Nothing is measured.
"""

from __future__ import annotations

import random
import statistics
import sys

from navigator.domain.snapshot import BatchRules, SchedulerSnapshot
from navigator.domain.states import Role
from navigator.scheduling.next_actions import next_actions
from navigator.scheduling.simulator.policies import contenders
from navigator.scheduling.simulator.scenario import Job, Request, Scenario
from navigator.scheduling.simulator.session import Policy, simulate
from navigator.scheduling.swap_rule import SwapDecision, SwapRule, decide_swap
from navigator.scheduling.view import checks_holding, reviewer_work, writes_left
from navigator.scheduling.worth import PRIORITY_WEIGHT

EVEN = Scenario(spread=0, revise_rate=0, check_failures=0, swap_spread=0)
TASKS = 30
GAPS = 20
LEAST_GAPS = 5
ALONE = 4.0
"""How many times as long a proposal takes that is written alone as its share of a full card."""


class Arrivals:
    """A rule that knows when tasks came.

    Args:
        waits: stay for a task that is worth waiting for, although the present rule would leave.
        leaves: leave at once where none is, although the present rule would stay.
    """

    def __init__(self, *, waits: bool, leaves: bool) -> None:
        self._waits, self._leaves = waits, leaves
        self._came: list[float] = []

    def decide(self, snapshot: SchedulerSnapshot, now: float) -> SwapDecision | None:
        """As `decide_swap`."""
        if snapshot.last_arrival not in self._came[-1:]:
            self._came = [*self._came[-GAPS:], snapshot.last_arrival]
        found = decide_swap(snapshot, now)
        waiting = reviewer_work(snapshot)
        at_rest = snapshot.resident is Role.GENERATOR and snapshot.swapping_to is None and waiting
        if not at_rest or writes_left(snapshot, Role.GENERATOR) or checks_holding(snapshot, now):
            return found
        if _at_a_limit(snapshot, now) or len(self._came) <= LEAST_GAPS:
            return found
        if self._gain(snapshot, now) > 0:
            return None if self._waits else found
        return SwapDecision(Role.REVIEWER, ready=True) if self._leaves else found

    def _gain(self, snapshot: SchedulerSnapshot, now: float) -> float:
        """Seconds of waiting saved, on average, by staying for the next task, for as long as is best."""
        prices, waiting = snapshot.prices, reviewer_work(snapshot)
        weight = PRIORITY_WEIGHT ** waiting[-1].priority
        since = now - self._came[-1]
        gaps = (later - earlier for earlier, later in zip(self._came, self._came[1:], strict=False))
        left = sorted(gap - since for gap in gaps if gap > since)
        reading = prices.swap_in + len(waiting) * prices.review_seconds
        saved = snapshot.batch.patience * prices.round_trip
        best, sum_so_far = -1.0, 0.0
        for number, seconds in enumerate(left, start=1):
            sum_so_far += saved + weight * (prices.swap_back + max(0.0, reading - seconds))
            sum_so_far -= weight * len(waiting) * (seconds + ALONE * prices.write_seconds)
            in_vain = (len(left) + 1 - number) * weight * len(waiting) * seconds
            best = max(best, (sum_so_far - in_vain) / (len(left) + 1))
        return best


def _at_a_limit(snapshot: SchedulerSnapshot, now: float) -> bool:
    waiting, batch = reviewer_work(snapshot), snapshot.batch
    oldest = min(task.since for task in waiting)
    quiet = now >= snapshot.last_arrival + batch.quiet
    return len(waiting) >= batch.target or now >= oldest + batch.max_wait or quiet


def tasks(apart: float, priority: int, seed: int | None) -> list[Job]:
    """Equal tasks, evenly apart, or at random where there is a seed."""
    rng = random.Random(seed)
    moments, moment = [], 0.0
    for _ in range(TASKS):
        moments.append(moment)
        moment += apart if seed is None else rng.expovariate(1 / apart)
    return [
        Job(
            id=f"T{number + 1}",
            project=number % 3,
            arrival=moment,
            writes=(Request(8000, 2000),),
            reviews=(Request(6000, 500),),
            checks=(5.0,),
            priority=priority,
        )
        for number, moment in enumerate(moments)
    ]


def _policy(rule: SwapRule) -> Policy:
    return lambda snapshot, now: next_actions(snapshot, now, rule)


def _rules(rules: BatchRules) -> dict[str, SwapRule]:
    """New ones for every workload: they remember."""
    greedy = next(one for one in contenders(rules) if one.name == "greedy")
    return {
        "present rule": decide_swap,
        "waits": Arrivals(waits=True, leaves=False).decide,
        "waits or leaves": Arrivals(waits=True, leaves=True).decide,
        "leaves": Arrivals(waits=False, leaves=True).decide,
        "greedy": greedy.decide,
    }


def main() -> None:
    """Print swaps, wait and cost of each rule against the present one's, on average over the workloads."""
    rules = BatchRules(patience=float(sys.argv[1]) if len(sys.argv) > 1 else BatchRules().patience)
    found: dict[str, list[tuple[float, float, float]]] = {}
    for seed in (None, 1, 2, 3):
        for priority in (0, 1):
            for apart in (40.0, 60.0, 80.0, 100.0, 130.0, 200.0, 400.0):
                for name, rule in _rules(rules).items():
                    outcome = simulate(EVEN, tasks(apart, priority, seed), _policy(rule), rules)
                    swapping = outcome.swaps * (EVEN.swap_in + EVEN.swap_back) / 2 / TASKS
                    cost = PRIORITY_WEIGHT**priority * outcome.mean_wait + rules.patience * swapping
                    found.setdefault(name, []).append((outcome.swaps, outcome.mean_wait, cost))
    print(
        f"simulated, patience {rules.patience:g}, {len(found['greedy'])} workloads; mean ratio to the present rule"
    )
    print(f"{'rule':16} {'swaps':>6} {'wait':>6} {'cost':>6}")
    for name, rows in found.items():
        pairs = list(zip(rows, found["present rule"], strict=True))
        ratios = [statistics.fmean(one[at] / base[at] for one, base in pairs) for at in range(3)]
        print(f"{name:16} " + " ".join(f"{ratio:6.3f}" for ratio in ratios))


if __name__ == "__main__":
    main()
