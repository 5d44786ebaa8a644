"""Which tests failed, by name, from what known test runners print.

A name is only used to tell one run from another of the same command, so it need not be one that the runner takes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, reduce
from operator import getitem
from typing import TYPE_CHECKING, Any

from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.states import CheckOutcome

if TYPE_CHECKING:
    from navigator.model.models import CheckResult

MOST_NAMES = 2_000
_LONGEST = 300
_ENDING = 40
"""Characters at the end of a name in which a duration is looked for."""

_ANSI = patterns.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_DURATION = patterns.compile(r"\s*[\[(]?\b\d+(?:[.,]\d+)?\s?(?:ms|s|sec|seconds|m)\b[\])]?\s*$")


LONGEST_LINE = 1_000
"""Characters of a line that are read: names of tests are shorter, and no pattern below is slow on so few."""

MOST_LINES = 100_000
"""Lines that are read, half of them from the beginning of an output and half from its end."""


def plain(output: str) -> str:
    """Output without colours and without lines that were drawn over; long lines and very long outputs are cut.

    Everything below reads what this returns: it is what bounds the time.
    """
    lines = _ANSI.sub("", output).replace("\r\n", "\n").split("\n")
    if len(lines) > MOST_LINES:
        half = MOST_LINES // 2
        lines[half:-half] = [f"[… {len(lines) - 2 * half} lines …]"]
    return "\n".join(map(_last_drawn, lines))


def _last_drawn(line: str) -> str:
    """What a terminal shows of a line: what follows its last carriage return, as far as it is read."""
    start = line.rfind("\r", 0, len(line) - 1) + 1
    if len(line) - start <= LONGEST_LINE:
        return line[start:]
    return f"{line[start : start + LONGEST_LINE]}…"


def failing_tests(text: str) -> tuple[str, ...]:
    """The names of tests that failed, sorted, once each; empty where `text`, which `plain` made, names none."""
    lines = text.split("\n")
    found: dict[str, None] = {}
    for reader in _READERS:
        for name in reader(lines):
            cleaned = " ".join((name[:-_ENDING] + _DURATION.sub("", name[-_ENDING:])).split())[:_LONGEST]
            if cleaned:
                found[cleaned] = None
            if len(found) >= MOST_NAMES:
                break
    return tuple(sorted(found))


@cache
def _patterns(*place: str) -> tuple[patterns.Pattern[str], ...]:
    """The patterns at a place of `runners.toml`."""
    found: Any = reduce(getitem, place, table(__package__, "runners.toml"))
    return tuple(patterns.compile(text, patterns.MULTILINE) for text in found)


@cache
def _part(name: str) -> patterns.Pattern[str]:
    return patterns.compile(table(__package__, "runners.toml")["parts"][name])


def _single_lines(lines: list[str]) -> Iterator[str]:
    """What the runners print of which a line is enough."""
    for line in map(str.rstrip, lines):
        for pattern in _patterns("failed"):
            if match := pattern.fullmatch(line):
                yield next(filter(None, reversed(match.groups())))


def _unittest(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if match := _part("unittest").fullmatch(line.rstrip()):
            method, where, rest = match.groups()
            # Python 3.11 and later name the method in both places.
            yield f"{where if where.endswith(f'.{method}') else f'{where}.{method}'}{rest}"


def _go(lines: list[str]) -> Iterator[str]:
    """Go names the package after its tests."""
    waiting: list[str] = []
    for line in lines:
        if match := _part("go").fullmatch(line.rstrip()):
            waiting.append(match[1])
        elif match := _part("go_package").fullmatch(line.rstrip()):
            if match[1] == "FAIL":
                yield from (f"{match[2]}.{name}" for name in waiting)
                if not waiting:
                    yield match[2]
            waiting = []
    yield from waiting


def _jest(lines: list[str]) -> Iterator[str]:
    """`● suite › test` below `FAIL file`; a suite that does not run has only its file."""
    file = ""
    seen = False
    for line in lines:
        if match := _part("jest_file").fullmatch(line.rstrip()):
            if file and not seen:
                yield file
            file, seen = match[1], False
        elif file and (match := _part("jest").fullmatch(line.rstrip())):
            if match[1].startswith("Console") or match[1].startswith("Cannot log"):
                continue
            seen = True
            yield file if "failed to run" in match[1] else f"{file} › {match[1]}"
    if file and not seen:
        yield file


_READERS = (_single_lines, _unittest, _go, _jest)


def passed_count(text: str) -> int | None:
    """How many tests the runner says passed; None where `text`, which `plain` made, does not say."""
    lines = [line for line in text.split("\n") if len(line) < 500]
    for pattern in _patterns("passed"):
        found = [int(match[1]) for line in lines if (match := pattern.match(line))]
        if found:
            failed = [match[1] for line in lines if (match := _part("unittest_failed").match(line))]
            apart = patterns.findall(r"(?:failures|errors)=(\d+)", "\n".join(failed))
            return max(0, sum(found) - sum(map(int, apart)))
    return None


def none_ran(text: str, *, ended_well: bool = True) -> bool:
    """Whether an output says in so many words that no test ran, and nothing in it says that one did.

    Args:
        text: what `plain` made of the output.
        ended_well: whether the exit status was 0. Else only the words of runners that fail where they find no test count.
    """

    def said(kind: str) -> bool:
        return any(pattern.search(text) for pattern in _patterns("none", kind))

    (go_ok,) = _patterns("none", "go_ok")
    some = said("some") or any("[no tests" not in match[1] for match in go_ok.finditer(text))
    return (said("said") or (ended_well and said("zero"))) and not some


UNTOLD = "fails on the base too"
"""Starts the detail of tests whose failures cannot be distinguished from the base's: they say nothing about the change."""


def check_words(check: CheckResult) -> str:
    """How a check ended; of tests that fail on the base too, what that leaves to be told."""
    if check.outcome is not CheckOutcome.FAILED_BEFORE or check.name != "tests":
        return check.outcome.value.replace("_", " ")
    why = "tests tell nothing here" if check.detail.startswith(UNTOLD) else "no new failure"
    return f"failed before: {why}"
