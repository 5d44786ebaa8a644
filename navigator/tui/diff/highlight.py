"""Syntax of the lines on screen, as spans that name a group ("keyword", "string" …); the palette gives them colours.

Runs in a worker thread, a chunk of a hunk at a time. The language comes from the file name alone: guessing it from the
content loads every lexer there is.
"""

from __future__ import annotations

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

CHUNK = 200
"""Diff lines per job."""

LEAD = 100
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


# Which chunks of a diff have their syntax, and which are waiting for the worker thread.

JOBS_AT_ONCE = 4
"""Chunks lexed in one go: enough for a tall screen, few enough that what is on screen now comes soon."""


class ChunkKey(NamedTuple):
    """A chunk of `CHUNK` lines of one hunk."""

    file: int
    hunk: int
    chunk: int


class HighlightJob(NamedTuple):
    """What the worker needs, all of it immutable."""

    key: ChunkKey
    path: str
    lines: Sequence[DiffLine]


Result = Mapping[ChunkKey, Mapping[int, Spans]]


def lex(jobs: Sequence[HighlightJob]) -> Result:
    """Run in a worker thread: the spans of every job, by chunk and line."""
    return {job.key: highlight_chunk(job.path, job.lines, job.key.chunk) for job in jobs}


class SyntaxStore:
    """Spans by chunk. `generation` changes with the diff, so that late answers to old questions are dropped."""

    def __init__(self) -> None:
        self.generation = 0
        self._known: dict[ChunkKey, Mapping[int, Spans]] = {}
        self._wanted: dict[ChunkKey, None] = {}
        self._taken: list[ChunkKey] = []

    def clear(self) -> None:
        """Forget everything: there is another diff."""
        self.generation += 1
        self._known.clear()
        self._wanted.clear()
        self._taken = []

    def spans(self, file: int, hunk: int, line: int) -> Spans | None:
        """The spans of a line; None, and the chunk is wanted, when they are not known yet."""
        key = ChunkKey(file, hunk, line // CHUNK)
        known = self._known.get(key)
        if known is None:
            # Most recent last: what was asked for last is on screen.
            self._wanted.pop(key, None)
            self._wanted[key] = None
            return None
        return known.get(line, ())

    def take_jobs(self, files: Sequence[FileDiff]) -> list[HighlightJob]:
        """The chunks to lex next, newest first. The rest is dropped: it is asked for again if it is still on screen."""
        keys = list(reversed(self._wanted))[:JOBS_AT_ONCE]
        self._wanted.clear()
        self._taken = keys
        return [
            HighlightJob(key, files[key.file].path, files[key.file].hunks[key.hunk].lines) for key in keys
        ]

    def add(self, generation: int, result: Result) -> bool:
        """Keep a result; False when it is about an earlier diff."""
        if generation != self.generation:
            return False
        self._known.update(result)
        return True

    def give_up(self) -> None:
        """The chunks taken last cannot be lexed: they stay without colours."""
        self._known.update((key, {}) for key in self._taken)
