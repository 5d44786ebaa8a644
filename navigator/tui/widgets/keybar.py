"""The footer: what the keys of this screen do, as far as there is room. Derived from the action registry."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from navigator.tui.actions import Action, in_scope

if TYPE_CHECKING:
    from navigator.tui.app import NavigatorApp

_LAST = ("app.help", "app.command_palette")
"""Kept at the right edge whatever the width."""


class KeyBar(Widget):
    """One line of keys and labels; a click does what the key does."""

    DEFAULT_CSS = """
    KeyBar {
        dock: bottom;
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $muted;
        link-style: none;
        link-color: $muted;
        link-background: $surface;
        link-style-hover: none;
        link-color-hover: $foreground;
        link-background-hover: $surface;
    }
    """

    def __init__(self, scope: str) -> None:
        super().__init__()
        self._scope = scope

    def render(self) -> Content:
        """The line."""
        width = self.size.width - 2
        shown = [action for action in in_scope(self._scope) if action.footer and self._allowed(action)]
        last = [self._item(action) for action in shown if action.id in _LAST]
        end = Content("   ").join(last)
        room = width - end.cell_length - 3
        items: list[Content] = []
        for action in shown:
            item = self._item(action)
            if action.id in _LAST:
                continue
            if item.cell_length > room:
                continue
            items.append(item)
            room -= item.cell_length + 3
        left = Content("   ").join(items)
        return Content.assemble(left, " " * max(0, width - left.cell_length - end.cell_length), end)

    def _allowed(self, action: Action) -> bool:
        carrier = self.app if action.group in ("app", "go") else self.screen
        return bool(carrier.check_action(action.name, ()))

    def _item(self, action: Action) -> Content:
        app = cast("NavigatorApp", self.app)
        namespace = "app" if action.group in ("app", "go") else "screen"
        text = Content.assemble((app.keymap.shown(action.id), "$accent"), " ", action.label)
        if action.group in ("list", "diff"):
            return text
        return text.stylize(Style.from_meta({"@click": f"{namespace}.{action.name}"}))
