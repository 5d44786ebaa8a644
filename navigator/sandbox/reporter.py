"""Runs in the sandbox, in the project's own Python: which tests ran, how they failed, which lines of some files they reached.

The file is copied there twice: as `sitecustomize`, which every Python process of the run imports first and which records
lines, and as `navigator_reporter`, a pytest plugin and, with `-m`, a runner for unittest. It imports
nothing of Navigator and works from Python 3.8 on. What it writes is read as data: the tests run in the same process.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from types import CodeType, FrameType, TracebackType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100,PTH120 - the project's Python may be old
MOST_FAILURES, MOST_FRAMES, LONGEST = 20, 60, 2000
_OPTIMIZED = 0x1
"""Flag of a function's code: module and class bodies lack it."""


def config() -> dict[str, Any]:
    """What the run was asked for: root, out, files, reverse."""
    with open(os.path.join(HERE, "config.json"), encoding="utf-8") as file:  # noqa: PTH118,PTH123
        told: dict[str, Any] = json.load(file)
    return told


def write(name: str, value: object) -> None:
    """One part of the report."""
    with open(os.path.join(config()["out"], name), "w", encoding="utf-8") as file:  # noqa: PTH118,PTH123
        json.dump(value, file)


# Lines


class Lines:
    """Records the lines that run in the files asked about, and the functions that are entered."""

    def __init__(self, root: str, files: list[str]) -> None:
        self.wanted = {os.path.realpath(os.path.join(root, name)): name for name in files}  # noqa: PTH118
        self.known: dict[str, str | None] = {}
        self.lines: set[tuple[str, int]] = set()
        self.functions: set[tuple[str, int]] = set()

    def name_of(self, filename: str) -> str | None:
        if filename not in self.known:
            self.known[filename] = self.wanted.get(os.path.realpath(filename))
        return self.known[filename]

    def entered(self, code: CodeType, name: str) -> None:
        if code.co_flags & _OPTIMIZED:
            self.functions.add((name, code.co_firstlineno))

    def trace(self, frame: FrameType, event: str, arg: object) -> Any:
        name = self.name_of(frame.f_code.co_filename)
        if name is None:
            return None
        self.entered(frame.f_code, name)
        self.lines.add((name, frame.f_lineno))

        def local(inner: FrameType, what: str, value: object) -> Any:
            if what == "line":
                self.lines.add((name, inner.f_lineno))
            return local

        return local

    def start(self) -> None:
        monitoring = getattr(sys, "monitoring", None)
        if monitoring is None:
            sys.settrace(self.trace)
            threading.settrace(self.trace)
        else:
            self._monitor(monitoring)
        atexit.register(self.save)

    def _monitor(self, monitoring: Any) -> None:
        tool = 4  # beside coverage (1) and profilers (2)
        monitoring.use_tool_id(tool, "navigator")

        def started(code: CodeType, offset: int) -> Any:
            name = self.name_of(code.co_filename)
            if name is not None:
                self.entered(code, name)
            return monitoring.DISABLE

        def line(code: CodeType, number: int) -> Any:
            name = self.name_of(code.co_filename)
            if name is not None:
                self.lines.add((name, number))
            return monitoring.DISABLE

        events = monitoring.events
        monitoring.register_callback(tool, events.PY_START, started)
        monitoring.register_callback(tool, events.LINE, line)
        monitoring.set_events(tool, events.PY_START | events.LINE)

    def save(self) -> None:
        write(f"lines-{os.getpid()}.json", {"lines": sorted(self.lines), "functions": sorted(self.functions)})


# What the tests say


