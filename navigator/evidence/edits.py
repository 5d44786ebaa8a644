"""How cleanly the generator's edits apply."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from navigator.evidence.intervals import Share, share
from navigator.evidence.rows import EditRound


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


@dataclass(frozen=True, slots=True)
class EditTables:
    """Real work, and apart from it the rehearsal's."""

    real: EditStats
    rehearsal: EditStats


def edit_stats(rounds: Iterable[EditRound]) -> EditTables:
    """Count rungs and error codes; the share of clean first calls carries a 95 % Wilson interval.

    Rounds that asked for no edit (NO_CHANGE, a report) have neither rungs nor codes and are not counted.
    """
    asked = [row for row in rounds if row.rungs or row.codes]
    return EditTables(
        real=_count([row for row in asked if not row.rehearsal]),
        rehearsal=_count([row for row in asked if row.rehearsal]),
    )


def _count(rounds: list[EditRound]) -> EditStats:
    clean = sum(not row.codes for row in rounds)
    lost = sum(not row.rungs for row in rounds)
    return EditStats(
        rungs=dict(Counter(rung.value for row in rounds for rung in row.rungs).most_common()),
        codes=dict(Counter(code.value for row in rounds for code in row.codes).most_common()),
        clean_first=share(clean, len(rounds)),
        repaired=len(rounds) - clean - lost,
        lost=lost,
    )
