"""The figures of the strip: when the next review starts, how long a swap still takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from navigator.figures.swaps import usual_swap
from navigator.model.states import Role, TaskState
from navigator.schedule.forecast import PUBLISHED
from navigator.tui.data.deck_snapshot import DeckSnapshot, Finish, LiveStatus, SwapProgress

if TYPE_CHECKING:
    from navigator.model.models import Swap

CHARS_PER_TOKEN = 3.2
"""Bytes of source code in a token of the Qwen family, roughly: what streams are shown with before the server counts."""

_PUBLISHED_SWAPS = {Role.REVIEWER.value: PUBLISHED.swap_in, Role.GENERATOR.value: PUBLISHED.swap_back}


@dataclass(frozen=True, slots=True)
class Meter:
    """The batch meter. `eta` is in seconds: 0 when it runs or is due, None when none is expected.

    `finish`: when all that is queued is expected to wait for the developer.
    """

    waiting: int
    target: int
    eta: float | None
    finish: Finish | None = None


@dataclass(frozen=True, slots=True)
class SwapBar:
    """How far a swap is. `expected` and `left` are seconds; `source` is "measured" or "published"."""

    seconds: float
    expected: float
    share: float
    source: str

    @property
    def left(self) -> float:
        """Seconds to go, never negative."""
        return max(0.0, self.expected - self.seconds)


def meter_of(snapshot: DeckSnapshot, live: LiveStatus, target: int) -> Meter:
    """The batch meter of one snapshot; when the next review starts is the conductor's to say.

    Args:
        snapshot: the store.
        live: the conductor.
        target: `[batch] target` of the settings.
    """
    waiting = snapshot.awaiting_review
    told = live.status.get("next_review") if live.conductor == "here" else None
    ahead = told if isinstance(told, Mapping) else {}
    seconds = ahead.get("seconds")
    return Meter(
        waiting,
        target,
        float(seconds) if isinstance(seconds, int | float) else None,
        snapshot.figured.finish,
    )


def swap_bar(progress: SwapProgress, swaps: Sequence[Swap], now: float) -> SwapBar:
    """How far a swap is, by the phases of those measured before.

    Each phase gets the share of the bar that its measured median gives it; within a phase the clock moves the bar, and
    it stops short of the phase's end until the phase has ended.
    """
    measured = usual_swap(swaps, progress.origin, progress.to)
    seconds = now - progress.begun
    if measured is None or measured.seconds is None:
        expected = _PUBLISHED_SWAPS.get(progress.to, PUBLISHED.swap_in)
        return SwapBar(seconds, expected, min(0.95, seconds / expected), "published")
    expected = measured.seconds.median
    usual = {name: summary.median for name, summary in measured.phases.items()}
    total = sum(usual.values()) or 1.0
    ended = {name for name, _ in progress.done}
    passed = sum(usual.get(name, 0.0) for name in ended)
    if progress.phase and progress.phase not in ended:
        own = usual.get(progress.phase, 0.0)
        passed += min(0.95 * own, now - progress.phase_begun)
    return SwapBar(seconds, expected, min(1.0, passed / total), "measured")


def meanwhile(snapshot: DeckSnapshot, live: LiveStatus) -> str:
    """What the CPU does while the GPU is swapped: `6 checks, 8 prompts`; "" for nothing."""
    told = live.status.get("ahead")
    ahead = told if isinstance(told, Mapping) else {}
    checks = sum(card.state is TaskState.CHECKING for card in snapshot.work)
    counts = {"check": checks, "prompt": ahead.get("prompts"), "baseline": ahead.get("baselines")}
    return ", ".join(
        f"{count} {name}{'s' if count != 1 else ''}"
        for name, count in counts.items()
        if isinstance(count, int) and count
    )
