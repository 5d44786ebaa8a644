"""What became of tasks and edits, and where the developer and the reviewer disagreed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Share, share
from navigator.model.outcomes import FateCount, FindingTotals, RevisionCount
from navigator.model.records import (
    DecisionCount,
    EditTotals,
    ReviewTotals,
    TaskCount,
    VariantCount,
    VerdictPair,
)
from navigator.model.states import CheckOutcome, DecisionKind, Verdict


@dataclass(frozen=True, slots=True)
class VerdictDecisions:
    """Your decisions on proposals with one verdict, as shares of those decisions."""

    verdict: Verdict
    approved: Share
    rejected: Share
    sent_back: Share


@dataclass(frozen=True, slots=True)
class Outcomes:
    """States of tasks, and decisions against verdicts.

    Attributes:
        states: how many tasks are in each state that occurs.
        decisions: how many decisions of each kind, whatever the review said.
        rejected_after_approve: rejections among the decisions on proposals with verdict APPROVE.
        sent_back_after_approve: the same of send-backs.
        approved_over_revise: approvals among the decisions on proposals with verdict REVISE.
        approved_unreviewed: approvals among the decisions on proposals whose review could not be read.
        not_counted: decisions on proposals that no independent reviewer had reviewed.
        by_verdict: every verdict by every decision.
    """

    states: dict[str, int]
    decisions: dict[str, int]
    rejected_after_approve: Share
    sent_back_after_approve: Share
    approved_over_revise: Share
    approved_unreviewed: Share
    not_counted: int
    by_verdict: tuple[VerdictDecisions, ...]


def outcomes(tasks: Iterable[TaskCount], decided: Sequence[DecisionCount]) -> Outcomes:
    """Count states and decisions; shares carry 95 % Wilson intervals."""
    independent = [row for row in decided if row.verdict and not row.self_review]
    states, decisions = Counter[str](), Counter[str]()
    for task in tasks:
        states[task.state.value] += task.n
    for row in decided:
        decisions[row.decision.value] += row.n

    def of(verdict: Verdict, decision: DecisionKind) -> Share:
        on_it = [row for row in independent if row.verdict is verdict]
        return share(sum(row.n for row in on_it if row.decision is decision), sum(row.n for row in on_it))

    return Outcomes(
        states=dict(sorted(states.items())),
        decisions=dict(sorted(decisions.items())),
        rejected_after_approve=of(Verdict.APPROVE, DecisionKind.REJECT),
        sent_back_after_approve=of(Verdict.APPROVE, DecisionKind.SEND_BACK),
        approved_over_revise=of(Verdict.REVISE, DecisionKind.APPROVE),
        approved_unreviewed=of(Verdict.UNREVIEWED, DecisionKind.APPROVE),
        not_counted=sum(row.n for row in decided) - sum(row.n for row in independent),
        by_verdict=tuple(
            VerdictDecisions(
                verdict,
                of(verdict, DecisionKind.APPROVE),
                of(verdict, DecisionKind.REJECT),
                of(verdict, DecisionKind.SEND_BACK),
            )
            for verdict in Verdict
        ),
    )


@dataclass(frozen=True, slots=True)
class EditStats:
    """How edits applied.

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


def edit_stats(totals: EditTotals) -> EditStats:
    """Shares of the totals; that of clean first answers carries a 95 % Wilson interval."""
    return EditStats(
        rungs=_most_common(totals.rungs),
        codes=_most_common(totals.codes),
        clean_first=share(totals.clean, totals.clean + totals.repaired + totals.lost),
        repaired=totals.repaired,
        lost=totals.lost,
    )


def _most_common(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


# How good reviews are: readable, anchored, consistent; and how a writer's self-review compares with the reviewer's.


@dataclass(frozen=True, slots=True)
class ReviewQuality:
    """The reviewer's reviews; the generator's and the final model's are not among them.

    Attributes:
        readings: all of them, of every round.
        in_parts: those whose diff did not fit into one prompt.
        unreviewed: those that could not be read, whole or in part.
        disagreed: of those that could, where the model's own verdict is not the one that its grounded findings give.
        unanchored: findings that quote nothing that was shown, of all findings.
        remarks: findings of later rounds that were not asked for and decided nothing.
    """

    readings: int
    in_parts: int
    unreviewed: Share
    disagreed: Share
    unanchored: Share
    remarks: int


def review_quality(found: ReviewTotals) -> ReviewQuality:
    """Shares of the totals, with 95 % Wilson intervals."""
    return ReviewQuality(
        readings=found.reviews,
        in_parts=found.in_parts,
        unreviewed=share(found.unreviewed, found.reviews),
        disagreed=share(found.disagreed, found.stated),
        unanchored=share(found.unanchored, found.findings),
        remarks=found.remarks,
    )


@dataclass(frozen=True, slots=True)
class SelfReviews:
    """What self-reviews are worth.

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


def self_reviews(pairs: Sequence[VerdictPair]) -> SelfReviews:
    """Count the pairs; shares carry 95 % Wilson intervals."""

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


# What revisions did to the tests, which findings they met, and which landed commits were reverted later.

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
        repaired, withdrawn: the same, where the code that they are about was changed, and where it is as it was.
        unknown: findings that it does not speak of; in neither.
        unread: revisions whose review could not be read, whole or in part.
    """

    round: int
    revisions: int
    met: Share
    repaired: Share
    withdrawn: Share
    unknown: int
    unread: int


def findings_met(totals: Iterable[FindingTotals]) -> tuple[FindingsMet, ...]:
    """Findings met by round; shares carry 95 % Wilson intervals."""
    return tuple(_met(row) for row in sorted(totals, key=lambda row: row.round))


def _met(row: FindingTotals) -> FindingsMet:
    told = row.met + row.unmet
    return FindingsMet(
        row.round,
        row.revisions,
        met=share(row.met, told),
        repaired=share(row.met - row.withdrawn, told),
        withdrawn=share(row.withdrawn, told),
        unknown=max(0, row.asked - told),
        unread=row.unread,
    )


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
        how: reverted ones by how that was found: "named" or "undone", those that are not counted yet among the last.
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
            LandedShare(verdict, _reverted(own), _unknown_fates(own))
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


def _unknown_fates(rows: Iterable[FateCount]) -> int:
    return sum(row.n for row in rows if row.fate not in (*_TAKEN_BACK, "kept"))


# Several proposals for one task: how often each way of writing is chosen, passes the tests, and gets APPROVE.


@dataclass(frozen=True, slots=True)
class WayShares:
    """One way of writing; `name` says how it differs from the settings.

    Attributes:
        chosen: approved, of the variants of tasks for which one was.
        passed: first proposals whose tests passed, of those that had tests.
        approved: first verdicts APPROVE, of those that could be read.
    """

    name: str
    written: int
    chosen: Share
    passed: Share
    approved: Share


@dataclass(frozen=True, slots=True)
class Variants:
    """First proposals of tasks that were written several times: how many, and by their ways of writing."""

    written: int
    ways: tuple[WayShares, ...]


def variant_shares(rows: Sequence[VariantCount]) -> Variants:
    """Shares with 95 % Wilson intervals by way of writing."""
    return Variants(sum(row.n for row in rows), tuple(map(_way, rows)))


def _way(row: VariantCount) -> WayShares:
    return WayShares(
        name=row.variation.words,
        written=row.n,
        chosen=share(row.chosen, row.decided),
        passed=share(row.passed, row.tested),
        approved=share(row.approved, row.read),
    )
