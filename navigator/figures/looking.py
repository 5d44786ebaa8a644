"""What writers looked at, and what a change took by the way it was written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Share, share
from navigator.model.records import LookCount, LookRounds, WayTotals
from navigator.model.states import LookOutcome

_SHOWN = frozenset({LookOutcome.SHOWN, LookOutcome.CUT})


@dataclass(frozen=True, slots=True)
class KindOfLook:
    """Requests of one kind: how many, the share that was shown something, and the tokens of that."""

    kind: str
    shown: Share
    tokens: int


@dataclass(frozen=True, slots=True)
class WayCost:
    """What one way of writing took. Per accepted change, everything that was written that way is counted.

    Attributes:
        accepted: approved and not undone, of all proposals.
        prompt_tokens, completion_tokens, seconds: per accepted change; None where there is none.
        cached_share: of the prompt tokens, what the server's prefix cache served; None where there were none.
    """

    way: str
    accepted: Share
    prompt_tokens: float | None
    completion_tokens: float | None
    seconds: float | None
    cached_share: float | None


@dataclass(frozen=True, slots=True)
class Looking:
    """Looks, and what ways of writing took.

    Attributes:
        rounds: in which a writer looked.
        looks, requests, tokens: in all of them.
        kinds: by what was asked for, the most frequent first.
        outcomes: how many requests ended how.
        ways: by the way of writing.
    """

    rounds: int
    looks: int
    requests: int
    tokens: int
    kinds: tuple[KindOfLook, ...]
    outcomes: dict[str, int]
    ways: tuple[WayCost, ...]


def looking(counts: Sequence[LookCount], sums: LookRounds, ways: Iterable[WayTotals]) -> Looking:
    """Count looks and costs; shares carry 95 % Wilson intervals."""
    outcomes: dict[str, int] = {}
    for row in counts:
        outcomes[row.outcome.value] = outcomes.get(row.outcome.value, 0) + row.n
    kinds = [
        _kind(kind, [row for row in counts if row.kind == kind]) for kind in {row.kind for row in counts}
    ]
    kinds.sort(key=lambda one: (-one.shown.n, one.kind))
    costs = tuple(_way(row) for row in ways)
    return Looking(sums.rounds, sums.looks, sums.requests, sums.tokens, tuple(kinds), outcomes, costs)


def _kind(kind: str, counts: list[LookCount]) -> KindOfLook:
    shown = sum(row.n for row in counts if row.outcome in _SHOWN)
    return KindOfLook(kind, share(shown, sum(row.n for row in counts)), sum(row.tokens for row in counts))


def _way(row: WayTotals) -> WayCost:
    def each(total: float) -> float | None:
        return total / row.accepted if row.accepted else None

    return WayCost(
        row.way,
        share(row.accepted, row.proposals),
        each(row.prompt_tokens),
        each(row.completion_tokens),
        each(row.seconds),
        row.cached_tokens / row.prompt_tokens if row.prompt_tokens else None,
    )
