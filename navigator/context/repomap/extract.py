"""One file's part of the map: what it defines, whom it speaks of, which words it contains. Runs in a process of its own.

Nothing here reads a file: `pool` hands the bytes to a worker process.
"""

from __future__ import annotations

import importlib
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from navigator.context.repomap.words import SYNTAX, WORD, count_parts
from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.secrets import secret_in

if TYPE_CHECKING:
    from tree_sitter import Parser, Query


VERSION = 2
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
