"""A reviewer's test for a finding: which findings it is asked for, what the answer may hold, and where the file may lie."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from navigator.checks.policy import check_new_file
from navigator.checks.removed_tests import is_test_file
from navigator.edits.parser import BlockKind, parse_answer
from navigator.edits.paths import unsafe_path
from navigator.journey.reviewing.grounding import weighs
from navigator.model import patterns
from navigator.model.models import Finding
from navigator.model.states import ReproductionOutcome, Severity
from navigator.model.text import safe_line

LONGEST_TEST = 20_000
"""Characters of a test file."""

_NO_TEST = patterns.compile(r"^[\s>*#`_]*NO_TEST[*`_]*[ \t]*:[*`_]*\s*(.*)", patterns.MULTILINE)
_SUPPORT = frozenset({"conftest.py", "__init__.py", "setup.py", "noxfile.py", "sitecustomize.py"})
_GRAVE = tuple(Severity)


@dataclass(frozen=True, slots=True)
class WrittenTest:
    """A test file that may be run."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class NoTest:
    """An answer that leaves nothing to run. `again`: another answer may do better."""

    outcome: ReproductionOutcome
    reason: str
    again: bool = True


def to_prove(findings: Sequence[Finding]) -> list[int]:
    """The indexes of the findings that a test is asked for, the gravest first, those that follow a precedent last."""
    found = [place for place, finding in enumerate(findings) if weighs(finding)]
    return sorted(
        found, key=lambda place: (findings[place].set_aside, _GRAVE.index(findings[place].severity))
    )


def read_test_answer(text: str, marker: int, taken: Collection[str]) -> WrittenTest | NoTest:
    """The test file of an answer.

    Args:
        marker: the length of the markers that were asked for.
        taken: every path of the base and of the proposal: a test is a new file.
    """
    answer = parse_answer(text, marker=marker)
    if not answer.blocks and not answer.problems:
        declined = _NO_TEST.search(text)
        if declined is not None:
            reason = safe_line(declined[1]).strip()[:300] or "no reason given"
            return NoTest(
                ReproductionOutcome.COULD_NOT_RUN, f"the reviewer wrote no test: {reason}", again=False
            )
        return _unusable("the answer holds no file")
    if answer.problems:
        return _unusable(answer.problems[0].message)
    paths = {block.path for block in answer.blocks}
    touched = sorted(path for path in paths if path in taken or not is_test_file(path))
    if touched:
        return NoTest(
            ReproductionOutcome.NOT_REPRODUCED,
            f"the test edits the project: {safe_line(', '.join(touched))[:200]}",
        )
    if len(answer.blocks) > 1 or answer.blocks[0].kind is not BlockKind.WHOLE:
        return _unusable("one whole new file was asked for")
    block = answer.blocks[0]
    if problem := why_not_there(block.path, taken):
        return NoTest(ReproductionOutcome.NOT_REPRODUCED, f"the test edits the project: {problem}")
    body = "\n".join(block.body) + "\n"
    if len(body) > LONGEST_TEST:
        return _unusable(f"the file has more than {LONGEST_TEST} characters")
    return WrittenTest(block.path, body)


def _unusable(why: str) -> NoTest:
    return NoTest(ReproductionOutcome.COULD_NOT_RUN, f"no usable test: {safe_line(why)[:300]}")


def why_not_there(path: str, taken: Collection[str]) -> str:
    """Why no test may be written at a path; "" where one may."""
    shown = safe_line(path)[:200]
    if problem := unsafe_path(path):
        return f"{shown}: {problem}"
    place = PurePosixPath(path)
    if place.name in _SUPPORT:
        return f"{shown} is no test, but what tests are run with"
    folders = {str(parent) for name in taken for parent in PurePosixPath(name).parents}
    above = next((parent for parent in place.parents if str(parent) in taken), None)
    if above is not None or path in folders:
        return f"{shown} is in the way of another file"
    said = check_new_file(path, taken)
    return f"{shown}: {said[0].detail or said[0].rule}" if said else ""


def test_folders(paths: Collection[str], suffix: str) -> list[str]:
    """Some of the project's own test files, the shallowest first: they show where tests lie and what they are called."""
    own = [path for path in paths if path.endswith(suffix) and is_test_file(path) and path.isprintable()]
    own = [path for path in own if PurePosixPath(path).name not in _SUPPORT]
    return sorted(own, key=lambda path: (path.count("/"), path))[:6]
