"""A project's test command on one tree: written out, run, read, thrown away."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from navigator.git.private import PrivateRepo
from navigator.model import patterns
from navigator.model.errors import NavigatorError
from navigator.model.models import TESTS, Baseline, CheckResult, Project
from navigator.model.secrets import Redactor
from navigator.model.states import CheckOutcome
from navigator.model.text import plural, safe_line, safe_text
from navigator.process.bounded import WorkerLost, run_bounded
from navigator.process.keeper import signal_all
from navigator.process.runner import await_gone
from navigator.sandbox.binds import digest_of
from navigator.sandbox.folders import UnsafeTree, remove, write_out
from navigator.sandbox.names import UNTOLD, failing_tests, none_ran, passed_count, plain
from navigator.sandbox.probe import Sandbox
from navigator.sandbox.spec import SandboxSpec, furnish, may_stand_at, sandboxed, unsandboxed
from navigator.sandbox.supervise import Limits, Ran, supervise

SHOWN = 4_000
_BY_FORM = Redactor()
"""Characters of a run's output that are kept: for the developer, and for models as data."""

_FORMAT = "2"
"""Part of every environment's digest: raised when what a run means changes."""

NO_TEST_RAN = "no test ran"
_NOTHING_FOUND = (
    "The command ran, and its own output says that it found no test to run. Give the project the one that runs its tests: "
    "`navigator project set NAME --check CMD`."
)

_READING = 20.0
"""Seconds of processor time in which an output is read."""

_NOT_FOUND = 127
_NOT_EXECUTABLE = 126

_ABSENT = patterns.compile(
    r"^(?:/bin/sh: (?:\d+: )?|sh: (?:\d+: )?|bash: (?:line \d+: )?|make: |env: [‘'\"]?)(?P<what>[^\s:‘’'\"]+)[’'\"]?: "
    r"(?:not found|command not found|No such file or directory|Permission denied).*",
    patterns.MULTILINE,
)
_NO_MODULE = patterns.compile(
    r"(?:No module named |Cannot find (?:module|package) )['\"]?(?P<what>[\w@./-]+)", patterns.MULTILINE
)


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """What a test command said of one tree.

    `outcome` is PASSED, FAILED or UNTESTED; `failures` are names of failing tests, where the runner prints them;
    `detail`'s first line says it in words, what follows is the part of the output that matters; `passed` counts tests,
    None where the runner does not. `ran` is false where the command was never started; `cut` names the limit that ended it.
    """

    outcome: CheckOutcome
    failures: tuple[str, ...] = ()
    detail: str = ""
    seconds: float = 0.0
    passed: int | None = None
    cut: str = ""
    ran: bool = True

    @property
    def line(self) -> str:
        """The first line of the detail."""
        return self.detail.partition("\n")[0]


def prepare(project: Project, private: PrivateRepo, tree: str) -> SandboxSpec:
    """What the project's check would see on `tree`. Runs nothing of the project."""
    return furnish(project, private.tree_entries(tree).keys())


def surroundings(spec: SandboxSpec, sandbox: Sandbox, *, without: bool) -> dict[str, Any]:
    """What a check sees of this machine, as JSON: the sandbox, the paths visible inside, and what is asked for and not there.

    Args:
        without: the settings switch the sandbox off.
    """
    return {
        "sandbox": {
            "works": sandbox.works,
            "unsandboxed": without,
            "reason": sandbox.reason,
            "hint": sandbox.hint,
            "control_group": bool(sandbox.scope),
        },
        "dependencies": [bind.target for bind in spec.dependencies],
        "mounts": [bind.target for bind in spec.mounts],
        "toolchains": sorted(bind.target for bind in spec.toolchains.binds.values()),
        "mounts_absent": spec.absent,
        "programs_absent": spec.missing,
    }


def environment_digest(sandbox: Sandbox, spec: SandboxSpec, limits: Limits) -> str:
    """What beside the tree and the command decides a result: sandbox, limits, and the state of what is bound."""
    told = [
        _FORMAT,
        "bubblewrap" if sandbox.works else "unsandboxed",
        f"{limits}",
        *digest_of(spec.binds),
        *sorted(f"{name}={value}" for name, value in spec.toolchains.env.items()),
    ]
    return hashlib.sha256("\n".join(told).encode("utf-8", "surrogateescape")).hexdigest()[:24]


