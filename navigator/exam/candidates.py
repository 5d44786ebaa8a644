"""Which changes items are tried to be made of, in which order; and the runs of their tests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from navigator.exam.history import Commit, Rejected
from navigator.journey.checking import CheckSetup, check_setup, run_tree
from navigator.journey.dependencies import Dependencies
from navigator.model import patterns
from navigator.model.diff import FileDiff
from navigator.model.errors import Conflict
from navigator.model.models import Project
from navigator.model.states import CheckOutcome, TaskKind
from navigator.model.text import safe_line
from navigator.sandbox.suite import SuiteRun, prepare

MOST_LINES = 300
"""Changed lines of code of a fix that is taken back."""

MOST_FILES = 12
"""Changed files of a change: about what fits into one review."""

_REWORKING = 60
"""Changed lines of code up to which a commit that changes code and tests counts as a fix without saying so."""


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


def kind_of(commit: Commit) -> TaskKind:
    """What a commit is by its own words, as a task would say it."""
    if commit.fixes:
        return TaskKind.FIX
    return TaskKind.REFACTOR if commit.keeps_behaviour else TaskKind.IMPLEMENT


# The words of an item that has none of its own: the same generator for faulty and clean ones, from the changed places alone.

_NAME = patterns.compile(
    r"(?:def|class|func(?:\s*\([^)]*\))?|function|fn|struct|impl|interface)\s+([A-Za-z_$][\w$]*)"
)
_LONGEST_SHOWN = 3


def neutral_words(files: Sequence[FileDiff]) -> tuple[str, str]:
    """Instruction and title of a change that takes something back, or puts it back: neither says what was done."""
    paths = [safe_line(file.path) for file in files]
    names = dict.fromkeys(
        match[1] for file in files for hunk in file.hunks if (match := _NAME.search(hunk.section)) is not None
    )
    shown = ", ".join(f"`{name}`" for name in list(names)[:_LONGEST_SHOWN])
    place = ", ".join(f"`{path}`" for path in paths[:_LONGEST_SHOWN])
    where = f"{shown} in {place}" if shown else f"the code of {place}"
    title = next(iter(names), paths[0].rpartition("/")[2])
    return f"Rework {where}. Everything that works today has to keep working.", f"Rework {title}"


def words_of_commit(subject: str, body: str) -> str:
    """A commit's message as an instruction: without signatures, references and other trailers."""
    lines = [line for line in body.splitlines() if not _TRAILER.match(line)]
    text = "\n".join(lines).strip()
    return f"{subject}\n\n{text}" if text else subject


_TRAILER = patterns.compile(r"(?i)^\s*[\w-]+-by:|^\s*(?:change-id|reverts?|cherry picked from|https?://\S+$)")


async def ready_setup(deps: Dependencies, project: Project) -> CheckSetup:
    """A project's tests and sandbox, where both are there.

    Raises:
        Conflict: what is missing.
    """
    if not project.check.strip():
        raise Conflict(
            "It has no test command, and only a test proves a fault.",
            hint=f"`navigator project check {project.name}` proposes one.",
        )
    setup = await check_setup(deps, project)
    if setup.without:
        raise Conflict(
            "The sandbox is switched off, and code with known faults runs nowhere else.",
            hint="Set `unsandboxed = false` under [checks].",
        )
    if not setup.sandbox.works:
        raise Conflict(f"There is no sandbox: {setup.sandbox.reason}.", hint=setup.sandbox.hint)
    return setup


# Runs a project's tests on an item's trees: one at a time, behind every check of a task, within a bound on time.

_LOOK = 0.2
"""Seconds between looks for a task's check."""

_TELLING = 4
"""Tests from which on it means something that none passes any more: the code does not even load."""

_SHOWN = 20


class OutOfTime(Exception):
    """The bound on the time of test runs is reached; what is under way is tried again another time."""


@dataclass
class Trials:
    """The test runs of one project's preparation.

    Attributes:
        seconds: that the runs may take in all; a run that has begun ends.
        longest: seconds after which one run is ended: a fault that makes the tests hang is not to use up all the time.
        runs: how many ran; `spent` is the seconds they took.
    """

    deps: Dependencies
    setup: CheckSetup
    seconds: float
    longest: float
    runs: int = 0
    spent: float = 0.0

    async def sound(self, tree: str) -> int | None:
        """How many tests pass on a tree, None where the runner does not count.

        The result is no baseline of the project: those are of what its work starts from.

        Raises:
            Rejected: they do not all pass. OutOfTime: the bound is reached.
        """
        run = await self._run(tree)
        if run.cut:
            raise Rejected("the tests run into a limit")
        if run.outcome is CheckOutcome.UNTESTED:
            raise Rejected("the tests cannot run on that commit today")
        if run.outcome is not CheckOutcome.PASSED:
            raise Rejected("the tests do not pass without the fault")
        return run.passed

    async def failing(self, tree: str, passed: int | None) -> tuple[str, ...]:
        """The tests that fail on a faulty tree, twice in a row; empty where the runner names none.

        Args:
            passed: tests that pass without the fault, None where that is not counted.

        Raises:
            Rejected: none fails, or the failure proves nothing. OutOfTime: the bound is reached.
        """
        first = await self._run(tree)
        _require_failure(first, passed)
        again = await self._run(tree)
        both = tuple(name for name in first.failures if name in set(again.failures))
        if again.outcome is not CheckOutcome.FAILED or (first.failures and not both):
            raise Rejected("the failure does not repeat")
        return both[:_SHOWN]

    async def _run(self, tree: str) -> SuiteRun:
        """One run, begun while no task's check is wanted, and ended and repeated where one is wanted meanwhile."""
        if self.spent >= self.seconds:
            raise OutOfTime
        limits = replace(self.setup.limits, seconds=min(self.longest, self.setup.limits.seconds))
        setup = replace(self.setup, limits=limits)
        spec = await asyncio.to_thread(prepare, setup.project, setup.private, tree)
        while True:
            await self._stand_back()
            running = asyncio.create_task(run_tree(self.deps.redact, setup, tree, spec))
            try:
                while not running.done() and not self.deps.cpu_work.checks_wanted:
                    await asyncio.wait([running], timeout=_LOOK)
                if running.done():
                    done = running.result()
                    self.runs += 1
                    self.spent += done.seconds
                    return done
            finally:
                running.cancel()
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([running])

    async def _stand_back(self) -> None:
        while self.deps.cpu_work.checks_wanted:
            await asyncio.sleep(_LOOK)


def _require_failure(run: SuiteRun, passed: int | None) -> None:
    if run.outcome is CheckOutcome.PASSED:
        raise Rejected("no test fails")
    if run.cut:
        raise Rejected("the tests run into a limit")
    if run.outcome is CheckOutcome.UNTESTED:
        raise Rejected("the code no longer loads")
    if passed is not None and passed >= _TELLING and not run.passed:
        raise Rejected("the code no longer loads")
