"""How fast each role writes: one stream, and all streams together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from navigator.model.records import CallTotals
from navigator.model.states import Role


@dataclass(frozen=True, slots=True)
class Throughput:
    """What the calls of one role and model came to.

    Attributes:
        role: who was called.
        model: as the server named itself; models are never pooled.
        calls: all of them.
        failed: those without a usable answer; the tokens they wrote are in the figures, the GPU wrote them
        too.
        prompt_tokens: read in all, cached ones included.
        completion_tokens: written in all.
        seconds: the calls' durations added up.
        busy_seconds: wall time in which at least one call was under way.
        tokens_per_second: written per second of busy wall time, over all streams; None when no time passed.
        stream_tokens_per_second: written per second of call: sum over sum, not a mean of rates, which would
            give short calls the weight of long ones. Waiting for the first token is in it.
        streams: calls under way at once, on average over the busy time.
        cached_share: of the prompt tokens; None when there were none.
    """

    role: Role
    model: str
    calls: int
    failed: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    busy_seconds: float
    tokens_per_second: float | None
    stream_tokens_per_second: float | None
    streams: float | None
    cached_share: float | None


def throughput(totals: Iterable[CallTotals]) -> tuple[Throughput, ...]:
    """Tokens per second by role and model, in the order of the totals."""
    return tuple(_speeds(row) for row in totals)


def _speeds(row: CallTotals) -> Throughput:
    busy, seconds = row.busy_seconds, row.seconds
    return Throughput(
        role=row.role,
        model=row.model,
        calls=row.calls,
        failed=row.failed,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        seconds=seconds,
        busy_seconds=busy,
        tokens_per_second=row.completion_tokens / busy if busy else None,
        stream_tokens_per_second=row.completion_tokens / seconds if seconds else None,
        streams=seconds / busy if busy else None,
        cached_share=row.cached_tokens / row.prompt_tokens if row.prompt_tokens else None,
    )
