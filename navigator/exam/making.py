"""Makes a project's items: each fix taken back, proved by the tests, and a clean change of the same form."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from navigator.exam.candidates import OutOfTime, Trials, fixes, harmless, neutral_words, ready_setup
from navigator.exam.history import (
    Commit,
    Rejected,
    commit_of,
    named_faulty,
    read_history,
    taken_back,
    why_withheld,
)
from navigator.exam.items import head_of, keep_items, make_item, own_items, prepared, tell_progress
from navigator.figures.caught import FAILING, examined_commit
from navigator.git.private import PrivateRepo
from navigator.journey.checking import baseline_of
from navigator.journey.dependencies import Dependencies
from navigator.model.diff import FileDiff
from navigator.model.errors import Conflict
from navigator.model.models import Project
from navigator.model.records import ExamItem, ExamTrial, PreparedProject, SourceCount
from navigator.model.states import CheckOutcome, ExamSource
from navigator.sandbox.suite import passed_before

OWN = (ExamSource.REVERSED_FIX, ExamSource.CLEAN)
"""Sources of items that are made of a project, each proved by its tests."""

_PATIENCE, _TIMES = 20.0, 10.0
"""A trial's tests may take this many seconds, or as many times what they take on today's tree."""

_CONTROLS_TRIED = 3

_T = TypeVar("_T")


@dataclass
class Maker:
    """One project's preparation.

    Attributes:
        head: the commit that today's tests are taken from; `passed` is how many tests pass on it.
        against: a digest of what every result depends on: test command, sandbox with its mounts, and `head`.
        commits: the newest ones of the history.
        known: trials by (source, change).
    """

    deps: Dependencies
    project: Project
    private: PrivateRepo
    trials: Trials
    head: str
    passed: int | None
    against: str
    commits: Sequence[Commit]
    known: dict[tuple[ExamSource, str], ExamTrial]

    def held(self, source: ExamSource, change: str) -> ExamTrial | None:
        """What is known of a change, where it would be the same today."""
        found = self.known.get((source, change))
        return found if found is not None and found.against == self.against else None

    def used(self) -> set[str]:
        """The changes that are items already."""
        items = own_items(self.deps.reader, self.project, OWN, retired=True)
        return set(map(examined_commit, items))

    async def attempt(self, commit: Commit) -> str:
        """Try one fix, and store what came of it with its items; returns why none came.

        Raises:
            OutOfTime: the bound on test runs is reached; nothing is stored.
        """
        pair, trial = await self._tried(ExamSource.REVERSED_FIX, commit.sha, self._reversed_fix(commit))
        await keep_items(self.deps, self.project, self.private, pair or (), trial)
        return trial.reason

    async def _tried(
        self, source: ExamSource, change: str, making: Awaitable[_T]
    ) -> tuple[_T | None, ExamTrial]:
        """What was made, None where it is rejected, and the trial's result, to be stored."""
        made, reason = None, ""
        try:
            made = await making
        except Rejected as error:
            reason = str(error)
        trial = self.known[source, change] = ExamTrial(
            project_id=self.project.id,
            source=source,
            change=change,
            against=self.against,
            kept=not reason,
            reason=reason,
        )
        return made, trial

    async def _reversed_fix(self, commit: Commit) -> list[ExamItem]:
        """Today's tree with a fix taken back, and a control of the same form."""
        tree = await self.take_back(commit)
        failing = await self.trials.failing(tree, self.passed)
        files = await asyncio.to_thread(self.private.diff, self.head, tree, 0)
        where = _places(files)
        (path, line, end_line), evidence = where[0], {"failing": list(failing), "places": where}
        seeded = {"path": path, "line": line, "end_line": end_line}
        faulty = self._item(ExamSource.REVERSED_FIX, commit, tree, files, evidence, **seeded)
        return [faulty, await self._control(commit, tree, files)]

    async def take_back(self, commit: Commit) -> str:
        """Today's tree without a commit.

        Raises:
            Rejected: it cannot be taken back, or the change may be shown to no model.
        """

        def take() -> str:
            tree = taken_back(self.private, commit, self.head)
            if why := why_withheld(self.private, self.project, self.head, tree, ""):
                raise Rejected(why)
            return tree

        return await self.deps.repositories.locked(self.project.id, take)

    async def proof(self, fix: Commit) -> str:
        """`FAILING` where a test of today fails without a fix, else in words why that is not known.

        Raises:
            OutOfTime: the bound on test runs is reached.
        """
        held = self.held(ExamSource.REVERSED_FIX, fix.sha)
        if held is not None:
            return FAILING if held.kept else held.reason
        try:
            await self.trials.failing(await self.take_back(fix), self.passed)
        except Rejected as error:
            return str(error)
        return FAILING

    async def _control(self, commit: Commit, tree: str, files: Sequence[FileDiff]) -> ExamItem:
        """A harmless commit taken back in the same way; where there is none, the same lines put back."""
        used = self.used()
        near = [one for one in harmless(self.commits, _changed_lines(files)) if one.sha not in used]
        # One that was found before a crash is found again: only its item was lost.
        untried = [one for one in near if (held := self.held(ExamSource.CLEAN, one.sha)) is None or held.kept]
        for other in untried[:_CONTROLS_TRIED]:
            try:
                found, trial = await self._tried(ExamSource.CLEAN, other.sha, self._harmless(other))
            except OutOfTime:
                break
            await keep_items(self.deps, self.project, self.private, trial=trial)
            if found is not None:
                return found
        async with self.deps.repositories.lock(self.project.id):
            base = await asyncio.to_thread(commit_of, self.private, tree)
            back = await asyncio.to_thread(self.private.diff, base, self.head, 0)
        whole = self.private.tree_of(self.head)
        clean = self._item(ExamSource.CLEAN, commit, whole, back, {"form": "put back"})
        return clean.model_copy(update={"origin": f"{clean.origin}:put-back", "base_commit": base})

    async def _harmless(self, commit: Commit) -> ExamItem:
        tree = await self.take_back(commit)
        await self.trials.sound(tree)
        files = await asyncio.to_thread(self.private.diff, self.head, tree, 0)
        return self._item(ExamSource.CLEAN, commit, tree, files, {})

    def _item(
        self,
        source: ExamSource,
        commit: Commit,
        tree: str,
        files: Sequence[FileDiff],
        evidence: dict[str, Any],
        **seeded: Any,
    ) -> ExamItem:
        text, title = neutral_words(files)
        made_from = {
            "command": self.project.check,
            "head": self.head,
            "made_from": f"commit {commit.sha[:12]} {commit.subject}",
            "form": "taken back",
        }
        return make_item(
            self.deps.redact,
            self.project,
            source,
            f"{self.project.id}:{source.value}:{commit.sha}",
            faulty=source is not ExamSource.CLEAN,
            changed_lines=_changed_lines(files),
            evidence=made_from | evidence,
            base_commit=self.head,
            tree=tree,
            text=text,
            title=title,
            **seeded,
        )


