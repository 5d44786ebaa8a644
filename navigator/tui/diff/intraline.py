"""What changed within a line: words of a removed line against words of the added line that replaces it.

Bounded on purpose: long lines and lines with little in common get no emphasis, so that the cost of a line
on screen never depends on what a model wrote.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from functools import lru_cache

from navigator.model import patterns

MAX_CHARACTERS = 600
"""Lines longer than this are not compared word by word."""

MAX_PRODUCT = 10_000
"""Words of one line times words of the other, between what they begin and end with alike: above, all of it changed."""

MIN_LIKENESS = 0.45
"""Share of characters that both lines must have in common; below, the whole line is new and emphasis would be noise."""

_WORD = patterns.compile(r"\w+|\s+|.")

Range = tuple[int, int]


@lru_cache(maxsize=2048)
def changed_words(old: str, new: str) -> tuple[tuple[Range, ...], tuple[Range, ...]] | None:
    """Character ranges that differ, in `old` and in `new`; None when the lines are not versions of each other."""
    if len(old) > MAX_CHARACTERS or len(new) > MAX_CHARACTERS:
        return None
    old_words = _WORD.findall(old)
    new_words = _WORD.findall(new)
    head = _common_start(old_words, new_words)
    tail = _common_start(old_words[head:][::-1], new_words[head:][::-1])
    old_middle = old_words[head : len(old_words) - tail]
    new_middle = new_words[head : len(new_words) - tail]
    old_ranges: list[Range] = []
    new_ranges: list[Range] = []
    same = sum(map(_weight, (*old_words[:head], *old_words[len(old_words) - tail :])))
    old_at = new_at = sum(map(len, old_words[:head]))
    for tag, old_first, old_last, new_first, new_last in _opcodes(old_middle, new_middle):
        old_end = old_at + sum(map(len, old_middle[old_first:old_last]))
        new_end = new_at + sum(map(len, new_middle[new_first:new_last]))
        if tag == "equal":
            same += sum(map(_weight, old_middle[old_first:old_last]))
        else:
            _add(old_ranges, old_at, old_end, old)
            _add(new_ranges, new_at, new_end, new)
        old_at, new_at = old_end, new_end
    longest = max(sum(map(_weight, old_words)), sum(map(_weight, new_words)))
    if not longest or same / longest < MIN_LIKENESS:
        return None
    return tuple(old_ranges), tuple(new_ranges)


def _opcodes(old: list[str], new: list[str]) -> list[tuple[str, int, int, int, int]]:
    if len(old) * len(new) > MAX_PRODUCT:
        return [("replace", 0, len(old), 0, len(new))]
    return list(SequenceMatcher(None, old, new, autojunk=False).get_opcodes())


def _common_start(old: list[str], new: list[str]) -> int:
    """How many words two lists begin with alike."""
    count = 0
    for one, other in zip(old, new, strict=False):
        if one != other:
            break
        count += 1
    return count


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
