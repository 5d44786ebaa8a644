"""The texts of the sample repositories and tasks, read from the TOML files beside this one."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from string import Template
from typing import Any

from navigator.model.states import TaskKind


@dataclass(frozen=True, slots=True)
class Chunk:
    """One function or class of a sample module, and the body of the test that calls it as `subject`; "" without one."""

    name: str
    code: str
    test: str = ""


@dataclass(frozen=True, slots=True)
class Module:
    """A kind of module: its docstring, its imports, and the chunks a sample picks from. The first is always picked."""

    name: str
    about: str
    chunks: tuple[Chunk, ...]
    imports: str = ""
    tested: bool = True


@dataclass(frozen=True, slots=True)
class Wording:
    """Texts for one sort of work, over `{file}` and `{path}`; `pattern` finds the work in a file with that suffix."""

    suffix: str
    pattern: str
    kind: TaskKind
    texts: tuple[str, ...]


def filled(template: str, words: dict[str, str]) -> str:
    """`template` with its words put in."""
    return Template(template).substitute(words)


def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((resources.files(__package__) / name).read_text(encoding="utf-8"))


def _module(entry: dict[str, Any]) -> Module:
    return Module(**{**entry, "chunks": tuple(Chunk(**chunk) for chunk in entry["chunks"])})


MODULES = tuple(_module(entry) for entry in _read("modules.toml")["module"])

WORDINGS = tuple(
    Wording(entry["suffix"], entry["pattern"], TaskKind(entry["kind"]), tuple(entry["texts"]))
    for entry in _read("wordings.toml")["wording"]
)

DOCUMENTS = _read("documents.toml")
"""Files that are no modules: one or more variants of each, by kind."""

NAMES: tuple[tuple[str, str, str], ...] = tuple((a, b, c) for a, b, c in DOCUMENTS.pop("projects"))
"""Name, what the project keeps, and the unit of its amounts."""
