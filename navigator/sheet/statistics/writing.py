"""How edits applied, what writers looked at, and which of several proposals were chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from navigator.figures.cost import Looking, looking
from navigator.figures.outcomes import EditStats, Variants, edit_stats, variant_shares
from navigator.model.text import plural
from navigator.sheet.statistics.page import (
    SHARE_COLUMNS,
    Column,
    StatisticsPage,
    Table,
    bars,
    number,
    percent,
    rows_of,
    share_table,
)


def _edit_tables(edits: EditStats) -> Sequence[Table]:
    if not edits.clean_first.n:
        return ()
    rounds = f"{edits.repaired:,} repaired, {edits.lost:,} lost, of {plural(edits.clean_first.n, 'round')} that asked for edits"
    clean = share_table(
        "EDITS", (("clean at the first answer", edits.clean_first),), "how the generator's edits applied"
    )
    return (
        replace(clean, notes=(rounds,)),
        bars("RUNGS THAT APPLIED", edits.rungs, "none applied"),
        bars("WHY EDITS FAILED", edits.codes, "every edit applied at once"),
    )


EDITS: StatisticsPage[EditStats] = StatisticsPage(
    name="edits",
    title="Edits",
    help="How edits applied, why they failed, and how often the first answer was clean.",
    missing="No edits yet.",
    read=lambda reader, question: edit_stats(reader.edit_totals(question.since)),
    tables=_edit_tables,
)

_KINDS = (
    *(Column(column.name, lambda one, of=column.of: of(one.shown)) for column in SHARE_COLUMNS),  # type: ignore[misc]
    Column("tokens", lambda one: f"{one.tokens:,}"),
)
_WAYS = (
    Column("tokens read", lambda one: number(one.prompt_tokens)),
    Column("cached", lambda one: percent(one.cached_share)),
    Column("seconds", lambda one: number(one.seconds, 1)),
    Column("accepted", lambda one: f"{one.accepted.k:,} of {one.accepted.n:,}", wide=True),
)


def _looking_tables(here: Looking) -> Sequence[Table]:
    if not here.ways and not here.rounds:
        return ()
    facts: tuple[tuple[str, str], ...] = ()
    if here.rounds:
        said = f"{here.looks / here.rounds:.1f} looks, {here.requests / here.rounds:.1f} requests, "
        facts = (("per round", f"{said}{here.tokens / here.rounds:,.0f} tokens shown  n {here.rounds:,}"),)
    kinds = ((one.kind or "not understood", one) for one in here.kinds)
    return (
        Table(
            "LOOKS",
            _KINDS,
            rows_of(_KINDS, kinds, share=lambda one: one.shown),
            about="what writers asked to be shown",
            facts=facts,
            empty="no look yet",
        ),
        bars(
            "WHAT BECAME OF THEM",
            {name.replace("_", " "): n for name, n in here.outcomes.items()},
            "no look yet",
        ),
        Table(
            "PER ACCEPTED CHANGE, BY WAY OF WRITING",
            _WAYS,
            rows_of(_WAYS, ((one.way, one) for one in here.ways), share=lambda one: one.accepted),
            about="tokens and seconds of the writer; its other proposals are counted too",
            empty="no proposal yet",
            notes=("No fair comparison: a harder task gets more looks.",),
        ),
    )


LOOKING: StatisticsPage[Looking] = StatisticsPage(
    name="looking",
    title="Looking",
    help="What writers looked at before they wrote, and what a change takes by the way it is written.",
    missing="Nothing was written yet.",
    read=lambda reader, question: looking(
        reader.look_counts(question.since),
        reader.look_rounds(question.since),
        reader.way_totals(question.since),
    ),
    tables=_looking_tables,
)


def _variant_tables(found: Variants) -> Sequence[Table]:
    ways = found.ways
    if not ways:
        return ()
    return (
        share_table(
            "CHOSEN",
            ((way.name, way.chosen) for way in ways),
            "of tasks for which a variant is approved",
        ),
        share_table("TESTS PASS", ((way.name, way.passed) for way in ways), "on the first proposal"),
        share_table("APPROVE", ((way.name, way.approved) for way in ways), "first verdicts"),
    )


VARIANTS: StatisticsPage[Variants] = StatisticsPage(
    name="variants",
    title="Variants",
    help="Several proposals for one task: how often each way of writing is chosen, passes the tests and gets APPROVE.",
    missing="No task was written several times yet: `navigator task add --variants 3`.",
    read=lambda reader, question: variant_shares(reader.variant_counts(question.since)),
    tables=_variant_tables,
)
