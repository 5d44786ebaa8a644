"""Every pattern that the program holds, on texts made from its own pieces: twice the text, at most 2.3 times the time."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest

from navigator.model import patterns
from tests.fuzz.growth import MOST, growth
from tests.pattern_pieces import every_pattern, pieces

pytestmark = pytest.mark.xdist_group("patterns")  # one process finds them all

TEXTS = 1_000 if float(os.environ.get("NAVIGATOR_FUZZ_SECONDS", "5")) > 60 else 2
"""Texts for each pattern: a few of each by default, always the same ones."""


def test_twice_the_text_takes_twice_the_time() -> None:
    for pattern in every_pattern():

        def read(text: str, pattern: patterns.Pattern[Any] = pattern) -> None:
            given: Any = text.encode("latin-1", "replace") if isinstance(pattern.pattern, bytes) else text
            for _ in pattern.finditer(given):
                pass

        texts = [(head, piece, tail) for head, piece in pieces(pattern) for tail in ("", "\n!")]
        if len(texts) > TEXTS:
            texts = random.Random(0).sample(texts, TEXTS)
        for head, piece, tail in texts:
            assert growth(read, head, piece, tail) <= MOST, (pattern.pattern, head, piece, tail)
