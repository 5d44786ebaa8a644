"""`navigator forecast`: the time of a batch, from measured or given figures."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any, TypedDict, Unpack

import click

from navigator.cli import output
from navigator.cli.command import AtLeast1, Share, Value, command
from navigator.cli.session import reading
from navigator.model.text import plural
from navigator.schedule.batch_time import Step, best_batch, break_even, task_steps
from navigator.schedule.batch_time import forecast as batch_forecast
from navigator.sheet.finish import (
    batch_lines,
    best_words,
    even_words,
    figures_here,
    remaining_words,
    revise_rate_words,
    time_to_finish,
)


class _Given(TypedDict):
    swap_in: Annotated[float | None, Value("S")]
    swap_back: Annotated[float | None, Value("S")]
    generator_speed: Annotated[float | None, Value("TOK/S")]
    reviewer_speed: Annotated[float | None, Value("TOK/S")]
    proposal_tokens: Annotated[float | None, Value("N")]
    review_tokens: Annotated[float | None, Value("N")]
    revise_rate: Share | None
    single_speed: Annotated[float | None, Value("TOK/S")]


@command()
def forecast(
    *,
    batch: AtLeast1 | None = None,
    revisions: Annotated[int | None, Value("N", type=click.IntRange(0, 100))] = None,
    **given: Unpack[_Given],
) -> None:
    """Estimate when all that is queued is done, and the time of a batch, from figures measured here, else published ones.

    Options override the figures. What is queued is followed task by task: written, checked, reviewed, and revised at the revise
    rate, as `navigator run` would do it.

    The break-even is against one model that stays loaded, writes every change and is not reviewed. The best batch is the
    smallest one whose time per change is within 5% of an endless batch's.

    Args:
        batch: Proposals in a batch; by default the target in the settings.
        swap_in: Seconds of a swap to the reviewer.
        swap_back: Seconds of a swap back.
        generator_speed: Of all streams together.
        reviewer_speed: Of all streams together.
        proposal_tokens: Tokens of a proposal.
        review_tokens: Tokens of a review.
        revise_rate: Share of proposals sent back; by default as measured, 0 where nothing was reviewed yet.
        single_speed: Of one model that does all the work.
        revisions: Also follow one task alone through N revisions, each reviewed again.
    """
    from navigator.config.settings import load_settings

    settings = load_settings()
    with reading() as store:
        figures, origin = figures_here(store, settings.swap)
        named: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        if named:
            known = 0 if "revise_rate" in named else figures.revise_n  # what is given has no interval
            figures = replace(figures, **named, revise_n=known)
            origin = f"{origin}, with {', '.join(sorted(named))} as given"
        left = time_to_finish(store, settings, figures)
    result = batch_forecast(batch or settings.batch.target, figures)
    even, best = break_even(figures), best_batch(figures)
    steps = None if revisions is None else task_steps(figures, revisions=revisions)
    document: dict[str, Any] = {
        "figures": asdict(figures) | {"source": origin},
        "forecast": asdict(result) | {"source": origin},
        "break_even": even,
        "best_batch": best,
        "remaining": left,
    }
    if steps is not None:
        seconds = sum(step.seconds for step in steps)
        document["one_task"] = {"revisions": revisions, "seconds": seconds, "steps": steps}

    def text(_: object) -> None:
        if left is not None:
            output.say(f"{remaining_words(left)}\n")
        output.say(f"Figures: {origin}.")
        output.table(batch_lines(result, figures), f"a batch of {result.batch}", "")
        for words in (revise_rate_words(figures), even_words(even), best_words(best, figures)):
            output.say(words)
        if steps is not None:
            _tell_steps(steps, revisions or 0)

    output.show(document, text)


def _tell_steps(steps: tuple[Step, ...], revisions: int) -> None:
    output.say()
    times = plural(revisions, "revision") if revisions else "no revision"
    rows = [(step.name, output.duration(step.seconds)) for step in steps]
    rows.append(("total", output.duration(sum(step.seconds for step in steps))))
    output.table(rows, f"one task alone, {times}", "")
