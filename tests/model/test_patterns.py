"""Regular expressions in linear time: they find what those of `re` find."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from navigator.model import patterns
from tests.pattern_pieces import every_pattern, pieces

pytestmark = pytest.mark.xdist_group("patterns")  # one process finds them all


def found(pattern: Any, text: str | bytes) -> list[Any]:
    return [(match.span(), match.groups()) for match in pattern.finditer(text)]


def test_every_pattern_finds_what_re_finds() -> None:
    """In texts of its own pieces, in ASCII; at the end of a text `$` without MULTILINE is stricter."""
    for pattern in every_pattern():
        python = re.compile(pattern.pattern, pattern.flags)
        words = [part for pair in pieces(pattern) for part in pair if part.isascii()]
        words += [" ", "\n", "a", "A", "0", "-", "x y"]
        chance = random.Random(repr(pattern.pattern))
        for _ in range(25):
            text: Any = "".join(chance.choices(words, k=chance.randint(1, 6))).strip("\n")[:400]
            if isinstance(pattern.pattern, bytes):
                text = text.encode("ascii")
            assert found(pattern, text) == found(python, text), (pattern.pattern, text)
            assert bool(pattern.fullmatch(text)) == bool(python.fullmatch(text)), (pattern.pattern, text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?P<a>é+)b|(?P<b>c)", "ééb c xb é \U0001f600ab ééb"),
        (r"[^\W\d_]+x?!", "aü1_!ü!"),
        (r"\w+\s+\S+!", "über\u00a0ä! ein\u2003wort!"),
        (r"x*y?", "axxb éxy"),
        (r"(?i)STRASSE|ä+b", "Strasse ÄäB"),
        (r"[^a]+b", "\ud800b \udfff x b"),
    ],
)
def test_offsets_are_those_of_characters(pattern: str, text: str) -> None:
    ours, python = patterns.compile(pattern), re.compile(pattern)
    assert [match.span() for match in ours.finditer(text)] == [
        match.span() for match in python.finditer(text)
    ]
    assert ours.sub(r"<\g<0>>", text) == python.sub(r"<\g<0>>", text)
    assert ours.split(text) == python.split(text)
    assert ours.findall(text) == python.findall(text)


@pytest.mark.parametrize(
    "pattern",
    [r"(a+)\1", r"a+(?=b)", r"x*(?<!y)z+!", "(", "[a", "a{5000}b", "(" * 5_000, r"(?>a+)b", r"(?x) a+ b"],
)
def test_what_cannot_be_run_in_linear_time_is_refused(pattern: str) -> None:
    with pytest.raises(patterns.PatternError, match=r"it is no regular expression|in linear time"):
        patterns.compile(pattern).check()


def test_only_what_cannot_backtrack_is_run_by_re() -> None:
    assert patterns.compile(r"[a-z]\w*|\d\d?").plain
    assert patterns.compile(r"(?<![a-z])//[^\n]*").plain
    for pattern in (r"\d+x", r"(a|b)*", r"^\W*x", r".*?x", r"(?:a?){30}a{30}"):
        assert not patterns.compile(pattern).plain


def test_no_pattern_becomes_a_large_program() -> None:
    """A set of letters with a count is written out once for each: three patterns once took 60 MB of every conductor."""
    sizes = {pattern.pattern: getattr(pattern.check(), "programsize", 0) for pattern in every_pattern()}
    assert {text: size for text, size in sizes.items() if size > 30_000} == {}
