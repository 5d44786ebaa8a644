"""What work took, as the database sums it up: calls by kind of work, swaps."""

from __future__ import annotations

from typing import Literal

from navigator.model.models import Model
from navigator.model.states import Role

Work = Literal["write", "review", "final", "exam"]


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
