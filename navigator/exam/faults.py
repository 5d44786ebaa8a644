"""Plants one known fault into a file and says what it is and where."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from navigator.model import patterns

# Operators on lines, which every language's operators are made of.
#
# An operator takes the lines of a file and an index, and returns the lines with one fault at that index, or None where it
# does not apply.

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


# Operators for Python.


def parses(text: str) -> bool:
    """Whether Python can read the text."""
    try:
        ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _swap_in_python(*pairs: tuple[str, str]) -> Operator:
    """Replace the first of the patterns that is found in the line."""

    def operator(lines: list[str], at: int) -> list[str] | None:
        if lines[at].lstrip().startswith(("#", '"""', "'''", "import ", "from ")):
            return None
        for pattern, put in pairs:
            changed = patterns.sub(pattern, put, lines[at], most=1)
            if changed != lines[at]:
                return with_line(lines, at, changed)
        return None

    return operator


def _lost_python_guard(lines: list[str], at: int) -> list[str] | None:
    if at + 1 >= len(lines) or not patterns.match(r"\s*if \w+ is None:$", lines[at]):
        return None
    if not patterns.match(r"\s*\w+ = (\[\]|\{\}|list\(\)|dict\(\)|set\(\))$", lines[at + 1]):
        return None
    return without(lines, at, 2)


def _lost_python_statement(lines: list[str], at: int) -> list[str] | None:
    """Drop a line that is one whole simple statement and not the only one of its block."""
    return without(lines, at) if at + 1 in _droppable("\n".join(lines) + "\n") else None


@lru_cache(maxsize=8)
def _droppable(text: str) -> frozenset[int]:
    """The 1-based lines that hold one whole simple statement which is not the only one of its block."""
    return frozenset(node.lineno for node in _simple_statements(text) if node.lineno == node.end_lineno)


def _simple_statements(text: str) -> Iterator[ast.stmt]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Module):
            continue
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if not isinstance(block, list) or len(block) < 2:
                continue
            for statement in block:
                if isinstance(statement, ast.Assign | ast.AugAssign | ast.Raise) or (
                    isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call | ast.Await)
                ):
                    yield statement


_PYTHON_WORD = r"[A-Za-z_][\w.]*"

PYTHON: tuple[tuple[str, Operator], ...] = (
    (
        "inverted",
        _swap_in_python(
            (r" is not None\b", " is None"),
            (r" is None\b", " is not None"),
            (r"\bnot isinstance\(", "isinstance("),
            (r"\b(if|elif|while) isinstance\(", r"\1 not isinstance("),
            (r"\b(if|elif|while) not ", r"\1 "),
            (r" == ", " != "),
        ),
    ),
    ("guard-lost", _lost_python_guard),
    (
        "wrong-value",
        _swap_in_python((r"( = )\[\]$", r"\1{}"), (r"( = )\{\}$", r"\1[]"), (r"timeout=10\b", "timeout=0")),
    ),
    ("wrong-encoding", _swap_in_python((r'encoding="utf-8"', 'encoding="ascii"'))),
    (
        "swapped",
        _swap_in_python(
            (rf"\bisinstance\(({_PYTHON_WORD}), ({_PYTHON_WORD})\)", r"isinstance(\2, \1)"),
            (rf"\b(\w+)\(({_PYTHON_WORD}), ({_PYTHON_WORD})\)", r"\1(\3, \2)"),
        ),
    ),
    ("narrowed", _swap_in_python((r"except Exception:", "except ImportError:"))),
    ("boundary", _swap_in_python((r" < ", " <= "), (r" > ", " >= "), (r" <= ", " < "), (r" >= ", " > "))),
    ("off-by-one", off_by_one),
    (
        "wrong-default",
        _swap_in_python((r"=True\b", "=False"), (r"=False\b", "=True"), (r"\breturn True\b", "return False")),
    ),
    ("statement-lost", _lost_python_statement),
)


# Operators for JavaScript, TypeScript and Go, on tokens: comments, strings and regular expressions are left alone.

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


PYTHON_SUFFIXES = (".py", ".pyi")

OPERATORS: dict[tuple[str, ...], tuple[tuple[str, Operator], ...]] = {
    PYTHON_SUFFIXES: PYTHON,
    (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx", ".go"): BRACES,
}
"""The operators by name, per file name suffix."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A file with one fault.

    Attributes:
        kind: the operator's name.
        path: the file.
        line: 1-based. All lines before it are as they were; from it on, the faulty text differs from the sound one.
        text: the whole faulty text, with LF.
    """

    kind: str
    path: str
    line: int
    text: str


def mutants(path: str, text: str, where: Sequence[int], *seed: object) -> Iterator[Fault]:
    """Every fault that the language's operators can plant at the line indices `where`, in the seed's order.

    Args:
        path: says which language it is. A language without operators yields nothing.
        text: the sound text, with LF.
        where: 0-based indices of lines, those of a change for example.
        seed: another seed gives another order.
    """
    operators = next((found for suffixes, found in OPERATORS.items() if path.endswith(suffixes)), ())
    lines = lines_of(text)
    for name, operator in shuffled(operators, "slip", *seed):
        for at in shuffled(where, name, *seed):
            faulty = operator(lines, at)
            if faulty is not None and (fault := _fault(name, path, at, text, faulty)) is not None:
                yield fault


def _fault(kind: str, path: str, at: int, sound: str, faulty: list[str]) -> Fault | None:
    """The fault, or None where the text is the same or is Python that no longer parses."""
    text = "\n".join(faulty) + ("\n" if faulty and sound.endswith("\n") else "")
    if text == sound or (path.endswith(PYTHON_SUFFIXES) and not parses(text)):
        return None
    return Fault(kind, path, at + 1, text)


T = TypeVar("T")


def fraction(*parts: object) -> float:
    """A number in [0, 1) that depends on `parts` alone."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(str(part).encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return int.from_bytes(digest.digest(), "big") / 2**64


def pick(options: Sequence[T], *parts: object) -> T:
    """One of `options`, which must not be empty."""
    return options[int(fraction("pick", *parts) * len(options))]


def shuffled(options: Sequence[T], *parts: object) -> list[T]:
    """`options` in an order that depends on `parts` alone."""
    order = sorted(range(len(options)), key=lambda at: fraction("order", at, *parts))
    return [options[at] for at in order]
