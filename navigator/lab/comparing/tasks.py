"""The tasks of a comparison, with the tests that decide: changes of a project's history, and functions of a file."""

from __future__ import annotations

import asyncio
import hashlib
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from navigator.checks.removed_tests import is_test_file
from navigator.config.paths import StatePaths
from navigator.exam.candidates import (
    MOST_FILES,
    OutOfTime,
    Trials,
    fixes,
    kind_of,
    ready_setup,
    words_of_commit,
)
from navigator.exam.history import Commit, Rejected, commit_of, is_code, read_history, why_withheld
from navigator.exam.items import head_of
from navigator.git.facts import RepoFacts
from navigator.git.private import FileChange, PrivateRepo
from navigator.git.private_layout import borrow_objects, create
from navigator.journey.dependencies import Dependencies
from navigator.journey.repositories import Repositories
from navigator.lab.comparing.journal import Journal, LabTask, Tried
from navigator.model.errors import NavigatorError, UsageError
from navigator.model.json_text import first_misfit, read_json, table
from navigator.model.models import Project
from navigator.model.states import TaskKind
from navigator.model.text import safe_text

# Tasks with tests, from a project's history and from what was landed: a change whose own tests fail without it.

_LONGEST = 60.0
"""Seconds after which one run of a candidate's tests is ended."""

_MOST_LINES = 400
"""Changed lines of a change: about what fits into one review."""


@dataclass(frozen=True)
class Picked:
    """An accepted change.

    Attributes:
        key: the commit, or the proposal's id.
        accepted: it is a proposal that the developer approved, not a commit of the history.
    """

    key: str
    base: str
    tree: str
    text: str
    kind: TaskKind
    accepted: bool

    def pin(self, private: PrivateRepo) -> None:
        """Have the private repository hold what it is made of."""
        private.pin_base(self.base)
        if not self.accepted:
            private.pin_base(self.tree)


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
            journal.add(await _proved(deps.repositories, project, trials, change, key))
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


def of_commits(commits: Iterable[Commit]) -> list[Picked]:
    """The commits that change code and are of a size that is reviewed in one go, newest first."""
    return [
        Picked(
            key=commit.sha,
            base=commit.parent,
            tree=commit.sha,
            text=words_of_commit(commit.subject, commit.body),
            kind=kind_of(commit),
            accepted=False,
        )
        for commit in commits
        if commit.subject
        and any(file.added for file in commit.code)
        and commit.lines <= _MOST_LINES
        and len(commit.files) <= MOST_FILES
        and not commit.routine
    ]


def accepted_changes(deps: Dependencies, project: Project) -> list[Picked]:
    """The proposals that you approved, the newest first."""
    limit = deps.settings.exam.history
    numbers = deps.reader.accepted_changes(project.id, most_lines=_MOST_LINES, limit=limit)
    proposals = [deps.reader.proposal(number) for number in numbers]
    found = [(proposal, deps.reader.task(proposal.task_id)) for proposal in proposals]
    return [
        Picked(
            key=proposal.id,
            base=proposal.base_commit,
            tree=proposal.tree,
            text=task.text,
            kind=task.kind,
            accepted=True,
        )
        for proposal, task in found
    ]


