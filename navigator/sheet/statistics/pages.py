"""The registry of pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from navigator.sheet.statistics import cost, outcomes, reviewer, revise_rate, summary, writing
from navigator.sheet.statistics.page import PageQuestion, StatisticsPage, Table, brief
from navigator.store.reads.reader import Reader

Counted = dict[str, Any]
"""What each part of a page counted, by the part's name."""


def _page(name: str, title: str, help: str, *parts: StatisticsPage[Any]) -> StatisticsPage[Counted]:
    """One page of several parts: their tables one after the other, their documents by name."""

    def read(reader: Reader, question: PageQuestion) -> Counted:
        return {part.name: part.read(reader, question) for part in parts}

    def tables(found: Counted) -> Sequence[Table]:
        made = [(part, part.tables(found[part.name])) for part in parts]
        if not any(tables for _, tables in made):
            return ()
        return tuple(
            brief(table)
            for part, tables in made
            for table in (tables or [Table(part.title.upper(), empty=part.missing)])
        )

    def document(found: Counted) -> dict[str, Any]:
        return {part.name.replace("-", "_"): part.document(found[part.name]) for part in parts}

    return StatisticsPage(name, title, help, parts[0].missing, read, tables, document)


def _page_of(page: StatisticsPage[Any]) -> StatisticsPage[Any]:
    """A page of one part."""
    return replace(page, tables=lambda found: tuple(map(brief, page.tables(found))))


REVIEWER = _page(
    "reviewer",
    "Reviewer",
    "How often first proposals are sent back, what the exam says about the reviewer, and how many findings a test proved.",
    revise_rate.PAGE,
    reviewer.EXAM,
    reviewer.FINDINGS,
    reviewer.UNCERTAINTY,
)

PAGES: tuple[StatisticsPage[Any], ...] = (
    _page_of(summary.PAGE),
    REVIEWER,
    _page_of(outcomes.PAGE),
    _page(
        "cost",
        "Cost",
        "What an accepted change costs: tokens, seconds of the models, swaps.",
        cost.COST,
        cost.SWAPS,
        cost.THROUGHPUT,
    ),
    _page(
        "writing",
        "Writing",
        "How edits applied, what writers looked at, and which of several proposals were chosen.",
        writing.EDITS,
        writing.LOOKING,
        writing.VARIANTS,
    ),
)
"""Every page, in the order of the screen's tabs. A new part is one entry here; its counts come from
`store.reads.statistics`, its arithmetic from `evidence`."""
