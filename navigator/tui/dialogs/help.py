"""The keys of a screen from the key table, and the terms and signs it shows from the glossary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.app import ComposeResult

from navigator.config.paths import config_path, resource_dir
from navigator.model import patterns
from navigator.model.errors import MissingPart
from navigator.tui.answers.markdown import wrapped
from navigator.tui.keys.keymap import Keymap
from navigator.tui.keys.registry import SCOPES, TERMS, TITLES, in_group, shown_key
from navigator.tui.widgets.cells import Piece, fit
from navigator.tui.widgets.page import Line, Page
from navigator.tui.widgets.screen import NavScreen

_KEYS = 20
"""Cells of the keys, and of a term."""

_NAMED = 100
"""Cells from which the names of actions are shown."""

_MOST = 110
"""Cells of a line at most, so that it is easy to read."""


def glossary() -> dict[str, str]:
    """The paragraphs of docs/glossary.md by term; empty where the file is not installed."""
    try:
        text = (resource_dir("docs") / "glossary.md").read_text(encoding="utf-8")
    except (MissingPart, OSError):
        return {}
    sections = patterns.split(r"^## (.+)$", text, flags=patterns.MULTILINE)[1:]
    return {
        term.strip(): " ".join(body.split()) for term, body in zip(sections[::2], sections[1::2], strict=True)
    }


class HelpScreen(NavScreen):
    """Over any screen; esc leaves it.

    Args:
        about: the scope of the screen it was asked from.
    """

    SCOPE = "help"
    TITLE = "help"
    AUTO_FOCUS = "#keys"

    def __init__(self, about: str) -> None:
        super().__init__()
        self._about = about

    def compose_body(self) -> ComposeResult:
        """One page."""
        yield Page(self._lines, id="keys")

    def _lines(self, width: int) -> list[Line]:
        groups = SCOPES.get(self._about, SCOPES["deck"])
        others = [group for group in TITLES if group not in groups]
        width, keymap = min(width, _MOST), self.app.keymap
        return [
            *key_lines(keymap, groups, width),
            *own_keys(width),
            *term_lines(TERMS.get(self._about, ()), width),
            *key_lines(keymap, others, width),
        ]


def key_lines(keymap: Keymap, groups: Iterable[str], width: int) -> Iterator[Line]:
    """What the keys of some groups do, and the name of each action; `*` marks keys that the user changed."""
    for group in groups:
        yield [(TITLES[group].upper(), "heading")]
        for action in in_group(group):
            keys = "  ".join(shown_key(key) for key in keymap.of(action))
            own = "*" if action.id in keymap.keys else " "
            first: list[Piece] = [(own, "warn"), (fit(keys, _KEYS - 1), "accent")]
            name = f"  {action.id}" if width >= _NAMED else ""
            yield from wrapped([(action.help, ""), (name, "faint")], width, first, " " * _KEYS)
        yield []


def own_keys(width: int) -> Iterator[Line]:
    """How to change keys."""
    yield [("YOUR OWN KEYS", "heading")]
    yield from wrapped([(f"Set them in {config_path().parent / 'keys.toml'}, under [keys]:", "muted")], width)
    yield [('    "deck.swap" = "ctrl+r"', "muted")]
    yield [('    "review.approve" = ["a", "ctrl+a"]', "muted")]
    yield [("Keys that you changed are marked with *.", "muted")]


def term_lines(terms: Iterable[str], width: int) -> Iterator[Line]:
    """Terms and signs with their paragraphs from the glossary."""
    known = glossary()
    said = [(term, known[term]) for term in terms if term in known]
    yield from [[], [("TERMS AND SIGNS", "heading")]] if said else [[]]
    for term, text in said:
        yield from wrapped([(text, "")], width, [(" ", ""), (fit(term, _KEYS - 1), "accent")], " " * _KEYS)
    yield []
