"""What one accepted change cost: tokens, seconds of the models, swaps, energy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.domain.costs import EnergyTotals, SwapTotals, WorkTotals, Yield
from navigator.domain.records import CallTotals
from navigator.domain.states import Role

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
class PhaseEnergy:
    """Watt-hours of one phase, and mean watts over the seconds that readings cover."""

    phase: str
    watt_hours: Amount
    watts: float | None
    seconds: float
    missed: float


@dataclass(frozen=True, slots=True)
class EnergyCost:
    """Energy since the first reading. What it is divided by came out of the work since then, too.

    Attributes:
        began: when the first reading was.
        accepted, proposals, reviews: since then.
        watt_hours: of all phases.
        phases: each that occurred.
        samples: readings; `missed_share` is the share of the time without one.
    """

    began: str
    accepted: int
    proposals: int
    reviews: int
    watt_hours: Amount
    phases: tuple[PhaseEnergy, ...]
    samples: int
    missed_share: float | None


@dataclass(frozen=True, slots=True)
class Cost:
    """What the work cost.

    Attributes:
        accepted, proposals, reviews: what came out.
        tokens: read and written for the work; `work` by role and kind, with the exam, which is no work.
        model_time: seconds in which a model worked, added up over the roles of `model_seconds`.
        energy: None where nothing was measured.
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
    energy: EnergyCost | None
    final_reviews: int
    final_price: Amount


def cost(
    made: Yield,
    work: Sequence[WorkTotals],
    calls: Sequence[CallTotals],
    swaps: SwapTotals,
    energy: Sequence[EnergyTotals],
    made_since: Yield,
) -> Cost:
    """Divide what was spent by what came out.

    Args:
        made: what came out of the work.
        work: calls by role and kind; `calls` by role and model.
        swaps: of the same time.
        energy: by phase; `made_since` is what came out since its first reading.
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
        energy=_energy(energy, made_since) if energy else None,
        final_reviews=made.final_reviews,
        final_price=per(made.final_price),
    )


def _energy(rows: Iterable[EnergyTotals], made: Yield) -> EnergyCost:
    phases = list(rows)
    seconds, missed = sum(row.seconds for row in phases), sum(row.missed for row in phases)
    return EnergyCost(
        began=min(row.began for row in phases),
        accepted=made.accepted,
        proposals=made.proposals,
        reviews=made.reviews,
        watt_hours=_per(sum(row.watt_hours for row in phases), made),
        phases=tuple(
            PhaseEnergy(
                phase=row.phase,
                watt_hours=_per(row.watt_hours, made),
                watts=3600 * row.watt_hours / row.seconds if row.seconds else None,
                seconds=row.seconds,
                missed=row.missed,
            )
            for row in phases
        ),
        samples=sum(row.samples for row in phases),
        missed_share=missed / (seconds + missed) if seconds + missed else None,
    )


def _per(total: float, made: Yield) -> Amount:
    def each(n: int) -> float | None:
        return total / n if n else None

    return Amount(total, each(made.accepted), each(made.proposals), each(made.reviews))
