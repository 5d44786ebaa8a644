"""How a writer's reading of its own change compares with the reviewer's. Neither is the truth; the two are one pair a task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.domain.states import Verdict
from navigator.evidence.intervals import Share, share


@dataclass(frozen=True, slots=True)
class OwnRow:
    """One first proposal that its writer and an independent reviewer have read: what each derived verdict was."""

    own: Verdict
    reviewer: Verdict
    rehearsal: bool = False


@dataclass(frozen=True, slots=True)
class OwnReadings:
    """What own readings are worth, in one table (real, or the rehearsal's).

    Attributes:
        agreed: of the pairs in which both could be read, those with the same verdict.
        caught: of the reviewer's REVISE, those where the writer had said REVISE.
        alone: of the reviewer's APPROVE, those where the writer had said REVISE.
        unread: pairs in which the own reading or the review could not be read; in none of the above.
    """

    agreed: Share
    caught: Share
    alone: Share
    unread: int


@dataclass(frozen=True, slots=True)
class OwnTables:
    """Real work, and apart from it the rehearsal's."""

    real: OwnReadings
    rehearsal: OwnReadings


def own_readings(rows: Iterable[OwnRow]) -> OwnTables:
    """Count the pairs; shares carry 95 % Wilson intervals."""
    every = list(rows)
    real, rehearsed = (
        _count([row for row in every if row.rehearsal is rehearsal]) for rehearsal in (False, True)
    )
    return OwnTables(real=real, rehearsal=rehearsed)


def _count(rows: Sequence[OwnRow]) -> OwnReadings:
    read = [row for row in rows if Verdict.UNREVIEWED not in (row.own, row.reviewer)]
    revise = [row for row in read if row.reviewer is Verdict.REVISE]
    approve = [row for row in read if row.reviewer is Verdict.APPROVE]
    return OwnReadings(
        agreed=share(sum(row.own is row.reviewer for row in read), len(read)),
        caught=share(sum(row.own is Verdict.REVISE for row in revise), len(revise)),
        alone=share(sum(row.own is Verdict.REVISE for row in approve), len(approve)),
        unread=len(rows) - len(read),
    )
