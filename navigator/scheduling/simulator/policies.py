"""The policies that are compared: Navigator's own functions, and what others do."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
        Contender("greedy", rules, _Greedy().decide),
        Contender("collation", rules, _collation),
    )


class _Greedy:
    """Leaves a model that has served anything since it was loaded, as soon as anything waits for the other one."""

    def __init__(self) -> None:
        self._served: Role | None = None

    def decide(self, snapshot: SchedulerSnapshot, now: float) -> SwapDecision | None:
        """As `decide_swap`."""
        here = snapshot.resident
        if here is not None and requests_running(snapshot, here):
            self._served = here
        return _swap_if(snapshot, now, whatever_is_left=self._served is here)


def _collation(snapshot: SchedulerSnapshot, now: float) -> SwapDecision | None:
    return _swap_if(snapshot, now, whatever_is_left=False)


def _swap_if(snapshot: SchedulerSnapshot, now: float, *, whatever_is_left: bool) -> SwapDecision | None:
    """Swap where something waits for the other role, and nothing is left for this one, or that does not matter."""
    if snapshot.swapping_to is not None or snapshot.both_resident or snapshot.resident is None:
        return decide_swap(snapshot, now)
    to_read, to_write = bool(reviewer_work(snapshot)), bool(writes_left(snapshot, Role.GENERATOR))
    here = snapshot.resident is Role.REVIEWER
    to, waits, left = (Role.GENERATOR, to_write, to_read) if here else (Role.REVIEWER, to_read, to_write)
    if not waits or not may_be_tried(snapshot, to, now):
        return None
    if left and not whatever_is_left:
        return None
    return SwapDecision(to, ready=requests_running(snapshot, snapshot.resident) == 0)