async def _proved(
    repositories: Repositories, project: Project, trials: Trials, change: Picked, key: str
) -> LabTask:
    sound, frame = await repositories.locked(project.id, _trees, trials.setup.private, project, change)
    passed = await trials.sound(sound)
    await trials.failing(frame, passed)
    name = f"lab-{hashlib.sha256(key.encode()).hexdigest()[:24]}"
    await repositories.locked(project.id, trials.setup.private.keep, name, frame, change.base)
    return LabTask(
        key=key,
        project_id=project.id,
        text=change.text,
        kind=change.kind,
        base=change.base,
        frame=frame,
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


# Tasks of a file: functions with tests, as HumanEval and MBPP publish them (JSON lines). Read strictly.

CHECK = "python3 -m unittest test_solution"
SOLUTION = "solution.py"
_TESTS = "test_solution.py"
_LARGEST = 64 << 20
_IMPORTS = "import unittest\n\nfrom solution import *\n\n"
_NAME = r"^[A-Za-z_]\w*$"


class Function(BaseModel):
    """One function to write: what the model is told, the file it starts from, and the tests that decide.

    Attributes:
        start: the content of `solution.py` that the model is shown; "" where it makes the file.
        tests: the content of the test file.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    key: str
    text: str
    start: str = ""
    tests: str


class _HumanEval(BaseModel):
    task_id: str = Field(min_length=1, max_length=200)
    prompt: str = Field(min_length=1)
    entry_point: str = Field(pattern=_NAME)
    test: str = Field(min_length=1)

    def function(self) -> Function:
        names = f"from solution import *\nfrom solution import {self.entry_point}"
        tests = f"import unittest\n\n{names}\n\n{self.test}\n\n\n"
        return Function(
            key=self.task_id,
            text=f"Complete the function {self.entry_point} in {SOLUTION} as its docstring says. Keep its signature.",
            start=self.prompt,
            tests=tests + _case(f"check({self.entry_point})"),
        )


class _Mbpp(BaseModel):
    task_id: int | str
    text: str = ""
    prompt: str = ""
    test_list: list[str] = Field(min_length=1)
    test_setup_code: str = ""
    test_imports: list[str] = []

    def function(self) -> Function:
        shown = "\n".join(self.test_list)
        setup = "\n".join([*self.test_imports, self.test_setup_code])
        return Function(
            key=f"MBPP/{self.task_id}",
            text=f"{self.text or self.prompt}\n\nWrite it in a new file {SOLUTION}. These have to hold:\n\n{shown}",
            tests=f"{_IMPORTS}{setup}\n\n\n" + _case(shown),
        )


def _case(body: str) -> str:
    return (
        f"class Task(unittest.TestCase):\n    def test_it(self):\n{textwrap.indent(body.strip(), ' ' * 8)}\n"
    )


def bench_functions() -> list[Function]:
    """The twenty functions of the published benchmark."""
    return [
        Function(
            key=task["key"],
            text=f"Write `{task['signature']}` in a new file {SOLUTION}: {task['what']}.",
            tests=_IMPORTS + "\n" + _case("\n".join(f"assert {test}" for test in task["tests"])),
        )
        for task in table("navigator.lab", "bench_tasks.toml")["task"]
    ]


def read_functions(path: Path) -> list[Function]:
    """The tasks of a file.

    Raises:
        UsageError: the file or a line of it cannot be used; the message names the line.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path} is larger than {_LARGEST >> 20} MiB.", hint="Split it.")
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}.", hint="Unpack it if it is compressed.") from error
    found = list(_read_functions(path, text))
    if len({one.key for one in found}) < len(found):
        raise UsageError(f"{path} has a task twice.", hint="Every line is a task of its own.")
    return found


def _read_functions(path: Path, text: str) -> Iterator[Function]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            document = read_json(line)
            kind = _Mbpp if isinstance(document, dict) and "test_list" in document else _HumanEval
            found = kind.model_validate(document).function()
        except ValidationError as error:
            raise UsageError(
                f"{path}, line {number}: {first_misfit(error)}.",
                hint="docs/lab.md has the two forms that are read.",
            ) from error
        except ValueError as error:
            raise UsageError(f"{path}, line {number} is no JSON: {error}.") from error
        yield found.model_copy(update={"text": safe_text(found.text)})


def as_task(paths: StatePaths, function: Function) -> LabTask:
    """A task of one file, kept in the repository of functions. Runs git: call it in a thread."""
    private, _ = function_repository(paths.private)
    empty = private.git.run("mktree", input=b"", env=private.own_objects_env()).text
    start = {"README.md": FileChange(b"One task.\n")}
    if function.start:
        start[SOLUTION] = FileChange(function.start.encode())
    tree = private.write_tree(empty, start)
    base = commit_of(private, tree)
    frame = private.write_tree(tree, {_TESTS: FileChange(function.tests.encode())})
    private.keep(f"lab-{hashlib.sha256((function.key + frame).encode()).hexdigest()[:24]}", frame, base)
    return LabTask(
        key=function.key,
        text=function.text,
        kind=TaskKind.IMPLEMENT,
        base=base,
        frame=frame,
        check=CHECK,
    )


# Where the trees of single functions lie: they belong to no project.

_FOLDER = "functions.git"


def function_repository(root: Path) -> tuple[PrivateRepo, Project]:
    """The repository of single functions, made if absent, and a project made for it: no scope, no test command."""
    git_dir = root.resolve() / _FOLDER
    facts = RepoFacts(git_dir, git_dir, git_dir, None)
    if not (git_dir / "HEAD").exists():
        create(git_dir, facts)
    borrow_objects(git_dir)
    return PrivateRepo(git_dir, facts), Project(id=0, name="functions", path=str(git_dir))
