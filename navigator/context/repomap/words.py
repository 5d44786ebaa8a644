"""Words of code and of tasks: cut into parts, brought to a stem, so that `getUserNames` meets "user name"."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from navigator.model import patterns

WORD = patterns.compile(r"[A-Za-z_][A-Za-z0-9_]{2,63}")
"""A word that could be a name in code."""

_RUNS = patterns.compile(r"[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_SHORTEST = 3

_STOP_TEXT = """
    the and for with that this from into when where what which should would could must have has had not are was were
    all any each one two use uses using used add adds added adding make makes made new old fix fixes fixed fixing file
    files code change changes changed update updates updated remove removes removed need needs please also there then
    than only instead after before without within between does doing done can may its via per out off our you your they
    them their some such more most other same about over under both here how why who been being but because did don
    now see set get let merge pull request commit bug issue issues support allow ensure improve improves improved
"""
_STOP_SYNTAX = """
    def class return import from self func function const var let type struct interface package public private
    protected static void int string bool true false none null nil elif else while break continue pass lambda yield
    async await try except finally catch throw throws raise switch case default enum impl trait mod pub fn mut match
    where extends implements override final abstract virtual using namespace template typename include define ifdef
    endif require module export undefined typeof instanceof assert print float double char long short unsigned str
    dict list tuple args kwargs super this
"""
STOP = frozenset(_STOP_TEXT.split())
"""Words of a task that tell nothing of where."""

SYNTAX = frozenset(_STOP_SYNTAX.split())
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
