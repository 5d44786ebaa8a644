"""Which grammar parses which file, and what counts as a definition in it: read from languages.toml.

Grammars come as one wheel per language and are loaded when the first file of that language is parsed; nothing is ever
downloaded. A language without a grammar still takes part in the map by its path and its words.
"""

from __future__ import annotations

from dataclasses import dataclass

from navigator.config.resources import table


@dataclass(frozen=True, slots=True)
class Language:
    """A grammar: the wheel's module, the function in it, and the query."""

    name: str
    module: str
    function: str
    query: str


_TABLES: dict[str, dict[str, str]] = table(__package__, "languages.toml")


def _query(name: str) -> str:
    own = _TABLES[name]
    before = _query(own["extends"]) if "extends" in own else ""
    return before + own.get("query", "")


LANGUAGES = {
    name: Language(name, own["module"], own.get("function", "language"), _query(name))
    for name, own in _TABLES.items()
}
_BY_SUFFIX = {suffix: name for name, own in _TABLES.items() for suffix in own["suffixes"].split()}


def language_of(path: str) -> str:
    """The name of the grammar for a path, "" where there is none."""
    name = path.rsplit("/", 1)[-1]
    return _BY_SUFFIX.get(name.rsplit(".", 1)[-1].lower(), "") if "." in name else ""
