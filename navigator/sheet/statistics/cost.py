"""What an accepted change costs, what swaps took, and how fast the models are."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from navigator.figures.cost import Amount, Cost, Throughput, WorkCost, cost, throughput
from navigator.figures.intervals import ANECDOTAL_BELOW, Durations
from navigator.figures.swaps import Direction, RoundTrip, round_trips, swap_stats
from navigator.model.models import Swap
from navigator.model.states import Role
from navigator.sheet.statistics.page import (
    Column,
    PageQuestion,
    Row,
    StatisticsPage,
    Table,
    dash,
    number,
    percent,
    rows_of,
)
from navigator.store.reads.reader import Reader

_WORK = {"write": "writing", "review": "reviewing", "final": "final review", "exam": "exam"}
_COLUMNS = (
    Column("per accepted", lambda one: _amount(one, one[0].per_accepted)),
    Column("per proposal", lambda one: _amount(one, one[0].per_proposal)),
    # What no review is made of says nothing per review.
    Column("per review", lambda one: "" if one[2] else _amount(one, one[0].per_review)),
    Column("total", lambda one: _amount(one, one[0].total), wide=True),
)

_Counted = tuple[Amount, int, bool]
"""An amount, the digits after its point, and whether it is the writer's."""


def _amount(one: _Counted, value: float | None) -> str:
    return number(value, one[1])


def read_costs(reader: Reader, question: PageQuestion) -> Cost:
    """What the work of the time in question cost, and what came out of it."""
    since = question.since
    return cost(
        reader.work_yield(since),
        reader.work_totals(since),
        reader.call_totals(since),
        reader.swap_totals(since),
    )


def _cost_tables(spent: Cost) -> Sequence[Table]:
    if not spent.work and not spent.swaps.n:
        return ()
    lost = sum(one.lost for one in spent.work)
    unknown = (f"calls that were cut off, whose tokens are not known: {lost:,}",) if lost else ()
    tokens = tuple(row for one in spent.work for row in _work_rows(one))
    return (
        _cost_table(spent),
        Table("TOKENS", _COLUMNS, tokens, empty="no model called yet", notes=unknown),
        Table("SECONDS", _COLUMNS, tuple(_second_rows(spent)), notes=tuple(_swap_notes(spent))),
    )


def _cost_table(spent: Cost) -> Table:
    """All that was spent, divided by what came out."""
    models, swaps = spent.model_time, spent.swaps.seconds
    named: list[tuple[str, _Counted]] = [
        ("tokens, read and written", (spent.tokens, 0, False)),
        ("seconds of the models", (models, 1, False)),
        ("seconds of swaps", (swaps, 1, False)),
    ]
    if spent.final_reviews:
        named.append((f"price of the final model, n {spent.final_reviews:,}", (spent.final_price, 4, False)))
    parts = f"{number(models.per_accepted, 1)} s of models, {number(swaps.per_accepted, 1)} s of swaps"
    few = (f"anecdotal: n below {ANECDOTAL_BELOW}",) if 0 < spent.accepted < ANECDOTAL_BELOW else ()
    return Table(
        "COST PER ACCEPTED CHANGE",
        _COLUMNS,
        rows_of(_COLUMNS, named),
        headline=f"{number(spent.tokens.per_accepted)} tokens, {parts}  n {spent.accepted:,}",
        notes=(
            f"accepted changes: {spent.accepted:,}, proposals: {spent.proposals:,}, reviews: {spent.reviews:,}",
            "accepted: approved and not undone",
            "rejected changes count as cost; the exam does not",
            *few,
        ),
    )


def _work_rows(one: WorkCost) -> Iterable[Row]:
    name, written = f"{one.role.value}, {_WORK.get(one.work, one.work)}", one.work == "write"
    yield from rows_of(_COLUMNS, [(f"{name}: read", (one.prompt_tokens, 0, written))])
    yield from rows_of(_COLUMNS, [("  from its cache", (one.cached_tokens, 0, written))], detail=True)
    yield from rows_of(_COLUMNS, [(f"{name}: wrote", (one.completion_tokens, 0, written))])


def _second_rows(spent: Cost) -> Iterable[Row]:
    named = [
        (f"{one.role.value} at work", (one.seconds, 1, one.role is Role.GENERATOR))
        for one in spent.model_seconds
    ]
    yield from rows_of(_COLUMNS, [*named, ("swaps", (spent.swaps.seconds, 1, False))])
    if spent.swaps.batch_share is not None:
        label = f"  round trips of batches: {percent(spent.swaps.batch_share)}"
        yield from rows_of(_COLUMNS, [(label, (spent.swaps.batch_seconds, 1, False))], detail=True)


def _swap_notes(spent: Cost) -> Iterable[str]:
    if spent.swaps.n:
        yield f"swaps and loads: {spent.swaps.n:,}, failed: {spent.swaps.failed:,}"
    if spent.swaps.unmeasured:
        yield f"swaps made externally, whose seconds are not known: {spent.swaps.unmeasured:,}"


COST: StatisticsPage[Cost] = StatisticsPage(
    name="cost",
    title="Cost",
    help="What an accepted change costs in tokens, seconds of the models and swaps.",
    missing="No model called yet.",
    read=read_costs,
    tables=_cost_tables,
)

# Swaps

_P95_FROM = 20

PAIRED = "a round trip is a swap to the reviewer and the next swap of the same session, back; both swaps' seconds together"

_Took = tuple[Durations | None, int, bool]
"""Seconds, how many failed, and whether a P95 of few is marked."""

