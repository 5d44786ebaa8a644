"""What one accepted change cost: tokens, seconds of the models, swaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Share, share
from navigator.model.outcomes import SwapTotals, WorkTotals, Yield
from navigator.model.records import CallTotals, LookCount, LookRounds, WayTotals
from navigator.model.states import LookOutcome, Role

EXAM = "exam"
"""The kind of work that makes no change: it is shown, but no part of what a change costs."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A total, and what it is per accepted change, per proposal and per review; None where there is none of these."""

    total: float
    per_accepted: float | None
    per_proposal: float | None
    per_review: float | None


@dataclass(frozen=True, slots=True)
class WorkCost:
    """Calls of one role for one kind of work ("write", "review", "final", "exam").

    `call_seconds` adds up the calls' durations: calls at the same time count each. `lost` calls have no token counts.
    """

    role: Role
    work: str
    calls: int
    lost: int
    prompt_tokens: Amount
    completion_tokens: Amount
    cached_tokens: Amount
    call_seconds: Amount


@dataclass(frozen=True, slots=True)
class ModelTime:
    """Wall time in which at least one call of the role ran."""

    role: Role
    seconds: Amount


@dataclass(frozen=True, slots=True)
class SwapCost:
    """Swaps and loads.

    Attributes:
        n: how many, failed ones included; `failed` of them.
        seconds: that they took, failed ones included.
        batch_n: those to the reviewer and back between which a batch was reviewed; `batch_seconds` what they took.
        batch_share: of all swap seconds, None where there were none.
        unmeasured: swaps made by others, whose seconds are unknown.
    """

    n: int
    failed: int
    seconds: Amount
    batch_n: int
    batch_seconds: Amount
    batch_share: float | None
    unmeasured: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What the work cost.

    Attributes:
        accepted, proposals, reviews: what came out.
        tokens: read and written for the work; `work` by role and kind, with the exam, which is no work.
        model_time: seconds in which a model worked, added up over the roles of `model_seconds`.
        final_reviews: readings by the final model whose price is known; `final_price` is what they cost.
    """

    accepted: int
    proposals: int
    reviews: int
    tokens: Amount
    work: tuple[WorkCost, ...]
    model_time: Amount
    model_seconds: tuple[ModelTime, ...]
    swaps: SwapCost
    final_reviews: int
    final_price: Amount


def cost(
    made: Yield,
    work: Sequence[WorkTotals],
    calls: Sequence[CallTotals],
    swaps: SwapTotals,
) -> Cost:
    """Divide what was spent by what came out.

    Args:
        made: what came out of the work.
        work: calls by role and kind; `calls` by role and model.
        swaps: of the same time.
    """

    def per(total: float) -> Amount:
        return _per(total, made)

    return Cost(
        accepted=made.accepted,
        proposals=made.proposals,
        reviews=made.reviews,
        tokens=per(sum(row.prompt_tokens + row.completion_tokens for row in work if row.work != EXAM)),
        work=tuple(
            WorkCost(
                role=row.role,
                work=row.work,
                calls=row.calls,
                lost=row.lost,
                prompt_tokens=per(row.prompt_tokens),
                completion_tokens=per(row.completion_tokens),
                cached_tokens=per(row.cached_tokens),
                call_seconds=per(row.seconds),
            )
            for row in work
        ),
        model_time=per(sum(row.busy_seconds for row in calls)),
        model_seconds=tuple(
            ModelTime(role, per(sum(row.busy_seconds for row in calls if row.role is role)))
            for role in Role
            if any(row.role is role for row in calls)
        ),
        swaps=SwapCost(
            n=swaps.n,
            failed=swaps.failed,
            seconds=per(swaps.seconds),
            batch_n=swaps.batch_n,
            batch_seconds=per(swaps.batch_seconds),
            batch_share=swaps.batch_seconds / swaps.seconds if swaps.seconds else None,
            unmeasured=swaps.unmeasured,
        ),
        final_reviews=made.final_reviews,
        final_price=per(made.final_price),
    )


def _per(total: float, made: Yield) -> Amount:
    def each(n: int) -> float | None:
        return total / n if n else None

    return Amount(total, each(made.accepted), each(made.proposals), each(made.reviews))


# How fast each role writes: one stream, and all streams together.


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


# What writers looked at, and what a change took by the way it was written.

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
