"""When all that is queued waits for the developer; the figures of that forecast, as they were measured here, and its words."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from navigator.config.settings import Settings, SwapSettings
from navigator.figures.cost import call_totals
from navigator.figures.intervals import ANECDOTAL_BELOW, share
from navigator.figures.queries import entropy_ranks, sent_back_above, verdict_counts
from navigator.figures.rates import relation, revise_rate
from navigator.figures.swaps import NEWEST, usual_swap
from navigator.model.models import wall_seconds
from navigator.model.snapshot import BatchRules, Doubt
from navigator.model.states import LOOP_TASK_STATES, REPORT_KINDS, Role, TaskState
from navigator.model.text import duration, plural
from navigator.schedule.batch_time import BEST_WITHIN, MOST_A_DAY, PUBLISHED, BreakEven, Figures, Forecast
from navigator.store.reads.reader import Reader

if TYPE_CHECKING:
    from navigator.schedule.forecast import Remaining

FORESEEN_STATES = LOOP_TASK_STATES - {TaskState.FINAL_REVIEW, TaskState.STALE}
"""Tasks that the two models have yet to work on."""

UNTIL = "until"
"""Where the conductor notes the goal of its session: "idle", "reviewed", or "" for one that stays."""

SWAPPING_TO = "swapping_to"
"""Where it notes the role that a swap under way loads, while one is."""


def time_to_finish(reader: Reader, settings: Settings, figures: Figures) -> Remaining | None:
    """The forecast for all that is queued or under way, in the session that runs or in `run --until idle`; None of nothing."""
    from navigator.schedule.forecast import Terms, remaining

    tasks = reader.loop_tasks(FORESEEN_STATES, settings.routing.writer)
    unread = frozenset(task.id for task in tasks if task.kind in REPORT_KINDS)
    resident, until = reader.meta("resident", str), reader.meta(UNTIL, str)
    roles = {role.value: role for role in (Role.GENERATOR, Role.REVIEWER)}
    plan = Terms(
        resident=roles.get(str(resident)),
        swapping_to=roles.get(str(reader.meta(SWAPPING_TO, str))),
        both_resident=resident == "both" or settings.swap.keeps_both,
        streams=(settings.generator.max_inflight, settings.reviewer.max_inflight),
        revisions=settings.batch.revisions,
        until="idle" if until is None else str(until),
        rules=batch_rules(settings),
        unreviewed=unread,
        untested=frozenset(project.id for project in reader.projects() if not project.check.strip()),
    )
    return remaining(tasks, wall_seconds(), figures, plan)


def batch_rules(settings: Settings) -> BatchRules:
    """`[batch]` of the settings, in seconds."""
    batch = settings.batch
    return BatchRules(
        target=batch.target,
        max_wait=batch.max_wait_minutes * 60,
        quiet=batch.quiet_minutes * 60,
    )


# What was measured here


def measured_figures(reader: Reader, swap: SwapSettings) -> tuple[Figures, tuple[str, ...]]:
    """Figures measured here, the published ones for what is not measured yet.

    Args:
        swap: of the settings. Where both models stay loaded, nothing is swapped, and that takes no time.

    Returns:
        The figures, and the names of those that were measured.
    """
    swaps = reader.swaps(NEWEST)
    found: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    ways = (("swap_in", Role.GENERATOR, Role.REVIEWER), ("swap_back", Role.REVIEWER, Role.GENERATOR))
    for name, origin, to in ways:
        took = usual_swap(swaps, origin.value, to.value)
        if took is not None and took.seconds is not None and not swap.keeps_both:
            found[name] = took.seconds.median
    totals = [row for row in call_totals(reader) if row.role is not Role.FINAL]
    # Of several models in one role, the one that was called last.
    for row in sorted(totals, key=lambda row: row.newest):
        speed, streams, tokens = (
            ("generator_speed", "generator_streams", "proposal_tokens")
            if row.role is Role.GENERATOR
            else ("reviewer_speed", "reviewer_streams", "review_tokens")
        )
        if row.tokens_per_second:
            found[speed] = row.tokens_per_second
            beside[streams] = row.streams or 1.0
            if row.role is Role.REVIEWER:  # the model that would stay loaded, were there no other
                found["single_speed"] = row.tokens_per_second
        if row.batch_calls:
            found[tokens] = row.batch_tokens / row.batch_calls
    rate = next(iter(revise_rate(verdict_counts(reader)).rows), None)
    if rate is not None and rate.rate is not None:
        found["revise_rate"] = rate.rate
        beside |= {"revise_n": rate.n, "revise_low": rate.low, "revise_high": rate.high}
    figures = PUBLISHED
    if swap.keeps_both:
        figures = replace(PUBLISHED, swap_in=0.0, swap_back=0.0)
        found |= {"swap_in": 0.0, "swap_back": 0.0} if found else {}
    if found:
        figures = replace(
            PUBLISHED,
            **found,
            **beside,
            source="measured",
        )
    return figures, tuple(sorted(found))


MOST_LIFT = 3.0
"""By how much a change's uncertainty shortens its longest wait, at most."""


