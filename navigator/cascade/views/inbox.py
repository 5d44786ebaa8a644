"""What waits for the developer, which proposals overlap, and what a batch approval may cover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from navigator.model.errors import Conflict
from navigator.model.models import CheckResult, PolicyItem, Proposal
from navigator.model.states import CheckOutcome, PolicyAction, ProposalState, TaskState, Verdict

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader


def open_proposal(reader: Reader, task_id: str) -> Proposal:
    """The one open proposal of a task.

    Raises:
        Conflict: it has none.
    """
    found = reader.proposals({ProposalState.OPEN}, task_id=task_id)
    if not found:
        raise Conflict(
            f"{task_id} has no open proposal.", hint=f"`navigator task show {task_id}` shows its history."
        )
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
        if _may_land(proposal):
            for path in proposal.paths:
                by_path.setdefault((proposal.project_id, path), []).append(proposal)
    return [
        proposal.model_copy(update={"overlaps": _others(proposal, by_path)})
        if _may_land(proposal)
        else proposal
        for proposal in proposals
    ]


def _may_land(proposal: Proposal) -> bool:
    return proposal.state is ProposalState.OPEN and not proposal.existing


def _could_not_run(check: CheckResult) -> bool:
    ran_before = check.before in (CheckOutcome.PASSED, CheckOutcome.FAILED)
    return check.outcome is CheckOutcome.UNTESTED and ran_before


def _others(proposal: Proposal, by_path: dict[tuple[int, str], list[Proposal]]) -> tuple[str, ...]:
    meeting = {
        other.id
        for path in proposal.paths
        for other in by_path[(proposal.project_id, path)]
        if other.task_id != proposal.task_id
        and not (proposal.variant_of and other.variant_of == proposal.variant_of)
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
        confirmed: policy items that the developer has looked at, `RULE:PATH` or `P7:RULE:PATH`.
    """
    proposals = with_overlaps(list(proposals))
    shared = shared_items(proposals)
    variants = Counter(proposal.variant_of for proposal in proposals)
    taken: list[Proposal] = []
    left: list[tuple[Proposal, str]] = []
    for proposal in proposals:
        reason = why_left_out(proposal, confirmed, shared)
        if proposal.variant_of and variants[proposal.variant_of] > 1:
            reason = f"one of {variants[proposal.variant_of]} variants of {proposal.variant_of}: approve one separately"
        if reason:
            left.append((proposal, reason))
        else:
            taken.append(proposal)
    return BatchChoice(tuple(taken), tuple(left))


def why_left_out(
    proposal: Proposal, confirmed: Collection[str] = (), shared: frozenset[str] = frozenset()
) -> str:
    """Why a batch approval does not cover a proposal; empty when it does. `shared`: see `shared_items`."""
    if proposal.parent:
        return f"part of {proposal.parent}: approve it separately"
    if proposal.review is None:
        return "not reviewed"
    if proposal.review.verdict is not Verdict.APPROVE:
        return proposal.review.verdict.value
    if proposal.first_review is not None and proposal.first_review.verdict is not Verdict.APPROVE:
        return f"the first reading said {proposal.first_review.verdict.value}"
    if proposal.final_review is not None and proposal.final_review.verdict is Verdict.REVISE:
        return "the final model said REVISE"
    if proposal.review.self_review:
        return "self-reviewed"  # only by the model that wrote it
    if proposal.failed_checks:
        return f"failed check: {proposal.failed_checks[0].name}"
    if any(_could_not_run(check) for check in proposal.checks):
        return "the tests run on the base, but could not run with this change"
    for item in unconfirmed(proposal, confirmed, shared):
        return f"needs confirmation: {item.rule} {item.path}"
    if proposal.overlaps:
        return f"overlaps {', '.join(proposal.overlaps)}"
    return ""


# Policy items that are confirmed individually


def _item(rule: str, path: str, detail: str) -> PolicyItem:
    return PolicyItem(rule=rule, path=path, action=PolicyAction.CONFIRM, detail=detail)


_OVERRULED = _item(
    "overruled",
    "review",
    "the reviewer said REVISE, but no blocker or major finding of it counts: read its findings",
)
_UNREVIEWED = _item("unreviewed", "review", "no reviewer's answer about it could be read")


def to_confirm(proposal: Proposal) -> list[PolicyItem]:
    """What has to be confirmed of a proposal by name: policy items, failed checks, and a verdict that is missing, or that
    the reviewer's own words or the final model contradict."""
    items = [item for item in proposal.policy if item.action is PolicyAction.CONFIRM]
    items += [
        _item("failed", check.name, f"the check {check.name} failed") for check in proposal.failed_checks
    ]
    review = proposal.review
    if review is None or review.verdict is Verdict.UNREVIEWED:
        # A part of a proposal was reviewed with the whole.
        if not proposal.parent:
            items.append(_UNREVIEWED)
    elif review.verdict is Verdict.APPROVE:
        if review.stated_verdict is Verdict.REVISE:
            items.append(_OVERRULED)
        if proposal.final_review is not None and proposal.final_review.verdict is Verdict.REVISE:
            items.append(_item("final", "review", "the final model said REVISE: read its findings"))
    return items


def item_key(proposal: Proposal, item: PolicyItem) -> str:
    """The full name of an item: `P7:RULE:PATH`."""
    return f"{proposal.id}:{item.rule}:{item.path}"


def shared_items(proposals: Sequence[Proposal]) -> frozenset[str]:
    """`RULE:PATH` of each item that more than one of the proposals has: a name without the proposal says too little."""
    counts = Counter(f"{item.rule}:{item.path}" for one in proposals for item in to_confirm(one))
    return frozenset(name for name, count in counts.items() if count > 1)


def unconfirmed(
    proposal: Proposal, confirm: Collection[str], shared: frozenset[str] = frozenset()
) -> list[PolicyItem]:
    """The items of a proposal that `confirm` does not name."""
    given = set(confirm)
    return [
        item
        for item in to_confirm(proposal)
        if item_key(proposal, item) not in given
        and ((short := f"{item.rule}:{item.path}") not in given or short in shared)
    ]
