"""Where SEARCH lines are in a file. Four rungs, strictest first; nothing that is merely similar ever matches."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from navigator.edits.overlay import NewLine, align
from navigator.model.states import Rung

_MOST = 20
"""Places gathered before a match counts as ambiguous and the rest is left unread."""

_MAX_STEPS = 5_000_000
"""Lines the indent rung compares at most; a text that needs more does not match on it."""

_TRAILING = " \t\r\f\v"
_INDENT = " \t"

_PUNCTUATION = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u02bc"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"), "-"),
    **dict.fromkeys([0x00A0, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000], " "),
    **dict.fromkeys([0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF], ""),
    0x2026: "...",
}


@dataclass(frozen=True, slots=True)
class Shift:
    """A uniform difference of indent: `prefix` is in front of the file's lines (`add`) or of SEARCH's."""

    prefix: str
    add: bool


@dataclass(frozen=True, slots=True)
class SearchMatch:
    """Where SEARCH was found: 0-based line indexes, more than one when ambiguous, all on the same rung."""

    rung: Rung
    starts: tuple[int, ...]
    shift: Shift | None = None


def locate(lines: Sequence[str], search: Sequence[str]) -> SearchMatch | None:
    """Find SEARCH on the strictest rung that knows a place for it; None when no rung does."""
    if not lines or not search or len(search) > len(lines):
        return None
    if starts := _find_all(lines, search, None):
        return SearchMatch(Rung.EXACT, starts)
    if starts := _find_all(lines, search, _without_trailing):
        return SearchMatch(Rung.TRAILING_WHITESPACE, starts)
    if shifted := _find_shifted(lines, search):
        return SearchMatch(Rung.INDENT, tuple(start for start, _ in shifted), shifted[0][1])
    if starts := _find_all(lines, search, plain_punctuation):
        return SearchMatch(Rung.UNICODE, starts)
    return None


def occurrences(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, ...]:
    """0-based indexes at which the lines are, trailing whitespace aside."""
    return _find_all(lines, wanted, _without_trailing) if lines and wanted else ()


def repeats(lines: Sequence[str], wanted: Sequence[str]) -> tuple[int, ...]:
    """0-based indexes at which the lines are, character for character."""
    return _find_all(lines, wanted, None) if lines and wanted else ()


def replacement(
    lines: Sequence[str], match: SearchMatch, search: Sequence[str], replace: Sequence[str]
) -> list[NewLine] | None:
    """The pieces that take SEARCH's place at the match's only start.

    Lines that REPLACE repeats from SEARCH stay as the file has them. The others are shifted by the match's indent, or
    rid of the typographic characters that SEARCH had and the file has not.

    Returns:
        None where a line of REPLACE is indented less than the shift takes away.
    """
    pieces = align(search, replace)
    if match.shift is not None:
        return _shifted(pieces, match.shift)
    if match.rung is Rung.UNICODE:
        window = "".join(lines[match.starts[0] : match.starts[0] + len(search)])
        pretty = {ord(c) for c in set("".join(search)) - set(window)} & _PUNCTUATION.keys()
        table = {code: _PUNCTUATION[code] for code in pretty}
        return [p if p.keep is not None else NewLine(p.text.translate(table)) for p in pieces]
    return pieces


def plain_punctuation(line: str) -> str:
    """The line in composed form, with ASCII quotes, dashes, dots and spaces, without trailing whitespace."""
    if line.isascii():
        return line.rstrip(_TRAILING)
    return unicodedata.normalize("NFC", line).translate(_PUNCTUATION).rstrip(_TRAILING)


def _without_trailing(line: str) -> str:
    return line.rstrip(_TRAILING)


def _find_all(
    lines: Sequence[str], wanted: Sequence[str], form: Callable[[str], str] | None
) -> tuple[int, ...]:
    """Where `wanted` is among `lines`, both in that form, overlaps included; at most `_MOST` places."""
    return tuple(islice(_find_places(lines, wanted, form), _MOST))


def _find_places(
    lines: Sequence[str], wanted: Sequence[str], form: Callable[[str], str] | None
) -> Iterator[int]:
    """The places one by one.

    The search runs over one string with a newline round every line: the standard library's search is linear.
    """
    hay = "\n" + "\n".join(map(form, lines) if form else lines) + "\n"
    needle = "\n" + "\n".join(map(form, wanted) if form else wanted) + "\n"
    position, counted, number = hay.find(needle), 0, 0
    while position >= 0:
        number += hay.count("\n", counted, position)
        counted = position
        yield number
        position = hay.find(needle, position + 1)


def _find_shifted(lines: Sequence[str], search: Sequence[str]) -> list[tuple[int, Shift]]:
    """Where every line of SEARCH is with one and the same indent added or taken away."""
    if not any(line.strip() for line in search):
        return []
    found: list[tuple[int, Shift]] = []
    steps = 0
    for start in _find_places(lines, search, str.strip):
        steps += len(search)
        if steps > _MAX_STEPS:
            return []
        shift = _uniform_shift(lines[start : start + len(search)], search)
        if shift is not None:
            found.append((start, shift))
        if len(found) == _MOST:
            break
    return found


def _uniform_shift(window: Sequence[str], search: Sequence[str]) -> Shift | None:
    """The one shift between both, or None."""
    shift: Shift | None = None
    for there, wanted in zip(window, search, strict=True):
        if not wanted.strip():
            continue
        have, want = _indent_of(there), _indent_of(wanted)
        if shift is None:
            shift = _shift_between(have, want)
        if shift is None or (have != shift.prefix + want if shift.add else want != shift.prefix + have):
            return None
    return shift


def _shift_between(have: str, want: str) -> Shift | None:
    if len(have) > len(want) and have.endswith(want):
        return Shift(have[: len(have) - len(want)], add=True)
    if len(want) > len(have) and want.endswith(have):
        return Shift(want[: len(want) - len(have)], add=False)
    return None


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip(_INDENT))]


def _shifted(pieces: Sequence[NewLine], shift: Shift) -> list[NewLine] | None:
    moved: list[NewLine] = []
    for piece in pieces:
        if piece.keep is not None or not piece.text.strip():
            moved.append(piece)
        elif shift.add:
            moved.append(NewLine(shift.prefix + piece.text))
        elif piece.text.startswith(shift.prefix):
            moved.append(NewLine(piece.text[len(shift.prefix) :]))
        else:
            return None
    return moved
