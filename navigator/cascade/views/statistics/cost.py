"""What an accepted change costs: tokens, seconds of the models, swaps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict

from navigator.cascade.views.statistics.page import (
    Column,
    Question,
    Row,
    StatisticsPage,
    Table,
    number,
    percent,
)
from navigator.figures.cost import Amount, Cost, WorkCost, cost
from navigator.figures.intervals import ANECDOTAL_BELOW
from navigator.model.states import Role
from navigator.store.reads.reader import Reader

_COLUMNS = (
    Column("per accepted", 14),
    Column("per proposal", 14),
    Column("per review", 12),
    Column("total", 13, wide=True),
)
_WORK = {"write": "writing", "review": "reviewing", "final": "final review", "exam": "exam"}


def read_costs(reader: Reader, question: Question) -> Cost:
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
    return (
        _whole(spent),
        Table(
            "TOKENS",
            _COLUMNS,
            tuple(row for one in spent.work for row in _work_rows(one)),
            empty="no model called yet",
            notes=_lost(spent),
        ),
        Table("SECONDS", _COLUMNS, tuple(_second_rows(spent)), notes=tuple(_swap_notes(spent))),
    )


def _whole(spent: Cost) -> Table:
    """All that was spent, divided by what came out."""
    models, swaps = spent.model_time, spent.swaps.seconds
    rows = [
        Row("tokens, read and written", _cells(spent.tokens)),
        Row("seconds of the models", _cells(models, 1)),
        Row("seconds of swaps", _cells(swaps, 1)),
    ]
    if spent.final_reviews:
        rows.append(Row(f"price of the final model, n {spent.final_reviews:,}", _cells(spent.final_price, 4)))
    parts = f"{number(models.per_accepted, 1)} s of models, {number(swaps.per_accepted, 1)} s of swaps"
    few = (f"anecdotal: n below {ANECDOTAL_BELOW}",) if 0 < spent.accepted < ANECDOTAL_BELOW else ()
    return Table(
        "COST PER ACCEPTED CHANGE",
        _COLUMNS,
        tuple(rows),
        headline=f"{number(spent.tokens.per_accepted)} tokens, {parts}  n {spent.accepted:,}",
        notes=(
            f"accepted changes: {spent.accepted:,}, proposals: {spent.proposals:,}, reviews: {spent.reviews:,}",
            "accepted: approved and not undone",
            "what was rejected is part of the cost; the exam is not",
            *few,
        ),
    )


def _work_rows(one: WorkCost) -> Iterable[Row]:
    name, written = f"{one.role.value}, {_WORK.get(one.work, one.work)}", one.work == "write"
    yield Row(f"{name}: read", _cells(one.prompt_tokens, written=written))
    yield Row("  from its cache", _cells(one.cached_tokens, written=written), detail=True)
    yield Row(f"{name}: wrote", _cells(one.completion_tokens, written=written))


def _second_rows(spent: Cost) -> Iterable[Row]:
    for one in spent.model_seconds:
        yield Row(f"{one.role.value} at work", _cells(one.seconds, 1, written=one.role is Role.GENERATOR))
    yield Row("swaps", _cells(spent.swaps.seconds, 1))
    if spent.swaps.batch_share is not None:
        share = percent(spent.swaps.batch_share)
        yield Row(f"  round trips of batches: {share}", _cells(spent.swaps.batch_seconds, 1), detail=True)


def _lost(spent: Cost) -> tuple[str, ...]:
    lost = sum(one.lost for one in spent.work)
    return (f"calls that were cut off, whose tokens are not known: {lost:,}",) if lost else ()


def _swap_notes(spent: Cost) -> Iterable[str]:
    if spent.swaps.n:
        yield f"swaps and loads: {spent.swaps.n:,}, failed: {spent.swaps.failed:,}"
    if spent.swaps.unmeasured:
        yield f"swaps made externally, whose seconds are not known: {spent.swaps.unmeasured:,}"


def _cells(one: Amount, digits: int = 0, *, written: bool = False) -> tuple[str, ...]:
    """The columns of an amount; one that no review is made of says nothing per review."""
    per_review = "" if written else number(one.per_review, digits)
    return (
        number(one.per_accepted, digits),
        number(one.per_proposal, digits),
        per_review,
        number(one.total, digits),
    )


PAGE: StatisticsPage[Cost] = StatisticsPage(
    name="cost",
    title="Cost",
    help="What an accepted change costs in tokens, seconds of the models and swaps.",
    missing="No model called yet.",
    read=read_costs,
    tables=_cost_tables,
    document=asdict,
)
