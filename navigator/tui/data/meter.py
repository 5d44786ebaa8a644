"""The figures of the strip: the cost of reviewing now, when the next review starts, how long a swap still takes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from navigator.domain.snapshot import BatchRules, SchedulerSnapshot, TaskView
from navigator.domain.states import Complexity, Role, TaskKind, TaskState
from navigator.scheduling.forecast import PUBLISHED, Figures, Price, price, review_eta
from navigator.tui.clock import seconds_since
from navigator.tui.data.deck_snapshot import DeckSnapshot, LiveStatus, SwapProgress

if TYPE_CHECKING:
    from navigator.domain.models import Swap

Writer = Callable[[TaskKind, Complexity], Role]
"""Which model writes a task of a kind and complexity."""

CHARS_PER_TOKEN = 3.2
"""Bytes of source code in a token of the Qwen family, roughly: what streams are shown with before the server counts."""

_PUBLISHED_SWAPS = {Role.REVIEWER.value: PUBLISHED.swap_in, Role.GENERATOR.value: PUBLISHED.swap_back}


@dataclass(frozen=True, slots=True)
class Meter:
    """The batch meter. `eta` is in seconds: 0 when it runs or is due, None when none is expected."""

    waiting: int
    target: int
    price: Price
    eta: float | None
    figures: Figures


@dataclass(frozen=True, slots=True)
class SwapBar:
    """How far a swap is. `expected` and `left` are seconds; `source` is "measured" or "published"."""

    origin: str
    to: str
    phase: str
    seconds: float
    expected: float
    share: float
    source: str

    @property
    def left(self) -> float:
        """Seconds to go, never negative."""
        return max(0.0, self.expected - self.seconds)


def generator_writes(kind: TaskKind, complexity: Complexity) -> Role:
    """The routing where the settings give none."""
    return Role.GENERATOR


def meter_of(
    snapshot: DeckSnapshot,
    live: LiveStatus,
    rules: BatchRules,
    *,
    streams: int,
    writer: Writer = generator_writes,
) -> Meter:
    """The batch meter of one snapshot.

    Args:
        snapshot: the store.
        live: the conductor.
        rules: the settings' `[batch]`.
        streams: requests the generator takes at once.
        writer: which model writes what.
    """
    figures = snapshot.figured.figures
    waiting = snapshot.awaiting_review
    busy = live.status.get("busy")
    return Meter(
        waiting,
        rules.target,
        price(waiting, rules.target, figures),
        review_eta(
            _snapshot(snapshot, live, rules, busy if isinstance(busy, Mapping) else {}, streams, writer),
            time.monotonic(),
            write_seconds=figures.write_seconds,
        )
        if live.conductor == "here"
        else None,
        figures,
    )


def _snapshot(
    snapshot: DeckSnapshot,
    live: LiveStatus,
    rules: BatchRules,
    busy: Mapping[str, Any],
    streams: int,
    writer: Writer,
) -> SchedulerSnapshot:
    now = time.monotonic()
    views = tuple(
        TaskView(
            id=card.task,
            project_id=card.project_id,
            state=card.state,
            priority=card.priority,
            order=card.number,
            attempt=card.attempt,
            round=card.round,
            since=now - seconds_since(card.since),
            writer=writer(TaskKind(card.kind), Complexity(card.complexity)),
        )
        for card in snapshot.work
    )
    arrivals = [seconds_since(card.created) for card in snapshot.work]
    both = bool(live.status.get("both_resident"))
    return SchedulerSnapshot(
        tasks=views,
        busy=frozenset(busy),
        resident=_role(live.status.get("resident")),
        swapping_to=_role(live.swap.to if live.swap else live.status.get("swapping_to")),
        both_resident=both,
        capacity={Role.GENERATOR: streams},
        batch=rules,
        until=str(live.status.get("until") or ""),
        hurry=bool(live.status.get("hurry")),
        last_arrival=now - min(arrivals, default=0.0),
    )


def _role(word: object) -> Role | None:
    return Role(word) if word in (Role.GENERATOR.value, Role.REVIEWER.value) else None


def swap_bar(progress: SwapProgress, swaps: Sequence[Swap], now: float) -> SwapBar:
    """How far a swap is, by the phases of those measured before.

    Each phase gets the share of the bar that its measured median gives it; within a phase the clock moves the bar, and
    it stops short of the phase's end until the phase has ended.
    """
    measured = [
        swap
        for swap in swaps
        if swap.to_role.value == progress.to
        and (swap.from_role.value if swap.from_role else "") == progress.origin
        and swap.outcome == "done"
        and swap.made_by != "outside"
    ][:50]
    seconds = now - progress.begun
    if not measured:
        expected = _PUBLISHED_SWAPS.get(progress.to, PUBLISHED.swap_in)
        return SwapBar(
            progress.origin,
            progress.to,
            progress.phase,
            seconds,
            expected,
            min(0.95, seconds / expected),
            "published",
        )
    expected = statistics.median(swap.seconds for swap in measured)
    usual = _usual_phases(measured)
    total = sum(usual.values()) or 1.0
    ended = {name for name, _ in progress.done}
    passed = sum(usual.get(name, 0.0) for name in ended)
    if progress.phase and progress.phase not in ended:
        own = usual.get(progress.phase, 0.0)
        passed += min(0.95 * own, now - progress.phase_begun)
    return SwapBar(
        progress.origin, progress.to, progress.phase, seconds, expected, min(1.0, passed / total), "measured"
    )


def _usual_phases(swaps: Sequence[Swap]) -> dict[str, float]:
    """The median seconds of each phase."""
    by_phase: dict[str, list[float]] = {}
    for swap in swaps:
        for phase in swap.phases:
            by_phase.setdefault(phase.name, []).append(phase.seconds)
    return {name: statistics.median(values) for name, values in by_phase.items()}


def meanwhile(snapshot: DeckSnapshot) -> str:
    """What the CPU does while the GPU is swapped: `6 checks`; "" for nothing."""
    checks = sum(card.state is TaskState.CHECKING for card in snapshot.work)
    return f"{checks} check{'s' if checks != 1 else ''}" if checks else ""
