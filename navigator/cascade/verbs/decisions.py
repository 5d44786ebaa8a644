"""The developer's word: approve, reject, send back, undo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.socket.wire import Result
from navigator.cascade.views.parts import standing_on, waits_for
from navigator.domain.errors import Conflict, NavigatorError, UsageError
from navigator.domain.models import Decision, Landing, Proposal, utc_now
from navigator.domain.states import DecisionKind, LandingState, PolicyAction, ProposalState, TaskState

TESTS_PATIENCE = 5.0
"""Seconds that the one who approves waits for tests on a landing's result; the conductor lands what takes longer."""


async def decide(
    deps: Dependencies,
    kind: str,
    proposals: Sequence[dict[str, str]],
    note: str = "",
    confirm: Sequence[str] = (),
    allow_rehearsal_landing: bool = False,
) -> Result:
    """Record one decision for each proposal, then land what was approved.

    Args:
        kind: approve, reject or send_back.
        proposals: `{"id": "P7", "tree": "…"}`; a tree that is given must be the proposal's, so that what was on the
            screen is what is decided.
        note: sent along; needed to send back, unless comments stand on the proposal.
        confirm: `RULE:PATH` of each policy item that the developer has looked at.
        allow_rehearsal_landing: for these proposals, let a rehearsal's work land in real repositories.

    Each proposal is answered for itself: `{"id", "recorded", "landing", "reason"}`.
    """
    decision = DecisionKind(kind)
    rows = [_record(deps, decision, entry, note, confirm) for entry in proposals]
    if decision is DecisionKind.APPROVE:
        for row in rows:
            if row["recorded"]:
                await _land(deps, row, allow_rehearsal_landing)
    return {"decisions": rows}


def _record(
    deps: Dependencies, kind: DecisionKind, entry: dict[str, str], note: str, confirm: Sequence[str]
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "id": entry["id"].upper(),
        "kind": kind.value,
        "recorded": False,
        "landing": None,
        "reason": "",
    }
    try:
        proposal = deps.reader.proposal(entry["id"])
        row["id"] = proposal.id
        _check(deps, kind, proposal, entry.get("tree", ""), confirm)
        _write(deps, kind, proposal, _full_note(deps, kind, proposal, note), confirm)
    except NavigatorError as error:
        row["reason"] = str(error)
        return row
    row["recorded"] = True
    return row


def _check(
    deps: Dependencies, kind: DecisionKind, proposal: Proposal, tree: str, confirm: Sequence[str]
) -> None:
    if tree and not proposal.tree.startswith(tree):
        raise Conflict(
            f"{proposal.id} is not the tree you looked at.",
            hint=f"Look again: `navigator diff {proposal.id}`.",
        )
    task = deps.reader.task(proposal.task_id)
    again = _approved_but_not_landed(kind, proposal, task.state)
    if proposal.state is not ProposalState.OPEN and not again:
        said = proposal.decision.kind.value if proposal.decision else proposal.state.value
        raise Conflict(
            f"{proposal.id} is no longer open ({said}).", hint="`navigator proposals` lists what is open."
        )
    if task.state is not TaskState.AWAITING_APPROVAL and not again:
        raise Conflict(
            f"{task.id} is {task.state.value}: {proposal.id} does not wait for a decision yet.",
            hint="`navigator run` brings it there.",
        )
    if kind is not DecisionKind.APPROVE:
        return
    part = waits_for(deps.reader, proposal)
    if part is not None:
        raise Conflict(
            f"{proposal.id} was written on top of {part.id}, which has not landed yet.",
            hint=f"Approve {part.id} first: `navigator approve {part.id}`.",
        )
    missing = [
        f"{item.rule}:{item.path}"
        for item in proposal.policy
        if item.action is PolicyAction.CONFIRM and f"{item.rule}:{item.path}" not in confirm
    ]
    if missing:
        options = " ".join(f"--confirm {item!r}" for item in missing)
        raise Conflict(f"{proposal.id} touches what has to be confirmed one by one.", hint=f"Add {options}.")


def _approved_but_not_landed(kind: DecisionKind, proposal: Proposal, state: TaskState) -> bool:
    """Approving once more what was approved and could not land tries the landing again."""
    return (
        kind is DecisionKind.APPROVE
        and state is TaskState.APPROVED
        and proposal.decision is not None
        and proposal.decision.kind is DecisionKind.APPROVE
    )


