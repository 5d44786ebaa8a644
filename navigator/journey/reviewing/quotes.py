"""Finding the line that a quote is of, in text that was shown with line numbers and signs.

A ladder, from the letter to the drift that models are known for; the first rung with a match decides, so that a looser
reading never outranks a stricter one. No rung compares by similarity: a quote that was not written down is not found.

1. whole lines, character for character (a change of white space alone leaves two lines that only this tells apart)
2. whole lines, white space folded (a quote may span several lines, and skip blank ones)
3. the same with Unicode punctuation, invisible characters and full-width letters folded
4. a part of the text of at least `SHORTEST_PART` characters, then the same with Unicode folded
5. pieces round an elision (`...`), in order, within `ELIDED_LINES` lines, the longest long enough to mean a line

Each rung is tried with the quote as it is, then without what models put around one, in any combination: a code fence and
hunk headers, backticks, emphasis or quotation marks, `path.py:3:`, the line numbers and signs of a diff, `>`, a second
escaping, HTML's entities.
"""

from __future__ import annotations

import html
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from navigator.model import patterns

SHORTEST_PART = 8
"""Characters of a quote that is only a part of a line: `)` is everywhere."""

SHORTEST_PIECE = 4
"""Characters of the piece that an elided quote begins with."""

ELIDED_LINES = 10
"""Lines that the pieces of an elided quote may lie apart at most, first to last."""

LONGEST_QUOTE = 4_000
"""Characters of a quote that are looked for; a longer one is looked for by its beginning."""

_MOST_PLACES = 1_000
"""Places of one quote in one text that are told."""

_MOST_FORMS = 32
"""Readings of one quote that are tried."""

_MOST_PIECES = 40
"""Pieces of an elided quote."""

_SPACES = patterns.compile(r"\s+")
_COLUMN = patterns.compile(
    r"\s{0,8}(?:(?:line|l)\s?)?(?:\d{1,9}\s?[|:]|\|)(?P<sign>[ +-]?)", patterns.IGNORECASE
)
_NUMBER = patterns.compile(
    r"\s{0,8}(?P<sign>[+-]?)\s?(?:[(\[]?(?:line|l)\s?)?\d{1,9}(?:[)\].|:]{1,2}\s?|\t|\s{1,6})(?P<after>[+-]?)",
    patterns.IGNORECASE,
)
_SIGN = patterns.compile(r"(?P<sign>[+-])")
_CITED = patterns.compile(r"\s{0,8}>(?P<sign>) ?")
_FENCE = patterns.compile(r"\s{0,8}(?:`{3,}|~{3,})[\w+#.-]*\s*|@@ .{0,80} @@.*")
_ELISION = patterns.compile(r"\.{3,}|…")
_PLACE = patterns.compile(r"\s{0,8}[\w./@+-]+:\d{1,9}(?::\d{1,9})?:(?P<sign>) ?")
_PAIRS = (
    ("<code>", "</code>"),
    ("<pre>", "</pre>"),
    ("**", "**"),
    ("*", "*"),
    ("```", "```"),
    ("``", "``"),
    ("`", "`"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("«", "»"),
)
_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′ʼ", "'"),
        **dict.fromkeys("“”„‟″", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "…": "...",
    }
)


@dataclass(frozen=True, slots=True)
class QuotePlace:
    """Where a quote was found: the index of its first and last line in the sequence, the rung, the sign it was quoted with."""

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


def find_quote(quote: str, sequences: Sequence[Sequence[str]]) -> list[list[QuotePlace]]:
    """Every place on the first rung that has one, for each sequence of lines; all empty where none has.

    Args:
        quote: as the model wrote it.
        sequences: texts to look in, each line after line, e.g. the two sides of a hunk.
    """
    forms = _forms(quote)
    streams: dict[Fold, list[_Stream]] = {}
    for rung, (look, folding) in enumerate(_RUNGS):
        if folding not in streams:
            streams[folding] = [_Stream(lines, folding) for lines in sequences]
        for text, sign in forms:
            found = [
                [QuotePlace(first, last, rung, sign) for first, last in look(stream, folding(text))]
                for stream in streams[folding]
            ]
            if any(found):
                return found
    return [[] for _ in sequences]