class TestReporter:
    """Gathers results while the tests run."""

    def __init__(self) -> None:
        self.told = config()
        self.passed: list[str] = []
        self.failed: list[dict[str, Any]] = []
        self.unexplained: dict[str, str] = {}
        self.skipped = 0

    def failure(self, test: str, when: str, error: BaseException | None, trace: TracebackType | None) -> None:
        """One failure, with the frames that lie in the project, outermost first."""
        root = os.path.realpath(self.told["root"])
        frames: list[tuple[str, int]] = []
        while trace is not None:
            place = os.path.realpath(trace.tb_frame.f_code.co_filename)
            if place.startswith(root + os.sep):
                frames.append((place[len(root) + 1 :], trace.tb_lineno))
            trace = trace.tb_next
        if len(self.failed) < MOST_FAILURES:
            self.failed.append(
                {
                    "id": test[:LONGEST],
                    "when": when,
                    "type": type(error).__name__ if error is not None else "",
                    "kinds": [kind.__name__ for kind in type(error).__mro__] if error is not None else [],
                    "message": str(error)[:LONGEST],
                    "name": str(getattr(error, "name", "") or "")[:200],
                    "frames": frames[-MOST_FRAMES:],
                }
            )

    def save(self) -> None:
        write("tests.json", {"passed": self.passed, "failed": self.failed, "skipped": self.skipped})


_report: TestReporter | None = None


def the_report() -> TestReporter:
    """The one report of this process."""
    global _report
    if _report is None:
        _report = TestReporter()
    return _report


# pytest


def pytest_collection_modifyitems(items: list[Any]) -> None:
    if config()["reverse"]:
        items.reverse()


def pytest_exception_interact(node: Any, call: Any, report: Any) -> None:
    error = call.excinfo.value
    if type(error).__name__ == "CollectError" and error.__cause__ is not None:
        error = error.__cause__
    when = getattr(report, "when", None) or "collect"
    the_report().failure(node.nodeid, str(when), error, error.__traceback__)


def pytest_runtest_logreport(report: Any) -> None:
    mine = the_report()
    if report.when == "call" and report.passed:
        mine.passed.append(report.nodeid)
    elif report.skipped:
        mine.skipped += 1
    elif report.failed:
        mine.unexplained[report.nodeid] = str(report.when)  # the error itself comes later, if at all


def pytest_sessionfinish() -> None:
    mine = the_report()
    explained = {known["id"] for known in mine.failed}
    for test, when in mine.unexplained.items():
        if test not in explained:
            mine.failure(test, when, None, None)
    mine.save()


# unittest


def run_unittest(path: str) -> int:
    """Run one file's tests; returns an exit status."""
    import importlib
    import unittest

    mine = the_report()
    name = path[:-3].replace("/", ".")
    sys.path.append(os.path.dirname(os.path.abspath(path)))  # noqa: PTH100,PTH120 - `discover -s` has it there, for helpers
    try:
        module = importlib.import_module(name)
    except BaseException as error:
        mine.failure(name, "collect", error, error.__traceback__)
        mine.save()
        raise

    class Result(unittest.TextTestResult):
        def addSuccess(self, test: unittest.TestCase) -> None:
            super().addSuccess(test)
            mine.passed.append(test.id())

        def addFailure(self, test: unittest.TestCase, err: Any) -> None:
            super().addFailure(test, err)
            mine.failure(test.id(), "call", err[1], err[2])

        def addError(self, test: unittest.TestCase, err: Any) -> None:
            super().addError(test, err)
            mine.failure(test.id(), "call", err[1], err[2])

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            super().addSubTest(test, subtest, err)
            if err is not None:
                mine.failure(test.id(), "call", err[1], err[2])

        def addSkip(self, test: unittest.TestCase, reason: str) -> None:
            super().addSkip(test, reason)
            mine.skipped += 1

    loader = unittest.TestLoader()
    if mine.told["reverse"]:
        loader.sortTestMethodsUsing = lambda one, other: (one < other) - (one > other)
    suite = loader.loadTestsFromModule(module)
    runner: Any = unittest.TextTestRunner
    done = runner(resultclass=Result).run(suite)
    mine.save()
    return 0 if done.wasSuccessful() else 1


if __name__ == "sitecustomize":
    _told = config()
    Lines(_told["root"], _told["files"]).start()
elif __name__ == "__main__":
    sys.exit(run_unittest(sys.argv[1]))
