"""`navigator forecast`: the time of a batch, from measured or given figures."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, Unpack

import click

from navigator.cli import output
from navigator.cli.command import AtLeast1, Share, Value, command
from navigator.cli.session import reading
from navigator.model.text import plural
from navigator.schedule.batch_time import (
    BEST_WITHIN,
    MOST_A_DAY,
    BreakEven,
    Figures,
    Forecast,
    Step,
    best_batch,
    break_even,
    task_steps,
)
from navigator.schedule.batch_time import forecast as batch_forecast
from navigator.sheet.finish import measured_figures, time_to_finish

if TYPE_CHECKING:
    from navigator.config.settings import SwapSettings
    from navigator.schedule.forecast import Remaining
    from navigator.store.reads.reader import Reader


_FIGURES = 8
"""Figures that can be measured."""


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
        figures, origin = _measured(store, settings.swap)
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
            _tell_remaining(left)
        output.say(f"Figures: {origin}.")
        _tell_batch(result, figures)
        _tell_even(even, best, figures)
        if steps is not None:
            _tell_steps(steps, revisions or 0)

    output.show(document, text)


def _tell_remaining(left: Remaining) -> None:
    """When all that is queued waits for the developer."""
    between = f"{output.duration(left.low)} – {output.duration(left.high)}"
    expected = f"{plural(left.swaps, 'swap')} and {plural(left.revisions, 'revision')} expected"
    output.say(
        f"{plural(left.tasks, 'task')} queued or under way, done in about {output.duration(left.seconds)}"
        f" ({between} in 4 of 5 cases); {expected}."
    )
    if left.followed < left.tasks:
        output.say(f"Computed from the first {left.followed} tasks, in proportion.")
    output.say()


def _tell_batch(result: Forecast, figures: Figures) -> None:
    swaps = output.duration(result.swap_seconds) if result.swap_seconds else "none"
    lines = [
        ("written in", output.duration(result.write_seconds)),
        ("swaps, there and back", swaps),
        ("reviewed in", output.duration(result.review_seconds)),
        (f"revised, at {figures.revise_rate:.0%}", output.duration(result.revision_seconds)),
        ("total", output.duration(result.total_seconds)),
        *([("swap time per proposal", f"{result.swap_each:.1f} s")] if result.swap_each else []),
        ("written tokens per second, overall", f"{result.tokens_per_second:.0f}"),
    ]
    output.table(lines, f"a batch of {result.batch}", "")
    output.say(_revise_rate(figures))


def _revise_rate(figures: Figures) -> str:
    """Where the revise rate is from."""
    from navigator.figures.intervals import ANECDOTAL_BELOW, share

    n = figures.revise_n
    if not n:
        return f"Revise rate: {figures.revise_rate:.0%}, {'as given' if figures.revise_rate else 'none measured yet'}."
    found = share(round(figures.revise_rate * n), n)
    few = ", anecdotal" if n < ANECDOTAL_BELOW else ""
    return f"Revise rate: {found.rate:.0%} [{100 * found.low:.0f}–{100 * found.high:.0f}], n = {n} first verdicts{few}."


def _tell_even(even: BreakEven, best: int | None, figures: Figures) -> None:
    against = f"a single model at {even.against_speed:.0f} tok/s without a reviewer"
    if even.tokens is None:
        said = f"Compared with {against}, no batch is ever faster: reviews and revisions cost more"
    else:
        said = f"Compared with {against}, a batch is no slower from {even.batch} proposals on ({even.tokens:,.0f} tokens)"
    output.say(f"{said}.")
    if best is None:
        larger = f"the larger, the better, even beyond {MOST_A_DAY:,} changes, a day's work"
        output.say(f"Best batch: any; {larger if figures.round_trip else 'nothing is swapped'}.")
        return
    output.say(
        f"Best batch: {best}. A larger one saves less"
        f" than {BEST_WITHIN:.0%} of the {figures.least_seconds_each:.1f} s that a change takes without swaps, and each change"
        " waits longer."
    )


def _tell_steps(steps: tuple[Step, ...], revisions: int) -> None:
    output.say()
    times = plural(revisions, "revision") if revisions else "no revision"
    rows = [(step.name, output.duration(step.seconds)) for step in steps]
    rows.append(("total", output.duration(sum(step.seconds for step in steps))))
    output.table(rows, f"one task alone, {times}", "")


def _measured(reader: Reader, swap: SwapSettings) -> tuple[Figures, str]:
    """Figures, and whose they are in words."""
    figures, names = measured_figures(reader, swap)
    if not names:
        return figures, "as published for one 96 GB GPU (nothing measured here yet)"
    missing = "" if len(names) == _FIGURES else "; the rest as published"
    measured = "REHEARSAL, simulated" if reader.rehearsal else "measured here"
    return figures, f"{measured}: {', '.join(names)}{missing}"
