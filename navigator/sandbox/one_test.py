"""One test file on one tree: how it is run, written beside the tree's files, run, and told in facts; nothing of it remains."""

from __future__ import annotations

import contextlib
import fnmatch
import json
import os
import shlex
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from navigator.git.private import PrivateRepo
from navigator.model import patterns
from navigator.model.errors import NavigatorError
from navigator.model.json_text import read_json
from navigator.model.secrets import Redactor
from navigator.model.states import CheckOutcome
from navigator.model.text import safe_line, safe_text
from navigator.process.bounded import WorkerLost, run_bounded
from navigator.process.guarded import NotPlain, read_file, walk, write_file
from navigator.sandbox import reporter
from navigator.sandbox.probe import Sandbox
from navigator.sandbox.spec import SandboxSpec, may_stand_at
from navigator.sandbox.suite import excerpt, read_run, started, written_out
from navigator.sandbox.supervise import Limits, Ran

LONGEST = 60.0
"""Seconds of one run at most, whatever a whole test run may take."""

SHOWN = 2_000
"""Characters of a failure that are kept."""

_LARGEST_REPORT = 4 << 20
_MOST_REPORTS = 10_000
_MOST_ENTRIES, _DEEPEST = 400_000, 200


@dataclass(frozen=True, slots=True)
class Variant:
    """What differs between two runs that are to agree: time zone, hash seed, order."""

    zone: str = "UTC"
    seed: int = 0
    reverse: bool = False


FIRST, AGAIN = Variant(), Variant("Pacific/Kiritimati", 12_345, reverse=True)


class Failure(BaseModel):
    """How one test failed. `kinds` are the names of the error's class and its bases; `frames` (path, line) in the project,
    outermost first; `name` what an ImportError or NameError misses."""

    model_config = ConfigDict(frozen=True)

    id: str
    when: str = "call"
    type: str = ""
    kinds: tuple[str, ...] = ()
    message: str = ""
    name: str = ""
    frames: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TestRun:
    """What one test file did on one tree.

    Attributes:
        problem: why nothing can be said, in words; "" where the tests ran.
        passed: ids of tests that passed; `failed` of those that failed.
        lines: (path, line) that ran, of the files asked about; `functions` the first lines of functions entered.
        traced: whether lines and failures are known at all: only in Python.
        written: files of the tree that were written while it ran.
        shown: the end of the output, redacted.
    """

    __test__ = False

    problem: str = ""
    passed: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    lines: frozenset[tuple[str, int]] = frozenset()
    functions: frozenset[tuple[str, int]] = frozenset()
    traced: bool = False
    written: tuple[str, ...] = ()
    shown: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class TestFile:
    """A test to run: where it is put, what it says, how it is run, and the files whose lines matter."""

    __test__ = False

    path: str
    text: str
    run: OneCommand
    watched: Sequence[str] = ()


def run_test(
    spec: SandboxSpec,
    private: PrivateRepo,
    tree: str,
    test: TestFile,
    limits: Limits,
    sandbox: Sandbox,
    scratch_root: Path,
    *,
    variant: Variant = FIRST,
    without: bool = False,
    cancel: threading.Event | None = None,
    redact: Redactor | None = None,
) -> TestRun:
    """Run one test file on `tree`. Blocks: call it in a thread.

    Args:
        spec: what the project's own check would see on that tree.
        variant: how this run differs from another that is to agree with it.
        without: run without a sandbox where there is none.
    """
    if not sandbox.works and not without:
        return TestRun(problem=f"no sandbox: {sandbox.reason}")
    if not may_stand_at(spec.project.path):
        return TestRun(problem=f"a project at {spec.project.path} cannot be shown inside a sandbox")
    limits = replace(limits, seconds=min(limits.seconds, LONGEST))
    try:
        with written_out(private, tree, limits, scratch_root) as (files, scratch):
            root = spec.project.path if sandbox.works else str(files)
            build = Path("/build") if sandbox.works else scratch / "build"
            _write_test(files, test)
            _furnish(scratch / "build", build, root, test.watched, variant)
            before = _stamps(files)
            command = test.run.command.replace(REPORTER, str(build / "reporter"))
            exported = f"export TZ={variant.zone} PYTHONHASHSEED={variant.seed}; {command}"
            ran = started(replace(spec, command=exported), limits, sandbox, files, scratch, cancel=cancel)
            written = _changed_files(before, _stamps(files))
            report = _read_report(scratch / "build")
    except NavigatorError as error:
        return TestRun(problem=error.message)
    except OSError as error:
        return TestRun(problem=f"the run could not be prepared: {error.strerror or error}")
    redact = redact or Redactor()
    try:
        made = run_bounded(_told, ran, spec, test, report, redact, size=len(ran.output), seconds=20.0)
    except WorkerLost:
        return TestRun(problem="the output could not be read within the limits", seconds=ran.seconds)
    return replace(made, written=written)