def measured_doubt(reader: Reader) -> Doubt | None:
    """What the mean entropy says of the verdict, for the writer with the most verdicts; None unless it is shown to tell."""
    most = max(map(relation, entropy_ranks(reader)), key=lambda one: one.n, default=None)
    if most is None or not most.related or most.revise_mean is None or most.approve_mean is None:
        return None
    bits = (most.revise_mean + most.approve_mean) / 2
    above, revised = sent_back_above(reader, most.model, bits)
    usual = most.revise / most.n
    lift = (revised + usual) / (above + 1) / usual  # drawn towards the average by one change
    return Doubt(bits, min(MOST_LIFT, max(1.0, lift)))


# The forecast in words

_MEASURABLE = 8
"""Figures that can be measured."""


def figures_here(reader: Reader, swap: SwapSettings) -> tuple[Figures, str]:
    """As `measured_figures`, and whose the figures are in words."""
    figures, names = measured_figures(reader, swap)
    if not names:
        return figures, "as published for one 96 GB GPU (nothing measured here yet)"
    missing = "" if len(names) == _MEASURABLE else "; the rest as published"
    measured = "REHEARSAL, simulated" if reader.rehearsal else "measured here"
    return figures, f"{measured}: {', '.join(names)}{missing}"


def remaining_words(left: Remaining) -> str:
    """When all that is queued waits for the developer."""
    between = f"{duration(left.low)} – {duration(left.high)}"
    expected = f"{plural(left.swaps, 'swap')} and {plural(left.revisions, 'revision')} expected"
    said = (
        f"{plural(left.tasks, 'task')} queued or under way, done in about {duration(left.seconds)}"
        f" ({between} in 4 of 5 cases); {expected}."
    )
    if left.followed < left.tasks:
        said += f"\nComputed from the first {left.followed} tasks, in proportion."
    return said


def batch_lines(result: Forecast, figures: Figures) -> list[tuple[str, str]]:
    """What each part of a batch takes: its name and a time, or a rate."""
    return [
        ("written in", duration(result.write_seconds)),
        ("swaps, there and back", duration(result.swap_seconds) if result.swap_seconds else "none"),
        ("reviewed in", duration(result.review_seconds)),
        (f"revised, at {figures.revise_rate:.0%}", duration(result.revision_seconds)),
        ("total", duration(result.total_seconds)),
        *([("swap time per proposal", f"{result.swap_each:.1f} s")] if result.swap_each else []),
        ("written tokens per second, overall", f"{result.tokens_per_second:.0f}"),
    ]


def revise_rate_words(figures: Figures) -> str:
    """Where the revise rate is from."""
    n = figures.revise_n
    if not n:
        return f"Revise rate: {figures.revise_rate:.0%}, {'as given' if figures.revise_rate else 'none measured yet'}."
    found = share(round(figures.revise_rate * n), n)
    few = ", anecdotal" if n < ANECDOTAL_BELOW else ""
    return f"Revise rate: {found.rate:.0%} [{100 * found.low:.0f}–{100 * found.high:.0f}], n = {n} first verdicts{few}."


def even_words(even: BreakEven) -> str:
    """From how many proposals on a batch is no slower than one model without a reviewer."""
    against = f"a single model at {even.against_speed:.0f} tok/s without a reviewer"
    if even.tokens is None:
        return f"Compared with {against}, no batch is ever faster: reviews and revisions cost more."
    return f"Compared with {against}, a batch is no slower from {even.batch} proposals on ({even.tokens:,.0f} tokens)."


def best_words(best: int | None, figures: Figures) -> str:
    """The best size of a batch, and why it is no larger."""
    if best is None:
        larger = f"the larger, the better, even beyond {MOST_A_DAY:,} changes, a day's work"
        return f"Best batch: any; {larger if figures.round_trip else 'nothing is swapped'}."
    return (
        f"Best batch: {best}. A larger one saves less"
        f" than {BEST_WITHIN:.0%} of the {figures.least_seconds_each:.1f} s that a change takes without swaps, and each change"
        " waits longer."
    )
