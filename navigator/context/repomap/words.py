"""Words of code and of tasks: cut into parts, brought to a stem, so that `getUserNames` meets "user name"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from navigator.model import patterns
from navigator.model.json_text import table

WORD = patterns.compile(r"[A-Za-z_][A-Za-z0-9_]{2,63}")
"""A word that could be a name in code."""

_RUNS = patterns.compile(r"[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_SHORTEST = 3

STOP = frozenset(table(__package__, "words.toml")["plain"].split())
"""Words of a task that tell nothing of where."""

SYNTAX = frozenset(table(__package__, "words.toml")["syntax"].split())
"""Words that are part of some language; as references they lead nowhere."""


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """A lower-case word without its English ending: `caching`, `cached`, `caches` and `cache` are one."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST and not word.endswith("ss"):
            word = word[: -len(ending)]
            # stopped, running: one letter of the pair goes.
            if (
                ending in ("ing", "ed")
                and len(word) > _SHORTEST
                and word[-1] == word[-2]
                and word[-1] not in "ls"
            ):
                word = word[:-1]
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


@lru_cache(maxsize=200_000)
def parts(word: str) -> tuple[str, ...]:
    """The stems in a name, and the name itself where it is made of several: `HTTPServer` → http, server, httpserver."""
    found = [part.lower() for part in _cased(word)]
    stems = [stem(part) for part in found if len(part) >= _SHORTEST and not part.isdigit()]
    whole = "".join(found)
    if len(found) > 1 and whole not in stems and len(whole) >= _SHORTEST:
        stems.append(whole)
    return tuple(stems)


def _cased(word: str) -> Iterator[str]:
    """Runs of letters and of digits; the last capital before small letters begins their word: `HTTPServer` is HTTP, Server."""
    capitals = ""
    for part in [*_RUNS.findall(word), ""]:
        run = part if part.isascii() else ""
        if run.islower():
            yield from filter(None, (capitals[:-1], capitals[-1:] + run))
        elif capitals:
            yield capitals
        capitals = run if run.isupper() else ""
        if run.isdigit():
            yield run


def count_parts(words: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Stems with how often they occur in a text, given its words with their counts."""
    counts: dict[str, int] = {}
    for word, times in words:
        for part in parts(word):
            counts[part] = counts.get(part, 0) + times
    return counts
