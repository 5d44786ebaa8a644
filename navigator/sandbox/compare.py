"""Two runs of the same command, before a change and after it: whose doing a failure is."""

from __future__ import annotations

from collections.abc import Sequence

from navigator.model import patterns
from navigator.model.models import TESTS, Baseline, CheckResult
from navigator.model.states import CheckOutcome
from navigator.sandbox.suite import SHOWN, SuiteRun

NAME = TESTS
UNTOLD = "fails on the base too"
"""Starts the detail of tests whose failures cannot be distinguished from the base's: they say nothing about the change."""
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
        fixed = len(set(before.failures) - set(after.failures))
        mended = f"; {fixed} that failed there pass now" if fixed else ""
        return result(
            CheckOutcome.FAILED_BEFORE,
            f"{_how_many(after.failures)} fail as they do on the base{mended}",
            rest,
        )
    old = len(after.failures) - len(new)
    also = f" ({old} more fail on the base too)" if old else ""
    return result(_FAILED, f"{_failed_line(after, new)}{also}", rest)


def tests_words(check: CheckResult) -> str:
    """What became of the tests, for people: an outcome's own word is enough unless they failed before the change."""
    if check.outcome is not CheckOutcome.FAILED_BEFORE:
        return check.outcome.value
    if check.detail.startswith(UNTOLD):
        return "failed before: tests tell nothing here"
    return "failed before: no new failure"


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


def _how_many(names: Sequence[str]) -> str:
    return "1 test" if len(names) == 1 else f"{len(names)} tests"


def _failed_line(after: SuiteRun, names: Sequence[str]) -> str:
    if not names or after.cut:
        return after.line
    shown = ", ".join(names[:_SHOWN_NAMES])
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return f"{len(names)} newly failing: {shown}{more}"
