"""What an accepted change costs, what swaps took, and how fast the models are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from pydantic import computed_field

from navigator.figures.intervals import ANECDOTAL_BELOW, Durations
from navigator.figures.page import Column, PageQuestion, Row, Table, dash, number, percent, sums
from navigator.figures.swaps import swap_stats
from navigator.model.models import Model, Swap
from navigator.model.states import Role
from navigator.store.reads.reader import Reader
from navigator.store.schema import from_row, from_rows

_COST_COLUMNS = Column("per accepted"), Column("total")
_WORK = {"write": "writing", "review": "reviewing", "final": "final review", "exam": "exam"}


Work = Literal["write", "review", "final", "exam"]


class CallTotals(Model):
    """Ended calls of one role and model.

    Attributes:
        failed: without a usable answer.
        seconds: the calls' durations added up; `busy_seconds` the time in which at least one was under way.
        newest: when the last one ended.
        batch_calls: usable answers of the work a batch is made of (a change written, a review); `batch_tokens` the
            tokens that all calls of that work wrote.
    """

    role: Role
    model: str
    calls: int
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    busy_seconds: float = 0.0
    newest: str = ""
    batch_calls: int = 0
    batch_tokens: int = 0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tokens_per_second(self) -> float | None:
        """Written per second of busy wall time, over all streams; None when no time passed."""
        return self.completion_tokens / self.busy_seconds if self.busy_seconds else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def stream_tokens_per_second(self) -> float | None:
        """Written per second of call, waiting for the first token included: sum over sum, not a mean of rates."""
        return self.completion_tokens / self.seconds if self.seconds else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def streams(self) -> float | None:
        """Calls under way at once, on average over the busy time."""
        return self.seconds / self.busy_seconds if self.busy_seconds else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cached_share(self) -> float | None:
        """Of the prompt tokens, what the server's cache had; None when there were none."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else None


class WorkTotals(Model):
    """Calls of one role for one kind of work.

    Attributes:
        seconds: durations of the calls added up: calls at the same time count each.
        busy_seconds: those of them in which no other call of the same model ran that ended before.
        lost: calls that a crash cut off; their tokens are unknown and not in the sums.
    """

    role: Role
    work: Work
    calls: int = 0
    lost: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    busy_seconds: float = 0.0


class SwapTotals(Model):
    """Swaps and loads: `n` measured ones, `failed` of them, and the seconds of all of these; `unmeasured` were made by others."""

    n: int = 0
    seconds: float = 0.0
    failed: int = 0
    unmeasured: int = 0


class Yield(Model):
    """What came out of the work: changes you approved (and did not undo), proposals, and reviews by the reviewer."""

    accepted: int = 0
    proposals: int = 0
    reviews: int = 0


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


def read_costs(reader: Reader, since: str = "") -> Cost:
    """What the work from `since` on cost, and what came out of it."""
    work = from_rows(WorkTotals, sums(reader, "work", since))
    (made,), (swaps,) = sums(reader, "yield", since), sums(reader, "swaps", since)
    return Cost(from_row(Yield, made), work, from_row(SwapTotals, swaps))


def call_totals(reader: Reader, since: str = "") -> list[CallTotals]:
    """Sums over calls that ended from `since` on, by role and model; the exam's are no part of them."""
    return from_rows(CallTotals, sums(reader, "models", since))


