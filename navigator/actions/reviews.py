"""Have existing work reviewed, and have what such a review found fixed by a task, on the branch that holds that work."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from pydantic import model_validator

from navigator.actions.base import Done, NoteField, Question, SubjectVerb, Told, Verb, done
from navigator.actions.deciding import TreePin, require_tree, wrong_state
from navigator.actions.tasks import TEXT_LIMIT
from navigator.journey.moves import put_away
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.models import Finding, Proposal, Task
from navigator.model.states import LOOP_TASK_STATES, ProposalState, TaskKind
from navigator.model.text import plural, safe_line
from navigator.sheet.writing import comment_text, place_of

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader


class AddReview(Verb):
    """All or none. A change that was reviewed before is not reviewed again.

    `ref` is a commit or a range, "" for the last commit; `each`: every commit of a range or a branch for itself.
    """

    op = "review.add"

    project: str
    ref: str = ""
    branch: str = ""
    staged: bool = False
    worktree: bool = False
    each: bool = False

    @model_validator(mode="after")
    def _one(self) -> Self:
        if bool(self.ref) + bool(self.branch) + self.staged + self.worktree > 1:
            raise ValueError("only one of a commit or range, a branch, staged and worktree can be given")
        return self

    async def perform(self, deps: Dependencies) -> Done:
        from navigator.context.scope import is_secret
        from navigator.git.existing import WantedReview, find_changes
        from navigator.journey.existing import queue_changes

        project = deps.reader.project(self.project)
        wanted = WantedReview(self.ref.strip(), self.branch.strip(), self.staged, self.worktree, self.each)
        queued = await queue_changes(
            deps,
            project,
            lambda private, facts: find_changes(private, facts, wanted, is_secret, project.base),
        )
        if not queued.tasks:
            why = f"{queued.left_out[0][0]}: {queued.left_out[0][1]}" if queued.left_out else "only merges"
            raise Conflict(f"There is nothing to review: {why}.", hint="Review another commit or range.")
        proposals = [deps.reader.proposals(task_id=task.id)[-1].id for task in queued.tasks]
        merges = f"{plural(queued.merges, 'merge commit')} left out." if queued.merges else ""
        told = [
            Told(
                task.id,
                f"({proposal})  {task.ref}: {_queued_words(task, task.id in queued.new)}",
                hint=merges,
            )
            for task, proposal in zip(queued.tasks, proposals, strict=True)
        ]
        told += [Told(ref, f"is left out: {reason}", "warning") for ref, reason in queued.left_out]
        return done(
            told,
            tasks=queued.tasks,
            proposals=proposals,
            new=queued.new,
            left_out=[{"ref": ref, "reason": reason} for ref, reason in queued.left_out],
            merges=queued.merges,
        )


def _queued_words(task: Task, new: bool) -> str:
    if new:
        return "queued for review"
    if task.state in LOOP_TASK_STATES:
        return "is queued already"
    return "is reviewed already"


class RequestFix(SubjectVerb):
    """Queue a fix for what a review found, and put the review away.

    `note` goes into the task beside the findings and your comments. `tree` must be the proposal's, where it is given.
    """

    op = "review.fix"
    names = "proposal"

    proposal: str
    tree: TreePin = ""
    note: str = ""

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if on.proposal and not on.existing:
            return Conflict(
                f"{on.proposal} is a proposal of {on.task}: its writer revises it.",
                hint=f"To have it written again: `navigator send-back {on.proposal} --note …`.",
            )
        if on.with_you:
            return None
        return wrong_state(on, f"{on.id} has no review to act on; {on.task}")

    def question(self, reader: Reader) -> Question:
        shown = reader.proposal(self.proposal)
        found = _findings(shown)
        lines = [f"{one.path}:{one.line}  {safe_line(one.message)}" for one in found[:5]]
        if len(found) > 5:
            lines.append(f"and {plural(len(found) - 5, 'more finding')}")
        comments = reader.comments(task_id=shown.task_id, sent=False)
        lines += [f"{place_of(one)}  {one.text}" for one in comments[:5]]
        needed = "" if found or comments else "It has no findings: say what to fix."
        note = NoteField("what to fix", needed=needed) if needed else NoteField()
        return Question(
            f"Queue a task that fixes what the review of {shown.id} found?", tuple(lines), "queue", note
        )

    async def perform(self, deps: Dependencies) -> Done:
        self.require(deps.reader)
        shown = deps.reader.proposal(self.proposal)
        require_tree(shown, self.tree)
        review_task = deps.reader.task(shown.task_id)
        branch, is_base = await asyncio.to_thread(_branch, deps.reader, review_task)
        on = "" if is_base else branch or review_task.head
        with deps.store.transaction() as tx:
            self.require(tx.read)  # checked again: git took its time
            comments = tx.read.comments(task_id=review_task.id, sent=False)
            said = [self.note.strip(), *map(comment_text, comments)]
            found = _findings(shown)
            text = _task_text(review_task, found, "\n".join(one for one in said if one))
            made = tx.add_task(
                review_task.project_id,
                text,
                kind=TaskKind.FIX,
                complexity=review_task.complexity,
                files=tuple(dict.fromkeys(one.path for one in found if one.path)),
                origin=review_task.id,
                base=on,
            )
            if not branch:
                tx.set_task_base(
                    made.id, on
                )  # holds the commit, which may be in the private repository alone
            tx.mark_comments_sent(comment.id for comment in comments)
            put_away(tx, review_task, f"its findings are {made.id}'s to fix")
            tx.set_proposal_state(shown.id, ProposalState.DECIDED)
        where = branch or on[:12]
        return done(
            [Told(made.id, f"queued: fixes what the review of {shown.id} found, on {where}")],
            proposal=shown.id,
            task=deps.reader.task(made.id),
            on=where,
        )


def _findings(proposal: Proposal) -> list[Finding]:
    held = proposal.review.findings if proposal.review is not None else ()
    return [finding for finding in held if finding.asked_for and not finding.dismissed]


def _branch(reader: Reader, review_task: Task) -> tuple[str, bool]:
    """The branch that holds the change now ("": uncommitted work, or no branch does), and whether it is the project's base."""
    from navigator.git.existing import branch_with
    from navigator.git.facts import read_facts, resolve_base

    project = reader.project(review_task.project_id)
    facts = read_facts(project.path)
    branch = branch_with(facts, review_task.head, project.base)
    return branch, bool(branch) and resolve_base(facts, project.base)[0] == f"refs/heads/{branch}"


def _task_text(review_task: Task, findings: list[Finding], said: str) -> str:
    if not findings and not said:
        raise UsageError(
            "The review has no findings that a task could fix.",
            hint=f"Say what to fix with --note, or put the review away: `navigator task done {review_task.id}`.",
        )
    lines = [
        f"Fix what the review of {review_task.ref} found",
        "",
        "Check each point against the code first.",
    ]
    for number, one in enumerate(findings, 1):
        where = f"{one.path}:{one.line}" if one.line else one.path
        lines += ["", f"{number}. {where} ({one.severity.value}, {one.criterion.value}): {one.message}"]
        lines += [f"   When: {one.trigger}"] if one.trigger else []
        lines += [f"   The line: {one.quote.strip()}"] if one.quote else []
    lines += ["", said] if said else []
    return "\n".join(lines)[:TEXT_LIMIT]
