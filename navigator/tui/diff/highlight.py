"""Syntax of the lines on screen, as spans that name a group ("keyword", "string" …); the palette gives them colours.

Made after the paint, a chunk of a hunk at a time. The language comes from the file name alone: guessing it from the
content loads every lexer there is.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import NamedTuple

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.token import Token, _TokenType
from pygments.util import ClassNotFound

from navigator.model.diff import DiffLine, FileDiff
from navigator.tui.diff.cells import display

log = logging.getLogger(__name__)

CHUNK = 60
"""Diff lines lexed at a time: some twenty milliseconds."""

LEAD = 60
"""Diff lines lexed before a chunk, so that a string or comment opened above is still one."""

MAX_CHARACTERS = 500
"""Characters of a line that are lexed; a lexer's regular expressions may be slow on what follows."""

Spans = tuple[tuple[int, int, str], ...]
"""Start and end in the displayed line, and the group; in order, not overlapping."""

_GROUPS: dict[_TokenType, str] = {
    Token.Comment: "comment",
    Token.Comment.Preproc: "keyword",
    Token.Keyword: "keyword",
    Token.Keyword.Constant: "constant",
    Token.Keyword.Type: "type",
    Token.Operator.Word: "keyword",
    Token.Literal.String: "string",
    Token.Literal.String.Doc: "comment",
    Token.Literal.String.Escape: "constant",
    Token.Literal.String.Interpol: "constant",
    Token.Literal.Number: "number",
    Token.Name.Attribute: "attribute",
    Token.Name.Builtin: "builtin",
    Token.Name.Class: "type",
    Token.Name.Constant: "constant",
    Token.Name.Decorator: "decorator",
    Token.Name.Exception: "type",
    Token.Name.Function: "function",
    Token.Name.Tag: "keyword",
    Token.Generic.Heading: "heading",
    Token.Generic.Subheading: "heading",
    Token.Generic.Strong: "heading",
}

GROUPS = tuple(dict.fromkeys(_GROUPS.values()))
"""Every group a palette must know."""


@lru_cache(maxsize=512)
def group_of(token: _TokenType) -> str:
    """The group of a pygments token: its own or its nearest ancestor's; empty where there is none."""
    current: _TokenType | None = token
    while current is not None:
        if (group := _GROUPS.get(current)) is not None:
            return group
        current = current.parent
    return ""


def lexer_for(path: str) -> Lexer | None:
    """A lexer by file name; None where the name says nothing."""
    try:
        lexer = get_lexer_for_filename(PurePosixPath(path).name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return None if "text" in lexer.aliases else lexer


def highlight_chunk(path: str, lines: Sequence[DiffLine], chunk: int) -> dict[int, Spans]:
    """Spans of lines `chunk * CHUNK` up to the next chunk of one hunk, by line index.

    The new side is lexed with its context; removed lines are lexed with the old side around them.
    """
    lexer = lexer_for(path)
    if lexer is None:
        return {}
    first = chunk * CHUNK
    last = min(first + CHUNK, len(lines))
    reach = range(max(0, first - LEAD), last)
    found = _lex(lexer, lines, [index for index in reach if lines[index].kind != "-"])
    if any(line.kind == "-" for line in lines[first:last]):
        old = _lex(lexer, lines, [index for index in reach if lines[index].kind != "+"])
        found.update((index, spans) for index, spans in old.items() if lines[index].kind == "-")
    return {index: spans for index, spans in found.items() if index >= first}


def _lex(lexer: Lexer, lines: Sequence[DiffLine], indices: Iterable[int]) -> dict[int, Spans]:
    wanted = list(indices)
    text = "\n".join(display(lines[index].text, MAX_CHARACTERS)[:MAX_CHARACTERS] for index in wanted)
    found: dict[int, Spans] = {}
    spans: list[tuple[int, int, str]] = []
    place = column = 0
    for token, value in lexer.get_tokens(text):
        group = group_of(token)
        for part_index, part in enumerate(value.split("\n")):
            if part_index:
                if place < len(wanted):
                    found[wanted[place]] = tuple(spans)
                spans = []
                place += 1
                column = 0
            if part and group:
                spans.append((column, column + len(part), group))
            column += len(part)
    if place < len(wanted):
        found[wanted[place]] = tuple(spans)
    return found


# Which chunks of a diff have their syntax, and which are wanted.


class ChunkKey(NamedTuple):
    """A chunk of `CHUNK` lines of one hunk."""

    file: int
    hunk: int
    chunk: int


class SyntaxStore:
    """Spans by chunk: what is drawn is wanted, and lexed after the paint."""

    def __init__(self) -> None:
        self._known: dict[ChunkKey, Mapping[int, Spans]] = {}
        self._wanted: dict[ChunkKey, None] = {}

    def clear(self) -> None:
        """Forget everything: there is another diff."""
        self._known.clear()
        self._wanted.clear()

    def spans(self, file: int, hunk: int, line: int) -> Spans | None:
        """The spans of a line; None, and the chunk is wanted, when they are not known yet."""
        key = ChunkKey(file, hunk, line // CHUNK)
        if key in self._known:
            return self._known[key].get(line, ())
        self._wanted[key] = None
        return None

    def lex_wanted(self, files: Sequence[FileDiff]) -> None:
        """Lex what was drawn since the last call. A lexer that fails costs the colours of its lines, not the screen."""
        for key in self._wanted:
            file = files[key.file]
            try:
                self._known[key] = highlight_chunk(file.path, file.hunks[key.hunk].lines, key.chunk)
            except Exception as error:  # noqa: BLE001 (a lexer may raise anything)
                log.warning("no syntax colours for some lines of %s: %r", file.path, error)
                self._known[key] = {}
        self._wanted.clear()
