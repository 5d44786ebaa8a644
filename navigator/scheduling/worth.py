"""What waiting costs and what a swap costs, in the same unit: seconds that a change waits.

Leaving the generator costs the round trip, at the price that the developer's patience gives it, and it delays whatever is left to
write by that round trip and the reviews. Staying costs every proposal that waits a second a second. The generator is left once
the proposals have waited, together, as long as leaving costs. With nothing left to write and patience 1 this is the rule of
the dynamic acknowledgement problem (Dooly, Goldman and Scott 2001), which costs at most twice what a clairvoyant would pay.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from navigator.domain.snapshot import Doubt, SchedulerSnapshot, TaskView
from navigator.domain.states import Role
from navigator.scheduling.view import reviewer_work, writes_left

PRIORITY_WEIGHT = 4.0
"""How much dearer a second of waiting is for each step of priority."""


def leaving_costs(snapshot: SchedulerSnapshot, waiting: int) -> float:
    """Seconds of waiting that leaving the generator now causes, with `waiting` proposals to review."""
    prices = snapshot.prices
    away = prices.round_trip + waiting * prices.review_seconds
    return snapshot.batch.patience * prices.round_trip + len(writes_left(snapshot, Role.GENERATOR)) * away


def waited(tasks: Sequence[TaskView], now: float, doubt: Doubt | None = None) -> float:
    """Seconds that the tasks have waited, together; urgent ones, and those likely to be sent back, more dearly."""
    return sum(_weight(task, doubt) * max(0.0, now - task.since) for task in tasks)


def worth_from(snapshot: SchedulerSnapshot) -> float:
    """The monotonic second from which leaving the generator is worth it, if nothing else happens; infinity for never."""
    waiting = reviewer_work(snapshot)
    cost = leaving_costs(snapshot, len(waiting))
    if not waiting or cost == math.inf:
        return math.inf
    weights = [_weight(task, snapshot.prices.doubt) for task in waiting]
    return (cost + sum(weight * task.since for weight, task in zip(weights, waiting, strict=True))) / sum(
        weights
    )


def _weight(task: TaskView, doubt: Doubt | None) -> float:
    weight = float(PRIORITY_WEIGHT ** max(-2, min(2, task.priority)))
    return weight * doubt.weight(task.doubt) if doubt is not None else weight
