"""Regular expressions whose time grows with the text and no faster, whoever wrote the text.

The calls are those of `re`, and no other module imports it. Each pattern is read by the parser of `re`. Where it never looks
at more than a few characters that it does not consume, `re` runs it, and is the fastest. Every other pattern is run by RE2 (https://github.com/google/re2),
which cannot backtrack: it refuses backreferences, looking around, and counts above 1,000.

What differs from `re` in a pattern that RE2 runs: `$` without MULTILINE is the very end, and `\\b` knows the letters of ASCII, as
`\\S` does inside of a set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from re import _constants as _op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any, AnyStr, ClassVar, Generic
from weakref import WeakSet

from navigator.model.errors import NavigatorError

ASCII, IGNORECASE, MULTILINE, DOTALL = (
    int(flag) for flag in (re.ASCII, re.IGNORECASE, re.MULTILINE, re.DOTALL)
)
escape = re.escape

_WAYS = 64
"""In how many ways a pattern may match at one place of a text, at most, to be run by `re`."""

_MEMORY = 16 << 20
"""Bytes that RE2 may use for one pattern; it forgets states rather than use more."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{,", re.DOTALL)
"""What RE2 writes in another way: an escape, a set, a count without its least."""

_SPACE = r"\t-\r\x1c-\x20\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}"
_WIDE = {r"\w": r"\p{L}\p{N}_", r"\d": r"\p{Nd}", r"\D": r"\P{Nd}", r"\s": _SPACE}
_NARROW = {r"\s": r"\s\x0b"}
"""Letters, digits and spaces inside of a set, of every alphabet and of ASCII."""

_SETS = {
    r"[\W_]": r"[^\p{L}\p{N}]",
    r"[^\W_]": r"[\p{L}\p{N}]",
    r"[^\W\d]": r"[\p{L}\p{Nl}\p{No}_]",
    r"[^\W\d_]": r"[\p{L}\p{Nl}\p{No}]",
}


class PatternError(NavigatorError):
    """A text is no regular expression, or one that cannot be run in linear time."""

    code: ClassVar[str] = "bad_pattern"


Match = re.Match
"""What a pattern found. One that RE2 found has no `regs`."""


class Pattern(Generic[AnyStr]):
    """A regular expression, read when it is first used."""

    __slots__ = ("__weakref__", "_run", "flags", "pattern")

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        self.pattern: AnyStr = pattern
        self.flags = flags
        self._run: re.Pattern[AnyStr] | None = None
        EVERY.add(self)

    def check(self) -> re.Pattern[AnyStr]:
        """What runs it.

        Raises:
            PatternError: it is no regular expression, or needs more than linear time.
        """
        if self._run is None:
            tree = parsed(self)
            if _ways(tree.data, True) <= _WAYS:
                self._run = re.compile(self.pattern, self.flags)
            else:
                self._run = _re2(tree, self.pattern)
        return self._run

    @property
    def plain(self) -> bool:
        """Whether `re` runs it: it looks at no more than a few characters that it does not consume."""
        return isinstance(self.check(), re.Pattern)

    def search(self, text: AnyStr, at: int = 0) -> Match[AnyStr] | None:
        """The first place at which it matches, from the offset `at` on; another than 0 only where it is `plain`."""
        assert at == 0 or self.plain
        return self.check().search(text, at)

    def match(self, text: AnyStr) -> Match[AnyStr] | None:
        """Its match at the beginning of the text."""
        return self.check().match(text)

    def fullmatch(self, text: AnyStr) -> Match[AnyStr] | None:
        """Its match of the whole text."""
        return self.check().fullmatch(text)

    def finditer(self, text: AnyStr) -> Iterator[Match[AnyStr]]:
        """Every match, from left to right; none overlaps another."""
        return self.check().finditer(text)

    def findall(self, text: AnyStr) -> list[Any]:
        """Every match: its text, or that of its one group, or a tuple of its groups."""
        return self.check().findall(text)

    def split(self, text: AnyStr, most: int = 0) -> list[AnyStr | Any]:
        """The parts between the matches, and the groups of these; divided at `most` of them, 0 for all."""
        return self.check().split(text, most)

    def sub(self, put: AnyStr | Callable[[Match[AnyStr]], AnyStr], text: AnyStr, most: int = 0) -> AnyStr:
        """`text` with `put` instead of each match, or of the first `most`; `\\1` and `\\g<name>` in it are groups."""
        return self.check().sub(put if callable(put) else lambda found: expand(found, put), text, most)


EVERY: WeakSet[Pattern[Any]] = WeakSet()
"""Every pattern that there is: of those at the top of a module, all whose module was imported."""


