"""Finding the line that a quote is of, in text that was shown with line numbers and signs.

A ladder, from the letter to the drift that models are known for; the first rung with a match decides, so that a looser
reading never outranks a stricter one. No rung compares by similarity: a quote that was not written down is not found.

1. whole lines, character for character (a change of white space alone leaves two lines that only this tells apart)
2. whole lines, white space folded (a quote may span several lines, and skip blank ones)
3. the same with Unicode punctuation, invisible characters and full-width letters folded
4. a part of the text of at least `SHORTEST_PART` characters, then the same with Unicode folded
5. pieces round an elision (`...`), in order, within `ELIDED_LINES` lines, the longest long enough to mean a line

Each rung is tried with the quote as it is, then without what the prompt put in front (`    42|+`), then without a sign, a
pair of quotation marks or a second escaping.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

SHORTEST_PART = 8
"""Characters of a quote that is only a part of a line: `)` stands everywhere."""

SHORTEST_PIECE = 4
"""Characters of the piece that an elided quote begins with."""

ELIDED_LINES = 10
"""Lines that the pieces of an elided quote may lie apart at most, first to last."""

_SPACES = re.compile(r"\s+")
_COLUMN = re.compile(r"^\s{0,8}(?:(?:line|l)\s*)?(?:\d+\s*[|:]|\|)(?P<sign>[ +-]?)", re.I)
_SIGN = re.compile(r"^(?P<sign>[+-])")
_ELISION = re.compile(r"\.{3,}|…")
_PAIRS = (("`", "`"), ('"', '"'), ("'", "'"), ("“", "”"), ("«", "»"))
_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′ʼ", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "…": "...",
    }
)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a quote stands: the index of its first and last line in the sequence, the rung, the sign it was quoted with."""

    first: int
    last: int
    rung: int
    sign: str = ""


def fold(text: str) -> str:
    """Text without differences of white space; case stays."""
    return _SPACES.sub(" ", text).strip()


def fold_unicode(text: str) -> str:
    """Like `fold`, and without differences of typography, width and invisible characters."""
    if text.isascii():
        return fold(text)
    plain = unicodedata.normalize("NFKC", text.translate(_PUNCTUATION)).translate(_PUNCTUATION)
    return fold("".join(letter for letter in plain if unicodedata.category(letter) != "Cf"))


def fold_nothing(text: str) -> str:
    """Text as it is, on one line."""
    return text.replace("\n", " ")


Fold = Callable[[str], str]
_Form = tuple[str, str]
"""A reading of a quote, and the sign that stood before it."""


def find_quote(quote: str, sequences: Sequence[Sequence[str]]) -> list[list[Found]]:
    """Every place on the first rung that has one, for each sequence of lines; all empty where none has.

    Args:
        quote: as the model wrote it.
        sequences: texts to look in, each line after line, e.g. the two sides of a hunk.
    """
    forms = list(_forms(quote))
    streams: dict[Fold, list[_Stream]] = {}
    for rung, (look, folding) in enumerate(_RUNGS):
        if folding not in streams:
            streams[folding] = [_Stream(lines, folding) for lines in sequences]
        for text, sign in forms:
            found = [
                [Found(first, last, rung, sign) for first, last in look(stream, folding(text))]
                for stream in streams[folding]
            ]
            if any(found):
                return found
    return [[] for _ in sequences]


class _Stream:
    """Lines joined by single blanks, blank lines left out, with the way back from a character to its line."""

    def __init__(self, lines: Sequence[str], folding: Fold) -> None:
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.lines: list[int] = []
        parts: list[str] = []
        at = 0
        for index, line in enumerate(lines):
            text = folding(line)
            if not text:
                continue
            self.starts.append(at)
            self.ends.append(at + len(text))
            self.lines.append(index)
            parts.append(text)
            at += len(text) + 1
        self.text = " ".join(parts)
        self._first = {start: place for place, start in enumerate(self.starts)}
        self._last = {end: place for place, end in enumerate(self.ends)}

    def occurrences(self, wanted: str, start: int = 0) -> Iterator[int]:
        """Where `wanted` begins, overlapping ones too."""
        at = self.text.find(wanted, start)
        while at >= 0:
            yield at
            at = self.text.find(wanted, at + 1)

    def whole(self, start: int, end: int) -> bool:
        """Whether characters start to end are whole lines."""
        return start in self._first and end in self._last

    def line_at(self, character: int) -> int:
        """The index of the line that a character belongs to."""
        return self.lines[bisect_right(self.starts, character) - 1]


