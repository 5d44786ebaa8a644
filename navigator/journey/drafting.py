"""From an answer to a tree: parse, apply in memory, write to the private repository, hold against policy.

Runs in a thread: everything here is CPU and git, and touches nothing of the user's repository.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from navigator.checks.policy import check_policy
from navigator.checks.syntax import GrammarGate
from navigator.edits.apply import apply_answer
from navigator.edits.parser import parse_answer
from navigator.edits.paths import EditProblem
from navigator.git.private import FileChange
from navigator.git.source import TreeSource
from navigator.model.diff import FileDiff
from navigator.model.models import AppliedEdit, CheckResult, PolicyItem
from navigator.model.states import CheckOutcome, EditCode, PolicyAction


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
    for path, change in changes.items():
        plain = change.content is not None and (change.mode or "").startswith("100")
        said = grammars.syntax_fault(path, source.read(path), change.content or b"") if plain else None
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
