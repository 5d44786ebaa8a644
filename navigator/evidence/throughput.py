"""How fast each role writes: one stream, and all streams together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from navigator.domain.states import Role
from navigator.evidence.rates import moment
from navigator.evidence.rows import CallRow


@dataclass(frozen=True, slots=True)
class Throughput:
    """What the calls of one role and model came to.

    Attributes:
        role: who was called.
        model: as the server named itself; models are never pooled.
        rehearsal: simulated speeds.
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
    rehearsal: bool
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


def throughput(calls: Iterable[CallRow]) -> tuple[Throughput, ...]:
    """Tokens a second by role and model; real calls before rehearsed ones."""
    groups: defaultdict[tuple[bool, str, str], list[CallRow]] = defaultdict(list)
    for call in calls:
        groups[(call.rehearsal, call.role.value, call.model)].append(call)
    return tuple(_sum_up(groups[key]) for key in sorted(groups))


def _sum_up(calls: Sequence[CallRow]) -> Throughput:
    seconds = sum(call.seconds for call in calls)
    busy = _busy_seconds(calls)
    written = sum(call.completion_tokens for call in calls)
    prompt = sum(call.prompt_tokens for call in calls)
    cached = sum(call.cached_tokens for call in calls)
    return Throughput(
        role=calls[0].role,
        model=calls[0].model,
        rehearsal=calls[0].rehearsal,
        calls=len(calls),
        failed=sum(not call.ok for call in calls),
        prompt_tokens=prompt,
        completion_tokens=written,
        seconds=seconds,
        busy_seconds=busy,
        tokens_per_second=written / busy if busy else None,
        stream_tokens_per_second=written / seconds if seconds else None,
        streams=seconds / busy if busy else None,
        cached_share=cached / prompt if prompt else None,
    )


def _busy_seconds(calls: Sequence[CallRow]) -> float:
    """The length of the union of the calls' intervals, each ending at `at` and `seconds` long."""
    spans = []
    for call in calls:
        end = moment(call.at)
        spans.append((end - timedelta(seconds=call.seconds), end))
    spans.sort()
    total = timedelta()
    reached = None
    for begin, end in spans:
        if reached is None or begin > reached:
            total += end - begin
        elif end > reached:
            total += end - reached
        reached = end if reached is None else max(reached, end)
    return total.total_seconds()
