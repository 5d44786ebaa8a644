"""What the keys do, derived from the action registry."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from textual.app import ComposeResult

from navigator.config.paths import config_path
from navigator.tui.keys.names import shown_key
from navigator.tui.keys.registry import ROWS, SCOPES, Action, in_group, title_of
from navigator.tui.widgets.cells import Piece, fit
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import NavScreen

_WIDE = 110
_KEYS, _NAMES = 20, 30
_MOST = 90
"""Cells of a sentence at most: the action's name stands near it, however wide the screen."""


@dataclass(frozen=True, slots=True)
class HelpLine:
    """A heading, an action with its sentence, more of the sentence before, a sentence of its own, or nothing."""

    key: str
    heading: str = ""
    action: Action | None = None
    text: str = ""
    more: bool = False


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
        self._all = False

    def compose_body(self) -> ComposeResult:
        """One list."""
        yield RowList[HelpLine](lambda line: line.key, self._draw, id="keys")

    def on_mount(self) -> None:
        """Fill it."""
        self._fill()
        self.query_one(RowList).focus()

    def on_resize(self) -> None:
        """Break the sentences anew."""
        self._fill()

    def action_everything(self) -> None:
        """Every screen's keys, or this one's."""
        self._all = not self._all
        self._fill()
        self.query_one(RowList).action_first()

    def _fill(self) -> None:
        groups = tuple(ROWS) if self._all else SCOPES.get(self._about, SCOPES["deck"])
        width = self.size.width - 4  # the cursor's gutter and the scrollbar
        room = width - _KEYS if width < _WIDE else min(_MOST, width - _KEYS - _NAMES)
        self.query_one(RowList).set_rows(help_lines(groups, room))

    def _draw(self, line: HelpLine, width: int) -> list[Piece]:
        if line.heading:
            return [(fit(line.heading, width), "heading")]
        if line.more:
            return [(" " * _KEYS, ""), (fit(line.text, width - _KEYS), "")]
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
    """The lines for some groups, sentences broken at `room` cells, and how to change keys."""
    lines: list[HelpLine] = []
    for group in groups:
        lines.append(HelpLine(f"{group}#", heading=title_of(group).upper()))
        for action in in_group(group):
            first, *more = textwrap.wrap(action.help, max(20, room))
            lines.append(HelpLine(action.id, action=action, text=first))
            lines += [HelpLine(f"{action.id}/{n}", text=text, more=True) for n, text in enumerate(more)]
        lines.append(HelpLine(f"{group}/"))
    place = config_path().parent / "keys.toml"
    lines.append(HelpLine("own#", heading="YOUR OWN KEYS"))
    for number, text in enumerate(
        (
            f"stand in {place}, under [keys]:",
            '    "deck.review_now" = "ctrl+r"',
            '    "review.approve" = ["a", "ctrl+a"]',
            "What you changed has a * above.",
        )
    ):
        more = textwrap.wrap(text, room + _KEYS, drop_whitespace=False)
        lines += [HelpLine(f"own{number}/{place}", text=part) for place, part in enumerate(more)]
    return lines
