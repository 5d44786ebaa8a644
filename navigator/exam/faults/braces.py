"""Operators for JavaScript, TypeScript and Go, on tokens: comments, strings and regular expressions are left alone."""

from __future__ import annotations

from functools import lru_cache

from navigator.exam.faults.lines import Operator, with_line, without
from navigator.model import patterns

_REGEX_MAY_FOLLOW = "(,=:[!&|?{};\n"
"""After one of these signs, "/" opens a regular expression; elsewhere it divides."""

_BLANK = "\0"

_BACKTICK = patterns.compile(r"`|\\(?s:.)")
_QUOTE = {quote: patterns.compile(rf"{quote}|\n|\\[^\n]") for quote in "\"'"}
_REGEX = patterns.compile(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_LONGEST_REGEX = 500
_OPENERS = patterns.compile(r"//|/\*|[\"'`]|/")


@lru_cache(maxsize=8)
def masked(text: str) -> str:
    """`text` with each character of a comment, string or regular expression replaced by NUL; line ends stay."""
    out: list[str] = []
    at = 0
    while (match := _OPENERS.search(text, at)) is not None:
        out.append(text[at : match.start()])
        end = _end_of(text, match.start(), match[0], "".join(out[-3:]))
        out.append(
            patterns.sub(r"[^\n]", _BLANK, text[match.start() : end]) if end > match.end() - 1 else match[0]
        )
        at = max(end, match.end())
    return "".join([*out, text[at:]])


def _end_of(text: str, start: int, opener: str, before: str) -> int:
    """The index after what `opener` opens at `start`; `start` itself for a division."""
    if opener == "//":
        return (text + "\n").index("\n", start)
    if opener == "/*":
        close = text.find("*/", start + 2)
        return len(text) if close < 0 else close + 2
    if opener == "`":
        return _closed(text, start + 1, _BACKTICK)
    if opener == "/":
        last = before.rstrip(" \t")[-1:] or "\n"
        if last not in _REGEX_MAY_FOLLOW and not before.rstrip().endswith("return"):
            return start
        match = _REGEX.match(text[start : start + _LONGEST_REGEX])
        return start + match.end() if match else start
    return _closed(text, start + 1, _QUOTE[opener])


def _closed(text: str, at: int, stops: patterns.Pattern[str]) -> int:
    """The index after the sign that closes a string, or before the end of its line or of the text."""
    while (match := stops.search(text, at)) is not None:
        if match[0] == "\n":
            return match.start()
        at = match.end()
        if match[0][0] != "\\":
            return at
    return len(text)


def _code(lines: list[str], at: int) -> str:
    """Line `at` with everything but code blanked."""
    return masked("\n".join(lines)).split("\n")[at]


def _swap(*pairs: tuple[str, str]) -> Operator:
    """Replace the first of the patterns that is found in the line's code."""

    def operator(lines: list[str], at: int) -> list[str] | None:
        code = _code(lines, at)
        if patterns.match(r"\s*(import|package|type|interface)\b", code):
            return None
        for pattern, put in pairs:
            match = patterns.search(pattern, code)
            if match is not None and (changed := patterns.expand(match, put)) != match[0]:
                return with_line(lines, at, lines[at][: match.start()] + changed + lines[at][match.end() :])
        return None

    return operator


def _off_by_one(lines: list[str], at: int) -> list[str] | None:
    match = patterns.search(r"(?<![\w.-])(\d{1,4})(?![\w.])", _code(lines, at))
    if match is None:
        return None
    return with_line(lines, at, f"{lines[at][: match.start()]}{int(match[1]) + 1}{lines[at][match.end() :]}")


def _lost_guard(lines: list[str], at: int) -> list[str] | None:
    """Drop an early return: on one line, or a block of three whose middle line is the return."""
    code = _code(lines, at)
    leave = r"\s*(?:return\b|throw\b|continue\b|break\b|panic\()"
    if patterns.match(rf"\s*if \(.*\){leave}[^{{}}]*;\s*$", code):
        return without(lines, at)
    if at + 2 >= len(lines) or not patterns.match(r"\s*if\b.*\{\s*$", code) or ":=" in code:
        return None
    if patterns.match(leave, _code(lines, at + 1)) and _code(lines, at + 2).strip() == "}":
        return without(lines, at, 3)
    return None


def _lost_statement(lines: list[str], at: int) -> list[str] | None:
    """Drop a line that is one whole call or assignment, and not what a condition without braces governs."""
    code = _code(lines, at).rstrip(" \t" + _BLANK)
    if not patterns.match(
        r"\s*(?:await |go |defer )?[A-Za-z_$][\w$.\[\]]*(?:\(.*\)|\s*[-+*/]?= .+|\+\+|--);?$", code
    ):
        return None
    if any(code.count(a) != code.count(b) for a, b in ("()", "[]", "{}")) or code.endswith(("=", ",", "+")):
        return None
    before = next(
        (line for line in map(str.rstrip, reversed(_codes(lines)[:at])) if line.strip(_BLANK + " \t")), ""
    )
    after = next((line.strip() for line in _codes(lines)[at + 1 :] if line.strip(_BLANK + " \t")), "")
    whole = before.endswith(("{", ";", "}", ":")) or not code.endswith(";")
    if (
        not whole
        or before.endswith((",", "(", "[", "=", "&&", "||", "+", ".", "=>"))
        or after.startswith((".", "?", ")"))
    ):
        return None
    return without(lines, at)


def _codes(lines: list[str]) -> list[str]:
    return masked("\n".join(lines)).split("\n")


_WORD = r"[A-Za-z_$][\w$.]*"

BRACES: tuple[tuple[str, Operator], ...] = (
    (
        "inverted",
        _swap(
            (r" === ", " !== "),
            (r" !== ", " === "),
            (r" == ", " != "),
            (r" != ", " == "),
            (r"\b(if|while) \(!(?=[\w(])", r"\1 ("),
            (r"\bif !(?=[\w(])", "if "),
        ),
    ),
    ("guard-lost", _lost_guard),
    ("swapped", _swap((rf"\b(\w+)\(({_WORD}), ({_WORD})\)", r"\1(\3, \2)"))),
    ("connective", _swap((r" && ", " || "), (r" \|\| ", " && "))),
    ("boundary", _swap((r" < ", " <= "), (r" > ", " >= "), (r" <= ", " < "), (r" >= ", " > "))),
    ("off-by-one", _off_by_one),
    ("wrong-value", _swap((r"\btrue\b", "false"), (r"\bfalse\b", "true"))),
    ("statement-lost", _lost_statement),
)
