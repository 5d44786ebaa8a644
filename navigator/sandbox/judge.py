"""From the runs of one test to what it proves. Pure: no run is started here.

A regression has its own control: the same test passes on the base. An unmet requirement has none until a revision meets it,
so more is asked of its test: that it fails for what the project's code does, and reaches the code that the finding is about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from navigator.checks.proof import MISSING_WORDS, Source
from navigator.model.diff import FileDiff
from navigator.model.models import Finding
from navigator.model.states import FindingKind, ReproductionOutcome
from navigator.model.text import safe_line
from navigator.sandbox.one_test import Failure, TestRun

_REGRESSION, _UNMET = ReproductionOutcome.REGRESSION, ReproductionOutcome.UNMET
_NOT, _COULD_NOT = ReproductionOutcome.NOT_REPRODUCED, ReproductionOutcome.COULD_NOT_RUN

_OWN_ERRORS = frozenset({"NameError", "ImportError", "SyntaxError", "FixtureLookupError", "AttributeError"})
"""Errors that are the test's own where they arise in it: it uses something that is not there."""

_SHOWN = 300


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a test proves, why, and what it said when it failed on the proposal."""

    outcome: ReproductionOutcome
    reason: str
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Traced:
    """What a proposal changes, as far as its lines can be watched.

    Attributes:
        added: path -> the lines of the proposal's file that are new; `removed` those of the base's that are gone.
    """

    added: Mapping[str, frozenset[int]] = field(default_factory=dict)
    removed: Mapping[str, frozenset[int]] = field(default_factory=dict)

    @property
    def watched(self) -> tuple[str, ...]:
        """The files with such lines."""
        return tuple(dict.fromkeys((*self.added, *self.removed)))


def change_of(files: Sequence[FileDiff]) -> Traced:
    """The Python lines that a diff adds and removes."""
    added: dict[str, frozenset[int]] = {}
    removed: dict[str, frozenset[int]] = {}
    for file in files:
        lines = [line for hunk in file.hunks for line in hunk.lines]
        for path, kind, into in ((file.new_path, "+", added), (file.old_path, "-", removed)):
            numbers = {(line.new if kind == "+" else line.old) or 0 for line in lines if line.kind == kind}
            if numbers and path.endswith((".py", ".pyw")):
                into[path] = frozenset(numbers)
    return Traced(added, removed)


def alone(run: TestRun) -> Ruling | None:
    """What the run on the proposal settles by itself; None where the base has to be asked."""
    if run.problem:
        return Ruling(_COULD_NOT, run.problem, run.shown)
    if tampered := _tampered(run):
        return tampered
    if not run.failed:
        return Ruling(_NOT, "the test passes on the proposal")
    broken = next((failure for failure in run.failed if "SyntaxError" in failure.kinds), None)
    if broken is not None and not run.passed:
        return Ruling(
            _COULD_NOT, f"a file does not parse: {safe_line(broken.message)[:_SHOWN]}", said(broken)
        )
    absent = next((failure for failure in run.failed if "ModuleNotFoundError" in failure.kinds), None)
    if absent is not None and not run.passed and absent.when == "collect":
        return Ruling(
            _COULD_NOT,
            f"the test imports {safe_line(absent.name) or 'a module'}, which is not there",
            said(absent),
        )
    return None


def judged(
    facts: Source, change: Traced, finding: Finding, task: str, test: str, base: TestRun, proposal: TestRun
) -> Ruling:
    """What one run on each tree proves, where `alone` settled nothing.

    Args:
        task: the task's own text: what it names may be missing on the proposal.
        test: the path of the test file.
    """
    if tampered := _tampered(base):
        return tampered
    regressed = [failure for failure in proposal.failed if failure.id in base.passed or "all" in base.passed]
    if regressed:
        failure = regressed[0]
        if proposal.traced and change.watched and not _reached(change, base, proposal):
            return Ruling(_NOT, "the test reaches none of the changed lines", said(failure))
        return Ruling(_REGRESSION, "passes on the base, fails on the proposal", said(failure))
    if base.problem and not proposal.traced:
        return Ruling(_COULD_NOT, f"on the base: {base.problem}", said(proposal.failed[0]))
    return _unmet(facts, change, finding, task, test, base, proposal)


def agreed(first: Ruling, again: Ruling) -> Ruling:
    """What two independent pairs of runs prove together."""
    if first.outcome is again.outcome:
        return first
    if again.outcome is _COULD_NOT:
        return Ruling(_COULD_NOT, f"the second run could not be made: {again.reason}", first.failure)
    return Ruling(
        _NOT,
        "a second run does not agree: the test depends on order or chance"
        f" (at first: {first.reason}; then: {again.reason})",
        first.failure,
    )


def _unmet(
    facts: Source, change: Traced, finding: Finding, task: str, test: str, base: TestRun, proposal: TestRun
) -> Ruling:
    """A test that fails on both: nothing but the test itself says that it should not."""
    failure = proposal.failed[0]
    if not proposal.traced:
        return Ruling(
            _COULD_NOT,
            "it fails on the base too, and what it reaches is only known for Python",
            said(failure),
        )
    reasons = [_own_fault(one, facts, finding, task, test) for one in proposal.failed]
    if all(reasons):
        return Ruling(_NOT, reasons[0], said(failure))
    failure = proposal.failed[reasons.index("")]
    about = {*change.watched, finding.path}
    missing = finding.kind is FindingKind.MISSING and _names_missing(failure, task)
    if not missing and not any(path in about for path, _ in proposal.functions):
        return Ruling(
            _NOT,
            "the test fails on the base too, and runs nothing of the code that the finding is about",
            said(failure),
        )
    same = any((one.id, one.message) == (failure.id, failure.message) for one in base.failed)
    alike = " in the same way" if same else ""
    return Ruling(_UNMET, f"fails on the base and on the proposal{alike}", said(failure))


def _own_fault(failure: Failure, facts: Source, finding: Finding, task: str, test: str) -> str:
    """Why a failure is the test's own; "" where it is about the project."""
    if not failure.frames:
        return "the test fails before it runs anything of the project"
    path = failure.frames[-1][0]
    if path == test and _OWN_ERRORS & set(failure.kinds):
        if finding.kind is FindingKind.MISSING and _names_missing(failure, task):
            return ""
        return f"the test itself is wrong: {failure.type}: {safe_line(failure.message)[:_SHOWN]}"
    own = [number for place, number in failure.frames if place == test]
    if not own:
        return "the failure is not one of the test's"
    why = facts.baseless.get(own[-1], "")
    return why and f"{why} (line {own[-1]})"


def _names_missing(failure: Failure, task: str) -> bool:
    """Whether what an error misses is something that the task itself asks for by name."""
    if not {"AttributeError", "ImportError"} & set(failure.kinds):
        return False
    words = {
        word for word in failure.message.replace("'", " ").replace('"', " ").split() if word.isidentifier()
    }
    asked = set("".join(c if c.isalnum() or c == "_" else " " for c in task).split())
    return any(len(word) > 2 and word in asked for word in words - MISSING_WORDS)


def _reached(change: Traced, base: TestRun, proposal: TestRun) -> bool:
    """Whether a line that the change added ran on the proposal, or one that it removed on the base."""
    new = any(number in change.added.get(path, ()) for path, number in proposal.lines)
    return new or any(number in change.removed.get(path, ()) for path, number in base.lines)


def _tampered(run: TestRun) -> Ruling | None:
    if not run.written:
        return None
    return Ruling(_NOT, f"the test edits files of the project while it runs: {', '.join(run.written[:3])}")


def said(failure: Failure) -> str:
    """What a failing test said, for people and models."""
    kind = f"{failure.type}: " if failure.type else ""
    return f"{safe_line(failure.id)}\n{kind}{failure.message}".strip()
