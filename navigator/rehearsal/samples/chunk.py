"""One function or class of a sample module, with the test that goes with it."""

from __future__ import annotations

from dataclasses import dataclass
from string import Template


@dataclass(frozen=True, slots=True)
class Chunk:
    """`code` and `test` are templates over `$noun`, `$nouns`, `$Noun`, `$package`, `$unit` and `$limit`.

    `test` is the body of one unittest method that calls the module as `subject`; empty where none exists yet.
    """

    name: str
    code: str
    test: str = ""


@dataclass(frozen=True, slots=True)
class Module:
    """A kind of module: its docstring, its imports, and the chunks a sample picks from. The first always comes along."""

    name: str
    about: str
    imports: str
    chunks: tuple[Chunk, ...]
    tested: bool = True


def filled(template: str, words: dict[str, str]) -> str:
    """A template with its words put in."""
    return Template(template).substitute(words)
