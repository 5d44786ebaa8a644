"""The revise rate of two groups side by side: two prompt versions, two models, two projects."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from navigator.figures.compare import TwoShares, compared
from navigator.figures.intervals import ANECDOTAL_BELOW
from navigator.figures.rates import RateRow, revise_rate
from navigator.model.errors import NotFound, UsageError
from navigator.sheet.statistics.page import Table, rows_of
from navigator.sheet.statistics.revise_rate import RATE_COLUMNS, pooled
from navigator.store.reads.reader import Reader
from navigator.store.reads.verdicts import GROUPINGS

_COLUMNS = RATE_COLUMNS[:4]

ONE_LOOK = (
    "interval and p hold for one look; `navigator stats reviewer` has evidence for a look after every review"
)


@dataclass(frozen=True, slots=True)
class RateComparison:
    """Two rows of the revise rate, grouped by `by`, and their difference."""

    by: str
    first: RateRow
    second: RateRow
    found: TwoShares


def compare_rates(reader: Reader, first: str, second: str, by: str = "", since: str = "") -> RateComparison:
    """Compare two groups.

    Args:
        first, second: names of groups, such as two prompt versions.
        by: the property they are values of, one of `GROUPINGS`; "" for the first one that has both.
        since: a UTC time as the store writes it; only verdicts from then on.

    Raises:
        UsageError: both names are the same.
        NotFound: no property has both names.
    """
    if first == second:
        raise UsageError(f"{first!r} is one group.", hint="Name two.")
    known: list[str] = []
    for name in (by,) if by else GROUPINGS:
        groups = {row.group: row for row in revise_rate(reader.verdict_counts(name, since)).rows}
        known += [group for group in groups if group not in known]
        if first in groups and second in groups:
            one, other = groups[first], groups[second]
            return RateComparison(name, one, other, compared(one.revise, one.n, other.revise, other.n))
    for name in (first, second):
        if name not in known:
            raise NotFound(f"No first-round verdict belongs to {name!r}.", hint=_hint(by, known))
    raise NotFound(f"{first!r} and {second!r} are not values of the same property.", hint=_hint(by, known))


def _hint(by: str, known: Iterable[str]) -> str:
    if by:
        return f"There are: {', '.join(known) or 'none'}."
    return "`navigator stats reviewer --by writer-prompt` lists the prompt versions; --by names the property."


def comparison_table(compared_rates: RateComparison) -> Table:
    """The two rows, and what can be said about their difference."""
    found, rows = compared_rates.found, (compared_rates.first, compared_rates.second)
    facts = []
    if found.difference is None:
        facts.append(("Difference", found.p_missing))
    else:
        facts.append(
            (
                "Difference",
                f"{100 * found.difference:+.0f} points, 95 % {100 * found.low:+.0f} to {100 * found.high:+.0f} (Newcombe);"
                f" {_says(found)}",
            )
        )
        facts.append(("Boschloo", f"p {_p(found.p)}" if found.p is not None else found.p_missing))
    facts += [("Mixture", f"{row.group} {said}") for row in rows if (said := pooled(row))]
    return Table(
        f"REVISE RATE BY {compared_rates.by.replace('-', ' ').upper()}",
        _COLUMNS,
        rows_of(_COLUMNS, ((row.group, row) for row in rows), note=lambda row: row.note),
        facts=tuple(facts),
        notes=(
            *((f"anecdotal: n below {ANECDOTAL_BELOW}",) if any(row.note for row in rows) else ()),
            ONE_LOOK,
        ),
    )


def _says(found: TwoShares) -> str:
    return "no difference shown" if found.low <= 0 <= found.high else "a difference is shown"


def _p(p: float) -> str:
    return "below 0.001" if p < 0.001 else f"{p:.3f}"


def comparison_document(found: RateComparison) -> dict[str, Any]:
    """The same as plain data; `difference`, `low` and `high` are shares, first minus second."""
    return {
        "by": found.by,
        "first": asdict(found.first),
        "second": asdict(found.second),
        "difference": found.found.difference,
        "low": None if found.found.difference is None else found.found.low,
        "high": None if found.found.difference is None else found.found.high,
        "p": found.found.p,
        "p_missing": found.found.p_missing,
    }