class _Stream:
    """Lines joined by single blanks, blank lines left out, with the way back from a character to its line."""

    def __init__(self, lines: Sequence[str], folding: Fold) -> None:
        self.starts: list[int] = []
        self.lines: list[int] = []
        parts: list[str] = []
        ends: list[int] = []
        at = 0
        for index, line in enumerate(lines):
            text = folding(line)
            if not text:
                continue
            self.starts.append(at)
            ends.append(at + len(text))
            self.lines.append(index)
            parts.append(text)
            at += len(text) + 1
        self.text = " ".join(parts)
        self._ends = set(ends)

    def occurrences(self, wanted: str) -> Iterator[int]:
        """Where `wanted` begins, overlapping ones too, as far as `_MOST_PLACES`."""
        at = self.text.find(wanted)
        for _ in range(_MOST_PLACES):
            if at < 0:
                return
            yield at
            at = self.text.find(wanted, at + 1)

    def whole(self, wanted: str) -> Iterator[int]:
        """Where `wanted` begins with a line and ends with one, as far as `_MOST_PLACES`."""
        places = (
            start
            for start in self.starts
            if start + len(wanted) in self._ends and self.text.startswith(wanted, start)
        )
        return islice(places, _MOST_PLACES)

    def line_at(self, character: int) -> int:
        """The index of the line that a character belongs to."""
        return self.lines[bisect_right(self.starts, character) - 1]


def _whole_lines(stream: _Stream, wanted: str) -> list[tuple[int, int]]:
    if not wanted:
        return []
    return [(stream.line_at(at), stream.line_at(at + len(wanted) - 1)) for at in stream.whole(wanted)]


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
    if len(pieces) > _MOST_PIECES:
        return []
    found: list[tuple[int, int]] = []
    # Starts only grow, so the first place of each later piece does too: the text is searched once for each.
    places = [0] * len(pieces)
    for start in stream.occurrences(pieces[0]):
        end = start + len(pieces[0])
        for number, piece in enumerate(pieces[1:], 1):
            if places[number] < end:
                places[number] = stream.text.find(piece, end)
            if places[number] < 0:
                return found
            end = places[number] + len(piece)
        first, last = stream.line_at(start), stream.line_at(end - 1)
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


def _forms(quote: str) -> list[_Form]:
    """The readings of a quote, the plainest first, each once."""
    if len(quote) > LONGEST_QUOTE:
        quote = "\n".join(fold(line) for line in quote.strip().splitlines())
    if len(quote) > LONGEST_QUOTE:
        cut = quote[:LONGEST_QUOTE]
        quote = cut.rpartition("\n")[0] or cut
    forms = [(quote, "")]
    seen = {quote}
    for text, sign in forms:
        for bare, said in _less(text):
            if bare.strip() and bare not in seen and len(forms) < _MOST_FORMS:
                seen.add(bare)
                forms.append((bare, sign or said))
    return [form for form in forms if form[0].strip()]


def _less(text: str) -> Iterator[_Form]:
    """A quote without one of the things that are put around one."""
    yield text.replace('\\"', '"').replace("\\n", "\n").replace("\\t", "\t"), ""
    yield html.unescape(text), ""
    lines = text.splitlines()
    for pattern in (_COLUMN, _SIGN, _NUMBER, _CITED, _PLACE):
        matches = [pattern.match(line) for line in lines]
        if not any(matches):
            continue
        bare = [line[match.end() :] if match else line for line, match in zip(lines, matches, strict=True)]
        signs = {
            (match["sign"] or match.groupdict().get("after") or "").strip() for match in matches if match
        }
        yield "\n".join(bare), signs.pop() if len(signs) == 1 else ""
    yield "\n".join(line for line in lines if not _FENCE.fullmatch(line)), ""
    yield _unwrapped(text), ""
    yield "\n".join(_unwrapped(line) or line for line in lines), ""
    language, blank, rest = text.strip().partition(" ")
    if blank and language.startswith("```"):
        yield rest.removesuffix("```"), ""


def _unwrapped(text: str) -> str:
    """The inside of a pair of quotation marks or backticks; "" where there is none."""
    bare = text.strip()
    for opening, closing in _PAIRS:
        if len(bare) > 2 * len(opening) and bare.startswith(opening) and bare.endswith(closing):
            return bare[len(opening) : -len(closing)]
    return ""


def sentences(text: str) -> list[str]:
    """The lines of a text, and the sentences in them, each once: what `missing` may quote of a task however short."""
    found: dict[str, None] = {fold(text): None}
    for line in text.splitlines():
        found[fold(line)] = None
        ends = [0, *(match.end() for match in patterns.finditer(r"[.!?;:]\s+", line)), len(line)]
        for first, last in pairwise(ends):
            found[fold(line[first:last])] = None
    return [part for part in found if part]
