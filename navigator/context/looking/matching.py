"""Searches text by a model's regular expression: in a process of its own, since it may read many files."""

from __future__ import annotations

from collections.abc import Sequence

from navigator.model import patterns
from navigator.model.errors import NavigatorError
from navigator.process.bounded.run import run_bounded

SECONDS = 3.0
"""Processor time of one search."""

MEMORY = 1 << 30
_LONGEST_LINE = 2_000
_MOST_HITS = 2_000
_SHORTEST_LITERAL = 3
_META = frozenset(".^$*+?{}[]|()")


class BadExpression(NavigatorError):
    """A model's search is no regular expression."""

    code = "bad_expression"


def matching_lines(expression: str, texts: Sequence[str]) -> list[list[int]]:
    """The numbers (from 1) of the lines of each text in which the expression is found; 2,000 in all at most.

    Raises:
        BadExpression: it is no regular expression.
        WorkerLost: it takes too long.
    """
    return run_bounded(_search, expression, list(texts), seconds=SECONDS, memory=MEMORY)


def _search(expression: str, texts: list[str]) -> list[list[int]]:
    """What `matching_lines` does, in the process that may be ended."""
    try:
        pattern = patterns.compile(expression).check()
    except patterns.PatternError as error:
        raise BadExpression(str(error)) from None
    left = _MOST_HITS
    found: list[list[int]] = []
    for text in texts:
        hits = []
        for number, line in enumerate(text.split("\n"), 1):
            if left and pattern.search(line[:_LONGEST_LINE]):
                hits.append(number)
                left -= 1
        found.append(hits)
    return found


def literal_in(expression: str) -> str:
    """The longest text that every match of an expression contains; "" where none is certain.

    It says which files are worth searching. Anything but plain characters outside of groups ends a run.
    """
    if "|" in expression or "(?" in expression:
        return ""
    runs: list[str] = []
    run, depth, at = "", 0, 0
    while at < len(expression):
        char = expression[at]
        plain = char
        if char == "\\":
            at += 1
            plain = expression[at : at + 1]
            if plain.isalnum() or not plain:
                runs, run, plain = [*runs, run], "", ""
        elif char == "[":
            end = expression.find("]", at + 2)
            at = end if end > 0 else len(expression)
            runs, run, plain = [*runs, run], "", ""
        elif char in _META:
            run = run[:-1] if char in "*?{" else run
            depth += (char == "(") - (char == ")")
            if char == "{":
                at = max(expression.find("}", at), at)
            runs, run, plain = [*runs, run], "", ""
        if plain and depth == 0:
            run += plain
        at += 1
    best = max([*runs, run], key=len)
    return best if len(best) >= _SHORTEST_LITERAL else ""
