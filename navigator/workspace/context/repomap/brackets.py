"""Brackets without their other half, found by reading a file as tokens: a second witness beside a grammar's word.

A grammar that lost its way says so at some place; whether a bracket is missing is known better by counting. The tokens are read
roughly (JavaScript's templates and regular expressions are guessed): a count says something only where it came out even before.
"""

from __future__ import annotations

import re
from typing import Any

_LINE, _BLOCK = r"//[^\n]*", r"/\*(?s:.*?)(?:\*/|\Z)"
_DOUBLE, _SINGLE = r'"(?:\\.|[^"\\\n])*"', r"'(?:\\.|[^'\\\n])*'"
_TRIPLE = r'"""(?s:.*?)(?:"""|\Z)'
_CHARACTER = r"'(?:\\[^'\n]{1,10}|\\'|[^'\\\n])'"
_LONG_DOUBLE, _LONG_SINGLE = r'"(?s:\\.|[^"\\])*"', r"'(?s:\\.|[^'\\])*'"
_NUMBER = r"\b[0-9][\w']*"
_REGEX = (
    r"(?:(?<=[(,=:\[!&|?{};])|(?<=[(,=:\[!&|?{};] )|(?<=return ))"
    r"/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/"
)
_PREPROCESSOR = r"^[ \t]*#[ \t]*(?:if|elif|else|endif)\w*"

_SKIPPED = {
    "javascript": (_REGEX, _LINE, _BLOCK, _DOUBLE, _SINGLE, r"`(?s:\\.|[^`\\])*`"),
    "go": (_LINE, _BLOCK, _DOUBLE, _CHARACTER, r"`[^`]*`"),
    "rust": (_LINE, _BLOCK, r'\bb?r(#*)"(?s:.*?)"\1', _LONG_DOUBLE, _CHARACTER),
    "c": (_LINE, _BLOCK, r'R"([^(\s]*)\((?s:.*?)\)\1"', _DOUBLE, _NUMBER, _CHARACTER),
    "java": (_LINE, _BLOCK, _TRIPLE, _DOUBLE, _CHARACTER),
    "c_sharp": (_LINE, _BLOCK, _TRIPLE, r'(?:@\$?|\$@)"(?:""|[^"])*"', _DOUBLE, _CHARACTER),
    "php": (r"(?://|#(?!\[))[^\n]*", _BLOCK, _LONG_DOUBLE, _LONG_SINGLE),
}
_SKIPPED |= {"typescript": _SKIPPED["javascript"], "tsx": _SKIPPED["javascript"]}
_SKIPPED |= {"cpp": _SKIPPED["c"], "kotlin": _SKIPPED["java"]}
_BRANCHING = frozenset({"c", "cpp", "c_sharp"})

_TOKENS = {
    name: re.compile(
        "|".join((*skipped, rf"(?P<branch>{_PREPROCESSOR})", r"(?P<bracket>[()\[\]{}])")), re.MULTILINE
    )
    for name, skipped in _SKIPPED.items()
}
_CLOSES = {")": "(", "]": "[", "}": "{"}


def first_odd(language: str, data: bytes) -> list[Any] | None:
    """The first bracket that closes nothing, or the innermost that is never closed.

    Of the branches of `#if` only the first is read: they often open the same bracket twice.

    Returns:
        [line, column, what], both numbers from 1, or None: all have their other half, or the language is not read here.
    """
    if language not in _TOKENS:
        return None
    text = data.decode("utf-8", "replace")
    opened: list[tuple[str, int]] = []
    left_out: list[bool] = []  # for each open `#if`: whether the branch that is read now is left out
    for token in _TOKENS[language].finditer(text):
        if branch := token["branch"]:
            if language in _BRANCHING:
                _enter(branch.strip(" \t#"), left_out)
            continue
        bracket = token["bracket"]
        if bracket is None or any(left_out):
            continue
        if bracket not in _CLOSES:
            opened.append((bracket, token.start()))
        elif not opened:
            return [*_place(text, token.start()), f"'{bracket}' closes nothing"]
        elif opened[-1][0] != _CLOSES[bracket]:
            other, at = opened[-1]
            line = _place(text, at)[0]
            return [
                *_place(text, token.start()),
                f"'{bracket}' is where '{other}' of line {line} is still open",
            ]
        else:
            opened.pop()
    return [*_place(text, opened[-1][1]), f"'{opened[-1][0]}' is never closed"] if opened else None


def _enter(word: str, left_out: list[bool]) -> None:
    if word.startswith("if"):
        left_out.append(False)
    elif left_out and word.startswith("endif"):
        left_out.pop()
    elif left_out:
        left_out[-1] = True


def _place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