def _changed_lines(files: Sequence[FileDiff]) -> int:
    return sum(file.added + file.removed for file in files)


def _places(files: Sequence[FileDiff]) -> list[list[Any]]:
    """Every changed place as [path, first line, last line] of the new file; what was only removed lies between two lines."""
    return [
        [file.path, max(1, hunk.new_start), max(1, hunk.new_start) + max(hunk.new_count, 1)]
        for file in files
        for hunk in file.hunks
    ]


async def maker_of(deps: Dependencies, project: Project, seconds: float) -> Maker:
    """What the trials need, once the project's tests pass on the commit that its work starts from.

    Raises:
        NavigatorError: there is no test command, no sandbox, or the tests fail already.
    """
    setup = await ready_setup(deps, project)
    async with deps.repositories.lock(project.id):
        head = await asyncio.to_thread(head_of, project)
        tree = await asyncio.to_thread(setup.private.pin_base, head)
        commits = await asyncio.to_thread(read_history, setup.private.facts, head, deps.settings.exam.history)
    doubted = named_faulty(commits)
    tell_progress(deps, project, f"runs the tests on {head[:12]}")
    found = await baseline_of(deps, setup, tree)
    if found.outcome is not CheckOutcome.PASSED:
        line = found.detail.partition("\n")[0]
        raise Conflict(
            f"Its tests do not pass on {head[:12]} ({found.outcome.value}: {line}).",
            hint=f"Repair them first: `navigator project check {project.name}` shows the output.",
        )
    return Maker(
        deps=deps,
        project=project,
        private=setup.private,
        trials=Trials(deps, setup, seconds, max(_PATIENCE, _TIMES * found.seconds)),
        head=head,
        passed=passed_before(found) or None,
        against=hashlib.sha256(f"{project.check}\n{found.environment}\n{head}".encode()).hexdigest()[:24],
        commits=[commit for commit in commits if commit.sha not in doubted],
        known={(trial.source, trial.change): trial for trial in deps.reader.exam_trials(project.id)},
    )


# Tries a project's fixes until there are enough items.


async def prepare_project(
    deps: Dependencies,
    project: Project,
    *,
    limit: int | None = None,
    seconds: float | None = None,
    behind: bool = False,
) -> PreparedProject:
    """Make items of one project.

    What keeps a project from having any is said in the result, not raised. It may be cancelled at any time: every result is
    stored before the next candidate is tried.

    Args:
        limit: faulty items the project is to have; by default that of the settings, like `seconds`, which test runs may take.
        behind: end after the candidate under way when somebody else wants to prepare items.
    """
    settings = deps.settings.exam

    async def make() -> PreparedProject:
        maker = await maker_of(deps, project, settings.prepare_seconds if seconds is None else seconds)
        return await _prepare(maker, limit or settings.items, behind=behind)

    return await prepared(deps, project, OWN, make)


async def _prepare(maker: Maker, limit: int, *, behind: bool) -> PreparedProject:
    """Try fixes, the likely ones first, until there are enough items."""
    deps, project = maker.deps, maker.project
    every, used = fixes(maker.commits), maker.used()
    left = [
        commit
        for commit in every
        if commit.sha not in used and maker.held(ExamSource.REVERSED_FIX, commit.sha) is None
    ]
    faulty = sum(item.faulty for item in own_items(deps.reader, project, OWN))
    tried = kept = 0
    rejected: Counter[str] = Counter()
    ended = ""
    for commit in left:
        if faulty >= limit:
            break
        if behind and deps.cpu_work.exams_wanted > 1:
            ended = "another run takes over"
            break
        try:
            reason = await maker.attempt(commit)
        except OutOfTime:
            ended = "the time is used up; the next run continues"
            break
        tried += 1
        if reason:
            rejected[reason] += 1
        else:
            kept += 1
            faulty += 1
        tell_progress(deps, project, f"fix {commit.sha[:12]}: {reason or 'kept'} ({faulty} of {limit})")
    count = SourceCount(
        found=len(every), known=len(every) - len(left), tried=tried, kept=kept, rejected=dict(rejected)
    )
    return PreparedProject(
        project=project.name,
        sources={ExamSource.REVERSED_FIX.value: count},
        runs=maker.trials.runs,
        ended=ended or ("there are enough items" if faulty >= limit else "no candidates are left"),
    )
