"""Plants one known fault into a file and says what it is and where.

Only a failing test makes an item of a fault, so a line is looked at by itself: what lies in a string over several lines fails no
test and is dropped there.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from navigator.model import patterns
from navigator.model.json_text import table

Put = tuple[int, list[str]]
"""How many lines are removed, and the lines that replace them."""

Operator = Callable[[list[str], list[str], int], Put | None]
"""Takes a file's lines, what of each is code, and an index; returns None where it does not apply."""

_TABLE = table(__package__, "faults.toml")
_BLANK = "\0"
_NO_STATEMENT = patterns.compile(r"\s*(?:\x00|import\b|from\b|package\b|type\b|interface\b|export [*{])")
_LEAVES = r"\s*(?:return\b|raise\b|throw\b|continue\b|break\b|panic\()"
_DEFAULT = r"\s*\w+ = (?:\[\]|\{\}|list\(\)|dict\(\)|set\(\))$"
_STATEMENT = patterns.compile(
    r"\s*(?:await |go |defer |raise )?[A-Za-z_$][\w$.\[\]]*(?:\(.*\)|\s*[-+*/]?= .+|\+\+|--);?$"
)


def lines_of(text: str) -> list[str]:
    """Lines without endings; a final newline makes no further line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def parses(text: str) -> bool:
    """Whether Python can read the text."""
    try:
        ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _swap(pairs: Sequence[tuple[str, str]]) -> Operator:
    """Replace the first of the patterns that is found in the line."""

    def operator(lines: list[str], code: list[str], at: int) -> Put | None:
        for pattern, put in pairs:
            match = patterns.search(pattern, code[at])
            if match is not None and (changed := patterns.expand(match, put)) != match[0]:
                return 1, [lines[at][: match.start()] + changed + lines[at][match.end() :]]
        return None

    return operator


def _off_by_one(lines: list[str], code: list[str], at: int) -> Put | None:
    """The first whole number of the line plus one."""
    match = patterns.search(r"(?<![\w.-])(\d{1,4})(?![\w.])", code[at])
    if match is None:
        return None
    return 1, [f"{lines[at][: match.start()]}{int(match[1]) + 1}{lines[at][match.end() :]}"]


def _lost_guard(lines: list[str], code: list[str], at: int) -> Put | None:
    """Drop a condition with the one statement under it, which leaves the function or the loop, or sets a default."""
    if patterns.match(rf"\s*if \(.*\){_LEAVES}[^{{}}]*;\s*$", code[at]):
        return 1, []
    under = code[at + 1 : at + 3]
    if not under or not patterns.match(r"\s*if\b.*[{:]\s*$", code[at]) or ":=" in code[at]:
        return None
    if not patterns.match(f"{_LEAVES}|{_DEFAULT}", under[0]):
        return None
    if code[at].rstrip().endswith(":"):
        return 2, []
    return (3, []) if under[-1].strip() == "}" else None


def _lost_statement(lines: list[str], code: list[str], at: int) -> Put | None:
    """Drop a line that is one whole call or assignment, and not what a condition without braces governs."""
    line = code[at].rstrip(" \t" + _BLANK)
    if not _STATEMENT.match(line) or line.endswith(("=", ",", "+")):
        return None
    if any(line.count(a) != line.count(b) for a, b in ("()", "[]", "{}")):
        return None
    before = next((one.rstrip() for one in reversed(code[:at]) if one.strip(_BLANK + " \t")), "")
    after = next((one.strip() for one in code[at + 1 :] if one.strip(_BLANK + " \t")), "")
    whole = before.endswith(("{", ";", "}", ":")) or not line.endswith(";")
    goes_on = before.endswith((",", "(", "[", "=", "&&", "||", "+", ".", "=>")) or after.startswith(
        (".", "?", ")")
    )
    return (1, []) if whole and not goes_on else None


_LOST: dict[str, Operator] = {
    "off-by-one": _off_by_one,
    "guard-lost": _lost_guard,
    "statement-lost": _lost_statement,
}
OPERATORS = {
    language: {kind: _swap(pairs) for kind, pairs in (_TABLE[language]["swaps"] | _TABLE["swaps"]).items()}
    | _LOST
    for language in ("python", "braces")
}
"""By language and kind of fault."""


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
    language = next((one for one in OPERATORS if path.endswith(tuple(_TABLE[one]["suffixes"]))), "")
    if not language:
        return
    lines, aside = lines_of(text), patterns.compile(_TABLE[language]["not_code"])
    code = [aside.sub(lambda match: _BLANK * len(match[0]), line) for line in lines]
    for kind, operator in shuffled(list(OPERATORS[language].items()), "slip", *seed):
        for at in shuffled(where, kind, *seed):
            if not code[at].strip() or _NO_STATEMENT.match(code[at]):
                continue
            found = operator(lines, code, at)
            if found is None:
                continue
            gone, put = found
            faulty = "\n".join([*lines[:at], *put, *lines[at + gone :]]) + "\n" * text.endswith("\n")
            if faulty != text and (language != "python" or parses(faulty)):
                yield Fault(kind, path, at + 1, faulty)


T = TypeVar("T")


def fraction(*parts: object) -> float:
    """A number in [0, 1) that depends on `parts` alone."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(str(part).encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return int.from_bytes(digest.digest(), "big") / 2**64


def shuffled(options: Sequence[T], *parts: object) -> list[T]:
    """`options` in an order that depends on `parts` alone."""
    order = sorted(range(len(options)), key=lambda at: fraction("order", at, *parts))
    return [options[at] for at in order]
