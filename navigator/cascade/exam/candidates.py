"""Which changes items are tried to be made of, in which order. Pure rules over commits and proposals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.cascade.exam.wording import words_of_commit
from navigator.exam.mining.history import Commit
from navigator.model.models import Proposal, Task
from navigator.model.states import Complexity, TaskKind

MOST_LINES = 300
"""Changed lines of code of a fix that is taken back."""

MOST_CHANGED = 400
MOST_FILES = 12
"""Changed lines and files of a change that gets a fault: about what fits into one review."""

_REWORKING = 60
"""Changed lines of code up to which a commit that changes code and tests counts as a fix without saying so."""


@dataclass(frozen=True)
class Change:
    """An accepted change, from which a mutant and a clean control can be made.

    Attributes:
        key: the commit, or the proposal's id.
        origin: in words, for the evidence.
        accepted: it is a proposal that the developer approved, not a commit of the history.
    """

    key: str
    base: str
    tree: str
    text: str
    kind: TaskKind
    complexity: Complexity
    title: str
    summary: str
    origin: str
    accepted: bool


def fixes(commits: Iterable[Commit]) -> list[Commit]:
    """Commits that may be fixes, the likely ones first: those that say so and change tests, then newest first."""
    found = [
        commit
        for commit in commits
        if commit.code
        and 0 < commit.code_lines <= MOST_LINES
        and len(commit.code) <= MOST_FILES
        and (commit.fixes or _reworks(commit))
    ]
    return sorted(found, key=lambda commit: (not (commit.fixes and commit.tested), not commit.fixes))


def _reworks(commit: Commit) -> bool:
    """Whether a commit changes what existing code does, by its tests and lines, though its subject does not say "fix"."""
    added, removed = (sum(getattr(file, side) for file in commit.code) for side in ("added", "removed"))
    return (
        commit.tested
        and commit.code_lines <= _REWORKING
        and 0 < added <= 3 * removed + 10
        and removed > 0
        and not commit.adds
        and not commit.routine
    )


def harmless(commits: Iterable[Commit], lines: int) -> list[Commit]:
    """Commits that by their author's word leave behaviour alone, of about as many lines of code, the nearest first."""
    found = [
        commit
        for commit in commits
        if commit.keeps_behaviour
        and commit.code
        and len(commit.code) <= MOST_FILES
        and lines <= 3 * commit.code_lines
        and commit.code_lines <= 3 * lines
    ]
    return sorted(found, key=lambda commit: abs(commit.code_lines - lines))


def of_commits(commits: Iterable[Commit]) -> list[Change]:
    """The commits that change code and are of a size that is reviewed in one go, newest first."""
    return [
        Change(
            key=commit.sha,
            base=commit.parent,
            tree=commit.sha,
            text=words_of_commit(commit.subject, commit.body),
            kind=_kind(commit),
            complexity=Complexity.MEDIUM,
            title=commit.subject,
            summary="",
            origin=f"commit {commit.sha[:12]} {commit.subject}",
            accepted=False,
        )
        for commit in commits
        if commit.subject
        and any(file.added for file in commit.code)
        and commit.lines <= MOST_CHANGED
        and len(commit.files) <= MOST_FILES
        and not commit.routine
    ]


def of_proposals(found: Sequence[tuple[Proposal, Task]]) -> list[Change]:
    """Approved proposals, in the order given."""
    return [
        Change(
            key=proposal.id,
            base=proposal.base_commit,
            tree=proposal.tree,
            text=task.text,
            kind=task.kind,
            complexity=task.complexity,
            title=proposal.title,
            summary=proposal.summary,
            origin=f"{proposal.id} {proposal.title}",
            accepted=True,
        )
        for proposal, task in found
    ]


def _kind(commit: Commit) -> TaskKind:
    if commit.fixes:
        return TaskKind.FIX
    return TaskKind.REFACTOR if commit.keeps_behaviour else TaskKind.IMPLEMENT