def run_suite(
    spec: SandboxSpec,
    private: PrivateRepo,
    tree: str,
    limits: Limits,
    sandbox: Sandbox,
    scratch_root: Path,
    *,
    without: bool = False,
    cancel: threading.Event | None = None,
    redact: Redactor = _BY_FORM,
) -> SuiteRun:
    """Write `tree` out, run the project's check on it, and take everything away again. Blocks: call it in a thread.

    Args:
        scratch_root: the folder below which the run gets one of its own.
        without: run without a sandbox where there is none.
        cancel: when set, the run ends as "cancelled".
        redact: applied to the whole output, before any of it is cut, kept or shown.
    """
    if not spec.command.strip():
        return _untested(
            "no test command", "Give the project one: `navigator project check NAME` proposes one."
        )
    if not sandbox.works and not without:
        return _untested(f"no sandbox: {sandbox.reason}", sandbox.hint)
    if not may_stand_at(spec.project.path):
        return _untested(f"a project at {spec.project.path} cannot be shown inside a sandbox", "Move it.")
    try:
        with written_out(private, tree, limits, scratch_root) as (files, scratch):
            ran = started(spec, limits, sandbox, files, scratch, cancel=cancel)
    except UnsafeTree as error:
        return SuiteRun(CheckOutcome.FAILED, (), error.message)
    except NavigatorError as error:
        return _untested(error.message, error.hint)
    except OSError as error:
        return _untested(f"the run could not be prepared: {error.strerror or error}", "Is the disk full?")
    try:
        return run_bounded(read_run, ran, spec, redact, size=len(ran.output), seconds=_READING)
    except WorkerLost:
        line = "The output could not be read within the limits of time and memory"
        return SuiteRun(CheckOutcome.FAILED, (), f"{line} (exit status {ran.status})", ran.seconds)


@contextmanager
def written_out(
    private: PrivateRepo, tree: str, limits: Limits, scratch_root: Path
) -> Iterator[tuple[Path, Path]]:
    """A tree as files, and the folder of the run that holds them; both are gone afterwards.

    Raises:
        TreeRefused: it is too large, or a path leads out of it. OSError: the disk is full.
    """
    scratch_root.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="check-", dir=scratch_root)).resolve()
    try:
        files = scratch / "tree"
        write_out(private, tree, files, most_bytes=limits.disk_mb << 20)
        yield files, scratch
    finally:
        remove(scratch)


def started(
    spec: SandboxSpec,
    limits: Limits,
    sandbox: Sandbox,
    files: Path,
    scratch: Path,
    *,
    cancel: threading.Event | None = None,
) -> Ran:
    """Run the command of `spec` on files that were written out, in the sandbox where it works.

    Raises:
        OSError: it cannot be started.
    """
    make = sandboxed(sandbox, spec, limits, files, scratch) if sandbox.works else None
    command, env = make or unsandboxed(spec, limits, files, scratch)
    kept = not sandbox.works
    return supervise(command, limits, env=env, cwd=files, scratch=scratch, cancel=cancel, kept=kept)


def _untested(why: str, what_to_do: str = "", ran: Ran | None = None, output: str = "") -> SuiteRun:
    lines = [safe_line(why), *((safe_text(what_to_do),) if what_to_do else ())]
    detail = "\n".join(lines) + (f"\n\n{output}" if output else "")
    return SuiteRun(
        CheckOutcome.UNTESTED, detail=detail, seconds=ran.seconds if ran else 0.0, ran=ran is not None
    )


