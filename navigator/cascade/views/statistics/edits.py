"""How edits applied."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from navigator.cascade.views.statistics.page import SHARE_COLUMNS, StatisticsPage, Table, bars, share_rows
from navigator.figures.outcomes import EditStats, edit_stats
from navigator.model.text import plural


def _edit_tables(edits: EditStats) -> Sequence[Table]:
    if not edits.clean_first.n:
        return ()
    rounds = f"{edits.repaired:,} repaired, {edits.lost:,} lost, of {plural(edits.clean_first.n, 'round')} that asked for edits"
    return (
        Table(
            "EDITS",
            SHARE_COLUMNS,
            share_rows((("clean at the first answer", edits.clean_first),)),
            about="how the generator's edits applied",
            notes=(rounds,),
        ),
        bars("RUNGS THAT APPLIED", edits.rungs, "none applied"),
        bars("WHY EDITS FAILED", edits.codes, "every edit applied at once"),
    )


PAGE: StatisticsPage[EditStats] = StatisticsPage(
    name="edits",
    title="Edits",
    help="On which rung edits applied, why they failed, and how often the first answer was clean.",
    missing="No edits yet.",
    read=lambda reader, question: edit_stats(reader.edit_totals(question.since)),
    tables=_edit_tables,
    document=asdict,
)
