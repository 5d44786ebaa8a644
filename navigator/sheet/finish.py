"""When everything that is queued waits for the developer, and the figures of that forecast, as they were measured here."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from navigator.config.settings import Settings, SwapSettings
from navigator.figures.cost import call_totals
from navigator.figures.rates import RELATED, relations, revise_rate
from navigator.figures.swaps import NEWEST, usual_swap
from navigator.model.models import wall_seconds
from navigator.model.snapshot import BatchRules, Doubt
from navigator.model.states import LOOP_TASK_STATES, REPORT_KINDS, Role, TaskState
from navigator.schedule.batch_time import PUBLISHED, Figures
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
    rate = next(iter(revise_rate(reader.verdict_counts()).rows), None)
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
    most = max(relations(reader.entropy_ranks()), key=lambda one: one.n, default=None)
    if most is None or most.verdict != RELATED or most.revise_mean is None or most.approve_mean is None:
        return None
    bits = (most.revise_mean + most.approve_mean) / 2
    above, revised = reader.sent_back_above(most.model, bits)
    usual = most.revise / most.n
    lift = (revised + usual) / (above + 1) / usual  # drawn towards the average by one change
    return Doubt(bits, min(MOST_LIFT, max(1.0, lift)))
