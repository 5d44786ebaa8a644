"""Existing changes become tasks: nobody writes them, the reviewer reads them, nothing lands.

One task for each change of a project: whoever asks for it again, the hook and `review_branches` among them, gets the same one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from navigator.context.source import learn_withheld
from navigator.git.existing import Existing, Listed, commit_changes, held_commits, new_commits
from navigator.git.facts import RepoFacts, read_facts, resolve_base
from navigator.git.private import LineCounts, PrivateRepo
from navigator.journey.dependencies import Dependencies
from navigator.journey.moves import begin_with_checks
from navigator.journey.repositories import at_home
from navigator.model import patterns
from navigator.model.models import EXISTING, AppliedEdit, Project, Proposal, Task
from navigator.model.states import Role, Rung, TaskState
from navigator.model.text import safe_line
from navigator.sheet.parts import change_name
from navigator.store.writes.writer import Store, Transaction

log = logging.getLogger(__name__)

MOST_LINES = 50_000
"""Changed lines of one change at most: what screens and diffs are made for."""

_GENERATED = patterns.compile(r"^ *Generated-By: (\S+)", patterns.MULTILINE)
"""The trailer that a landing writes. Who forges it makes a review count for less, never for more."""

_ENDED = frozenset({TaskState.CANCELLED, TaskState.FAILED})

Find = Callable[[PrivateRepo, RepoFacts], Listed]


@dataclass(frozen=True)
class Queued:
    """Tasks in the order of their changes. `new`: ids of those that were added or begun again. `left_out`: (ref, reason).
    `merges`: merge commits that were skipped."""

    tasks: tuple[Task, ...] = ()
    new: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    merges: int = 0


@dataclass(frozen=True)
class _Measured:
    change: Existing
    tree: str
    counts: LineCounts
    left_out: str = ""


async def queue_changes(deps: Dependencies, project: Project, find: Find, *, revive: bool = True) -> Queued:
    """Queue what `find` finds in a project's repository, all in one transaction.

    Args:
        revive: a review that was cancelled, or failed, begins again.

    Raises:
        NavigatorError: the repository cannot be read, or `find` found nothing.
    """
    async with deps.repositories.opened(project) as private:
        found, measured = await asyncio.to_thread(_measure, private, project, find)
        if measured:
            # Of the newest: a tree for each of a hundred commits would take seconds.
            await asyncio.to_thread(learn_withheld, deps.redact, project, private, measured[-1].tree)
    tasks: list[Task] = []
    new: list[str] = []
    with deps.store.transaction() as tx:
        for one in measured:
            if one.left_out:
                continue
            task_id = tx.read.review_of_change(project.id, one.change.base, one.change.head)
            if not task_id:
                task_id = _add(tx, project, replace(one, change=_redacted(one.change, deps)))
                new.append(task_id)
            elif revive and tx.read.task(task_id).state in _ENDED:
                review_again(tx, tx.read.task(task_id))
                new.append(task_id)
            tasks.append(tx.read.task(task_id))
    left_out = tuple((one.change.ref, one.left_out) for one in measured if one.left_out)
    return Queued(tuple(tasks), tuple(new), left_out, found.merges)


def review_again(tx: Transaction, task: Task) -> None:
    """A new attempt at the review of an existing change: the same change, to be checked and read again."""
    last = tx.read.proposals(task_id=task.id)[-1]
    made = tx.new_attempt(task.id, note=task.note)
    tx.set_task_base(task.id, last.base_commit)
    begin_with_checks(tx, made)
    fresh = {"id": "", "attempt": made.attempt, "checks": (), "seen": False, "created": ""}
    tx.add_proposal(last.model_copy(update=fresh))


def _measure(private: PrivateRepo, project: Project, find: Find) -> tuple[Listed, Sequence[_Measured]]:
    """Find the changes, hold them whole in the private repository and count their lines. Blocks."""
    with at_home(project):
        facts = read_facts(project.path)
    found = find(private, facts)
    private.pin_bases(commit for change in found.changes for commit in (change.base, change.head))
    trees = private.trees_of(commit for change in found.changes for commit in (change.base, change.head))
    pairs = [(trees[change.base], trees[change.head]) for change in found.changes]
    counts = private.count_lines(pairs)
    measured = [
        _Measured(change, pair[1], counts[pair], _why_not(pair, counts[pair]))
        for change, pair in zip(found.changes, pairs, strict=True)
    ]
    # Before the rows that name them exist: a crash here leaves only unused names.
    private.keep_all(
        {
            change_name(one.change.base, one.tree): (one.tree, one.change.base)
            for one in measured
            if not one.left_out
        }
    )
    return found, measured


def _why_not(pair: tuple[str, str], counts: LineCounts) -> str:
    """Why a change is not reviewed; "" where it is."""
    if pair[0] == pair[1]:
        return "it changes nothing"
    lines = counts.added + counts.removed
    if lines > MOST_LINES:
        return f"it changes {lines:,} lines; {MOST_LINES:,} can be reviewed at a time"
    return ""


def _redacted(change: Existing, deps: Dependencies) -> Existing:
    """The change with the secrets taken out of its words: they are stored, shown to models and passed on."""
    words = {name: deps.redact(getattr(change, name)) for name in ("ref", "title", "text", "author")}
    return replace(change, **words)


def _writer(change: Existing) -> str:
    """The model that the messages of landed commits name as their writer; "" where they name none, or several."""
    named = {match[1] for match in _GENERATED.finditer(change.text)}
    return named.pop() if len(named) == 1 else ""


def _add(tx: Transaction, project: Project, one: _Measured) -> str:
    change = one.change
    task = tx.add_task(project.id, f"{change.title}\n\n{change.text}", ref=change.ref, head=change.head)
    tx.set_task_base(task.id, change.base)
    begin_with_checks(tx, task, f"review of {change.ref}")
    tx.add_proposal(
        Proposal(
            id="",
            task_id=task.id,
            project_id=project.id,
            project=project.name,
            attempt=0,
            round=0,
            base_commit=change.base,
            tree=one.tree,
            written_by=Role.GENERATOR,  # the column knows roles only; `way` says that none wrote it
            way=EXISTING,
            model=_writer(change),
            title=change.title,
            summary=f"by {change.author}" if change.author else "",
            edits=tuple(AppliedEdit(path=path, rung=Rung.EXACT) for path in one.counts.paths),
            added=one.counts.added,
            removed=one.counts.removed,
        )
    )
    return task.id


# Commits that nobody asked about. A note is deleted after its task is in the store.

MOST_AT_ONCE = 100
"""Commits of one branch at a time, and of those that hooks noted; of a branch's, the newest.

