"""The backtest's items: commits that brought in bugs, as they were, and beside each an innocent one of the same size.

The reviewer is asked about them like about the exam's items (`queue`): blinded, by turns, in slots that no review needs. What it
is shown is the commit, its message and the files of that time; nothing of what came later.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from navigator.exam.blame import Blame, Blamed, brought_by, mechanical, repairs
from navigator.exam.candidates import OutOfTime, kind_of, words_of_commit
from navigator.exam.history import Commit, named_faulty, read_history, why_withheld
from navigator.exam.items import head_of, keep_items, make_item, own_items, prepared, tell_progress
from navigator.exam.making import maker_of
from navigator.figures.caught import examined_commit
from navigator.git.private import PrivateRepo
from navigator.git.runner import GitError
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import NavigatorError
from navigator.model.models import Project
from navigator.model.records import ExamItem, PreparedProject, SourceCount
from navigator.model.secrets import Redactor
from navigator.model.states import PAST, ExamSource

BUGS = 40
"""Bugs of a project that are asked about, unless another number is named: enough for an interval of 15 points to each side."""

# Commits that are read.
HISTORY = 10_000

_DAY = 86_400
_LEAST_AGE = 30 * _DAY
"""An innocent commit is at least this much older than the newest one: a bug needs time to be found."""

_LIKE = 2.0
"""An innocent commit has as many changed lines of code, up to this factor."""

# Test runs of one call: what is cheap; a bug counts without a proof, too.
_PROOF_SECONDS = 300.0


@dataclass(frozen=True)
class _Bug:
    """A fix, and the commit that it leads to."""

    fix: Commit
    commit: Commit
    blamed: Blamed


@dataclass
class _History:
    """What is known of a project's past.

    Attributes:
        bugs: each commit that a fix leads to once; those whose fix changes tests first, then the newest.
        guilty: every commit that some fix leads to, by any of its lines.
        left: fixes that lead nowhere, by the reason.
    """

    private: PrivateRepo
    commits: Sequence[Commit]
    guilty: set[str]
    fixes: int = 0
    bugs: list[_Bug] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)


async def prepare_backtest(
    deps: Dependencies, project: Project, *, limit: int | None = None, since: int = 0
) -> PreparedProject:
    """Find the commits that brought in a project's bugs, and keep them as items, each with an innocent one.

    Every pair is stored before the next is made. For a few minutes, today's tests say which fixes they
    would miss.

    Args:
        limit: bugs; `BUGS` by default.
        since: seconds since 1970; only fixes from then on.
    """

    async def make() -> PreparedProject:
        return await _keep_pairs(deps, project, await _look_back(deps, project, since), limit or BUGS)

    return await prepared(deps, project, PAST, make)


async def _look_back(deps: Dependencies, project: Project, since: int) -> _History:
    """Blame every fix of the history: those before `since`, too, as they say who is not innocent.

    Raises:
        NavigatorError: the repository cannot be read.
    """
    async with deps.repositories.opened(project) as private:
        history, blame = await asyncio.to_thread(_open, private, project)
    known = {commit.sha: commit for commit in history.commits}
    for number, fix in enumerate(repairs(history.commits), 1):
        try:
            found = await deps.repositories.locked(project.id, blame.of, fix)
        except GitError as error:
            tell_progress(deps, project, f"{fix.sha[:12]}: {error.message}")
            found = Blamed(None, why="git cannot say who wrote its lines")
        history.guilty |= found.suspects
        if number % 100 == 0:
            tell_progress(deps, project, f"looked at {number} fixes")
        if fix.when < since:
            continue
        history.fixes += 1
        if found.commit is None:
            history.left[found.why] += 1
        else:
            history.bugs.append(_Bug(fix, known[found.commit], found))
    # Fixes that change tests, too, led to the right commit more often.
    every = sorted(history.bugs, key=lambda one: not one.fix.tested)
    first = {one.commit.sha: one for one in reversed(every)}
    history.bugs = [one for one in every if first[one.commit.sha] is one]
    if again := len(every) - len(history.bugs):
        history.left["another fix leads to the same commit"] = again
    return history


def _open(private: PrivateRepo, project: Project) -> tuple[_History, Blame]:
    """The history and who asks git about it. Blocks."""
    head = head_of(project)
    commits = read_history(private.facts, head, HISTORY)
    blame = Blame(private, commits, brought_by(private, head))
    return _History(private, commits, set(named_faulty(commits))), blame


def neighbour(bug: Commit, fix: Commit, commits: Sequence[Commit], barred: Collection[str]) -> Commit | None:
    """An innocent commit to go with a faulty one: of the same author if there is one, of like size, the nearest in time.

    It has had as long to be found out as the bug was there.
    """
    patience = max(_LEAST_AGE, fix.when - bug.when)
    newest = max(commit.when for commit in commits)
    like = [
        commit
        for commit in commits
        if commit.sha not in barred
        and not commit.routine
        and commit.when <= newest - patience
        and any(file.added for file in commit.code)
        and commit.code_lines <= _LIKE * bug.code_lines
        and bug.code_lines <= _LIKE * commit.code_lines
    ]
    return min(like, key=lambda one: (one.author != bug.author, abs(one.when - bug.when)), default=None)


async def _keep_pairs(deps: Dependencies, project: Project, history: _History, limit: int) -> PreparedProject:
    left, before = Counter(history.left), 0
    mine = own_items(deps.reader, project, PAST)
    with deps.store.transaction() as tx:
        for item in mine:
            if item.source is ExamSource.INNOCENT and examined_commit(item) in history.guilty:
                tx.retire_exam_item(item.id, "a fix leads to it")
    known = {examined_commit(item) for item in mine if item.faulty}
    barred = {*history.guilty, *mechanical(history.commits), *map(examined_commit, mine)}
    maker, ended = None, ""
    try:
        maker = await maker_of(deps, project, _PROOF_SECONDS)
    except NavigatorError as error:
        ended = error.message
    kept = len(known)
    for bug in history.bugs:
        if bug.commit.sha in known:
            before += 1
            continue
        if kept >= limit:
            continue
        try:
            proof = await maker.proof(bug.fix) if maker else ended
        except OutOfTime:
            proof = ended = "the time for test runs is used up"
        beside = neighbour(bug.commit, bug.fix, history.commits, barred)
        facts = {
            "fix": bug.fix.sha,
            "fix_subject": bug.fix.subject,
            "share": round(bug.blamed.share, 3),
            "lines": bug.blamed.lines,
            "places": [[path, line, line] for path, line in sorted(bug.blamed.places)],
            "proof": proof,
        }
        pair = await deps.repositories.locked(
            project.id, _pair, deps.redact, project, history.private, bug.commit, facts, beside
        )
        if not pair:
            left["a model may not be shown the commit"] += 1
            continue
        barred |= set(map(examined_commit, pair))
        await keep_items(deps, project, history.private, pair)
        kept += 1
        tell_progress(deps, project, f"bug {kept} of {limit}: {bug.commit.sha[:12]} {bug.commit.subject}")
    count = SourceCount(
        found=history.fixes,
        known=before,
        tried=history.fixes,
        kept=history.fixes - left.total(),
        rejected=dict(left),
    )
    return PreparedProject(
        project=project.name,
        sources={ExamSource.SHIPPED.value: count},
        runs=maker.trials.runs if maker else 0,
        ended=ended,
    )


def _pair(
    redact: Redactor,
    project: Project,
    private: PrivateRepo,
    bug: Commit,
    facts: dict[str, Any],
    beside: Commit | None,
) -> list[ExamItem]:
    """A bug's item and that of an innocent commit; none where the bug may be shown to no model. Blocks."""
    found = _item(redact, project, private, bug, ExamSource.SHIPPED, facts)
    innocent = beside and _item(redact, project, private, beside, ExamSource.INNOCENT, {})
    return [] if found is None else [found, *([innocent] if innocent else [])]


def _item(
    redact: Redactor,
    project: Project,
    private: PrivateRepo,
    commit: Commit,
    source: ExamSource,
    facts: dict[str, Any],
) -> ExamItem | None:
    """One commit as it was, pinned with its base."""
    text, tree = words_of_commit(commit.subject, commit.body), private.tree_of(commit.sha)
    if not text or why_withheld(private, project, commit.parent, tree, text):
        return None
    private.pin_bases((commit.parent, commit.sha))
    path, line, _ = next(iter(facts.get("places", ())), ("", 0, 0))
    return make_item(
        redact,
        project,
        source,
        f"{project.id}:{source.value}:{commit.sha}",
        faulty=source is ExamSource.SHIPPED,
        changed_lines=commit.lines,
        evidence=facts,
        text=text,
        title=commit.subject,
        kind=kind_of(commit),
        base_commit=commit.parent,
        tree=tree,
        path=path,
        line=line,
        end_line=line,
    )
