"""What one accepted change cost: tokens, seconds of the models, swaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from navigator.model.costs import SwapTotals, WorkTotals, Yield
from navigator.model.records import CallTotals
from navigator.model.states import Role

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
