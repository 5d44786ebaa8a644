"""What revisions did to the tests, which findings they met, and which landed commits were reverted later."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Share, share
from navigator.model.outcomes import FateCount, FindingTotals, RevisionCount
from navigator.model.states import CheckOutcome, Verdict

_RANK = {CheckOutcome.FAILED: 0, CheckOutcome.FAILED_BEFORE: 1, CheckOutcome.PASSED: 2}
"""From new failures, over none but the base's, to none."""


@dataclass(frozen=True, slots=True)
class Revisions:
    """What the project's tests said of a round and of its revision,.

    The four shares are of the revisions whose tests ran before and after and tell something. "Passing" may mean that they
    fail only as on the base; where they do so before and after, they tell nothing about the revision.

    Attributes:
        fixed: failing before, passing after.
        cosmetic: passing before and after.
        harmful: passing before, failing after.
        no_help: failing before and after.
        unknown: revisions whose tests tell nothing; in none of the above.
    """

    fixed: Share
    cosmetic: Share
    harmful: Share
    no_help: Share
    unknown: int


def revisions(rows: Iterable[RevisionCount]) -> Revisions:
    """Count what revisions did to the tests; shares carry 95 % Wilson intervals."""
    found = Counter[str]()
    for row in rows:
        found[_effect(row.before, row.after)] += row.n
    told = sum(found.values()) - found["unknown"]
    return Revisions(
        fixed=share(found["fixed"], told),
        cosmetic=share(found["cosmetic"], told),
        harmful=share(found["harmful"], told),
        no_help=share(found["no_help"], told),
        unknown=found["unknown"],
    )


def _effect(before: CheckOutcome | None, after: CheckOutcome | None) -> str:
    if before not in _RANK or after not in _RANK:
        return "unknown"
    if before is not after:
        return "fixed" if _RANK[after] > _RANK[before] else "harmful"
    return {CheckOutcome.PASSED: "cosmetic", CheckOutcome.FAILED: "no_help"}.get(before, "unknown")


@dataclass(frozen=True, slots=True)
class FindingsMet:
    """Findings that a round was asked to meet.

    Attributes:
        round: of the revisions: 1 is the first.
        revisions: whose next review is counted.
        met: findings that the next review calls met, of those it speaks of.
        unknown: findings that it does not speak of; in neither.
        unread: revisions whose review could not be read, whole or in part.
    """

    round: int
    revisions: int
    met: Share
    unknown: int
    unread: int


def findings_met(totals: Iterable[FindingTotals]) -> tuple[FindingsMet, ...]:
    """Findings met by round; shares carry 95 % Wilson intervals."""
    return tuple(_met(row) for row in sorted(totals, key=lambda row: row.round))


def _met(row: FindingTotals) -> FindingsMet:
    told = row.met + row.unmet
    return FindingsMet(row.round, row.revisions, share(row.met, told), max(0, row.asked - told), row.unread)


@dataclass(frozen=True, slots=True)
class LandedShare:
    """Landed commits of one verdict (None: no independent review). `reverted` is of those whose fate is known."""

    verdict: Verdict | None
    reverted: Share
    unknown: int


@dataclass(frozen=True, slots=True)
class Landed:
    """What became of landed commits.

    Attributes:
        reverted: later, by a commit of the user or an undo of Navigator, of those whose fate is known.
        by_verdict: the same by what the reviewer had said.
        how: reverted ones by how that was found: "named", "exact" or "undone", those that are not counted yet among the last.
        unknown: why the others are unknown, with how many each.
        looked: when the oldest of the looks was, "" before the first.
    """

    reverted: Share
    by_verdict: tuple[LandedShare, ...]
    how: dict[str, int]
    unknown: dict[str, int]
    looked: str


_TAKEN_BACK = ("reverted", "undone")
NOT_LOOKED = "not looked at yet"


def landed(rows: Sequence[FateCount]) -> Landed:
    """Shares of landed commits that were reverted, with 95 % Wilson intervals."""
    how, unknown = Counter[str](), Counter[str]()
    for row in rows:
        if row.fate in _TAKEN_BACK or row.how:
            how[row.how or row.fate] += row.n
        if row.fate not in (*_TAKEN_BACK, "kept"):
            unknown[row.reason or NOT_LOOKED] += row.n
    verdicts = (*Verdict, None)
    return Landed(
        reverted=_reverted(rows),
        by_verdict=tuple(
            LandedShare(verdict, _reverted(own), _unknown(own))
            for verdict in verdicts
            if (own := [row for row in rows if row.verdict is verdict])
        ),
        how=dict(sorted(how.items())),
        unknown=dict(sorted(unknown.items())),
        looked=min((row.looked for row in rows if row.looked), default=""),
    )


def _reverted(rows: Iterable[FateCount]) -> Share:
    known = [row for row in rows if row.fate in (*_TAKEN_BACK, "kept")]
    return share(sum(row.n for row in known if row.fate in _TAKEN_BACK), sum(row.n for row in known))


def _unknown(rows: Iterable[FateCount]) -> int:
    return sum(row.n for row in rows if row.fate not in (*_TAKEN_BACK, "kept"))
