"""What a scan proposes: accepted, it becomes a task; the rest is dismissed, and the scan is done."""

from __future__ import annotations

from collections.abc import Sequence

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.socket.wire import Result
from navigator.domain.errors import Conflict, UsageError
from navigator.domain.models import Suggestion, Task
from navigator.domain.states import SuggestionState, TaskKind, TaskState
from navigator.store.writes.writer import Transaction


async def accept_suggestions(
    deps: Dependencies,
    task: str,
    ranks: Sequence[int] = (),
    everything: bool = False,
    attempt: int | None = None,
) -> Result:
    """Queue a task for each of these suggestions, all or none; `origin` of each is the scan.

    Args:
        task: the scan.
        ranks: which, by rank; one that was dismissed may be taken after all.
        everything: all that are open.
        attempt: the attempt that was on the screen: another one's ranks mean other things.

    A scan of which nothing is open any more is done.

    Raises:
        Conflict: one was accepted before, or the scan has another attempt by now.
    """
    scan, found = _scan(deps, task, attempt)
    chosen = _chosen(scan, found, ranks, everything=everything)
    for one in chosen:
        if one.state == SuggestionState.ACCEPTED:
            raise Conflict(
                f"Suggestion {one.rank} of {scan.id} is {one.made_task} already.",
                hint=f"`navigator task show {one.made_task}` tells how far it is.",
            )
    made: list[Task] = []
    with deps.store.transaction() as tx:
        for one in chosen:
            new = tx.add_task(
                scan.project_id,
                one.text,
                kind=one.kind,
                complexity=one.complexity,
                priority=scan.priority,
                files=one.files,
                origin=scan.id,
            )
            tx.accept_suggestion(one, new.id)
            made.append(new)
        _close_if_settled(tx, scan)
    return _shown(deps, scan) | {"tasks": [new.model_dump(mode="json") for new in made]}


async def dismiss_suggestions(
    deps: Dependencies,
    task: str,
    ranks: Sequence[int] = (),
    everything: bool = False,
    attempt: int | None = None,
) -> Result:
    """Put suggestions away; a scan of which nothing is open any more is done.

    Raises:
        Conflict: one is a task already, or the scan has another attempt by now.
    """
    scan, found = _scan(deps, task, attempt)
    chosen = _chosen(scan, found, ranks, everything=everything)
    for one in chosen:
        if one.state == SuggestionState.ACCEPTED:
            raise Conflict(
                f"Suggestion {one.rank} of {scan.id} is {one.made_task}.",
                hint=f"To give up the task: `navigator task cancel {one.made_task}`.",
            )
    with deps.store.transaction() as tx:
        tx.dismiss_suggestions(scan.id, scan.attempt, {one.rank for one in chosen})
        _close_if_settled(tx, scan)
    return _shown(deps, scan)


def _scan(deps: Dependencies, identifier: str, attempt: int | None) -> tuple[Task, list[Suggestion]]:
    scan = deps.reader.task(identifier)
    if scan.kind is not TaskKind.SCAN:
        raise UsageError(
            f"{scan.id} is no scan: it proposes nothing.",
            hint="`navigator task list` shows every task's kind.",
        )
    if attempt is not None and attempt != scan.attempt:
        raise Conflict(
            f"{scan.id} is at its attempt {scan.attempt + 1} by now.",
            hint=f"Look again: `navigator task suggestions {scan.id}`.",
        )
    return scan, deps.reader.suggestions(scan.id, attempt=scan.attempt)


def _chosen(
    scan: Task, found: Sequence[Suggestion], ranks: Sequence[int], *, everything: bool
) -> list[Suggestion]:
    if everything == bool(ranks):
        raise UsageError(
            "Name suggestions by their numbers, or all of them.",
            hint=f"`navigator task suggestions {scan.id}` lists them.",
        )
    if everything:
        return [one for one in found if one.state == SuggestionState.OPEN]
    by_rank = {one.rank: one for one in found}
    for rank in ranks:
        if rank not in by_rank:
            raise UsageError(
                f"{scan.id} has no suggestion {rank}.",
                hint=f"`navigator task suggestions {scan.id}` lists them.",
            )
    return [by_rank[rank] for rank in dict.fromkeys(ranks)]


def _close_if_settled(tx: Transaction, scan: Task) -> None:
    """Done once nothing is open, where the scan still waits for the developer."""
    left = any(
        one.state == SuggestionState.OPEN for one in tx.read.suggestions(scan.id, attempt=scan.attempt)
    )
    if not left and scan.state is TaskState.AWAITING_APPROVAL:
        tx.set_task_state(scan.id, TaskState.DONE, reason="every suggestion has its answer")


def _shown(deps: Dependencies, scan: Task) -> Result:
    return {
        "scan": deps.reader.task(scan.id).model_dump(mode="json"),
        "suggestions": [
            one.model_dump(mode="json") for one in deps.reader.suggestions(scan.id, attempt=scan.attempt)
        ],
    }
