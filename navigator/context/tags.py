"""One file's part of the map: what it defines, whom it speaks of, which words it contains. Runs in a process of its own.

Nothing here reads a file: `files` hands the bytes to a worker process. Words of code and of tasks are cut into parts and brought
to a stem, so that `getUserNames` meets "user name".
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.secrets import secret_in
from navigator.process.bounded import WorkerLost, run_bounded

if TYPE_CHECKING:
    from tree_sitter import Parser, Query


WORD = patterns.compile(r"[A-Za-z_][A-Za-z0-9_]{2,63}")
"""A word that could be a name in code."""

_RUNS = patterns.compile(r"[A-Z]+|[a-z]+|[0-9]+|[^A-Za-z0-9]+")
_SHORTEST = 3

_WORDS = table(__package__, "words.toml")

STOP = frozenset(_WORDS["plain"].split())
"""Words of a task that tell nothing of where."""

SYNTAX = frozenset(_WORDS["syntax"].split())
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


VERSION = 3
"""Part of every cache key: what is extracted changed with it."""

PARSE_LIMIT = 400_000
"""Bytes; a larger file takes part by its words alone."""

READ_LIMIT = 1_000_000
"""Bytes; of a larger file only the beginning is read."""

_MOST_DEFINITIONS = 1500
_MOST_WORDS = 4000
_SIGNATURE = 160
_WORD = patterns.compile(WORD.pattern.encode())
_LFS = b"version https://git-lfs.github.com/spec/"
_LOOKED_AT = 8_000
_SECONDS = 2.0
_BYTES_A_SECOND = 100_000

Tags = dict[str, Any]
"""As JSON: `lines`, `defs` [[name, first line, last line, signature]…] (1-based, inclusive), `refs` {name: times},
`terms` {stem: times}, `parsed`."""


def tags(language: str, data: bytes) -> Tags:
    """The tags of one file, or `{"out": reason}` where it must not be shown."""
    if b"\0" in data[:_LOOKED_AT]:
        return {"out": "not text"}
    if data.startswith(_LFS):
        return {"out": "a pointer to a file in LFS"}
    reason = secret_in(data)
    return {"out": reason} if reason else extract(language, data)


def call_grammar(
    function: Callable[[str, bytes], dict[str, Any]], language: str, data: bytes
) -> dict[str, Any]:
    """`function(language, data)` in a limited process, for as long as the size allows.

    Raises:
        WorkerLost: the process did not survive it, or the grammar cannot be loaded.
    """
    seconds = _SECONDS + len(data) / _BYTES_A_SECOND
    try:
        return run_bounded(function, language, data, seconds=seconds)
    except WorkerLost:
        raise
    except Exception as error:
        raise WorkerLost from error


def extract(language: str, data: bytes) -> Tags:
    """The tags of one text file; `language` is "" or a name of `LANGUAGES`."""
    data = data[:READ_LIMIT]
    words = Counter(word.decode("ascii") for word in _WORD.findall(data))
    tags: Tags = {
        "lines": data.count(b"\n") + (not data.endswith(b"\n")),
        "defs": [],
        "refs": {},
        "terms": count_parts(words.most_common(_MOST_WORDS)),
        "parsed": False,
    }
    if language and len(data) <= PARSE_LIMIT:
        _read_symbols(language, data, tags)
    return tags


def _read_symbols(language: str, data: bytes, tags: Tags) -> None:
    parser, query = _tools(language)
    tree = parser.parse(data)
    from tree_sitter import QueryCursor

    quiet: list[tuple[int, int]] = []
    definitions: dict[tuple[int, str], list[Any]] = {}
    lines = data.split(b"\n")
    for _, found in QueryCursor(query, match_limit=64).matches(tree.root_node):
        quiet += [(node.start_byte, node.end_byte) for node in found.get("quiet", ())]
        names, wholes = found.get("name", ()), found.get("def", ())
        if not names or not wholes or len(definitions) >= _MOST_DEFINITIONS:
            continue
        name = data[names[0].start_byte : names[0].end_byte].decode("utf-8", "replace")
        first, last = wholes[0].start_point[0], wholes[0].end_point[0]
        shown = lines[names[0].start_point[0]].decode("utf-8", "replace").rstrip()
        if len(name) <= 100:
            definitions[(first, name)] = [name, first + 1, last + 1, shown[:_SIGNATURE]]
    tags["defs"] = sorted(definitions.values(), key=lambda entry: (entry[1], -entry[2]))
    tags["refs"] = _references(data, quiet, {entry[0] for entry in tags["defs"]})
    tags["parsed"] = True


def _references(data: bytes, quiet: list[tuple[int, int]], defined: set[str]) -> dict[str, int]:
    """The names in the code, without comments and the insides of strings; those defined here count one time less."""
    pieces = []
    at = 0
    for start, end in sorted(quiet):
        if start >= at:
            pieces.append(data[at:start])
            at = end
    pieces.append(data[at:])
    counts = Counter(word.decode("ascii") for word in _WORD.findall(b" ".join(pieces)))
    for name in defined:
        counts[name] -= 1
    return {
        name: times for name, times in counts.most_common(_MOST_WORDS) if times > 0 and name not in SYNTAX
    }


@cache
def parser_of(language: str) -> Parser:
    """The parser of one language. Imports the grammar's wheel."""
    import tree_sitter

    known = LANGUAGES[language]
    grammar = getattr(importlib.import_module(known["module"]), known.get("function", "language"))
    return tree_sitter.Parser(tree_sitter.Language(grammar()))


def _query(language: str) -> str:
    own = LANGUAGES[language]
    before = _query(own["extends"]) if "extends" in own else ""
    return before + own.get("query", "")


@cache
def _tools(language: str) -> tuple[Parser, Query]:
    """The parser and the query of one language."""
    import tree_sitter

    parser = parser_of(language)
    assert parser.language is not None
    return parser, tree_sitter.Query(parser.language, _query(language))


# Which grammar parses which file, and what counts as a definition in it: read from languages.toml.
#
# Grammars come as one wheel per language and are loaded when the first file of that language is parsed; nothing is ever
# downloaded. A language without a grammar still takes part in the map by its path and its words.


LANGUAGES: dict[str, dict[str, str]] = table(__package__, "languages.toml")
_BY_SUFFIX = {suffix: name for name, own in LANGUAGES.items() for suffix in own["suffixes"].split()}


def language_of(path: str) -> str:
    """The name of the grammar for a path, "" where there is none."""
    name = path.rsplit("/", 1)[-1]
    return _BY_SUFFIX.get(name.rsplit(".", 1)[-1].lower(), "") if "." in name else ""
