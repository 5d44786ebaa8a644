"""What became of tasks and edits, and where the developer and the reviewer disagreed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from navigator.figures.intervals import Share, share
from navigator.model.records import DecisionCount, EditTotals, TaskCount
from navigator.model.states import DecisionKind, Verdict


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