def compile(pattern: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    """A pattern, read when it is first used."""
    return Pattern(pattern, flags)


@lru_cache(256)
def _kept(pattern: str, flags: int) -> Pattern[str]:
    return Pattern(pattern, flags)


def search(pattern: str, text: str, flags: int = 0) -> Match[str] | None:
    """`compile(pattern, flags).search(text)`."""
    return _kept(pattern, flags).search(text)


def fullmatch(pattern: str, text: str, flags: int = 0) -> Match[str] | None:
    """`compile(pattern, flags).fullmatch(text)`."""
    return _kept(pattern, flags).fullmatch(text)


def finditer(pattern: str, text: str, flags: int = 0) -> Iterator[Match[str]]:
    """`compile(pattern, flags).finditer(text)`."""
    return _kept(pattern, flags).finditer(text)


def findall(pattern: str, text: str, flags: int = 0) -> list[Any]:
    """`compile(pattern, flags).findall(text)`."""
    return _kept(pattern, flags).findall(text)


def sub(
    pattern: str, put: str | Callable[[Match[str]], str], text: str, most: int = 0, flags: int = 0
) -> str:
    """`compile(pattern, flags).sub(put, text, most)`."""
    return _kept(pattern, flags).sub(put, text, most)


_REFERENCE = re.compile(r"\\(?:g<(\w+)>|(\d)|(.))", re.DOTALL)


def expand(match: Match[AnyStr], template: AnyStr) -> AnyStr:
    """`template` with the groups of a match in it: `\\1`, `\\g<name>`."""
    if not isinstance(template, str) or "\\" not in template:
        return template

    def part(reference: re.Match[str]) -> str:
        name, number, other = reference.groups()
        if other:
            return str(other)
        return match[int(number or name) if number or name.isdigit() else name] or ""

    return _REFERENCE.sub(part, template)


def parsed(pattern: Pattern[Any]) -> Any:
    """The tree that the parser of `re` makes of a pattern.

    Raises:
        PatternError: it is no regular expression.
    """
    try:
        return _parser.parse(pattern.pattern, pattern.flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"it is no regular expression: {error}") from None


_SINGLE = (_op.LITERAL, _op.NOT_LITERAL, _op.ANY, _op.IN)


def _ways(items: Sequence[tuple[Any, Any]], last: bool) -> float:
    """In how many ways a part of a pattern can match at one place, `last` being the part at its end: infinity for many."""
    ways: float = 1
    for at, (op, arg) in enumerate(items, 1):
        end = last and at == len(items)
        if op in _SINGLE or op is _op.AT:
            continue
        if op is _op.SUBPATTERN:
            ways *= _ways(arg[3], end)
        elif op in (_op.ASSERT, _op.ASSERT_NOT):
            ways *= _ways(arg[1], False)
        elif op is _op.BRANCH:
            ways *= sum(_ways(branch, end) for branch in arg[1])
        elif (
            op is _op.MAX_REPEAT and end and arg[0] <= _WAYS and len(arg[2]) == 1 and arg[2][0][0] in _SINGLE
        ):
            continue
        elif op in (_op.MAX_REPEAT, _op.MIN_REPEAT) and arg[1] <= _WAYS:
            ways *= (1 + arg[1] - arg[0]) * _ways(arg[2], False) ** arg[1]
        else:
            return float("inf")
    return ways


def _re2(tree: Any, pattern: Any) -> Any:
    """RE2's program for a pattern, and the tree that the parser of `re` made of it.

    Raises:
        PatternError: it cannot be run in linear time, or becomes too large.
    """
    import re2

    options = re2.Options()
    options.max_mem, options.log_errors = _MEMORY, False
    text, flags = pattern, tree.state.flags
    if isinstance(pattern, bytes):
        text = pattern.decode("latin-1")
        options.encoding = re2.Options.Encoding.LATIN1
    if flags & re.VERBOSE:
        raise PatternError("blanks in it mean nothing (`(?x)`), which cannot be run in linear time")
    wide = flags & re.UNICODE and not flags & re.ASCII
    text = re.sub(r"\A\(\?[a-z]+\)", "", text)  # they are among the flags of the tree
    text = _PARTS.sub(lambda part: _written(part[0], _WIDE if wide else _NARROW), text)
    given = "".join(letter for letter in "ims" if flags & getattr(re, letter.upper()))
    text = f"(?{given}){text}" if given else text
    try:
        return _linear()(text.encode("latin-1") if isinstance(pattern, bytes) else text, options)
    except re2.error as error:
        raise PatternError(f"it cannot be run in linear time: {error}") from None


@cache
def _linear() -> Any:
    """RE2's pattern, for texts with half a pair of surrogates too."""
    import re2

    class Linear(re2._Regexp):  # type: ignore[misc]
        def _match(self, anchor: Any, text: Any, *within: Any) -> Iterator[Any]:
            whole = isinstance(text, bytes) or text.isascii()
            for found in super()._match(anchor, text if whole else _SURROGATE.sub("\ufffd", text), *within):
                found._text = text
                yield found

    return Linear


def _written(part: str, letters: Mapping[str, str]) -> str:
    """One of `_PARTS` as RE2 writes it."""
    if part == "{,":
        return "{0,"
    if part == r"\Z":
        return r"\z"
    if not part.startswith("["):
        kind = letters.get(part.lower(), "")
        return f"[{'^' if part.isupper() else ''}{kind}]" if kind else part
    if letters is _WIDE and part in _SETS:
        return _SETS[part]
    if letters is _WIDE and r"\W" in part:
        raise PatternError("a set holds \\W with more than `_` and \\d")
    return re.sub(r"\\.", lambda escaped: letters.get(escaped[0], escaped[0]), part, flags=re.DOTALL)
