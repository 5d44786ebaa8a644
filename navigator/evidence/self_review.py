"""How a writer's self-review compares with the reviewer's. Neither is the truth; the two are one pair per task."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.domain.records import VerdictPair
from navigator.domain.states import Verdict
from navigator.evidence.intervals import Share, Tables, apart, share


@dataclass(frozen=True, slots=True)
class SelfReviews:
    """What self-reviews are worth, in one table (real, or the rehearsal's).

    Attributes:
        agreed: of the pairs in which both could be read, those with the same verdict.
        caught: of the reviewer's REVISE, those where the writer had said REVISE.
        alone: of the reviewer's APPROVE, those where the writer had said REVISE.
        unread: pairs in which one of the two could not be read; in none of the above.
    """

    agreed: Share
    caught: Share
    alone: Share
    unread: int


def self_reviews(pairs: Iterable[VerdictPair]) -> Tables[SelfReviews]:
    """Count the pairs; shares carry 95 % Wilson intervals."""
    return apart(pairs, _count)


def _count(pairs: Sequence[VerdictPair]) -> SelfReviews:
    def n(own: Verdict, reviewer: Verdict) -> int:
        return sum(pair.n for pair in pairs if pair.own is own and pair.reviewer is reviewer)

    both_revise, both_approve = n(Verdict.REVISE, Verdict.REVISE), n(Verdict.APPROVE, Verdict.APPROVE)
    missed, alone = n(Verdict.APPROVE, Verdict.REVISE), n(Verdict.REVISE, Verdict.APPROVE)
    read = both_revise + both_approve + missed + alone
    return SelfReviews(
        agreed=share(both_revise + both_approve, read),
        caught=share(both_revise, both_revise + missed),
        alone=share(alone, alone + both_approve),
        unread=sum(pair.n for pair in pairs) - read,
    )
