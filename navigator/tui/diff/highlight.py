"""Syntax of the lines on screen, as spans that name a group ("keyword", "string" …), and the words that changed in them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import PurePosixPath

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_for_filename
from pygments.token import _TokenType, string_to_tokentype
from pygments.util import ClassNotFound

from navigator.model import patterns
from navigator.model.diff import DiffLine, FileDiff
from navigator.model.json_text import table
from navigator.tui.widgets.cells import display

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
    string_to_tokentype(name): group
    for name, group in table("navigator.tui", "themes.toml")["tokens"].items()
}
"""Groups by Pygments's tokens; a palette knows every group."""


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


# Cache of highlighted chunks.


ChunkKey = tuple[int, int, int]
"""A chunk of `CHUNK` lines: the file, the hunk, and which one of it."""


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
        key = (file, hunk, line // CHUNK)
        if key in self._known:
            return self._known[key].get(line, ())
        self._wanted[key] = None
        return None

    def lex_wanted(self, files: Sequence[FileDiff]) -> None:
        """Lex what was drawn since the last call. A lexer that fails costs the colours of its lines, not the screen."""
        for key in self._wanted:
            file = files[key[0]]
            try:
                self._known[key] = highlight_chunk(file.path, file.hunks[key[1]].lines, key[2])
            except Exception as error:  # noqa: BLE001 (a lexer may raise anything)
                log.warning("no syntax colours for some lines of %s: %r", file.path, error)
                self._known[key] = {}
        self._wanted.clear()


# What changed within a line: words of a removed line against words of the added line that replaces it.


MAX_COMPARED = 600
"""Lines longer than this are not compared word by word."""

MAX_PRODUCT = 10_000
"""Words of one line times words of the other from which on they are not compared."""

MIN_LIKENESS = 0.45
"""Share of characters that both lines must have in common; below, the whole line is new and emphasis would be noise."""

_WORD = patterns.compile(r"\w+|\s+|.")

Range = tuple[int, int]


@lru_cache(maxsize=2048)
def changed_words(old: str, new: str) -> tuple[tuple[Range, ...], tuple[Range, ...]] | None:
    """Character ranges that differ, in `old` and in `new`; None when the lines are not versions of each other."""
    if len(old) > MAX_COMPARED or len(new) > MAX_COMPARED:
        return None
    old_words = _WORD.findall(old)
    new_words = _WORD.findall(new)
    if len(old_words) * len(new_words) > MAX_PRODUCT:
        return None
    old_ranges: list[Range] = []
    new_ranges: list[Range] = []
    same = old_at = new_at = 0
    words = SequenceMatcher(None, old_words, new_words, autojunk=False)
    for tag, old_first, old_last, new_first, new_last in words.get_opcodes():
        old_end = old_at + sum(map(len, old_words[old_first:old_last]))
        new_end = new_at + sum(map(len, new_words[new_first:new_last]))
        if tag == "equal":
            same += sum(map(_weight, old_words[old_first:old_last]))
        else:
            _add(old_ranges, old_at, old_end, old)
            _add(new_ranges, new_at, new_end, new)
        old_at, new_at = old_end, new_end
    longest = max(sum(map(_weight, old_words)), sum(map(_weight, new_words)))
    if not longest or same / longest < MIN_LIKENESS:
        return None
    return tuple(old_ranges), tuple(new_ranges)


def _weight(word: str) -> int:
    """What a word counts for when lines are compared: its characters, blanks nothing."""
    return 0 if word.isspace() else len(word)


def _add(ranges: list[Range], start: int, stop: int, text: str) -> None:
    """Append a range; ranges with only blanks between them become one."""
    if start == stop:
        return
    if ranges and text[ranges[-1][1] : start].isspace():
        ranges[-1] = (ranges[-1][0], stop)
        return
    ranges.append((start, stop))
