"""How cleanly the generator's edits apply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from navigator.domain.records import EditTotals
from navigator.evidence.intervals import Share, Tables, apart, share


@dataclass(frozen=True, slots=True)
class EditStats:
    """Edits of one table (real, or the rehearsal's).

    Attributes:
        rungs: on which rung of the matching ladder each edit applied.
        codes: why edits did not, each problem once.
        clean_first: rounds whose first answer applied whole, of all rounds that asked for edits.
        repaired: rounds that applied after at least one repair.
        lost: rounds whose edits never applied.
    """

    rungs: dict[str, int]
    codes: dict[str, int]
    clean_first: Share
    repaired: int
    lost: int


def edit_stats(totals: Iterable[EditTotals]) -> Tables[EditStats]:
    """Shares of the totals; that of clean first answers carries a 95 % Wilson interval."""
    return apart(totals, _count)


def _count(totals: list[EditTotals]) -> EditStats:
    clean, repaired, lost = (
        sum(getattr(row, name) for row in totals) for name in ("clean", "repaired", "lost")
    )
    return EditStats(
        rungs=_most_common(row.rungs for row in totals),
        codes=_most_common(row.codes for row in totals),
        clean_first=share(clean, clean + repaired + lost),
        repaired=repaired,
        lost=lost,
    )


def _most_common(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    together = Counter[str]()
    for found in counts:
        together.update(found)
    return dict(sorted(together.items(), key=lambda item: (-item[1], item[0])))