def cost_tables(reader: Reader, question: PageQuestion) -> Iterator[Table]:
    """All that was spent, divided by what came out: on the whole, then tokens and seconds by who spent them; what a swap costs,
    by direction and phase; and how fast the models are."""
    spent = read_costs(reader, question.since)
    made, swaps = spent.made, spent.swaps

    def row(label: str, total: float, digits: int = 0) -> Row:
        each = number(total / made.accepted if made.accepted else None, digits)
        return Row(label, (each, number(total, digits)), detail=label.startswith(" "))

    whole = [
        row("tokens, read and written", spent.tokens),
        row("seconds of the models", spent.model_seconds, 1),
        row("seconds of swaps", swaps.seconds, 1),
    ]
    few = (f"anecdotal: n below {ANECDOTAL_BELOW}",) if 0 < made.accepted < ANECDOTAL_BELOW else ()
    some = bool(spent.work or swaps.n)
    yield Table(
        "COST PER ACCEPTED CHANGE",
        _COST_COLUMNS,
        tuple(whole) if some else (),
        notes=(
            f"accepted changes: {made.accepted:,}, proposals: {made.proposals:,}, reviews: {made.reviews:,}",
            "accepted: approved and not undone",
            "rejected changes count as cost; the exam does not",
            *few,
        ),
        name="cost",
        data=spent.document(),
    )
    tokens = [
        row(label, total)
        for one in spent.work
        for label, total in (
            (f"{one.role.value}, {_WORK[one.work]}: read", one.prompt_tokens),
            ("  from its cache", one.cached_tokens),
            (f"{one.role.value}, {_WORK[one.work]}: wrote", one.completion_tokens),
        )
    ]
    lost = sum(one.lost for one in spent.work)
    unknown = (f"calls that were cut off, whose tokens are not known: {lost:,}",) if lost else ()
    yield Table("TOKENS", _COST_COLUMNS, tuple(tokens), notes=unknown)
    seconds = [
        row(f"{one.role.value}, {_WORK[one.work]}", one.busy_seconds, 1)
        for one in spent.work
        if one.work != "exam"
    ]
    notes: tuple[str, ...] = (f"swaps and loads: {swaps.n:,}, failed: {swaps.failed:,}",) if swaps.n else ()
    if swaps.unmeasured:
        notes += (f"swaps made externally, whose seconds are not known: {swaps.unmeasured:,}",)
    timed = (*seconds, row("swaps", swaps.seconds, 1)) if some else ()
    yield Table("SECONDS", _COST_COLUMNS, timed, notes=notes)
    yield swap_table(reader.swaps(since=question.since))
    yield throughput_table(call_totals(reader, question.since))


# Swaps

_P95_FROM = 20

_SWAP_COLUMNS = tuple(Column(name) for name in ("n", "mean", "median", "P95", "failed"))


def _took(found: Durations | None, failed: str = "") -> tuple[str, ...]:
    if found is None:
        return "0", "–", "–", "–", failed
    rough = "~" if failed and found.n < _P95_FROM else ""
    return (
        f"{found.n:,}",
        number(found.mean, 1),
        number(found.median, 1),
        f"{rough}{number(found.p95, 1)}",
        failed,
    )


def swap_table(swaps: Sequence[Swap]) -> Table:
    """Count, mean, median and P95 in seconds by direction, below each its phases."""
    directions = swap_stats(swaps)
    rows: list[Row] = []
    for found in directions:
        rest = [f"{count} {failure.replace('_', ' ')}" for failure, count in found.failures.items()]
        rest += [f"{found.outside} external, not measured"] if found.outside else []
        origin = found.from_role.value if found.from_role else "nothing"
        label = f"{origin} → {found.to_role.value}  by {found.strategy}"
        rows.append(Row(label, _took(found.seconds, dash(found.failed)), note=", ".join(rest)))
        rows += [Row(f"  {name}", _took(one), detail=True) for name, one in found.phases.items()]
    few = any(one.seconds and one.seconds.n < _P95_FROM for one in directions)
    said = f"~ P95 of fewer than {_P95_FROM} is only indicative: it lies between the two longest"
    return Table(
        "SWAPS",
        _SWAP_COLUMNS,
        tuple(rows),
        about="seconds, completed swaps only",
        notes=(said,) if few else (),
        name="swaps",
        data={"directions": [asdict(row) for row in directions]},
    )


_SPEED_COLUMNS = (
    *(Column(name) for name in ("tok/s", "per stream", "streams", "calls", "failed", "cached")),
    Column("tokens out", wide=True),
)


def throughput_table(found: Sequence[CallTotals]) -> Table:
    """Tokens per second by role and model, as the client measured them."""
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
    about = "measured by the client, including the wait for the first token"
    data: list[dict[str, Any]] = [row.model_dump(mode="json") for row in found]
    return Table("THROUGHPUT", _SPEED_COLUMNS, rows, about=about, name="throughput", data=data)
