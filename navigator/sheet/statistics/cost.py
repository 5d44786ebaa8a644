"""What an accepted change costs, what swaps took, and how fast the models are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from navigator.figures.intervals import ANECDOTAL_BELOW, Durations
from navigator.figures.swaps import round_trips, swap_stats
from navigator.model.models import Swap
from navigator.model.records import SwapTotals, WorkTotals, Yield
from navigator.sheet.statistics.page import (
    Column,
    PageQuestion,
    Row,
    Table,
    dash,
    number,
    percent,
    rows_of,
)
from navigator.store.reads.reader import Reader

_WORK = {"write": "writing", "review": "reviewing", "final": "final review", "exam": "exam"}


@dataclass(frozen=True, slots=True)
class Cost:
    """What was spent in some time, by role and kind of work, on swaps, and what came out of it."""

    made: Yield
    work: Sequence[WorkTotals]
    swaps: SwapTotals

    @property
    def tokens(self) -> int:
        """Read and written for the work, of which the exam is no part."""
        return sum(row.prompt_tokens + row.completion_tokens for row in self.work if row.work != "exam")

    @property
    def model_seconds(self) -> float:
        """In which a model worked, added up over roles and kinds of work, of which the exam is none."""
        return sum(row.busy_seconds for row in self.work if row.work != "exam")

    def document(self) -> dict[str, Any]:
        """As JSON has it: what came out, the sums with their shares of an accepted change, and who spent them."""
        n = self.made.accepted
        sums = {
            "tokens": self.tokens,
            "model_seconds": self.model_seconds,
            "swap_seconds": self.swaps.seconds,
            "final_price": self.made.final_price,
        }
        return {
            **self.made.model_dump(),
            **{
                name: {"total": total, "per_accepted": total / n if n else None}
                for name, total in sums.items()
            },
            "work": [row.model_dump(mode="json") for row in self.work],
            "swaps": self.swaps.model_dump(),
        }


def read_costs(reader: Reader, since: str) -> Cost:
    """What the work from `since` on cost, and what came out of it."""
    return Cost(
        reader.work_yield(since),
        reader.work_totals(since),
        reader.swap_totals(since),
    )


def cost_tables(reader: Reader, question: PageQuestion) -> Iterator[Table]:
    """All that was spent, divided by what came out: on the whole, then tokens and seconds by who spent them."""
    spent = read_costs(reader, question.since)
    made, swaps = spent.made, spent.swaps

    def columns(digits: int) -> tuple[Column, ...]:
        each = Column(
            "per accepted", lambda total: number(total / made.accepted if made.accepted else None, digits)
        )
        return each, Column("total", lambda total: number(total, digits))

    named = [("tokens, read and written", spent.tokens, 0), ("seconds of the models", spent.model_seconds, 1)]
    named.append(("seconds of swaps", swaps.seconds, 1))
    if made.final_reviews:
        named.append((f"price of the final model, n {made.final_reviews:,}", made.final_price, 4))
    few = (f"anecdotal: n below {ANECDOTAL_BELOW}",) if 0 < made.accepted < ANECDOTAL_BELOW else ()
    some = bool(spent.work or swaps.n)
    yield Table(
        "COST PER ACCEPTED CHANGE",
        columns(0),
        tuple(row for label, total, digits in named for row in rows_of(columns(digits), [(label, total)]))
        if some
        else (),
        notes=(
            f"accepted changes: {made.accepted:,}, proposals: {made.proposals:,}, reviews: {made.reviews:,}",
            "accepted: approved and not undone",
            "rejected changes count as cost; the exam does not",
            *few,
        ),
        name="cost",
        data=spent.document(),
    )
    lost = sum(row.lost for row in spent.work)
    tokens = [
        row
        for one in spent.work
        for label, total in (
            (f"{one.role.value}, {_WORK[one.work]}: read", one.prompt_tokens),
            ("  from its cache", one.cached_tokens),
            (f"{one.role.value}, {_WORK[one.work]}: wrote", one.completion_tokens),
        )
        for row in rows_of(columns(0), [(label, total)], detail=label.startswith(" "))
    ]
    unknown = (f"calls that were cut off, whose tokens are not known: {lost:,}",) if lost else ()
    yield Table("TOKENS", columns(0), tuple(tokens), notes=unknown)
    seconds = [
        (f"{row.role.value}, {_WORK[row.work]}", row.busy_seconds) for row in spent.work if row.work != "exam"
    ]
    notes: tuple[str, ...] = (f"swaps and loads: {swaps.n:,}, failed: {swaps.failed:,}",) if swaps.n else ()
    if swaps.unmeasured:
        notes += (f"swaps made externally, whose seconds are not known: {swaps.unmeasured:,}",)
    rows = rows_of(columns(1), [*seconds, ("swaps", swaps.seconds)]) if some else ()
    yield Table("SECONDS", columns(1), rows, notes=notes)


# Swaps

_P95_FROM = 20

PAIRED = "a round trip is a swap to the reviewer and the next swap of the same session, back; both swaps' seconds together"

_Took = tuple[Durations | None, int | None]
"""Seconds, and how many failed, None where that is not counted."""

_SWAP_COLUMNS = (
    Column("n", lambda one: f"{one[0].n:,}" if one[0] else "0"),
    Column("mean", lambda one: number(one[0] and one[0].mean, 1)),
    Column("median", lambda one: number(one[0] and one[0].median, 1)),
    Column("P95", lambda one: f"{_rough(one)}{number(one[0] and one[0].p95, 1)}"),
    Column("failed", lambda one: "" if one[1] is None else dash(one[1])),
)


def _rough(one: _Took) -> str:
    return "~" if one[0] and one[1] is not None and one[0].n < _P95_FROM else ""


def swap_table(swaps: Sequence[Swap]) -> Table:
    """Count, mean, median and P95 in seconds by direction, below each its phases; then round trips in the same columns."""
    directions, trips = swap_stats(swaps), round_trips(swaps)
    rows: list[Row] = []
    for found in directions:
        rest = [f"{count} {failure.replace('_', ' ')}" for failure, count in found.failures.items()]
        rest += [f"{found.outside} external, not measured"] if found.outside else []
        origin = found.from_role.value if found.from_role else "nothing"
        label = f"{origin} → {found.to_role.value}  by {found.strategy}"
        rows += _timed(label, (found.seconds, found.failed), found.phases, ", ".join(rest))
        if found.filled is not None:
            kinds = ", ".join(found.filled.work)
            label = f"  {percent(found.filled.share)} filled" + (f" with {kinds}" if kinds else "")
            rows.append(Row(label, (f"{found.filled.n:,}", "", "", "", ""), detail=True))
    for trip in trips:
        rows += _timed(f"round trip  by {trip.strategy}", (trip.seconds, None), trip.phases)
    notes: tuple[str, ...] = (PAIRED,) if trips else ()
    if any(one.seconds and one.seconds.n < _P95_FROM for one in directions):
        notes += (f"~ P95 of fewer than {_P95_FROM} is only indicative: it lies between the two longest",)
    data = {
        "directions": [asdict(row) for row in directions],
        "round_trips": [asdict(trip) for trip in trips],
        "pairing": PAIRED,
    }
    about = "seconds, completed swaps only"
    return Table("SWAPS", _SWAP_COLUMNS, tuple(rows), about=about, notes=notes, name="swaps", data=data)


def _timed(label: str, took: _Took, phases: dict[str, Durations], note: str = "") -> Iterator[Row]:
    """A row, and one for each of its phases."""
    yield Row(label, tuple(column.of(took) for column in _SWAP_COLUMNS), note=note)
    yield from rows_of(
        _SWAP_COLUMNS, ((f"  {name}", (one, None)) for name, one in phases.items()), detail=True
    )


def swap_tables(reader: Reader, question: PageQuestion) -> Iterator[Table]:
    """What a swap costs, by direction and phase, and the round trip."""
    yield swap_table(reader.swaps(since=question.since))


_SPEED_COLUMNS = (
    Column("tok/s", lambda row: number(row.tokens_per_second)),
    Column("per stream", lambda row: number(row.stream_tokens_per_second)),
    Column("streams", lambda row: number(row.streams, 1)),
    Column("calls", lambda row: f"{row.calls:,}"),
    Column("failed", lambda row: dash(row.failed)),
    Column("cached", lambda row: percent(row.cached_share)),
    Column("tokens out", lambda row: f"{row.completion_tokens:,}", wide=True),
)


def throughput_tables(reader: Reader, question: PageQuestion) -> Iterator[Table]:
    """Tokens per second by role and model, as the client measured them."""
    found = reader.call_totals(question.since)
    rows = rows_of(_SPEED_COLUMNS, ((f"{row.role.value}  {row.model}", row) for row in found))
    about = "measured by the client, including the wait for the first token"
    data: list[dict[str, Any]] = [row.model_dump(mode="json") for row in found]
    yield Table("THROUGHPUT", _SPEED_COLUMNS, rows, about=about, name="throughput", data=data)
