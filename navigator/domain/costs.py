"""What work took, as the database sums it up: calls by kind of work, swaps, energy."""

from __future__ import annotations

from typing import Literal

from navigator.domain.models import Model
from navigator.domain.states import Role

Phase = Literal["writing", "reviewing", "both", "swapping", "idle"]
"""What a GPU is doing: "both" where both models are resident and work."""

Work = Literal["write", "review", "final", "exam"]


class EnergySpan(Model):
    """Energy over a stretch of time in one phase, of one resident role ("" for none).

    Attributes:
        seconds: covered by readings; `missed` those that were not, whose energy is unknown.
        watt_hours: over `seconds`, from `samples` readings.
    """

    phase: Phase
    resident: str = ""
    started: str
    ended: str
    seconds: float
    missed: float = 0.0
    watt_hours: float
    samples: int


class EnergyTotals(Model):
    """Energy in one phase; `began` is when the first reading was."""

    phase: Phase
    seconds: float = 0.0
    missed: float = 0.0
    watt_hours: float = 0.0
    samples: int = 0
    began: str = ""


class WorkTotals(Model):
    """Calls of one role for one kind of work.

    Attributes:
        seconds: durations of the calls added up: calls at the same time count each.
        lost: calls that a crash cut off; their tokens are unknown and not in the sums.
    """

    role: Role
    work: Work
    calls: int = 0
    lost: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0


class SwapTotals(Model):
    """Swaps between the two models, and loads.

    Attributes:
        n: measured ones, failed ones included: they took their time too.
        seconds: of all of them; `batch_seconds` of those to and from the reviewer between which a batch was reviewed.
        failed: how many did not do what was asked.
        unmeasured: made by others.
    """

    n: int = 0
    seconds: float = 0.0
    batch_n: int = 0
    batch_seconds: float = 0.0
    failed: int = 0
    unmeasured: int = 0


class Yield(Model):
    """What came out of the work: changes you approved (and did not undo), proposals, and reviews by the reviewer.

    `final_reviews` are the readings by the final model that have a price, and `final_price` their sum.
    """

    accepted: int = 0
    proposals: int = 0
    reviews: int = 0
    final_reviews: int = 0
    final_price: float = 0.0
