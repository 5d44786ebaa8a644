"""What became of tasks and edits, and where the developer and the reviewer disagreed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from navigator.domain.records import DecisionCount, EditTotals, TaskCount
from navigator.domain.states import DecisionKind, Verdict
from navigator.evidence.intervals import Share, Tables, apart, share


@dataclass(frozen=True, slots=True)
class VerdictDecisions:
    """Your decisions on proposals with one verdict, as shares of those decisions."""

    verdict: Verdict
    approved: Share
    rejected: Share
    sent_back: Share


@dataclass(frozen=True, slots=True)
class Outcomes:
    """States of tasks, and decisions against verdicts, of one table (real, or the rehearsal's).

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


def outcomes(tasks: Iterable[TaskCount], decided: Iterable[DecisionCount]) -> Tables[Outcomes]:
    """Count states and decisions; shares carry 95 % Wilson intervals."""
    task_rows, decided_rows = list(tasks), list(decided)
    real, rehearsed = (
        _count(
            [row for row in task_rows if row.rehearsal is rehearsal],
            [row for row in decided_rows if row.rehearsal is rehearsal],
        )
        for rehearsal in (False, True)
    )
    return Tables(real, rehearsed)


def _count(tasks: list[TaskCount], decided: list[DecisionCount]) -> Outcomes:
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
    return apart(totals, _edit_shares)


def _edit_shares(totals: list[EditTotals]) -> EditStats:
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
