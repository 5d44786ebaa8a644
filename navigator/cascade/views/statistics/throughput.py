"""Tokens per second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from navigator.cascade.views.statistics.page import Column, Row, StatisticsPage, Table, dash, number, percent
from navigator.figures.cost import Throughput, throughput

_SPEED_COLUMNS = (
    Column("tok/s", 8),
    Column("per stream", 12),
    Column("streams", 9),
    Column("calls", 9),
    Column("failed", 8),
    Column("cached", 8),
    Column("tokens out", 14, wide=True),
)


def _speed_tables(found: tuple[Throughput, ...]) -> Sequence[Table]:
    rows = tuple(
        Row(
            f"{row.role.value}  {row.model}",
            (
                number(row.tokens_per_second),
                number(row.stream_tokens_per_second),
                number(row.streams, 1),
                f"{row.calls:,}",
                dash(row.failed),
                percent(row.cached_share),
                f"{row.completion_tokens:,}",
            ),
        )
        for row in found
    )
    about = "measured by the client, waiting for the first token included"
    return (Table("THROUGHPUT", _SPEED_COLUMNS, rows, about=about),) if rows else ()


PAGE: StatisticsPage[tuple[Throughput, ...]] = StatisticsPage(
    name="throughput",
    title="Throughput",
    help="Tokens per second by role and model, as the client measured them.",
    missing="No model called yet.",
    read=lambda reader, question: throughput(reader.call_totals(question.since)),
    tables=_speed_tables,
    document=lambda found: {"throughput": [asdict(row) for row in found]},
)