def read_run(ran: Ran, spec: SandboxSpec, redact: Redactor = _BY_FORM) -> SuiteRun:
    """What a finished run means: its exit status, the tests it names, and why it could not start, in words."""
    output = plain(ran.output)
    text = redact(safe_text(output))
    names = tuple(redact(safe_line(name)) for name in failing_tests(output))
    passed = passed_count(output)
    if not ran.cut and not names and none_ran(output, ended_well=ran.status == 0):
        return _untested(NO_TEST_RAN, _NOTHING_FOUND, ran, excerpt(text))
    if not ran.cut and ran.status == 0:
        count = f"{passed} passed" if passed is not None else "passed"
        return SuiteRun(CheckOutcome.PASSED, (), count, ran.seconds, passed)
    shown = excerpt(text, names)
    if ran.cut:
        line = f"{ran.cut[:1].upper()}{ran.cut[1:]}, and was ended"
        return SuiteRun(
            CheckOutcome.FAILED, names, f"{line}\n\n{shown}".rstrip(), ran.seconds, passed, ran.cut
        )
    missing = _why_not_started(ran, text, spec)
    if missing:
        return _untested(missing[0], missing[1], ran, shown)
    if names:
        line = f"{len(names)} failed" + (f", {passed} passed" if passed else "")
    else:
        line = f"exit status {ran.status}" if ran.status >= 0 else f"ended by signal {-ran.status}"
    return SuiteRun(CheckOutcome.FAILED, names, f"{line}\n\n{shown}".rstrip(), ran.seconds, passed)


def _why_not_started(ran: Ran, text: str, spec: SandboxSpec) -> tuple[str, str] | None:
    """The reason and what to do about it, where the command never came to run a test."""
    if ran.status in (_NOT_FOUND, _NOT_EXECUTABLE):
        found = _ABSENT.search(text)
        what = safe_line(found["what"]) if found else "the command"
        return f"{what} was not found in the sandbox", _hint_for(what, spec)
    if spec.missing and (found := _ABSENT.search(text)):
        what = safe_line(found["what"])
        return f"{what} was not found in the sandbox", _hint_for(what, spec)
    found = _NO_MODULE.search(text)
    if found and ran.status != 0 and len(text) < 600 and text.count("\n") < 8:
        what = safe_line(found["what"])
        return f"{what} is not installed where the sandbox sees it", _hint_for(what, spec)
    return None


def _hint_for(what: str, spec: SandboxSpec) -> str:
    seen = ", ".join(bind.target for bind in spec.dependencies) or "none"
    return (
        f"Inside are: /usr, the project's files, its dependency folders ({seen}) and toolchains the command names. Install "
        f"{what} into the project's own environment, or add the folder that holds it to `check_mounts`."
    )


