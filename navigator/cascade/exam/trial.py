"""Runs a project's tests on an item's trees: one at a time, behind every check of a task, within a bound on time."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field, replace

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.stages.checking import CheckSetup, run_tree
from navigator.model.states import CheckOutcome
from navigator.sandbox.suite import SuiteRun, prepare

_LOOK = 0.2
"""Seconds between looks for a task's check."""

_TELLING = 4
"""Tests from which on it means something that none passes any more: the code does not even load."""

_SHOWN = 20


class Rejected(Exception):
    """Why no item comes of a candidate: a few words, the same for the same reason, since they are counted."""


class OutOfTime(Exception):
    """The bound on the time of test runs is reached; what is under way is tried again another time."""


@dataclass
class Trials:
    """The test runs of one project's preparation.

    Attributes:
        seconds: that the runs may take in all; a run that has begun ends.
        longest: seconds after which one run is ended: a fault that makes the tests hang is not to use up all the time.
        runs: how many ran; `spent` is the seconds they took; `seen` are those on sound trees.
    """

    deps: Dependencies
    setup: CheckSetup
    seconds: float
    longest: float
    runs: int = 0
    spent: float = 0.0
    seen: dict[str, SuiteRun] = field(default_factory=dict)

    async def sound(self, tree: str) -> int | None:
        """How many tests pass on a tree, None where the runner does not count. A tree is run once.

        The result is no baseline of the project: those are of what its work starts from.

        Raises:
            Rejected: they do not all pass. OutOfTime: the bound is reached.
        """
        run = self.seen.get(tree)
        if run is None:
            run = self.seen[tree] = await self._run(tree)
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
            running = asyncio.create_task(run_tree(self.deps, setup, tree, spec))
            try:
                while not running.done() and not self.deps.checks_wanted:
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
        while self.deps.checks_wanted:
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
