"""Several proposals for one task, by how they were written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from navigator.cascade.views.statistics.page import (
    SHARE_COLUMNS,
    StatisticsPage,
    Table,
    few_notes,
    share_rows,
)
from navigator.figures.outcomes import Variants, variant_shares


def _tables(found: Variants) -> Sequence[Table]:
    ways = found.ways
    if not ways:
        return ()
    tables = (
        ("CHOSEN", "of tasks for which a variant is approved", [(way.name, way.chosen) for way in ways]),
        ("TESTS PASS", "on the first proposal", [(way.name, way.passed) for way in ways]),
        ("APPROVE", "first verdicts", [(way.name, way.approved) for way in ways]),
    )
    return tuple(
        Table(title, SHARE_COLUMNS, rows, about=about, notes=few_notes(rows))
        for title, about, shares in tables
        for rows in (share_rows(shares),)
    )


PAGE: StatisticsPage[Variants] = StatisticsPage(
    name="variants",
    title="Variants",
    help="Several proposals for one task: how often each way of writing is chosen, passes the tests and gets APPROVE.",
    missing="No task was written several times yet: `navigator task add --variants 3`.",
    read=lambda reader, question: variant_shares(reader.variant_counts(question.since)),
    tables=_tables,
    document=asdict,
)