def _write_test(files: Path, test: TestFile) -> None:
    """Write the test file; no link of the tree is followed."""
    try:
        write_file(files, test.path, test.text.encode("utf-8", "replace"), new=True)
    except NotPlain as error:
        raise NavigatorError(f"{safe_line(test.path)} lies behind a link or a file.") from error


def _furnish(place: Path, inside: Path, root: str, watched: Sequence[str], variant: Variant) -> None:
    """The reporter, and what it is to report."""
    folder = place / "reporter"
    folder.mkdir(parents=True)
    source = Path(reporter.__file__).read_bytes()
    for name in ("sitecustomize.py", "navigator_reporter.py"):
        (folder / name).write_bytes(source)
    told = {
        "root": root,
        "out": str(inside),
        "files": list(watched),
        "reverse": variant.reverse,
    }
    (folder / "config.json").write_text(json.dumps(told), "utf-8")


_Stamp = tuple[int, int, int, int]


def _stamps(files: Path) -> dict[str, _Stamp]:
    """Each file's inode, size, mode and time of its last change: that time cannot be set back by what runs inside."""
    found: dict[str, _Stamp] = {}
    with contextlib.suppress(NotPlain):  # so many files that only the first are looked at
        for path, folder, name in walk(files, most=_MOST_ENTRIES, deepest=_DEEPEST):
            with contextlib.suppress(OSError):  # it is going away
                info = os.stat(name, dir_fd=folder, follow_symlinks=False)
                found[path] = (info.st_ino, info.st_size, info.st_mode, info.st_ctime_ns)
    return found


def _changed_files(before: Mapping[str, _Stamp], after: Mapping[str, _Stamp]) -> tuple[str, ...]:
    return tuple(sorted(path for path, stamp in before.items() if after.get(path) != stamp))[:20]


def _read_report(build: Path) -> dict[str, Any]:
    """What the reporter wrote, as far as it can be read; the tests may have written it themselves."""
    told: dict[str, Any] = {"lines": [], "functions": []}
    tests = _json(build, "tests.json")
    if isinstance(tests, dict):
        told["tests"] = tests
    with os.scandir(build) as entries:
        names = [entry.name for entry in islice(entries, _MOST_REPORTS)]
    for name in sorted(fnmatch.filter(names, "lines-*.json"))[:64]:
        part = _json(build, name)
        if isinstance(part, dict):
            told["lines"] += part.get("lines") or []
            told["functions"] += part.get("functions") or []
    return told


def _json(build: Path, name: str) -> Any:
    try:
        return read_json(read_file(build, name, _LARGEST_REPORT))
    except (OSError, ValueError):
        return None


class _Tests(BaseModel):
    passed: tuple[str, ...] = ()
    failed: tuple[Failure, ...] = ()
    skipped: int = 0


class _Lines(BaseModel):
    lines: frozenset[tuple[str, int]] = frozenset()
    functions: frozenset[tuple[str, int]] = frozenset()


