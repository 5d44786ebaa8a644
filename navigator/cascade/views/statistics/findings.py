"""Findings whose tests were run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from navigator.cascade.views.statistics.page import (
    SHARE_COLUMNS,
    Column,
    Row,
    StatisticsPage,
    Table,
    bounds,
    percent,
    share_rows,
)
from navigator.figures.intervals import ANECDOTAL_BELOW
from navigator.figures.reproductions import FindingTests, Proved, finding_tests

_COLUMNS = (
    *SHARE_COLUMNS,
    Column("could not run", 15, wide=True),
    Column("regression", 12, wide=True),
    Column("unmet", 7, wide=True),
)


def _tables(tests: FindingTests) -> Sequence[Table]:
    if not tests.all.reproduced.n and not tests.all.could_not:
        return ()
    rows = [_row(tests.all)]
    rows += [_row(one, detail=True) for one in (*tests.by_severity, *tests.by_criterion)]
    notes = ["of findings whose test ran; a faked proof counts as not reproduced"]
    if tests.all.could_not:
        notes.append(f"{tests.all.could_not:,} more had no test that could be run")
    if tests.all.reproduced.n < ANECDOTAL_BELOW:
        notes.append(f"anecdotal: n below {ANECDOTAL_BELOW}")
    after = share_rows(
        (
            ("passes on the revision", tests.met),
            ("requirements confirmed", tests.met_unmet),
            ("approved, one reproduced", tests.approved_proved),
            ("approved, none reproduced", tests.approved_other),
        )
    )
    return (
        Table(
            "FINDINGS REPRODUCED",
            _COLUMNS,
            tuple(rows),
            about="by a test, in the sandbox",
            notes=tuple(notes),
        ),
        Table(
            "WHAT FOLLOWED",
            SHARE_COLUMNS,
            after,
            about="revisions, and your decisions",
            notes=_anecdotal(after),
        ),
    )


def _row(found: Proved, *, detail: bool = False) -> Row:
    one = found.reproduced
    cells = (
        percent(one.rate),
        bounds(one),
        f"{one.k} of {one.n}",
        str(found.could_not),
        str(found.regressions),
        str(found.unmet),
    )
    return Row(found.name, cells, share=one if one.n else None, detail=detail)


def _anecdotal(rows: Sequence[Row]) -> tuple[str, ...]:
    few = [row.label for row in rows if row.share is not None and row.share.n < ANECDOTAL_BELOW]
    return (f"anecdotal, n below {ANECDOTAL_BELOW}: {', '.join(few)}",) if few else ()


PAGE: StatisticsPage[FindingTests] = StatisticsPage(
    name="findings",
    title="Findings",
    help="How many findings a test reproduced, by severity and criterion, and what followed.",
    missing="No finding had a test yet.",
    read=lambda reader, question: finding_tests(
        reader.reproduction_counts(question.since), reader.reproduced_decisions(question.since)
    ),
    tables=_tables,
    document=asdict,
)
