"""How time grows with a text: the text is doubled, and the processor times are compared."""

from __future__ import annotations

import time
from collections.abc import Callable

MOST = 2.3
"""How many times as long twice the text may take."""

_FIRST, _LAST = 4_096, 131_072
_NOTHING = 0.003
"""Seconds that say nothing about growth."""


def seconds(read: Callable[[], object], repeats: int) -> float:
    """The least processor time of some runs."""
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        read()
        best = min(best, time.process_time() - began)
    return best


def growth(read: Callable[[str], object], head: str, piece: str, tail: str) -> float:
    """How many times as long twice as many pieces take, for texts of which the time can be measured; 1 for none of them.

    One run of a text and of one four times as long is the first look. What looks too much is measured with care, on longer
    texts each time, since limits are reached step by step and machines are busy: the least of what was found counts.
    """

    def made(size: int) -> str:
        return head + piece * max(1, size // len(piece)) + tail

    def took(size: int, repeats: int) -> float:
        text = made(size)
        return max(seconds(lambda: read(text), repeats), _NOTHING / 4)

    if took(4 * _FIRST, 1) < 1.5 * max(4 * took(_FIRST, 1), _NOTHING):
        return 1.0
    size, worst = 2 * _FIRST, float("inf")
    while worst > MOST and size <= _LAST:
        worst = min(worst, took(2 * size, 4) / took(size, 4))
        size *= 2
    return worst
