"""Tasks with tests, from a project's history and from what was landed: a change whose own tests fail without it."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable

from navigator.checks.removed_tests import is_test_file
from navigator.exam.candidates import (
    OutOfTime,
    Picked,
    Rejected,
    Trials,
    accepted_changes,
    fixes,
    of_commits,
    ready_setup,
)
from navigator.exam.items import head_of
from navigator.exam.mining import is_code, read_history, why_withheld
from navigator.git.private import PrivateRepo
from navigator.journey.dependencies import Dependencies
from navigator.lab.comparing.journal import Journal, LabTask, Tried
from navigator.model.errors import NavigatorError
from navigator.model.models import Project

_LONGEST = 60.0
"""Seconds after which one run of a candidate's tests is ended."""


async def replayed(
    deps: Dependencies,
    project: Project,
    limit: int,
    journal: Journal,
    *,
    seconds: float,
    report: Callable[[str], None],
) -> None:
    """Keep up to `limit` tasks of one project, each proved: its tests pass with the change and fail without it, twice in a row.

    What you landed comes first, then fixes of the history, then its other changes, each newest first.

    Args:
        seconds: that test runs may take in all.

    Raises:
        NavigatorError: there is no test command or no sandbox.
    """
    setup = await ready_setup(deps, project)
    changes = await asyncio.to_thread(_changes, deps, project, setup.private)
    trials = Trials(deps, setup, seconds, _LONGEST)
    found, left_out = sum(task.project_id == project.id for task in journal.tasks), 0
    known = {task.key for task in journal.tasks} | journal.tried.keys()
    for change in changes:
        key = f"{project.name}:{change.key[:12]}"
        if found >= limit:
            break
        if key in known:
            continue
        try:
            journal.add(await _proved(deps, project, trials, change, key))
        except Rejected as error:
            left_out += 1
            journal.add(Tried(key=key, reason=str(error)))
            continue
        except OutOfTime:
            report(f"{project.name}: the time for test runs is used up")
            break
        found += 1
        report(f"{project.name}: {found} of {limit}, {left_out} left out")


def _changes(deps: Dependencies, project: Project, private: PrivateRepo) -> list[Picked]:
    """The candidates. Runs git: called in a thread."""
    commits = [
        commit
        for commit in read_history(private.facts, head_of(project), deps.settings.exam.history)
        if commit.tested and commit.code
    ]
    likely = {commit.sha for commit in fixes(commits)}
    of_history = sorted(of_commits(commits), key=lambda change: change.key not in likely)
    return [*accepted_changes(deps, project), *of_history]


async def _proved(deps: Dependencies, project: Project, trials: Trials, change: Picked, key: str) -> LabTask:
    async with deps.project_lock(project.id):
        sound, frame = await asyncio.to_thread(_trees, trials.setup.private, project, change)
    passed = await trials.sound(sound)
    await trials.failing(frame, passed)
    name = f"lab-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    async with deps.project_lock(project.id):
        await asyncio.to_thread(trials.setup.private.keep, name, frame, change.base)
    return LabTask(
        key=key,
        project_id=project.id,
        text=change.text,
        kind=change.kind,
        complexity=change.complexity,
        base=change.base,
        frame=frame,
        sound=sound,
        origin=change.origin,
    )


def _trees(private: PrivateRepo, project: Project, change: Picked) -> tuple[str, str]:
    """The tree with the change, and that tree with its code taken back: the tests that decide on the old code."""
    try:
        change.pin(private)
        sound = private.tree_of(change.tree)
        if why := why_withheld(private, project, change.base, sound, change.text):
            raise Rejected(why)
        back = private.raw_diff(sound, change.base)
        code = [one for one in back if is_code(one.path)]
        if not code or not any(is_test_file(one.path) for one in back):
            raise Rejected("it does not change code and tests")
        return sound, private.place(sound, code)
    except NavigatorError as error:
        raise Rejected("its files are no longer there") from error


def judged_tree(private: PrivateRepo, task: LabTask, tree: str) -> str:
    """The tree that the tests are run on: the task's frame with what a model changed in code. Its tests do not count."""
    changes = [one for one in private.raw_diff(task.base, tree) if is_code(one.path)]
    return private.place(task.frame, changes)
