"""How long a batch takes, and what a swap costs each of its tasks.

All durations are in seconds, all speeds in tokens per second. Figures come from measurement where there is any
(medians of recorded swaps and calls) and from the published ones of the two-model cascade otherwise; a
forecast says which.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from navigator.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Figures:
    """What a forecast is made from.

    Attributes:
        swap_in: seconds of a swap to the reviewer.
        swap_back: seconds of a swap to the generator.
        generator_speed: tokens per second of the generator, of all its streams together.
        reviewer_speed: the same of the reviewer.
        proposal_tokens: tokens the generator writes for one proposal.
        review_tokens: tokens the reviewer writes for one review.
        revise_rate: share of first proposals that the reviewer sends back.
        single_speed: tokens per second of one model that stays loaded and does all the work, to compare with.
        source: "measured", "given" or "published".
        revise_n: first verdicts that the revise rate was measured on; 0 where it was not measured.
        revise_low, revise_high: the 95 % interval of a rate that was measured.
        generator_streams: requests that were answered at once when `generator_speed` was measured, on average;
            `reviewer_streams` likewise.
    """

    swap_in: float
    swap_back: float
    generator_speed: float
    reviewer_speed: float
    proposal_tokens: float
    review_tokens: float
    revise_rate: float = 0.0
    single_speed: float = 38.0
    source: str = "given"
    revise_n: int = 0
    revise_low: float = 0.0
    revise_high: float = 0.0
    generator_streams: float = 1.0
    reviewer_streams: float = 1.0

    def __post_init__(self) -> None:
        if min(self.generator_speed, self.reviewer_speed, self.single_speed) <= 0:
            raise UsageError(
                "A forecast needs speeds above zero.", hint="Give tokens per second for both models."
            )
        if min(self.swap_in, self.swap_back, self.proposal_tokens, self.review_tokens) < 0:
            raise UsageError("A forecast needs durations and token counts of zero or more.")
        if not 0 <= self.revise_rate <= 1:
            raise UsageError("A revise rate lies between 0 and 1.")

    @property
    def round_trip(self) -> float:
        """Seconds of a swap to the reviewer and back."""
        return self.swap_in + self.swap_back

    @property
    def write_seconds(self) -> float:
        """Seconds the generator needs for one proposal."""
        return self.proposal_tokens / self.generator_speed

    @property
    def review_seconds(self) -> float:
        """Seconds the reviewer needs for one review."""
        return self.review_tokens / self.reviewer_speed

    @property
    def single_seconds(self) -> float:
        """Seconds that the single model needs for one change, which nobody reviews."""
        return self.proposal_tokens / self.single_speed

    @property
    def least_seconds_each(self) -> float:
        """Seconds of one change in an endless batch: written and reviewed, revisions included, no share of a swap."""
        return (1 + self.revise_rate) * (self.write_seconds + self.review_seconds)

    def swaps_in(self, batch: float) -> float:
        """Seconds of swapping for a batch: a round trip, and another one as likely as at least one is sent back."""
        return self.round_trip * (2 - math.pow(1 - self.revise_rate, batch))


PUBLISHED = Figures(
    swap_in=42.7,
    swap_back=32.7,
    generator_speed=184.0,
    reviewer_speed=48.0,
    proposal_tokens=2000.0,
    review_tokens=500.0,
    source="published",
)
"""Qwen3.5-35B-A3B at 184 tok/s writes, Qwen3.5-122B-A10B at 48 tok/s reviews, one 96 GB GPU, one stream each.

