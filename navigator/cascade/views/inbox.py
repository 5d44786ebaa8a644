"""What clients show that the store does not hold as such: overlaps, and what a batch key may approve."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from navigator.domain.errors import Conflict
from navigator.domain.models import Proposal
from navigator.domain.states import PolicyAction, ProposalState, TaskState, Verdict

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader


def open_proposal(reader: Reader, task_id: str) -> Proposal:
    """The one open proposal of a task.

    Raises:
        Conflict: it has none.
    """
    found = reader.proposals({ProposalState.OPEN}, task_id=task_id)
    if not found:
        raise Conflict(f"{task_id} has no open proposal.", hint=f"`navigator task show {task_id}` tells why.")
    return found[-1]


def waiting_proposals(reader: Reader, project: str | None = None) -> list[Proposal]:
    """Open proposals whose tasks wait for the developer, with their overlaps."""
    waiting = {task.id for task in reader.tasks({TaskState.AWAITING_APPROVAL}, project=project)}
    found = reader.proposals({ProposalState.OPEN}, project=project)
    return with_overlaps([proposal for proposal in found if proposal.task_id in waiting])


def batch_name(reader: Reader, now: str) -> str:
    """The next batch's name: the day and letters, `2026-11-20-a` … `-z`, `-aa`."""
    day = now[:10]
    number = sum(batch.name.startswith(f"{day}-") for batch in reader.batches()) + 1
    letters = ""
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("a") + digit) + letters
    return f"{day}-{letters}"


def with_overlaps(proposals: Sequence[Proposal]) -> list[Proposal]:
    """Each open proposal with the ids of the other open ones of its project that touch a path of its own."""
    by_path: dict[tuple[int, str], list[Proposal]] = {}
    for proposal in proposals:
        if proposal.state is ProposalState.OPEN:
            for path in proposal.paths:
                by_path.setdefault((proposal.project_id, path), []).append(proposal)
    return [
        proposal.model_copy(update={"overlaps": _others(proposal, by_path)})
        if proposal.state is ProposalState.OPEN
        else proposal
        for proposal in proposals
    ]


def _others(proposal: Proposal, by_path: dict[tuple[int, str], list[Proposal]]) -> tuple[str, ...]:
    meeting = {
        other.id
        for path in proposal.paths
        for other in by_path[(proposal.project_id, path)]
        if other.task_id != proposal.task_id
    }
    return tuple(sorted(meeting, key=lambda identifier: int(identifier[1:])))


@dataclass(frozen=True)
class BatchChoice:
    """What one batch approval covers, and what it leaves out with the reason in words."""

    taken: tuple[Proposal, ...]
    left_out: tuple[tuple[Proposal, str], ...]


def batch_choice(proposals: Iterable[Proposal], *, confirmed: frozenset[str] = frozenset()) -> BatchChoice:
    """Split proposals that wait for a decision into what a batch key may approve and the rest.

    Args:
        proposals: open ones whose tasks await approval, with or without their overlaps worked out.
        confirmed: `RULE:PATH` of policy items that the developer has looked at.
    """
    taken: list[Proposal] = []
    left: list[tuple[Proposal, str]] = []
    for proposal in with_overlaps(list(proposals)):
        reason = why_left_out(proposal, confirmed)
        if reason:
            left.append((proposal, reason))
        else:
            taken.append(proposal)
    return BatchChoice(tuple(taken), tuple(left))


def why_left_out(proposal: Proposal, confirmed: frozenset[str] = frozenset()) -> str:
    """Why a batch approval does not cover a proposal; empty when it does."""
    if proposal.parent:
        return f"part of {proposal.parent}: approved by itself"
    if proposal.review is None:
        return "not reviewed"
    if proposal.review.verdict is not Verdict.APPROVE:
        return proposal.review.verdict.value
    if proposal.review.self_review:
        return "self-reviewed"  # the model that wrote it read it: nobody else has
    if proposal.failed_checks:
        return f"failed check: {proposal.failed_checks[0].name}"
    for item in proposal.policy:
        if item.action is PolicyAction.CONFIRM and f"{item.rule}:{item.path}" not in confirmed:
            return f"to be confirmed by itself: {item.rule} {item.path}"
    if proposal.overlaps:
        return f"overlaps {', '.join(proposal.overlaps)}"
    return ""
