"""What the conductor looks for in projects' repositories by itself: new commits to review, and what became of those that landed.

New are commits that hooks noted, and those on branches of `review_branches`. A commit is one task, whoever names it and how
often; a note is deleted after its task is in the store. So a crash at any point loses nothing and doubles nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from navigator.git.existing import Listed, commit_changes, held_commits, new_commits
from navigator.git.facts import WORKTREE, RepoFacts, resolve_base
from navigator.git.hook import noted_commits
from navigator.git.private import PrivateRepo
from navigator.journey.dependencies import Dependencies
from navigator.journey.existing import Queued, queue_changes
from navigator.journey.recovery import Storage
from navigator.model.errors import NavigatorError
from navigator.model.models import Project, utc_now
from navigator.model.text import safe_line

log = logging.getLogger(__name__)

EVERY = 3.0
"""Seconds between looks."""

MOST_AT_ONCE = 100
"""Commits of one branch at a time, and of those that hooks noted; of a branch's, the newest.

A branch that is imported whole is better reviewed as one change."""

_SEEN = "review_branches:"


@dataclass(frozen=True)
class _Branches:
    """Tips by branch, as they are now, and the commits that are new on them; `skipped`: older ones that are too many."""

    tips: dict[str, str]
    commits: tuple[str, ...]
    skipped: int


class Incoming:
    """Looks for such commits while the conductor runs."""

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._troubled: dict[int, str] = {}

    async def run(self) -> None:
        """For as long as the conductor lives."""
        while True:
            await asyncio.sleep(EVERY)
            await self.look()

    async def look(self) -> None:
        """Queue what is new in every project. A project that cannot be read is told once, and tried again."""
        for project in self._deps.reader.projects():
            try:
                with self._storage.writing(f"new commits of {project.name}"):
                    await take_in(self._deps, project)
                self._troubled.pop(project.id, None)
            except NavigatorError as error:
                if self._troubled.get(project.id) != str(error):
                    self._troubled[project.id] = str(error)
                    log.warning("%s: new commits cannot be read: %s", project.name, error)
            except Exception:
                # A defect here must not end a session that goes well without it; nothing is lost: the notes stay.
                log.exception("%s: the look for new commits broke", project.name)


async def take_in(deps: Dependencies, project: Project) -> Queued:
    """Queue the commits of one project that were noted, and those that are new on its branches.

    Raises:
        NavigatorError: the repository cannot be read.
    """
    folder = deps.paths.commits / str(project.id)
    noted = noted_commits(folder)[:MOST_AT_ONCE]
    seen = deps.reader.meta(_SEEN + str(project.id), dict)
    tips = dict(seen or {})
    branches = _Branches({}, (), 0)
    if project.review_branches:
        async with deps.project_lock(project.id):
            branches = await asyncio.to_thread(_new_on_branches, deps, project, tips)
    shas = tuple(dict.fromkeys((*noted, *branches.commits)))
    queued = Queued()
    if shas:
        queued = await queue_changes(
            deps, project, lambda private, facts: _find(private, facts, shas), revive=False
        )
    moved = bool(project.review_branches) and branches.tips != tips
    if moved or queued.left_out or branches.skipped:
        _store_seen(deps, project, queued, branches)
    for sha in noted:
        (folder / sha).unlink(missing_ok=True)
    return queued


def _find(private: PrivateRepo, facts: RepoFacts, shas: Sequence[str]) -> Listed:
    return Listed(commit_changes(private, facts, held_commits(facts, shas)))


def _new_on_branches(deps: Dependencies, project: Project, seen: dict[str, str]) -> _Branches:
    """What the branches hold that neither the project's base nor their last known tips do. Blocks."""
    facts = deps.private(project).facts
    listed = facts.git().run("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads/").text
    tips = {name: sha for sha, name in (line.split(" ", 1) for line in listed.splitlines())}
    tips = {
        name: sha
        for name, sha in tips.items()
        if any(fnmatchcase(name, pattern) for pattern in project.review_branches)
    }
    base = resolve_base(facts, "" if project.base == WORKTREE else project.base)[1]
    commits: list[str] = []
    skipped = 0
    for name, tip in tips.items():
        if seen.get(name) != tip:
            found, more = new_commits(facts, tip, (base, seen.get(name, "")), MOST_AT_ONCE)
            commits += found
            skipped += more
    return _Branches(tips, tuple(dict.fromkeys(commits)), skipped)


def _store_seen(deps: Dependencies, project: Project, queued: Queued, branches: _Branches) -> None:
    with deps.store.transaction() as tx:
        if project.review_branches:
            tx.set_meta(_SEEN + str(project.id), branches.tips)
        if queued.left_out or branches.skipped:
            left = [f"{ref}: {why}" for ref, why in queued.left_out]
            if branches.skipped:
                left.append(
                    f"{branches.skipped} older commits: at most {MOST_AT_ONCE} of a branch are queued at once"
                )
            tx.event("review_left_out", data={"project": project.name, "left_out": left})
            for one in left:
                log.warning("%s: not reviewed: %s", project.name, safe_line(one))


# What became of landed commits and of findings: bounded work that statistics need, done when nothing else is.


LOOKED = "reverts_looked"
"""The stored moment of the last look for reverted commits."""

LOOK_AGAIN = timedelta(hours=6)
"""How often the repositories are looked at."""

_IDLE_PAUSE = 60.0
"""Seconds between checks whether anything is due."""


class Idle:
    """Looks now and then what became of landed commits and of findings, while `at_rest` says that nothing else runs."""

    def __init__(self, deps: Dependencies, storage: Storage, at_rest: Callable[[], bool]) -> None:
        self._deps = deps
        self._storage = storage
        self._at_rest = at_rest

    async def run(self) -> None:
        """For as long as the conductor lives."""
        while True:
            await asyncio.sleep(_IDLE_PAUSE)
            if self._at_rest() and self._due():
                try:
                    await self.look()
                except Exception:
                    # A defect here must not end a session that goes well without it; the next look is hours away.
                    log.exception("the look for reverted commits broke")

    def _due(self) -> bool:
        last = self._deps.reader.meta(LOOKED, str)
        if not isinstance(last, str):
            return True
        return datetime.now(UTC) - datetime.fromisoformat(last.replace("Z", "+00:00")) >= LOOK_AGAIN

    async def look(self) -> None:
        """Look at one project after the other, until work comes; those that are left wait for the next time."""
        from navigator.exam.afterlife import look_at_findings
        from navigator.journey.reverts import look_for

        with self._storage.writing("when commits were looked for"), self._deps.store.transaction() as tx:
            tx.set_meta(LOOKED, utc_now())
        for project in self._deps.reader.projects():
            if not self._at_rest():
                return
            with self._storage.writing(f"what became of {project.name}'s commits"):
                await look_for(self._deps, project)
                await look_at_findings(self._deps, project)
