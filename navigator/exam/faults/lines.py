"""Operators on lines, which every language's operators are made of, and those for Markdown.

An operator takes the lines of a file and an index, and returns the lines with one fault at that index, or None where it
does not apply.
"""

from __future__ import annotations

from collections.abc import Callable

from navigator.model import patterns

Operator = Callable[[list[str], int], "list[str] | None"]


def lines_of(text: str) -> list[str]:
    """Lines without endings; a final newline makes no further line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def with_line(lines: list[str], at: int, line: str) -> list[str]:
    """`lines` with another line at index `at`."""
    return [*lines[:at], line, *lines[at + 1 :]]


def without(lines: list[str], at: int, count: int = 1) -> list[str]:
    """`lines` without `count` of them from index `at`."""
    return [*lines[:at], *lines[at + count :]]


def off_by_one(lines: list[str], at: int) -> list[str] | None:
    """The first whole number of the line plus one."""
    match = patterns.search(r"(?<![\w.\"'-])(\d{1,4})(?![\w.\"'])", lines[at])
    if match is None or lines[at].lstrip().startswith(("#", '"""')):
        return None
    return with_line(lines, at, f"{lines[at][: match.start()]}{int(match[1]) + 1}{lines[at][match.end() :]}")


def _wrong_address(lines: list[str], at: int) -> list[str] | None:
    match = patterns.search(r"https?://[\w.-]+/?([\w-]*)", lines[at])
    if match is None:
        return None
    return with_line(lines, at, lines[at].replace(match[0], match[0][:-3] + match[0][-2:], 1))


def _wrong_level(lines: list[str], at: int) -> list[str] | None:
    return with_line(lines, at, "#" + lines[at]) if patterns.match(r"#{1,5} \S", lines[at]) else None


def _lost_line(lines: list[str], at: int) -> list[str] | None:
    if len(lines[at].split()) < 3 or lines[at].lstrip().startswith(("#", "```", "~~~", "|")):
        return None
    return without(lines, at)


MARKDOWN: tuple[tuple[str, Operator], ...] = (
    ("wrong-address", _wrong_address),
    ("off-by-one", off_by_one),
    ("wrong-level", _wrong_level),
    ("line-lost", _lost_line),
)
