"""Have existing work reviewed: a commit, a range, a branch, what is staged, what is not committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from pydantic import model_validator

from navigator.actions.base import Told, Verb, plural
from navigator.model.errors import Conflict
from navigator.model.models import Model, Task
from navigator.model.states import LOOP_TASK_STATES

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies


class ReviewArgs(Model):
    """`ref` is a commit or a range, "" for the last commit; `each`: every commit of a range or a branch for itself."""

    project: str
    ref: str = ""
    branch: str = ""
    staged: bool = False
    worktree: bool = False
    each: bool = False
    priority: int = 0

    @model_validator(mode="after")
    def _one(self) -> Self:
        if bool(self.ref) + bool(self.branch) + self.staged + self.worktree > 1:
            raise ValueError("only one of a commit or range, a branch, staged and worktree can be given")
        return self


class NotReviewed(Model):
    """A change that is not reviewed, and why."""

    ref: str
    reason: str


class ReviewsQueued(Model):
    """The tasks, in the order of their changes, each with the proposal that is its change; `new` were not there before."""

    tasks: tuple[Task, ...] = ()
    proposals: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    left_out: tuple[NotReviewed, ...] = ()
    merges: int = 0


class AddReview(Verb[ReviewArgs, ReviewsQueued]):
    """All or none. A change that was reviewed before is not reviewed again."""

    name = "review.add"
    args = ReviewArgs
    result = ReviewsQueued

    async def perform(self, deps: Dependencies, args: ReviewArgs) -> ReviewsQueued:
        from navigator.git.existing import WantedReview, find_changes
        from navigator.journey.existing import queue_changes

        project = deps.reader.project(args.project)
        wanted = WantedReview(args.ref.strip(), args.branch.strip(), args.staged, args.worktree, args.each)
        base = "" if project.base == "worktree" else project.base
        queued = await queue_changes(
            deps,
            project,
            lambda private, facts: find_changes(private, facts, wanted, base),
            priority=args.priority,
        )
        if not queued.tasks:
            why = f"{queued.left_out[0][0]}: {queued.left_out[0][1]}" if queued.left_out else "only merges"
            raise Conflict(f"There is nothing to review: {why}.", hint="Review another commit or range.")
        return ReviewsQueued(
            tasks=queued.tasks,
            proposals=tuple(deps.reader.proposals(task_id=task.id)[-1].id for task in queued.tasks),
            new=queued.new,
            left_out=tuple(NotReviewed(ref=ref, reason=reason) for ref, reason in queued.left_out),
            merges=queued.merges,
        )

    def tell(self, result: ReviewsQueued) -> list[Told]:
        merges = f"{plural(result.merges, 'merge commit')} left out." if result.merges else ""
        told = [
            Told(
                task.id,
                f"({proposal})  {task.ref}: {_queued_words(task, task.id in result.new)}",
                hint=merges,
            )
            for task, proposal in zip(result.tasks, result.proposals, strict=True)
        ]
        return told + [Told(one.ref, f"is left out: {one.reason}", "warning") for one in result.left_out]


def _queued_words(task: Task, new: bool) -> str:
    if new:
        return "queued for review"
    if task.state in LOOP_TASK_STATES:
        return "is queued already"
    return "is reviewed already"
