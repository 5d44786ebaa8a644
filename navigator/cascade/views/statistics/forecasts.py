"""How far off the forecasts of the time to finish were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from navigator.cascade.views.statistics.page import (
    Column,
    Row,
    StatisticsPage,
    Table,
    bounds,
    dash,
    percent,
)
from navigator.figures.forecasts import CLOSE, ForecastError, forecast_errors
from navigator.figures.intervals import ANECDOTAL_BELOW

_FROM = {"measured": "measured figures", "published": "partly published"}

_COLUMNS = (
    Column("n", 4),
    Column("median", 7),
    Column("P90", 6),
    Column("bias", 6),
    Column(f"within {CLOSE:.0%}", 11),
    Column("95 %", 10),
    Column("in P10–P90", 12),
    Column("left out", 10, wide=True),
)


@dataclass(frozen=True, slots=True)
class Forecasts:
    """Errors by the source of the figures."""

    errors: tuple[ForecastError, ...]


def _tables(found: Forecasts) -> Sequence[Table]:
    rows = tuple(
        Row(
            _FROM[row.source],
            (
                f"{row.n:,}",
                percent(row.median),
                percent(row.p90),
                "–" if row.bias is None else f"{100 * row.bias:+.0f}%",
                percent(row.close.rate),
                bounds(row.close),
                f"{percent(row.inside.rate)} {bounds(row.inside)}".rstrip(),
                dash(row.left_out),
            ),
            share=row.close if row.n else None,
            note="anecdotal" if row.n < ANECDOTAL_BELOW else "",
        )
        for row in found.errors
    )
    notes = (
        "error: a share of the actual time; bias above zero: forecasts too long",
        "in P10–P90: took a time that four of five such queues were expected to take",
        "left out: tasks came or were cancelled, or the session ended before",
    )
    about = "time until all that was queued waited for you"
    return (Table("FORECASTS", _COLUMNS, rows, about=about, notes=notes),) if rows else ()


PAGE: StatisticsPage[Forecasts] = StatisticsPage(
    name="forecast",
    title="Forecast",
    help="How far off forecasts of the time to finish were: median and P90 of the error, and its bias.",
    missing="No forecast has come due yet.",
    read=lambda reader, question: Forecasts(forecast_errors(reader.forecasts(question.since))),
    tables=_tables,
    document=lambda found: {"forecasts": [asdict(row) for row in found.errors]},
)
