"""Where a grammar does not follow a file. Runs in the worker's process, as `extract` does.

Grammars are imperfect: macros of C and newer syntax are faults to them. A list says something only beside the list of the
same file before a change.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from navigator.context.repomap.extract import PARSE_LIMIT, parser_of
from navigator.model import patterns

if TYPE_CHECKING:
    from tree_sitter import Node


MOST = 200
"""Faults of one file that are told; a file with more is none that its grammar reads."""

_SHOWN = 40
_SECOND_READER = {"javascript": "tsx"}
"""Its grammar does not take `class` for an attribute in JSX, as Preact and Solid have it. TSX knows nearly all of JavaScript."""


def faults(language: str, data: bytes) -> dict[str, Any]:
    """The outermost places that do not parse.

    Returns:
        As JSON: `faults` [[line, column, what, text of the line]…] in the order of the file, both numbers from 1, the
        column in characters; `bracket` [line, column, what] or None: the first bracket without its other half;
        `judged`, False where the file is too large.
    """
    if len(data) > PARSE_LIMIT:
        return {"faults": [], "bracket": None, "judged": False}
    lines = data.split(b"\n")
    found = _find_faults(language, data, lines)
    if found and language in _SECOND_READER:
        found = min(found, _find_faults(_SECOND_READER[language], data, lines), key=len)
    return {"faults": found, "bracket": first_odd(language, data), "judged": True}


def _find_faults(language: str, data: bytes, lines: list[bytes]) -> list[list[Any]]:
    root = parser_of(language).parse(data).root_node
    if not root.has_error:
        return []
    return [
        [*_position(node, lines), _fault_words(node, data), _line_text(lines, node.start_point[0])]
        for node in islice(_broken(root), MOST)
    ]


def _broken(node: Node) -> Iterator[Node]:
    """ERROR and MISSING nodes, none inside another; a tree that is one ERROR gives those inside it, if any."""
    for child in node.children:
        if child.is_missing or child.is_error:
            yield child
        elif child.has_error:
            yield from _broken(child)
    if node.parent is None and node.is_error:
        yield node


def _fault_words(node: Node, data: bytes) -> str:
    if node.is_missing:
        return f"{_kind_words(node.type)} is missing"
    text = data[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()
    first = text.split("\n", 1)[0].rstrip()
    return f"no syntax at {first[:_SHOWN]!r}" if first else "no syntax"


def _kind_words(kind: str) -> str:
    return kind.replace("_", " ") if kind[:1].isalpha() and len(kind) > 2 else repr(kind)


def _position(node: Node, lines: list[bytes]) -> tuple[int, int]:
    row, column = node.start_point
    before = lines[row][:column] if row < len(lines) else b""
    return row + 1, len(before.decode("utf-8", "replace")) + 1


def _line_text(lines: list[bytes], row: int) -> str:
    return lines[row].decode("utf-8", "replace").strip()[:200] if row < len(lines) else ""


# Brackets without their other half, found by reading a file as tokens: a second witness beside a grammar's word.
#
# A grammar that lost its way says so at some place; whether a bracket is missing is known better by counting. The tokens are read
# roughly (JavaScript's templates and regular expressions are guessed): a count says something only where it came out even before.

_LINE, _BLOCK = r"//[^\n]*", r"/\*(?s:.*?)(?:\*/|\Z)"
# What is never closed ends with its line, or with the text: else each such beginning is read to the end again.
_DOUBLE, _SINGLE = r'"(?:\\.|[^"\\\n])*\\?(?:"|$)', r"'(?:\\.|[^'\\\n])*\\?(?:'|$)"
_TRIPLE = r'"""(?s:.*?)(?:"""|\Z)'
_CHARACTER = r"'(?:\\[^'\n]{1,10}|\\'|[^'\\\n])'"
_LONG_DOUBLE, _LONG_SINGLE = (rf"{q}(?s:\\.|[^{q}\\])*\\?(?:{q}|\Z)" for q in "\"'")
_NUMBER = r"\b[0-9][\w']*"
_CLASS = r"\[(?:\\.|[^\]\\\n]){0,60}\]"
_REGEX = (
    r"(?:(?P<before>[(,=:\[!&|?{};]) ?|return )"
    rf"/(?:\\.|{_CLASS}|[^/*\\\n\[])(?:\\.|[^/\\\n\[]|{_CLASS}){{0,15}}(?:\\.|[^/\\\n\[]){{0,300}}/"
)
_PREPROCESSOR = r"^[ \t]*#[ \t]*(?:if|elif|else|endif)\w*"

_SKIPPED = {
    "javascript": (_REGEX, _LINE, _BLOCK, _DOUBLE, _SINGLE, r"`(?s:\\.|[^`\\])*\\?(?:`|\Z)"),
    "go": (_LINE, _BLOCK, _DOUBLE, _CHARACTER, r"`[^`]*(?:`|\Z)"),
    "rust": (_LINE, _BLOCK, _LONG_DOUBLE, _CHARACTER),
    "c": (_LINE, _BLOCK, _DOUBLE, _NUMBER, _CHARACTER),
    "java": (_LINE, _BLOCK, _TRIPLE, _DOUBLE, _CHARACTER),
    "c_sharp": (_LINE, _BLOCK, _TRIPLE, r'(?:@\$?|\$@)"(?:""|[^"])*(?:"|\Z)', _DOUBLE, _CHARACTER),
    "php": (_LINE, r"#(?:[^\[\n][^\n]*|$)", _BLOCK, _LONG_DOUBLE, _LONG_SINGLE),
}
_SKIPPED |= {"typescript": _SKIPPED["javascript"], "tsx": _SKIPPED["javascript"]}
_SKIPPED |= {"cpp": _SKIPPED["c"], "kotlin": _SKIPPED["java"]}
_BRANCHING = frozenset({"c", "cpp", "c_sharp"})
_WITH_REGEX = frozenset({"javascript", "typescript", "tsx"})
_BRACKETS = frozenset("()[]{}")

_TOKENS = {
    name: patterns.compile(
        "|".join((*skipped, rf"(?P<branch>{_PREPROCESSOR})", r"(?P<bracket>[()\[\]{}])")), patterns.MULTILINE
    )
    for name, skipped in _SKIPPED.items()
}
_RAW = {
    "rust": (patterns.compile(r'\bb?r(#{0,16})"'), '"{}'),
    **dict.fromkeys(("c", "cpp"), (patterns.compile(r'R"([^()\\\s]{0,16})\('), '){}"')),
}
"""How a raw string begins, and what ends it: the same word as in its beginning."""

_CLOSES = {")": "(", "]": "[", "}": "{"}


def first_odd(language: str, data: bytes) -> list[Any] | None:
    """The first bracket that closes nothing, or the innermost that is never closed.

    Of the branches of `#if` only the first is read: they often open the same bracket twice.

    Returns:
        [line, column, what], both numbers from 1, or None: all have their other half, or the language is not read here.
    """
    if language not in _TOKENS:
        return None
    text = _without_raw(language, data.decode("utf-8", "replace"))
    opened: list[tuple[str, int]] = []
    left_out: list[bool] = []  # for each open `#if`: whether the branch that is read now is left out
    for token in _TOKENS[language].finditer(text):
        if branch := token["branch"]:
            if language in _BRANCHING:
                _enter(branch.strip(" \t#"), left_out)
            continue
        bracket = token["bracket"] or (token["before"] if language in _WITH_REGEX else None)
        if bracket not in _BRACKETS or any(left_out):
            continue
        if bracket not in _CLOSES:
            opened.append((bracket, token.start()))
        elif not opened:
            return [*_bracket_place(text, token.start()), f"'{bracket}' closes nothing"]
        elif opened[-1][0] != _CLOSES[bracket]:
            other, at = opened[-1]
            line = _bracket_place(text, at)[0]
            return [
                *_bracket_place(text, token.start()),
                f"'{bracket}' is where '{other}' of line {line} is still open",
            ]
        else:
            opened.pop()
    return [*_bracket_place(text, opened[-1][1]), f"'{opened[-1][0]}' is never closed"] if opened else None


def _without_raw(language: str, text: str) -> str:
    """The text with blanks instead of raw strings; the last of these may be left open."""
    if language not in _RAW:
        return text
    begins, ends = _RAW[language]
    parts, at = [], 0
    for match in begins.finditer(text):
        if match.start() < at:
            continue
        closer = ends.format(match[1])
        close = text.find(closer, match.end())
        end = len(text) if close < 0 else close + len(closer)
        parts += [text[at : match.start()], patterns.sub(r"[^\n]", " ", text[match.start() : end])]
        at = end
    return "".join([*parts, text[at:]])


def _enter(word: str, left_out: list[bool]) -> None:
    if word.startswith("if"):
        left_out.append(False)
    elif left_out and word.startswith("endif"):
        left_out.pop()
    elif left_out:
        left_out[-1] = True


def _bracket_place(text: str, at: int) -> tuple[int, int]:
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
