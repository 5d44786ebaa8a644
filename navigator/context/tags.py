"""One file by its grammar: what it defines, whom it speaks of, which words it contains, and where it does not parse.

Nothing here reads a file: who asks hands the bytes to a worker process. Words of code and of tasks are cut into parts and brought
to a stem, so that `getUserNames` meets "user name".
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.secrets import secret_in
from navigator.process.bounded import WorkerLost, run_bounded

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query


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


VERSION = 5
"""Part of every cache key: what is extracted changed with it."""

PARSE_LIMIT = 400_000
"""Bytes; a larger file takes part by its words alone."""

READ_LIMIT = 1_000_000
"""Bytes; of a larger file only the beginning is read."""

NOT_TEXT = "not text"
"""Why a file with a NUL byte is withheld."""

_MOST_DEFINITIONS = 1500
_MOST_WORDS = 4000
_SIGNATURE = 160
_WORD = patterns.compile(WORD.pattern.encode())
_LFS = b"version https://git-lfs.github.com/spec/"
_SECONDS = 2.0
_BYTES_A_SECOND = 100_000

Tags = dict[str, Any]
"""As JSON: `defs` [[name, first line, last line, signature]…] (1-based, inclusive), `refs` {name: times},
`terms` {stem: times}."""


def tags(language: str, data: bytes) -> Tags:
    """The tags of one file, or `{"withheld": reason}` where it must not be shown."""
    reason = why_withheld(data)
    return {"withheld": reason} if reason else extract(language, data)


def why_withheld(data: bytes) -> str:
    """Why the content of a file may not be shown, in words; "" where it may."""
    if b"\0" in data:
        return NOT_TEXT
    return "a pointer to a file in LFS" if data.startswith(_LFS) else secret_in(data)


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
        "defs": [],
        "refs": {},
        "terms": count_parts(words.most_common(_MOST_WORDS)),
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


# Where a grammar does not follow a file. Grammars are imperfect: macros of C and newer syntax are faults to them. A list says
# something only beside the list of the same file before a change.

_MOST_FAULTS = 200
"""Faults of one file that are told; a file with more is none that its grammar reads."""

_FAULT_SHOWN = 40


def faults(language: str, data: bytes) -> dict[str, Any]:
    """The outermost places that do not parse.

    Returns:
        As JSON: `faults` [[line, column, what, text of the line]…] in the order of the file, both numbers from 1, the
        column in characters; `bracket` [line, column, what] or None: the first bracket without its other half.
    """
    lines = data.split(b"\n")
    root = parser_of(language).parse(data).root_node
    found = [
        [*_position(node, lines), _fault_words(node, data), _line_text(lines, node.start_point[0])]
        for node in islice(_broken(root) if root.has_error else (), _MOST_FAULTS)
    ]
    return {"faults": found, "bracket": first_odd(language, data)}


def _broken(node: Node) -> Iterator[Node]:
    """ERROR and MISSING nodes, none inside another; a tree that is one ERROR gives those inside it, if any."""
    for child in node.children:
        if child.is_missing or child.is_error:
            yield child
        elif child.has_error:
            yield from _broken(child)
    if node.parent is None and node.is_error:
        yield node


def _fault_words(node: Node, data: bytes) -> str:
    if node.is_missing:
        return f"{_kind_words(node.type)} is missing"
    text = data[node.start_byte : node.end_byte].decode("utf-8", "replace").strip()
    first = text.split("\n", 1)[0].rstrip()
    return f"no syntax at {first[:_FAULT_SHOWN]!r}" if first else "no syntax"


def _kind_words(kind: str) -> str:
    return kind.replace("_", " ") if kind[:1].isalpha() and len(kind) > 2 else repr(kind)


def _position(node: Node, lines: list[bytes]) -> tuple[int, int]:
    row, column = node.start_point
    before = lines[row][:column] if row < len(lines) else b""
    return row + 1, len(before.decode("utf-8", "replace")) + 1


def _line_text(lines: list[bytes], row: int) -> str:
    return lines[row].decode("utf-8", "replace").strip()[:200] if row < len(lines) else ""


# Brackets without their other half: a second witness beside a grammar's word. A grammar that lost its way says so at some
# place; whether a bracket is missing is known better by counting. A count says something only where it came out even before.

_CLOSES = {")": "(", "]": "[", "}": "{"}
_BRANCHING = frozenset({"c", "cpp", "c_sharp"})
_BRANCH = patterns.compile(rb"[ \t]*#[ \t]*(if|elif|else|endif)")
_LONGEST_TOKEN = 2
"""Bytes of a token that opens or closes: `${` and `#{` open what `}` closes."""


def first_odd(language: str, data: bytes) -> list[Any] | None:
    """The first bracket that closes nothing, or the innermost that is never closed.

    Of the branches of `#if` only the first is read: they often open the same bracket twice.

    Returns:
        [line, column, what], both numbers from 1, or None: all have their other half.
    """
    data = _first_branches(data) if language in _BRANCHING else data
    lines = data.split(b"\n")
    opened: list[tuple[str, tuple[int, int]]] = []
    for node in _leaves(parser_of(language).parse(data).root_node):
        sign = node.type[-1:] if not node.is_missing and len(node.type) <= _LONGEST_TOKEN else ""
        if sign in _CLOSES.values():
            opened.append((sign, _position(node, lines)))
        elif sign in _CLOSES and not opened:
            return [*_position(node, lines), f"'{sign}' closes nothing"]
        elif sign in _CLOSES:
            other, place = opened.pop()
            if other != _CLOSES[sign]:
                said = f"'{sign}' is where '{other}' of line {place[0]} is still open"
                return [*_position(node, lines), said]
    return [*opened[-1][1], f"'{opened[-1][0]}' is never closed"] if opened else None


def _leaves(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        node = waiting.pop()
        waiting += reversed(node.children)
        if not node.children:
            yield node


def _first_branches(data: bytes) -> bytes:
    """A file with only the first branch of each `#if`; the others, and the directives, are blank lines."""
    left_out: list[bool] = []
    kept = []
    for line in data.split(b"\n"):
        directive = _BRANCH.match(line)
        word = directive[1] if directive else b""
        if word == b"if":
            left_out.append(False)
        elif left_out and word == b"endif":
            left_out.pop()
        elif left_out and word:
            left_out[-1] = True
        kept.append(b"" if word or any(left_out) else line)
    return b"\n".join(kept)
