"""Which grammar parses which file, and what counts as a definition in it: read from languages.toml.

Grammars come as one wheel per language and are loaded when the first file of that language is parsed; nothing is ever
downloaded. A language without a grammar still takes part in the map by its path and its words.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources

from navigator.model.json_text import read_toml


@dataclass(frozen=True, slots=True)
class Language:
    """A grammar: the wheel's module, the function in it, and the query."""

    name: str
    module: str
    function: str
    query: str


_TABLES: dict[str, dict[str, str]] = read_toml(
    (resources.files(__package__) / "languages.toml").read_text(encoding="utf-8")
)


def _query(name: str) -> str:
    table = _TABLES[name]
    before = _query(table["extends"]) if "extends" in table else ""
    return before + table.get("query", "")


LANGUAGES = {
    name: Language(name, table["module"], table.get("function", "language"), _query(name))
    for name, table in _TABLES.items()
}
_BY_SUFFIX = {suffix: name for name, table in _TABLES.items() for suffix in table["suffixes"].split()}


def language_of(path: str) -> str:
    """The name of the grammar for a path, "" where there is none."""
    name = path.rsplit("/", 1)[-1]
    return _BY_SUFFIX.get(name.rsplit(".", 1)[-1].lower(), "") if "." in name else ""