def _full_note(deps: Dependencies, kind: DecisionKind, proposal: Proposal, note: str) -> str:
    """The developer's note, and the comments that stand on the proposal's lines."""
    if kind is not DecisionKind.SEND_BACK:
        return note
    comments = deps.reader.comments(task_id=proposal.task_id, sent=False)
    full = "\n".join([note.strip(), *map(comment_text, comments)]).strip()
    if not full:
        raise UsageError(
            f"{proposal.id}: to send back, say what to do otherwise.",
            hint="Add --note TEXT, or comment on a line.",
        )
    # What is sent back of a part stays a part: its task's note says which.
    return f"{deps.reader.task(proposal.task_id).note}\n\n{full}" if proposal.parent else full


def comment_text(comment: Mapping[str, Any]) -> str:
    """A comment as a note quotes it: where, the line, the words."""
    return f"{comment['path']}:{comment['line']}: {comment['quote'].strip()}\n  {comment['text']}"


def _write(
    deps: Dependencies, kind: DecisionKind, proposal: Proposal, note: str, confirm: Sequence[str]
) -> None:
    made = Decision(kind=kind, note=note, tree=proposal.tree, confirmed=tuple(confirm), at=utc_now())
    task = deps.reader.task(proposal.task_id)
    with deps.store.transaction() as tx:
        if proposal.state is ProposalState.OPEN:
            tx.add_decision(proposal.id, made)
        if kind is DecisionKind.APPROVE:
            if task.state is not TaskState.APPROVED:
                tx.set_task_state(proposal.task_id, TaskState.APPROVED)
            tx.set_landing(proposal.id, Landing(state=LandingState.PENDING, at=utc_now()))
        elif kind is DecisionKind.REJECT:
            tx.set_task_state(proposal.task_id, TaskState.REJECTED, reason=note)
        else:
            unsent = tx.read.comments(task_id=proposal.task_id, sent=False)
            tx.mark_comments_sent(comment["id"] for comment in unsent)
            tx.new_attempt(proposal.task_id, note=note)


async def _land(deps: Dependencies, row: dict[str, Any], allow_rehearsal: bool) -> None:
    from navigator.cascade.stages.land import land

    proposal = deps.reader.proposal(row["id"])
    try:
        patience = TESTS_PATIENCE if deps.conducting else None
        landing = await land(deps, proposal.task_id, allow_rehearsal=allow_rehearsal, patience=patience)
    except NavigatorError as error:
        # One that cannot land now must not take the others of the batch with it; it stays due.
        row |= {"landing": LandingState.PENDING.value, "reason": str(error)}
        return
    row["landing"] = landing.state.value
    row["reason"] = landing.reason
    if landing.state is LandingState.LANDED:
        row |= {"ref": landing.ref, "commit": landing.commit, "transplanted": landing.transplanted}


async def undo_landings(deps: Dependencies, ids: Sequence[str]) -> Result:
    """Take landings back, newest first so that each finds its own commit at the tip."""
    from navigator.cascade.stages.land import undo

    found = [deps.reader.proposal(identifier) for identifier in ids]
    found.sort(key=lambda proposal: proposal.landing.at if proposal.landing else "", reverse=True)
    rows: list[dict[str, Any]] = []
    for proposal in found:
        try:
            if deps.reader.task(proposal.task_id).state is TaskState.APPROVED:
                await take_back(deps, [proposal.id])
                reason = "the approval is taken back; the proposal waits for your word again"
                rows.append({"id": proposal.id, "undone": True, "ref": "", "reason": reason})
                continue
            landing = await undo(deps, proposal.id)
        except NavigatorError as error:
            rows.append({"id": proposal.id, "undone": False, "reason": str(error)})
            continue
        reason = landing.reason
        above = [task.id for task in standing_on(deps.reader, proposal)]
        if above:
            reason += f"; {', '.join(above)} stood on it, and is written anew once its proposal is approved"
        rows.append({"id": proposal.id, "undone": True, "ref": landing.ref, "reason": reason})
    return {"undone": rows}


async def take_back(deps: Dependencies, ids: Sequence[str]) -> Result:
    """Take back approvals that have not landed: the proposals wait for a decision again."""
    for identifier in ids:
        proposal = deps.reader.proposal(identifier)
        # A landing under way is not interrupted: once it is done, there is a landing to undo and no approval to take back.
        async with deps.project_lock(proposal.project_id):
            task = deps.reader.task(proposal.task_id)
            if task.state is not TaskState.APPROVED:
                raise Conflict(
                    f"{proposal.id} is not an approval that waits for its landing.",
                    hint=f"If it has landed: `navigator undo {proposal.id}`.",
                )
            with deps.store.transaction() as tx:
                tx.set_proposal_state(proposal.id, ProposalState.OPEN)
                tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL)
    return {"open": list(ids)}