def _whole_lines(stream: _Stream, wanted: str) -> list[tuple[int, int]]:
    if not wanted:
        return []
    return [
        (stream.line_at(at), stream.line_at(at + len(wanted) - 1))
        for at in stream.occurrences(wanted)
        if stream.whole(at, at + len(wanted))
    ]


def _part(stream: _Stream, wanted: str) -> list[tuple[int, int]]:
    if len(wanted) < SHORTEST_PART:
        return []
    return [(stream.line_at(at), stream.line_at(at + len(wanted) - 1)) for at in stream.occurrences(wanted)]


def _elided(stream: _Stream, wanted: str) -> list[tuple[int, int]]:
    pieces = [piece for piece in (fold(part) for part in _ELISION.split(wanted)) if piece]
    if not _ELISION.search(wanted) or not pieces or max(map(len, pieces)) < SHORTEST_PART:
        return []
    if len(pieces[0]) < SHORTEST_PIECE:
        return []
    found: list[tuple[int, int]] = []
    for start in stream.occurrences(pieces[0]):
        ends = [start, start + len(pieces[0])]
        for piece in pieces[1:]:
            at = stream.text.find(piece, ends[-1])
            if at < 0:
                break
            ends.append(at + len(piece))
        else:
            first, last = stream.line_at(start), stream.line_at(ends[-1] - 1)
            if last - first < ELIDED_LINES:
                found.append((first, last))
    return found


_RUNGS: tuple[tuple[Callable[[_Stream, str], list[tuple[int, int]]], Fold], ...] = (
    (_whole_lines, fold_nothing),
    (_whole_lines, fold),
    (_whole_lines, fold_unicode),
    (_part, fold),
    (_part, fold_unicode),
    (_elided, fold),
    (_elided, fold_unicode),
)


def _forms(quote: str) -> Iterator[_Form]:
    """The readings of a quote, the plainest first, each once."""
    seen: set[str] = set()
    for text in (quote, _unescaped(quote)):
        for form in _forms_of(text):
            if form[0].strip() and form[0] not in seen:
                seen.add(form[0])
                yield form
                bare = _unwrapped(form[0])
                if bare and bare not in seen:
                    seen.add(bare)
                    yield bare, form[1]


def _forms_of(text: str) -> Iterator[_Form]:
    yield text, ""
    for pattern in (_COLUMN, _SIGN):
        lines = text.splitlines()
        matches = [pattern.match(line) for line in lines]
        if any(matches):
            bare = [
                line[match.end() :] if match else line for line, match in zip(lines, matches, strict=True)
            ]
            signs = {match["sign"].strip() for match in matches if match}
            yield "\n".join(bare), signs.pop() if len(signs) == 1 else ""


def _unescaped(quote: str) -> str:
    """A quote whose JSON was escaped twice: `\\"` and `\\n` as two characters."""
    return quote.replace('\\"', '"').replace("\\n", "\n").replace("\\t", "\t")


def _unwrapped(text: str) -> str:
    """The inside of a pair of quotation marks or backticks; "" where there is none."""
    bare = text.strip()
    for opening, closing in _PAIRS:
        if len(bare) > 2 and bare.startswith(opening) and bare.endswith(closing):
            return bare[1:-1]
    return ""


def sentences(text: str) -> list[str]:
    """The lines of a text, and the sentences in them, each once: what `missing` may quote of a task however short."""
    found: dict[str, None] = {fold(text): None}
    for line in text.splitlines():
        found[fold(line)] = None
        ends = [0, *(match.end() for match in re.finditer(r"[.!?;:]\s+", line)), len(line)]
        for first, last in pairwise(ends):
            found[fold(line[first:last])] = None
    return [part for part in found if part]
