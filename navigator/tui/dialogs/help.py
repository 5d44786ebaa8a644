"""The keys of a screen from the key table, and the terms and signs it shows from the glossary."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from textual.app import ComposeResult

from navigator.config.paths import config_path, resource_dir
from navigator.model import patterns
from navigator.model.errors import MissingPart
from navigator.tui.keys.registry import SCOPES, TITLES, Action, in_group, shown_key, title_of
from navigator.tui.widgets.cells import Piece, fit
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import NavScreen

_WIDE = 110
_KEYS, _NAMES = 20, 30
_MOST = 90
"""Cells of a sentence at most: so that the action's name is near it on a wide screen."""


TERMS: dict[str, tuple[str, ...]] = {
    screen: tuple(terms.split("; "))
    for screen, terms in {
        "deck": (
            "conductor; batch; verdict; UNREVIEWED; round, r0; revise rate; interval, anecdotal; swap cost; "
            "effort; variant; after; seen; overlap; part; policy item; self-review; escalate; stale, superseded; "
            "landing, not landed; rehearsal; ✓ ✗ ! ⚠ ▸ ↶; ◆ ● ○"
        ),
        "review": (
            "round, r0; variant; verdict; UNREVIEWED; stated; unanchored; reproduced; met; remark; "
            "self-review; escalate; writer's own review; seen; stale, superseded; transplanted; part; hunk; "
            "check, untested; failed before; ≈ ↔ ◉ ⊘; ◆ ● ○"
        ),
        "compose": "project, task; kind; variant; after; base",
        "stats": (
            "revise rate; interval, anecdotal; stated; UNREVIEWED; mixture; way of writing; evidence; rung; "
            "repaired, lost; harmful; met; reverted; kappa; accepted change; swap cost; residency; reproduced; "
            "exam; sensitivity, J; genuine share; rehearsal; modelled, published; ◆ ● ○; │ ┊"
        ),
        "fleet": (
            "conductor; residency; swap; strategy; read-ahead, warm; streams; modelled, published; "
            "◆ ● ○; ◐ ◌ ☾"
        ),
        "task": "attempt; round, r0; after; stale, superseded",
        "report": "put away",
        "suggestions": "scan, suggestion",
        "batch": "batch; seen; overlap; policy item",
    }.items()
}
"""Terms of the glossary by screen, in the order in which the help shows them."""


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


@dataclass(frozen=True, slots=True)
class HelpLine:
    """A heading, an action or a `term` with its sentence, more of the sentence before, another sentence, or nothing."""

    key: str
    heading: str = ""
    action: Action | None = None
    text: str = ""
    more: bool = False
    term: str = ""


class HelpScreen(NavScreen):
    """Over any screen; esc leaves it.

    Args:
        about: the scope of the screen it was asked from.
    """

    SCOPE = "help"
    TITLE = "help"

    def __init__(self, about: str) -> None:
        super().__init__()
        self._about = about

    def compose_body(self) -> ComposeResult:
        """One list."""
        yield RowList[HelpLine](lambda line: line.key, self._draw, id="keys")

    def on_mount(self) -> None:
        """Fill it."""
        self._fill()
        self.query_one(RowList).focus()

    def on_resize(self) -> None:
        """Wrap the sentences again."""
        self._fill()

    def _fill(self) -> None:
        groups = SCOPES.get(self._about, SCOPES["deck"])
        others = tuple(group for group in TITLES if group not in groups)
        width = self.size.width - 4  # the cursor's gutter and the scrollbar
        room = width - _KEYS if width < _WIDE else min(_MOST, width - _KEYS - _NAMES)
        lines = [*help_lines(groups, room), *own_keys(room)]
        lines += [*term_lines(TERMS.get(self._about, ()), width - _KEYS), *help_lines(others, room)]
        self.query_one(RowList).set_rows(lines)

    def _draw(self, line: HelpLine, width: int) -> list[Piece]:
        if line.heading:
            return [(fit(line.heading, width), "heading")]
        if line.more:
            return [(" " * _KEYS, ""), (fit(line.text, width - _KEYS), "")]
        if line.term:
            return [(" ", ""), (fit(line.term, _KEYS - 1), "accent"), (fit(line.text, width - _KEYS), "")]
        if line.action is None:
            return [(fit(line.text, width), "muted")]
        keys = "  ".join(shown_key(key) for key in self.app.keymap.of(line.action))
        own = "*" if line.action.id in self.app.keymap.keys else " "
        pieces: list[Piece] = [(own, "warn"), (fit(keys, _KEYS - 1), "accent")]
        if width < _WIDE:
            return [*pieces, (fit(line.text, width - _KEYS), "")]
        return [
            *pieces,
            (fit(line.text, min(_MOST, width - _KEYS - _NAMES)), ""),
            ("  ", ""),
            (fit(line.action.id, _NAMES - 2), "faint"),
        ]


def help_lines(groups: tuple[str, ...], room: int = _MOST) -> list[HelpLine]:
    """The lines for some groups, sentences broken at `room` cells."""
    lines: list[HelpLine] = []
    for group in groups:
        lines.append(HelpLine(f"{group}#", heading=title_of(group).upper()))
        for action in in_group(group):
            first, *more = textwrap.wrap(action.help, max(20, room))
            lines.append(HelpLine(action.id, action=action, text=first))
            lines += [HelpLine(f"{action.id}/{n}", text=text, more=True) for n, text in enumerate(more)]
        lines.append(HelpLine(f"{group}/"))
    return lines


def own_keys(room: int) -> list[HelpLine]:
    """How to change keys."""
    place = config_path().parent / "keys.toml"
    lines = [HelpLine("own#", heading="YOUR OWN KEYS")]
    for number, text in enumerate(
        (
            f"Set them in {place}, under [keys]:",
            '    "deck.swap" = "ctrl+r"',
            '    "review.approve" = ["a", "ctrl+a"]',
            "Keys that you changed are marked with *.",
        )
    ):
        more = textwrap.wrap(text, room + _KEYS, drop_whitespace=False)
        lines += [HelpLine(f"own{number}/{place}", text=part) for place, part in enumerate(more)]
    return lines


def term_lines(terms: Iterable[str], room: int) -> list[HelpLine]:
    """Terms and signs with their paragraphs from the glossary, broken at `room` cells."""
    known = glossary()
    lines = [HelpLine("terms/"), HelpLine("terms#", heading="TERMS AND SIGNS")]
    for term in terms:
        first, *more = textwrap.wrap(known.get(term, ""), max(20, min(_MOST, room))) or [""]
        if first:
            lines.append(HelpLine(f"term {term}", term=term, text=first))
            lines += [HelpLine(f"term {term}/{n}", text=text, more=True) for n, text in enumerate(more)]
    return [*lines, HelpLine("terms.")] if len(lines) > 2 else []