The 122B alone writes 38 tok/s without TurboQuant: that is the single model to compare with. The published 137 tok/s is the
cascade's own figure. No revise rate was published; 0 until one is measured."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """A batch of `batch` proposals: written, one swap, reviewed, one swap back; then one round of revisions. Seconds throughout.

    `swap_each` is the round trip's share of each proposal, `seconds_each` all of it, `tokens_per_second` what the session
    writes per second of its whole length.
    """

    batch: int
    write_seconds: float
    swap_seconds: float
    review_seconds: float
    revision_seconds: float
    total_seconds: float
    seconds_each: float
    swap_each: float
    tokens_per_second: float


def forecast(batch: int, figures: Figures = PUBLISHED) -> Forecast:
    """The time and the amortisation of one batch.

    Raises:
        UsageError: the batch is empty.
    """
    if batch < 1:
        raise UsageError("A batch has at least one proposal.", hint="Give --batch a number from 1 up.")
    write = batch * figures.write_seconds
    review = batch * figures.review_seconds
    # What is sent back is written and reviewed again, and needs a round trip of its own.
    revision = figures.swaps_in(batch) - figures.round_trip + figures.revise_rate * (write + review)
    total = write + figures.round_trip + review + revision
    return Forecast(
        batch=batch,
        write_seconds=write,
        swap_seconds=figures.round_trip,
        review_seconds=review,
        revision_seconds=revision,
        total_seconds=total,
        seconds_each=total / batch,
        swap_each=figures.round_trip / batch,
        tokens_per_second=batch * figures.proposal_tokens / total if total else 0.0,
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a task's way, in seconds."""

    name: str
    seconds: float


def task_steps(figures: Figures, *, revisions: int = 0) -> tuple[Step, ...]:
    """One task alone, step by step: written, the swap, reviewed; for each revision back, revised, and there again.

    A revision is taken to be as long as a first proposal.
    """
    there = (Step("swap to the reviewer", figures.swap_in), Step("review", figures.review_seconds))
    steps = [Step("write", figures.write_seconds), *there]
    back = (Step("swap to the generator", figures.swap_back), Step("revise", figures.write_seconds))
    steps += (*back, *there) * revisions
    return tuple(steps)


@dataclass(frozen=True, slots=True)
class BreakEven:
    """From where on a batch takes no longer than the single model; None for both where no batch ever does.

    Attributes:
        batch: the smallest such batch.
        tokens: what the generator writes in the shortest such session, fractions of a change included.
        against_speed: of the single model, in tokens per second.
    """

    batch: int | None
    tokens: float | None
    against_speed: float


def break_even(figures: Figures) -> BreakEven:
    """When the cascade has earned its swaps against a single model that writes everything and is not reviewed.

    The cascade also pays for its reviews, and at the revise rate for revisions, their reviews and a second round trip.
    """
    gained = figures.single_seconds - figures.least_seconds_each
    if gained <= 0:
        return BreakEven(None, None, figures.single_speed)
    # A batch of `size` gains size · gained and costs `swaps_in(size)`, which a second round trip bounds. Swaps per change
    # fall with the size, so there is one point from which on it pays: bisection finds it.
    low, high = 0.0, 2 * figures.round_trip / gained
    for _ in range(100):
        size = (low + high) / 2
        low, high = (low, size) if size * gained >= figures.swaps_in(size) else (size, high)
    batch = max(1, math.ceil(high - 1e-9))
    return BreakEven(batch, high * figures.proposal_tokens, figures.single_speed)


BEST_WITHIN = 0.05
"""A batch is large enough when a larger one could save no more than this share of the time of each change."""

MOST_A_DAY = math.floor(86_400 / PUBLISHED.least_seconds_each)
"""Changes that are written and reviewed in a day at the published speeds, without swaps. No batch becomes larger."""


def best_batch(figures: Figures) -> int | None:
    """The smallest batch whose time per change is within `BEST_WITHIN` of what an endless batch would take.

    A larger batch saves next to nothing, and every change in it waits longer for its review. None where any batch is as good:
    nothing is swapped, or the best one is larger than `MOST_A_DAY`.
    """
    least = figures.least_seconds_each
    allowed = BEST_WITHIN * least
    if figures.round_trip == 0 or figures.swaps_in(MOST_A_DAY) > MOST_A_DAY * allowed:
        return None
    most = max(1, math.ceil(2 * figures.round_trip / allowed))
    return bisect_left(range(1, most), True, key=lambda size: figures.swaps_in(size) <= size * allowed) + 1