_SWAP_COLUMNS = (
    Column("n", lambda one: f"{one[0].n:,}" if one[0] else "0"),
    Column("mean", lambda one: f"{one[0].mean:.1f}" if one[0] else "–"),
    Column("median", lambda one: f"{one[0].median:.1f}" if one[0] else "–"),
    Column("P95", lambda one: _p95(one)),
    Column("failed", lambda one: dash(one[1]) if one[2] and one[1] >= 0 else ""),
)


def _p95(one: _Took) -> str:
    took, _, rough = one
    if took is None:
        return "–"
    return f"{'~' if rough and took.n < _P95_FROM else ''}{took.p95:.1f}"


@dataclass(frozen=True, slots=True)
class Swaps:
    """What swaps took one way and both ways."""

    directions: tuple[Direction, ...]
    trips: tuple[RoundTrip, ...]


def figures_of(swaps: Sequence[Swap]) -> Swaps:
    """The figures of some swaps."""
    return Swaps(swap_stats(swaps), round_trips(swaps))


def swap_table(directions: Sequence[Direction], trips: Sequence[RoundTrip] = ()) -> Table:
    """Directions with count, mean, median and P95 in seconds; below each its phases and how warm its weights were.

    Round trips follow in the same columns.
    """
    rows: list[Row] = []
    for found in directions:
        rest = [f"{count} {failure.replace('_', ' ')}" for failure, count in found.failures.items()]
        rest += [f"{found.outside} external, not measured"] if found.outside else []
        origin = found.from_role.value if found.from_role else "nothing"
        label = f"{origin} → {found.to_role.value}  by {found.strategy}"
        rows += _timed(label, found.seconds, found.failed, found.phases, ", ".join(rest))
        warmth = (
            (f"  began {kind.name}, {percent(kind.share)} in memory", (kind.seconds, 0, False))
            for kind in found.warmth
        )
        rows += rows_of(_SWAP_COLUMNS, warmth, detail=True)
        if found.filled is not None:
            kinds = ", ".join(found.filled.work)
            label = f"  {percent(found.filled.share)} filled" + (f" with {kinds}" if kinds else "")
            rows.append(Row(label, (f"{found.filled.n:,}", "", "", "", ""), detail=True))
    for trip in trips:
        rows += _timed(f"round trip  by {trip.strategy}", trip.seconds, -1, trip.phases)
    notes = []
    timed = [*(one.seconds for one in directions), *(one.seconds for one in trips)]
    if any(took and took.n < _P95_FROM for took in timed):
        notes.append(f"~ P95 of fewer than {_P95_FROM} is only indicative: it lies between the two longest")
    if trips:
        notes.append(PAIRED)
    about = "seconds, completed swaps only"
    return Table(
        "SWAPS", _SWAP_COLUMNS, tuple(rows), about=about, empty="no swap measured yet", notes=tuple(notes)
    )


def _timed(
    label: str, took: Durations | None, failed: int, phases: dict[str, Durations], note: str = ""
) -> Iterable[Row]:
    """A row, and one for each of its phases. `failed` is -1 where a failure is not counted."""
    medians = tuple((phase, summary.median) for phase, summary in phases.items())
    cells = tuple(column.of((took, failed, True)) for column in _SWAP_COLUMNS)
    yield Row(label, cells, parts=medians, note=note)
    named = ((f"  {phase}", (summary, 0, False)) for phase, summary in phases.items())
    yield from rows_of(_SWAP_COLUMNS, named, detail=True)


def swap_document(found: Swaps) -> dict[str, Any]:
    """The figures as JSON."""
    return {
        "directions": [asdict(row) for row in found.directions],
        "round_trips": [asdict(trip) for trip in found.trips],
        "pairing": PAIRED,
    }


SWAPS: StatisticsPage[Swaps] = StatisticsPage(
    name="swaps",
    title="Swaps",
    help="What a swap costs: count, mean, median and P95 by direction and phase and of the round trip, in seconds.",
    missing="No swap measured yet.",
    read=lambda reader, question: figures_of(reader.swaps(since=question.since)),
    tables=lambda found: (swap_table(found.directions, found.trips),) if found.directions else (),
    document=swap_document,
)

# Tokens per second

_SPEED_COLUMNS = (
    Column("tok/s", lambda row: number(row.tokens_per_second)),
    Column("per stream", lambda row: number(row.stream_tokens_per_second)),
    Column("streams", lambda row: number(row.streams, 1)),
    Column("calls", lambda row: f"{row.calls:,}"),
    Column("failed", lambda row: dash(row.failed)),
    Column("cached", lambda row: percent(row.cached_share)),
    Column("tokens out", lambda row: f"{row.completion_tokens:,}", wide=True),
)


def _speed_tables(found: Sequence[Throughput]) -> Sequence[Table]:
    rows = rows_of(_SPEED_COLUMNS, ((f"{row.role.value}  {row.model}", row) for row in found))
    about = "measured by the client, including the wait for the first token"
    return (Table("THROUGHPUT", _SPEED_COLUMNS, rows, about=about),) if rows else ()


THROUGHPUT: StatisticsPage[Sequence[Throughput]] = StatisticsPage(
    name="throughput",
    title="Throughput",
    help="Tokens per second by role and model, as the client measured them.",
    missing="No model called yet.",
    read=lambda reader, question: throughput(reader.call_totals(question.since)),
    tables=_speed_tables,
    document=lambda found: {"throughput": [asdict(row) for row in found]},
)