def excerpt(text: str, names: Sequence[str] = (), limit: int = SHOWN) -> str:
    """The part of an output that says what went wrong: its end, and before it the first lines about failures."""
    text = text.strip()
    if len(text) <= limit:
        return text
    tail = text[-limit * 2 // 3 :]
    tail = tail[tail.find("\n") + 1 :]
    head_room = limit - len(tail) - 32
    first = _first_failure(text, names)
    head = text[first : first + head_room]
    head = head[: head.rfind("\n")] if "\n" in head else head
    return f"{head}\n[… {len(text) - len(head) - len(tail)} characters …]\n{tail}"


def _first_failure(text: str, names: Sequence[str]) -> int:
    """Where the first lines about a failure begin; 0 where none are recognised."""
    match = patterns.search(
        r"^(?:=+ (?:FAILURES|ERRORS) =+|(?:FAIL|ERROR): |failures:|---- .* stdout|--- FAIL|error\[)",
        text,
        patterns.MULTILINE,
    )
    if match is not None:
        return match.start()
    places = [text.find(name) for name in names[:20]]
    return min((place for place in places if place >= 0), default=0)


def sweep(scratch_root: Path, begins: str = "check-") -> int:
    """Remove what runs of a killed process left. The caller holds the state folder's lock.

    Args:
        begins: how the names of the runs' folders begin.

    Returns:
        How many folders were found; one that cannot be removed is set aside, and `doctor` reports it.
    """
    left = [path for path in scratch_root.glob(f"{begins}*") if path.is_dir() and not path.is_symlink()]
    for path in left:
        remove(path)
    return len(left)


def end_strays(scratch_root: Path) -> None:
    """Kill the sandboxes that a killed process left.

    bubblewrap dies with its parent from the moment on that it has asked for that. One whose parent died before is found by the
    folders of its command line, which are below `scratch_root`.
    """
    mark = os.fsencode(scratch_root.resolve()) + b"/"
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208
        with contextlib.suppress(OSError):
            if name.isdigit() and mark in Path("/proc", name, "cmdline").read_bytes():
                found.append(int(name))
    signal_all(found, signal.SIGKILL)
    await_gone(found)


# Two runs of the same command, before a change and after it: whose doing a failure is

NAME = TESTS
_SHOWN_NAMES = 20

_PASSED, _FAILED, _UNTESTED = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.UNTESTED


def compared(before: Baseline | None, after: SuiteRun) -> CheckResult:
    """What to say of a change whose tests ended as `after`.

    Only failures that the base does not have are blamed on it. Where the base fails and names cannot tell the failures
    apart, nothing is blamed, and the detail says so.
    """
    was = before.outcome if before is not None else None

    def result(outcome: CheckOutcome, line: str, rest: str = "") -> CheckResult:
        detail = f"{line}\n\n{rest}".strip()[: SHOWN + 1_000]
        return CheckResult(
            name=NAME, outcome=outcome, seconds=round(after.seconds, 3), detail=detail, before=was
        )

    rest = after.detail.partition("\n")[2].strip()
    if after.outcome is _UNTESTED:
        if after.ran and was in (_PASSED, _FAILED):
            return result(_FAILED, f"{after.line}; on the base the command runs", rest)
        return result(_UNTESTED, after.line, rest)
    if after.outcome is _PASSED:
        counted = passed_before(before) if before is not None else 0
        if counted and after.passed is None:
            # An interpreter that is ended early (`os._exit(0)`) reports success and counts nothing.
            line = f"exit status 0, but the output counts no tests; {counted} passed on the base"
            return result(_FAILED, line, rest)
        return result(_PASSED, _passed_line(before, after))
    if before is None or was is _PASSED:
        return result(_FAILED, _failed_line(after, after.failures), rest)
    if was is _UNTESTED:
        return result(_FAILED, f"{after.line}; the base could not be tested: {_first_line(before)}", rest)
    new = tuple(name for name in after.failures if name not in set(before.failures))
    if not after.failures and not before.failures:
        said = f"{UNTOLD} ({_first_line(before)}); the output names no tests, so failures cannot be compared"
        return result(CheckOutcome.FAILED_BEFORE, said, rest)
    if not after.failures:
        said = f"{after.line} before any test could be named; on the base {len(before.failures)} tests fail"
        return result(_FAILED, said, rest)
    if not before.failures:
        said = f"{UNTOLD} ({_first_line(before)}), where no test is named: {after.line}"
        return result(CheckOutcome.FAILED_BEFORE, said, rest)
    if after.cut and not new:
        return result(_FAILED, f"{after.line}; on the base the command ends normally", rest)
    if not new:
        fail = "fails as it does" if len(after.failures) == 1 else "fail as they do"
        said = f"{plural(len(after.failures), 'test')} {fail} on the base"
        return result(CheckOutcome.FAILED_BEFORE, said, rest)
    old = len(after.failures) - len(new)
    also = f" ({old} more {'fails' if old == 1 else 'fail'} on the base too)" if old else ""
    return result(_FAILED, f"{_failed_line(after, new)}{also}", rest)


def base_words(before: Baseline | None) -> str:
    """What a project's tests say of its base, for people, as far as it was tried."""
    if before is None:
        return "not tried yet"
    line = before.detail.partition("\n")[0]
    if before.outcome is _PASSED:
        return line if line.startswith("passed") or line[:1].isdigit() else f"passed: {line}"
    if before.outcome is _FAILED and before.failures:
        return f"failed before: {line}"
    if before.outcome is _FAILED:
        return f"failed before: tests tell nothing here ({line})"
    return f"untested: {line}"


def _first_line(before: Baseline) -> str:
    return before.detail.partition("\n")[0]


def _passed_line(before: Baseline | None, after: SuiteRun) -> str:
    line = after.line
    if before is None:
        return line
    if before.outcome is _FAILED:
        return f"{line}; on the base: {_first_line(before)}"
    if before.outcome is _UNTESTED:
        return f"{line}; the base could not be tested"
    ran = passed_before(before)
    if after.passed is not None and after.passed < ran:
        return f"{line}; {ran} on the base"
    return line


def passed_before(before: Baseline) -> int:
    """How many tests a base's run counted as passed; 0 where it counted none."""
    found = patterns.search(r"\b(\d+) passed$", _first_line(before))
    return int(found[1]) if found else 0


def _failed_line(after: SuiteRun, names: Sequence[str]) -> str:
    if not names or after.cut:
        return after.line
    shown = ", ".join(names[:_SHOWN_NAMES])
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return f"{len(names)} newly failing: {shown}{more}"