def _told(ran: Ran, spec: SandboxSpec, test: TestFile, report: dict[str, Any], redact: Redactor) -> TestRun:
    """A finished run in facts."""
    shown = excerpt(redact(safe_text(ran.output)), limit=SHOWN)
    if ran.cut:
        return TestRun(problem=ran.cut, shown=shown, seconds=ran.seconds)
    if not test.run.traced:
        return _by_status(ran, spec, redact, shown)
    try:
        tests = _Tests.model_validate(report["tests"])
        lines = _Lines.model_validate({"lines": report["lines"], "functions": report["functions"]})
    except (KeyError, ValidationError):
        said = read_run(ran, spec, redact)
        why = said.line if said.outcome is CheckOutcome.UNTESTED else f"exit status {ran.status}"
        return TestRun(problem=f"the runner ended without a report ({why})", shown=shown, seconds=ran.seconds)
    if not tests.passed and not tests.failed:
        why = "every test in it was skipped" if tests.skipped else "it holds no test that the runner finds"
        return TestRun(problem=why, shown=shown, seconds=ran.seconds)
    clean = tuple(_redacted(failure, redact) for failure in tests.failed)
    return TestRun(
        "", tests.passed, clean, lines.lines, lines.functions, True, shown=shown, seconds=ran.seconds
    )


def _redacted(failure: Failure, redact: Redactor) -> Failure:
    return failure.model_copy(update={"message": redact(safe_text(failure.message))[:SHOWN]})


def _by_status(ran: Ran, spec: SandboxSpec, redact: Redactor, shown: str) -> TestRun:
    """Where only the exit status and the names of failing tests are known."""
    said = read_run(ran, spec, redact)
    if said.outcome is CheckOutcome.UNTESTED:
        return TestRun(problem=said.line, shown=shown, seconds=ran.seconds)
    if said.outcome is CheckOutcome.PASSED:
        if said.passed == 0:
            return TestRun(problem="it holds no test that the runner finds", shown=shown, seconds=ran.seconds)
        return TestRun(passed=("all",), shown=shown, seconds=ran.seconds)
    if not said.failures:
        return TestRun(problem=f"{said.line}, and no test is named", shown=shown, seconds=ran.seconds)
    failed = tuple(Failure(id=name, message=shown) for name in said.failures)
    return TestRun(failed=failed, shown=shown, seconds=ran.seconds)


def watched_files(paths: Collection[str]) -> tuple[str, ...]:
    """The Python files among some paths: only their lines can be watched."""
    return tuple(dict.fromkeys(path for path in paths if path.endswith((".py", ".pyw"))))


# How one test file is run, told from the command that runs all of a project's tests.
#
# pytest and unittest are run with a reporter inside (`reporter.py`), which says what failed where and what was reached. Of Go,
# node's own runner, jest and vitest only the exit status and the names of failing tests are known.

REPORTER = "/build/reporter"
"""Where the reporter lies inside."""

_SETTING = frozenset({"cd", "export", "set", ".", "source", "unset"})
"""Commands that only prepare: they stay in front of the one that runs a test."""

_BETWEEN = patterns.compile(r"&&|;|\n")
_NOT_SIMPLE = patterns.compile(r"[|<>`()]|\$\(|(?<!&)&(?!&)")
_GO_TEST = patterns.compile(r"^func (Test\w*)\(", patterns.MULTILINE)
_PYTEST_FILES = ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", ".pytest.ini")
_ADDOPTS = patterns.compile(r"^\s*addopts\s*=[^\n]*(?:\n[ \t]+[^\n]*|\n\])*", patterns.MULTILINE)
_JS = {"jest": ("--ci", "--runTestsByPath"), "vitest": ("run",)}


class NoRunner(Exception):
    """The command does not say how one test file is run; the message says why."""


@dataclass(frozen=True, slots=True)
class OneCommand:
    """A command line that runs one test file. `traced`: the reporter tells what it reached."""

    command: str
    runner: str
    traced: bool = False


FileReading = Callable[[str], str | None]
"""The text of a file of the tree; None where there is none."""


