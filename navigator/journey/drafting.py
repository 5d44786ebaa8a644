"""From an answer to a tree: parse, apply in memory, write to the private repository, hold against policy.

Runs in a thread: everything here is CPU and git, and touches nothing of the user's repository.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from navigator.checks.policy import check_policy
from navigator.checks.syntax import GrammarGate
from navigator.context.source import TreeSource
from navigator.edits.apply import apply_answer
from navigator.edits.parser import parse_answer
from navigator.edits.paths import EditProblem
from navigator.git.private import FileChange
from navigator.journey import moves
from navigator.journey.checking import UNTESTED
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.material import Ground
from navigator.journey.testing import keep
from navigator.journey.variants import put_away_as_same
from navigator.model.diff import FileDiff
from navigator.model.models import AppliedEdit, CheckResult, PolicyItem, Proposal
from navigator.model.states import CheckOutcome, EditCode, PolicyAction
from navigator.model.text import cut_title


@dataclass(frozen=True)
class Draft:
    """An answer that became a tree."""

    tree: str
    prose: str
    edits: tuple[AppliedEdit, ...]
    policy: tuple[PolicyItem, ...]
    checks: tuple[CheckResult, ...]
    files: tuple[FileDiff, ...]


@dataclass(frozen=True)
class NoChange:
    """The model says that nothing needs to change, and why."""

    reason: str


@dataclass(frozen=True)
class NotApplied:
    """An answer that changes nothing. `failures` are (code, path) pairs; `problems` the texts for the model."""

    problems: tuple[str, ...]
    failures: tuple[tuple[str, str], ...]

    @property
    def paths(self) -> tuple[str, ...]:
        """The files the problems are about, once each."""
        return tuple(dict.fromkeys(path for _, path in self.failures))


Outcome = Draft | NoChange | NotApplied
"""What an answer comes to."""

POLICY_CODE = EditCode.POLICY.value


def draft(
    text: str,
    source: TreeSource,
    *,
    marker: int,
    shown: Collection[str] | None = None,
) -> Outcome:
    """Turn one answer into a tree on the base `source`, all or nothing.

    Args:
        shown: the files that the model was shown whole; no other file of the base may be written whole.
    """
    answer = parse_answer(text, marker=marker)
    if not answer.problems and not answer.blocks:
        if answer.no_change is not None:
            return NoChange(answer.no_change)
        why = (
            "asks to see more files, but has no look left"
            if answer.looks
            else "holds no edit block and no line `NO_CHANGE: reason`"
        )
        return NotApplied(
            (f"MARKER: the answer {why}.",),
            ((EditCode.MARKER.value, ""),),
        )
    applied = apply_answer(answer, source, shown)
    if applied.problems:
        return _refused(applied.problems)
    return draft_changes(applied.changes, answer.prose.strip(), source, edits=applied.edits)


def syntax_problems(changes: Mapping[str, FileChange], source: TreeSource) -> NotApplied | None:
    """The changed files that parsed and do not any more; None where there is none. Files of blocks are judged one by one."""
    found: dict[str, str] = {}
    grammars = GrammarGate()
    for path, made in changes.items():
        plain = made.content is not None and (made.mode or "").startswith("100")
        said = grammars.syntax_fault(path, source.read(path), made.content or b"") if plain else None
        if said is not None:
            found[path] = f"SYNTAX {path}: {said}"
    if not found:
        return None
    return NotApplied(tuple(found.values()), tuple((EditCode.SYNTAX.value, path) for path in found))


def draft_changes(
    changes: Mapping[str, FileChange],
    prose: str,
    source: TreeSource,
    *,
    edits: Sequence[AppliedEdit],
) -> Draft | NotApplied:
    """Turn changed files into a tree on the base `source`, and hold it against policy."""
    private, base_commit = source.private, source.treeish
    tree = private.write_tree(base_commit, changes)
    raw = private.raw_diff(base_commit, tree)
    if not raw:
        return NotApplied(("NO_OP: the blocks leave every file as it is.",), ((EditCode.NO_OP.value, ""),))
    policy = check_policy(raw, source.paths(), private.read_blob)
    refused = [item for item in policy if item.action is PolicyAction.REFUSE]
    if refused:
        return NotApplied(
            tuple(f"POLICY {item.path}: {item.detail or item.rule}" for item in refused),
            tuple((POLICY_CODE, item.path) for item in refused),
        )
    checks = [
        CheckResult(name="edits apply", outcome=CheckOutcome.PASSED),
        CheckResult(name="files parse", outcome=CheckOutcome.PASSED),
        CheckResult(name="path policy", outcome=CheckOutcome.PASSED),
    ]
    files = tuple(private.diff(base_commit, tree))
    return Draft(tree, prose, tuple(edits), tuple(policy), tuple(checks), files)


def _refused(problems: Sequence[EditProblem]) -> NotApplied:
    return NotApplied(
        tuple(str(problem) for problem in problems),
        tuple((problem.code.value, problem.path) for problem in problems),
    )


# What every way of writing ends in: a proposal, or the word that nothing needs to change.


async def act_on(deps: Dependencies, ground: Ground, made: Draft | NoChange, *, way: str, who: str) -> None:
    """Keep a draft as the round's proposal; where nothing is to be changed, the task ends or goes on as it is.

    Args:
        way, who: how the proposal, and a reason, say who wrote.
    """
    if isinstance(made, Draft):
        await propose(deps, ground, made, way=way)
    elif not deps.move(moves.review_as_is, ground.task, f"The {who} keeps its change: {made.reason}"):
        deps.move(moves.change_nothing, ground.task, ground.writer, made.reason)


async def propose(deps: Dependencies, ground: Ground, made: Draft, *, way: str) -> None:
    """Keep a draft as the round's proposal; its tests, where the project has some, run next.

    A revision that leaves the tree as it was is no new proposal: read again, the same change could only be judged otherwise.
    """
    task = ground.task
    before = deps.reader.proposals(task_id=task.id)[-1:] if task.round else []
    if before and (before[0].attempt, before[0].round, before[0].tree) == (
        task.attempt,
        task.round - 1,
        made.tree,
    ):
        deps.move(moves.change_nothing, task, ground.writer, "its answer changes nothing.")
        return
    cost = deps.reader.round_cost(task.id, task.attempt, task.round, ground.writer)
    proposal = Proposal(
        id="",
        task_id=task.id,
        project_id=task.project_id,
        project=task.project,
        attempt=task.attempt,
        round=task.round,
        base_commit=ground.source.treeish,
        tree=made.tree,
        written_by=ground.writer,
        way=way,
        title=title_of(task.text) or "change",
        summary=made.prose,
        edits=made.edits,
        policy=made.policy,
        checks=made.checks,
        added=sum(file.added for file in made.files),
        removed=sum(file.removed for file in made.files),
        prompt_version=cost.prompt_version,
        model=cost.model,
        usage=cost.usage,
        entropy_mean=cost.entropy,
    )
    await keep(deps.repositories, ground, made.tree)
    with deps.store.transaction() as tx:
        if put_away_as_same(tx, task, proposal):
            return
        added = tx.add_proposal(proposal)
        if not ground.source.project.check.strip():
            tx.set_checks(added.id, (*made.checks, UNTESTED))
            moves.ask_review(tx, task)
        # Else it stays in `checking`: its tests run apart from this stage, which holds the writer's place.


def title_of(text: str) -> str:
    """The first line of a text, at most 72 characters; "" where there is none."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return cut_title(line)
