"""How much a benchmark measures: what `make bench` has time for; with `--tiny`, next to nothing; with `--full`, all of it."""

from __future__ import annotations

import sys
from typing import TypeVar

T = TypeVar("T")
_WORDS = ("--tiny", "--full")
CHOSEN = [word for word in sys.argv[1:] if word in _WORDS]
# What is left are the benchmark's own words.
sys.argv[1:] = [word for word in sys.argv[1:] if word not in _WORDS]


def sized(tiny: T, usual: T, full: T) -> T:
    """The value for the size that was asked for."""
    return {"--tiny": tiny, "--full": full}.get(CHOSEN[-1], usual) if CHOSEN else usual