def one_command(check: str, path: str, text: str, read: FileReading) -> OneCommand:
    """The command for the test file `path`.

    Args:
        check: the project's own command.
        text: of the test file.
        read: files of the tree.

    Raises:
        NoRunner: it is none of the runners known here, or the file is not one of its tests.
    """
    parts = [part.strip() for part in _BETWEEN.split(check) if part.strip()]
    before: list[str] = []
    for part in parts:
        try:
            words = shlex.split(part)
        except ValueError as error:
            raise NoRunner(f"the check command cannot be read: {error}") from error
        if not words:
            continue
        if words[0] in _SETTING:
            before.append(part)
            continue
        if _NOT_SIMPLE.search(part):
            continue
        found = _runner(words, path, text, read)
        if found is not None:
            return OneCommand(" && ".join([*before, found.command]), found.runner, found.traced)
    raise NoRunner(f"how `{check[:80]}` runs one test file is not known: pytest, unittest, go test, node --test, "
                   "jest and vitest are")  # fmt: skip


def _runner(words: list[str], path: str, text: str, read: FileReading) -> OneCommand | None:
    names = [PurePosixPath(word).name for word in words]
    for place, name in enumerate(names):
        if name in ("pytest", "py.test", "pytest-3") or (name == "unittest" and words[place - 1] == "-m"):
            if not path.endswith(".py"):
                raise NoRunner(f"{path} is no Python file")
            if name == "unittest":
                return _unittest(words[: place - 1], path)
            return _pytest(words[: place + 1], path, read)
    if names[0] == "go" and words[1:2] == ["test"]:
        return _go(words[0], path, text)
    return _javascript(words, names, path, read)


def _pytest(head: list[str], path: str, read: FileReading) -> OneCommand:
    more = ["-p", "navigator_reporter", "-p", "no:cacheprovider", "-p", "no:randomly", "--maxfail=0", "-q"]
    settings = "\n".join(found[0] for name in _PYTEST_FILES for found in _ADDOPTS.finditer(read(name) or ""))
    if patterns.search(r"(?:-n|--numprocesses)[= ]?(?:auto|logical|\d)", settings):
        more += ["-n0"]
    if "--cov" in settings:
        more += ["--no-cov"]
    return OneCommand(f"{_environment()} {_shell(head)} {_shell(more)} {shlex.quote(path)}", "pytest", True)


def _unittest(head: list[str], path: str) -> OneCommand:
    return OneCommand(
        f"{_environment()} {_shell(head)} -m navigator_reporter {shlex.quote(path)}", "unittest", True
    )


def _environment() -> str:
    return f'PYTHONPATH="{REPORTER}${{PYTHONPATH:+:$PYTHONPATH}}" PYTHONDONTWRITEBYTECODE=1'


def _shell(words: Sequence[str]) -> str:
    """Words as a shell reads them; what assigns a variable in front of a command stays an assignment."""
    return " ".join(
        word if patterns.fullmatch(r"\w+=[\w./:,+-]*|[\w./:=,@%+-]+", word) else shlex.quote(word)
        for word in words
    )


def _go(go: str, path: str, text: str) -> OneCommand:
    if not path.endswith("_test.go"):
        raise NoRunner(f"{path} is no Go test file")
    names = _GO_TEST.findall(text)
    if not names:
        raise NoRunner(f"{path} has no test function")
    folder = shlex.quote(f"./{PurePosixPath(path).parent}")
    return OneCommand(f"{shlex.quote(go)} test -count=1 -v -run '^({'|'.join(names)})$' {folder}", "go test")


def _javascript(words: list[str], names: list[str], path: str, read: FileReading) -> OneCommand | None:
    """node's own runner, and those that a package's `test` script starts."""
    if names[0] in ("npm", "pnpm", "yarn", "bun") and "test" in words[1:3]:
        try:
            script = read_json(read("package.json") or "{}")["scripts"]["test"]
            words = shlex.split(script)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        names = [PurePosixPath(word).name for word in words]
    if names and names[0] == "npx":
        words, names = words[1:], names[1:]
    if not names or not patterns.search(r"\.[cm]?[jt]sx?$", path):
        return None
    if names[0] == "node" and "--test" in words:
        return OneCommand(f"{_shell([words[0], '--test', path])}", "node --test")
    if names[0] in _JS:
        return OneCommand(_shell([names[0], *_JS[names[0]], path]), names[0])
    return None
