"""How long a batch takes, and what a swap costs each of its tasks.

All durations are in seconds, all speeds in tokens per second. Figures come from measurement where there is any
(medians of recorded swaps and calls) and from the published ones of the two-model cascade otherwise; a
forecast says which.
"""

from __future__ import annotations

from dataclasses import dataclass

from navigator.domain.errors import UsageError


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

    `swap_each` is the round trip's share of each proposal, `swap_in_each` that of the way there alone;
    `seconds_each` is all of it, `tokens_per_second` what the session writes per second of its whole length.
    """

    batch: int
    write_seconds: float
    swap_seconds: float
    review_seconds: float
    revision_seconds: float
    total_seconds: float
    seconds_each: float
    swap_each: float
    swap_in_each: float
    tokens_per_second: float
    source: str


@dataclass(frozen=True, slots=True)
class Price:
    """What a swap costs each proposal if the review comes now, and if it comes when the target is reached.

    `now_each` is None when nothing waits. `extra_seconds` is what reviewing now costs all that wait,
    together, more than waiting for the target would; zero from the target on.
    """

    waiting: int
    target: int
    now_each: float | None
    target_each: float
    extra_seconds: float


def forecast(batch: int, figures: Figures = PUBLISHED) -> Forecast:
    """The time and the amortisation of one batch.

    Raises:
        UsageError: the batch is empty.
    """
    _require_items(batch)
    write = batch * figures.write_seconds
    review = batch * figures.review_seconds
    # Another round trip where at least one proposal is sent back; what is sent back is written and reviewed again.
    any_revised = 1 - (1 - figures.revise_rate) ** batch
    revision = any_revised * figures.round_trip + figures.revise_rate * (write + review)
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
        swap_in_each=figures.swap_in / batch,
        tokens_per_second=batch * figures.proposal_tokens / total if total else 0.0,
        source=figures.source,
    )


def one_task_seconds(figures: Figures = PUBLISHED, *, revisions: int = 0, back: bool = False) -> float:
    """Seconds of one task alone: written, swapped to its review, reviewed; then back, and revised.

    Args:
        figures: speeds and swaps.
        revisions: how many follow. Each is written with the generator resident, and each but the last is
            reviewed again; the last is counted as written only, so that the figure compares with published
            ones.
        back: count the swap back even when nothing is revised.
    """
    seconds = figures.write_seconds + figures.swap_in + figures.review_seconds
    if revisions == 0:
        return seconds + (figures.swap_back if back else 0.0)
    again = figures.swap_in + figures.review_seconds
    return seconds + revisions * (figures.swap_back + figures.write_seconds) + (revisions - 1) * again


def price(waiting: int, target: int, figures: Figures = PUBLISHED) -> Price:
    """What reviewing now costs against waiting until `target` proposals share the swap.

    Raises:
        UsageError: the target is not positive.
    """
    _require_items(target)
    at_target = figures.round_trip / target
    if waiting <= 0:
        return Price(0, target, None, at_target, 0.0)
    extra = max(0.0, figures.round_trip - waiting * at_target)
    return Price(waiting, target, figures.round_trip / waiting, at_target, extra)


def break_even_tokens(figures: Figures) -> float | None:
    """Tokens of first proposals after which the cascade has earned its swaps against a single model.

    The single model writes at `figures.single_speed` and is not reviewed; the cascade also pays for its reviews and for
    one round of revisions with a round trip of its own.

    Returns:
        The tokens, or None where the cascade never earns them.
    """
    revised = 1 + figures.revise_rate
    seconds_each = revised * (figures.write_seconds + figures.review_seconds)
    gained = (
        1 / figures.single_speed - seconds_each / figures.proposal_tokens if figures.proposal_tokens else 0.0
    )
    if gained <= 0:
        return None
    return figures.round_trip * (2 if figures.revise_rate else 1) / gained


def _require_items(count: int) -> None:
    if count < 1:
        raise UsageError("A batch has at least one proposal.", hint="Give --batch a number from 1 up.")
