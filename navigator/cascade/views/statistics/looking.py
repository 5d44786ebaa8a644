"""What writers looked at before they wrote, and what a change takes by the way it is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from navigator.cascade.views.statistics.page import (
    Column,
    Row,
    StatisticsPage,
    Table,
    bars,
    bounds,
    few_notes,
    number,
    percent,
)
from navigator.figures.cost import KindOfLook, Looking, WayCost, looking

_KINDS = (Column("shown", 7), Column("95 %", 10), Column("of", 14), Column("tokens", 10))
_WAYS = (
    Column("tokens read", 13),
    Column("cached", 8),
    Column("seconds", 9),
    Column("accepted", 16, wide=True),
)


def _tables(here: Looking) -> Sequence[Table]:
    if not here.ways and not here.rounds:
        return ()
    return (_looks(here), bars("WHAT BECAME OF THEM", _words(here), "no look yet"), _ways(here.ways))


def _looks(here: Looking) -> Table:
    rows = tuple(_kind_row(one) for one in here.kinds)
    facts: tuple[tuple[str, str], ...] = ()
    if here.rounds:
        said = f"{here.looks / here.rounds:.1f} looks, {here.requests / here.rounds:.1f} requests, "
        facts = (("per round", f"{said}{here.tokens / here.rounds:,.0f} tokens shown  n {here.rounds:,}"),)
    return Table(
        "LOOKS",
        _KINDS,
        rows,
        about="what writers asked to be shown",
        facts=facts,
        empty="no look yet",
        notes=few_notes(rows),
    )


def _kind_row(one: KindOfLook) -> Row:
    of = f"{one.shown.k:,} of {one.shown.n:,}"
    cells = (percent(one.shown.rate), bounds(one.shown), of, f"{one.tokens:,}")
    return Row(one.kind or "not understood", cells, share=one.shown)


def _words(here: Looking) -> dict[str, int]:
    return {name.replace("_", " "): n for name, n in here.outcomes.items()}


def _ways(ways: Sequence[WayCost]) -> Table:
    rows = tuple(_way_row(one) for one in ways)
    return Table(
        "PER ACCEPTED CHANGE, BY WAY OF WRITING",
        _WAYS,
        rows,
        about="tokens and seconds of the writer; its other proposals are counted too",
        empty="no proposal yet",
        notes=(
            *few_notes(rows),
            "Tasks choose their way, not chance: a harder one is looked at more.",
            "Compare arms in the lab.",
        ),
    )


def _way_row(one: WayCost) -> Row:
    accepted = f"{one.accepted.k:,} of {one.accepted.n:,}"
    cells = (number(one.prompt_tokens), percent(one.cached_share), number(one.seconds, 1), accepted)
    return Row(one.way, cells, share=one.accepted)


PAGE: StatisticsPage[Looking] = StatisticsPage(
    name="looking",
    title="Looking",
    help="What writers looked at before they wrote, and what a change takes by the way it is written.",
    missing="Nothing was written yet.",
    read=lambda reader, question: looking(
        reader.look_counts(question.since),
        reader.look_rounds(question.since),
        reader.way_totals(question.since),
    ),
    tables=_tables,
    document=asdict,
)
