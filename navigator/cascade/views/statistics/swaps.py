"""What swaps took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from navigator.cascade.views.statistics.page import (
    Column,
    Question,
    Row,
    SpreadPlot,
    StatisticsPage,
    Table,
    dash,
    percent,
)
from navigator.figures.intervals import Summary
from navigator.figures.swaps import Direction, RoundTrip, Spread, durations, round_trips, spread, swap_stats
from navigator.model.models import Swap
from navigator.store.reads.reader import Reader

_P95_FROM = 20

PAIRED = "a round trip is a swap to the reviewer and the next swap of the same session, back; both swaps' seconds together"

_SWAP_COLUMNS = (
    Column("n", 6),
    Column("mean", 9),
    Column("median", 9),
    Column("P95", 9),
    Column("failed", 8),
)


@dataclass(frozen=True, slots=True)
class Swaps:
    """What swaps took one way and both ways, and how that is distributed by direction."""

    directions: tuple[Direction, ...]
    trips: tuple[RoundTrip, ...]
    spread: Spread | None


def _read_swaps(reader: Reader, question: Question) -> Swaps:
    return figures_of(reader.swaps(since=question.since))


def figures_of(swaps: Sequence[Swap]) -> Swaps:
    """The figures of some swaps."""
    return Swaps(swap_stats(swaps), round_trips(swaps), spread(durations(swaps)))


def swap_table(directions: Sequence[Direction], trips: Sequence[RoundTrip] = ()) -> Table:
    """Directions with count, mean, median and P95 in seconds; below each its phases and how warm its weights were.

    Round trips follow in the same columns.
    """
    rows: list[Row] = []
    few = False
    for found in directions:
        took = found.seconds
        few = few or (took is not None and took.n < _P95_FROM)
        rest = [f"{count} {failure.replace('_', ' ')}" for failure, count in found.failures.items()]
        rest += [f"{found.outside} external, not measured"] if found.outside else []
        origin = found.from_role.value if found.from_role else "nothing"
        label = f"{origin} → {found.to_role.value}  by {found.strategy}"
        medians = tuple((phase, summary.median) for phase, summary in found.phases.items())
        rows.append(Row(label, (*_seconds(took), dash(found.failed)), parts=medians, note=", ".join(rest)))
        rows += [
            Row(f"  {phase}", (*_seconds(summary, rough=False), ""), detail=True)
            for phase, summary in found.phases.items()
        ]
        rows += [
            Row(
                f"  began {kind.name}, {percent(kind.share)} in memory",
                (*_seconds(kind.seconds, rough=False), ""),
                detail=True,
            )
            for kind in found.warmth
        ]
        if found.filled is not None:
            kinds = ", ".join(found.filled.work)
            label = f"  {percent(found.filled.share)} filled" + (f" with {kinds}" if kinds else "")
            rows.append(Row(label, (f"{found.filled.n:,}", "", "", "", ""), detail=True))
    for trip in trips:
        few = few or trip.seconds.n < _P95_FROM
        medians = tuple((phase, summary.median) for phase, summary in trip.phases.items())
        rows.append(Row(f"round trip  by {trip.strategy}", (*_seconds(trip.seconds), ""), parts=medians))
        rows += [
            Row(f"  {phase}", (*_seconds(summary, rough=False), ""), detail=True)
            for phase, summary in trip.phases.items()
        ]
    notes = []
    if few:
        notes.append(f"~ P95 of fewer than {_P95_FROM} is only indicative: it lies between the two longest")
    if trips:
        notes.append(PAIRED)
    about = "seconds, completed swaps only"
    return Table(
        "SWAPS", _SWAP_COLUMNS, tuple(rows), about=about, empty="no swap measured yet", notes=tuple(notes)
    )


def _seconds(took: Summary | None, *, rough: bool = True) -> tuple[str, ...]:
    if took is None:
        return ("0", "–", "–", "–")
    mark = "~" if rough and took.n < _P95_FROM else ""
    return (f"{took.n:,}", f"{took.mean:.1f}", f"{took.median:.1f}", f"{mark}{took.p95:.1f}")


def _swap_tables(found: Swaps) -> Sequence[Table]:
    shape = found.spread
    plot = SpreadPlot(shape.start, shape.step, tuple(shape.counts.items())) if shape else None
    return (replace(swap_table(found.directions, found.trips), plot=plot),) if found.directions else ()


def document(found: Swaps) -> dict[str, Any]:
    """The figures as JSON."""
    return {
        "directions": [asdict(row) for row in found.directions],
        "round_trips": [asdict(trip) for trip in found.trips],
        "pairing": PAIRED,
    }


PAGE: StatisticsPage[Swaps] = StatisticsPage(
    name="swaps",
    title="Swaps",
    help="What a swap costs: count, mean, median and P95 by direction and phase and of the round trip, in seconds.",
    missing="No swap measured yet.",
    read=_read_swaps,
    tables=_swap_tables,
    document=document,
)
