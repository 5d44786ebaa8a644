"""The policies that are compared: Navigator's own functions, and what others do."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from navigator.domain.snapshot import Action, BatchRules, SchedulerSnapshot
from navigator.domain.states import Role
from navigator.scheduling.next_actions import next_actions
from navigator.scheduling.swap_rule import SwapDecision, SwapRule, decide_swap
from navigator.scheduling.view import may_be_tried, requests_running, reviewer_work, writes_left

_NEVER = math.inf
_UNLIMITED = 1_000_000


@dataclass(frozen=True, slots=True)
class Contender:
    """A rule for swaps with the limits that it is run with."""

    name: str
    rules: BatchRules
    decide: SwapRule = decide_swap

    def policy(self, snapshot: SchedulerSnapshot, now: float) -> Sequence[Action]:
        """What to start now."""
        return next_actions(snapshot, now, self.decide)


def contenders(rules: BatchRules) -> tuple[Contender, ...]:
    """Navigator under the given limits, and its opponents.

    "fixed batch" reviews when `target` wait and, once no task can come any more, what is left; "timeout only" when the oldest
    has waited `max_wait`; "greedy" swaps as soon as anything waits for the other model and what runs has
    ended; "collation" serves the loaded model as long as anything is queued for it and then swaps, as llama-swap does; "limits
    only" is Navigator without weighing: target, longest wait and quiet alone.
    """
    unweighed = partial(BatchRules, patience=_NEVER)
    return (
        Contender("navigator", rules),
        Contender("limits only", unweighed(target=rules.target, max_wait=rules.max_wait, quiet=rules.quiet)),
        Contender("fixed batch", unweighed(target=rules.target, max_wait=_NEVER, quiet=_NEVER)),
        Contender("timeout only", unweighed(target=_UNLIMITED, max_wait=rules.max_wait, quiet=_NEVER)),
        Contender("greedy", rules, partial(_swap_if, due=lambda left, since: not left or since > 0)),
        Contender("collation", rules, partial(_swap_if, due=lambda left, since: not left)),
    )


def _swap_if(
    snapshot: SchedulerSnapshot, now: float, *, due: Callable[[bool, float], bool]
) -> SwapDecision | None:
    """Swap where something waits for the other role and `due(anything left here, seconds since the load)`."""
    if snapshot.swapping_to is not None or snapshot.both_resident or snapshot.resident is None:
        return decide_swap(snapshot, now)
    to_read, to_write = bool(reviewer_work(snapshot)), bool(writes_left(snapshot, Role.GENERATOR))
    here = snapshot.resident is Role.REVIEWER
    to, waits, left = (Role.GENERATOR, to_write, to_read) if here else (Role.REVIEWER, to_read, to_write)
    if not waits or not may_be_tried(snapshot, to, now):
        return None
    if not due(left, now - snapshot.resident_since):
        return None
    return SwapDecision(to, ready=requests_running(snapshot, snapshot.resident) == 0)
