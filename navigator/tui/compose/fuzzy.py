"""Fuzzy search over many names: the letters in their order, the better the closer they stand to where names begin."""

from __future__ import annotations

from collections.abc import Sequence

MOST = 500
"""Names shown at most; who wants more types another letter."""

_BREAKS = frozenset("/_-. ")


def best(query: str, names: Sequence[str], most: int = MOST) -> list[str]:
    """The names that hold the letters of each word of `query` in order, best first.

    Lower case letters match both cases. Words are separated by blanks and each must match.
    """
    words = query.split()
    if not words:
        return list(names[:most])
    found: list[tuple[float, int, str]] = []
    for place, name in enumerate(names):
        total = 0.0
        for word in words:
            points = score(word, name)
            if points is None:
                break
            total += points
        else:
            found.append((-total, place, name))
    found.sort()
    return [name for _, _, name in found[:most]]


def score(word: str, name: str) -> float | None:
    """How well `name` holds the letters of `word`, more is better; None where it does not.

    A run of letters found together counts most, and more at the start of a part of the path and in its last part.
    """
    text = name if word != word.lower() else name.lower()
    last = text.rfind("/") + 1
    whole = text.find(word, last)
    if whole < 0:
        whole = text.find(word)
    if whole >= 0:
        begins = whole == 0 or text[whole - 1] in _BREAKS
        return 100.0 + len(word) + (20 if begins else 0) + (20 if whole >= last else 0) - len(text) / 50
    points, at, before = 0.0, 0, -2
    for letter in word:
        at = text.find(letter, at)
        if at < 0:
            return None
        if at == before + 1:
            points += 3
        elif at == 0 or text[at - 1] in _BREAKS:
            points += 2
        before, at = at, at + 1
    return points + (5 if before >= last else 0) - len(text) / 50