A branch that is imported whole is better reviewed as one change."""

_SEEN = "review_branches:"


async def take_in(deps: Dependencies, project: Project, noted: Sequence[str]) -> None:
    """Queue the commits of one project that hooks noted, and those that are new on its branches.

    Raises:
        NavigatorError: the repository cannot be read.
    """
    noted = noted[:MOST_AT_ONCE]
    tips = dict(deps.reader.meta(_SEEN + str(project.id), dict) or {})
    now: dict[str, str] = {}
    commits: list[str] = []
    if project.review_branches:
        async with deps.repositories.opened(project) as private:
            now, commits = await asyncio.to_thread(_new_on_branches, private.facts, project, tips)
    shas = tuple(dict.fromkeys((*noted, *commits)))
    queued = Queued()
    if shas:
        queued = await queue_changes(
            deps, project, lambda private, facts: _find(private, facts, shas), revive=False
        )
    moved = bool(project.review_branches) and now != tips
    if moved or queued.left_out:
        _store_seen(deps.store, project, queued, now)
    for sha in noted:
        (deps.paths.commits / str(project.id) / sha).unlink(missing_ok=True)


def _find(private: PrivateRepo, facts: RepoFacts, shas: Sequence[str]) -> Listed:
    return Listed(commit_changes(private, facts, held_commits(facts, shas)))


def _new_on_branches(
    facts: RepoFacts, project: Project, seen: dict[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Tips by branch, as they are now, and the commits that neither the base nor the last known tips hold. Blocks."""
    listed = facts.git().run("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads/").text
    tips = {name: sha for sha, name in (line.split(" ", 1) for line in listed.splitlines())}
    tips = {
        name: sha
        for name, sha in tips.items()
        if any(fnmatchcase(name, pattern) for pattern in project.review_branches)
    }
    base = resolve_base(facts, project.base)[1]
    commits: list[str] = []
    for name, tip in tips.items():
        if seen.get(name) != tip:
            commits += new_commits(facts, tip, (base, seen.get(name, "")), MOST_AT_ONCE)
    return tips, commits


def _store_seen(store: Store, project: Project, queued: Queued, tips: dict[str, str]) -> None:
    with store.transaction() as tx:
        if project.review_branches:
            tx.set_meta(_SEEN + str(project.id), tips)
        if queued.left_out:
            left = [f"{ref}: {why}" for ref, why in queued.left_out]
            tx.event("review_left_out", data={"project": project.name, "left_out": left})
            for one in left:
                log.warning("%s: not reviewed: %s", project.name, safe_line(one))
