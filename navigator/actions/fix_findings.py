"""Request a fix: the findings of a review of existing work become a task, on the branch that holds that work."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from navigator.actions.base import NoteField, Question, Subject, SubjectVerb, Told, plural
from navigator.actions.deciding import TreePin, require_tree, state_words
from navigator.actions.send_back import comment_text
from navigator.actions.task_add import TEXT_LIMIT
from navigator.journey.change import put_away
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.models import Finding, Model, Proposal, Task
from navigator.model.states import ProposalState, TaskKind
from navigator.model.text import safe_line

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


class FixArgs(Model):
    """`note` goes into the task beside the findings and your comments. `tree` must be the proposal's, where it is given."""

    proposal: str
    tree: TreePin = ""
    note: str = ""


class FixRequested(Model):
    """The task that fixes it; `on` is the branch, or the commit, that it is written on."""

    proposal: str
    task: Task
    on: str = ""


class RequestFix(SubjectVerb[FixArgs, FixRequested]):
    """The review is put away with it: what is left to do is the task's."""

    name = "review.fix"
    args = FixArgs
    result = FixRequested

    def ids(self, args: FixArgs) -> Iterable[str]:
        return [args.proposal]

    def refuse_one(self, on: Subject) -> NavigatorError | None:
        if on.proposal and not on.existing:
            return Conflict(
                f"{on.proposal} is a proposal of {on.task}: its writer revises it.",
                hint=f"To have it written again: `navigator send-back {on.proposal} --note …`.",
            )
        if on.with_you:
            return None
        return Conflict(
            f"{on.id} has no review to act on; {on.task} is {state_words(on)}.",
            hint=f"`navigator task show {on.task}` shows its history.",
        )

    def question(self, reader: Reader, args: FixArgs) -> Question:
        shown = reader.proposal(args.proposal)
        found = _findings(shown)
        lines = [f"{one.path}:{one.line}  {safe_line(one.message)}" for one in found[:5]]
        if len(found) > 5:
            lines.append(f"and {plural(len(found) - 5, 'more finding')}")
        comments = reader.comments(task_id=shown.task_id, sent=False)
        lines += [f"{one['path']}:{one['line']}  {one['text']}" for one in comments[:5]]
        needed = "" if found or comments else "It has no findings: say what to fix."
        note = NoteField("what to fix", needed=needed) if needed else NoteField()
        return Question(f"Queue a task that fixes what {shown.id} found?", tuple(lines), "queue", note)

    async def perform(self, deps: Dependencies, args: FixArgs) -> FixRequested:
        self.require(deps.reader, args)
        shown = deps.reader.proposal(args.proposal)
        require_tree(shown, args.tree)
        read = deps.reader.task(shown.task_id)
        branch, usual = await asyncio.to_thread(_branch, deps, read)
        on = "" if usual else branch or read.head
        with deps.store.transaction() as tx:
            self.require(tx.read, args)  # checked again: git took its time
            comments = tx.read.comments(task_id=read.id, sent=False)
            said = [args.note.strip(), *map(comment_text, comments)]
            found = _findings(shown)
            text = _task_text(read, found, "\n".join(one for one in said if one))
            made = tx.add_task(
                read.project_id,
                text,
                kind=TaskKind.FIX,
                complexity=read.complexity,
                files=tuple(dict.fromkeys(one.path for one in found if one.path)),
                origin=read.id,
                base=on,
            )
            if not branch:
                tx.set_task_base(
                    made.id, on
                )  # holds the commit, which may be in the private repository alone
            tx.mark_comments_sent(comment["id"] for comment in comments)
            put_away(tx, read, f"its findings are {made.id}'s to fix")
            tx.set_proposal_state(shown.id, ProposalState.DECIDED)
        return FixRequested(proposal=shown.id, task=deps.reader.task(made.id), on=branch or on[:12])

    def tell(self, result: FixRequested) -> list[Told]:
        return [Told(result.task.id, f"queued: fixes what {result.proposal} found, on {result.on}")]


def _findings(proposal: Proposal) -> list[Finding]:
    review = proposal.review
    return (
        [finding for finding in review.findings if finding.asked_for and not finding.dismissed]
        if review is not None
        else []
    )


def _branch(deps: Dependencies, read: Task) -> tuple[str, bool]:
    """The branch that holds the change now ("": uncommitted work, or no branch does), and whether it is the project's base."""
    from navigator.git.existing import branch_with
    from navigator.git.facts import WORKTREE, read_facts, resolve_base

    project = deps.project(read.project_id)
    facts = read_facts(project.path)
    base = "" if project.base == WORKTREE else project.base
    branch = branch_with(facts, read.head, base)
    return branch, bool(branch) and resolve_base(facts, base)[0] == f"refs/heads/{branch}"


def _task_text(read: Task, findings: list[Finding], said: str) -> str:
    if not findings and not said:
        raise UsageError(
            "The review has no findings that a task could fix.",
            hint=f"Say what to fix with --note, or put the review away: `navigator task done {read.id}`.",
        )
    lines = [f"Fix what the review of {read.ref} found", "", "Check each point against the code first."]
    for number, one in enumerate(findings, 1):
        where = f"{one.path}:{one.line}" if one.line else one.path
        lines += ["", f"{number}. {where} ({one.severity.value}, {one.criterion.value}): {one.message}"]
        lines += [f"   When: {one.trigger}"] if one.trigger else []
        lines += [f"   The line: {one.quote.strip()}"] if one.quote else []
    lines += ["", said] if said else []
    text = "\n".join(lines)
    return text if len(text) <= TEXT_LIMIT else text[:TEXT_LIMIT]
