"""The footer: what the keys of this screen do, as far as there is room. Derived from the action registry."""

from __future__ import annotations

from collections.abc import Callable

from textual import events, getters
from textual.content import Content
from textual.style import Style
from textual.widget import Widget

from navigator.tui.base import BaseApp
from navigator.tui.keys.registry import Action, in_scope

_BACK, _HELP, _PALETTE = "app.back", "app.help", "app.command_palette"
_START = "app.start_conductor"
_EDGE = (_BACK, _HELP, _PALETTE)
"""Kept at the right edge."""
_NARROW = 100
"""Cells below which the palette's key gives way to the screen's own."""
_GAP = "   "
_CLICKED = "key_action"
_HERE = {"stats": "go.statistics", "fleet": "go.fleet", "lab": "go.lab"}
"""What leads to where one is already."""


class KeyBar(Widget):
    """One line of keys and labels; a click does what the key does.

    Args:
        scope: whose actions are shown.
        offers: whether the screen shows an action now.
        label: what the screen calls an action now.
    """

    DEFAULT_CSS = """
    KeyBar {
        dock: bottom;
        height: 1;
        padding: 0 1;
        background: $surface;
        color: $muted;
    }
    """

    app = getters.app(BaseApp)

    def __init__(self, scope: str, offers: Callable[[Action], bool], label: Callable[[Action], str]) -> None:
        super().__init__()
        self._scope = scope
        self._offers = offers
        self._label = label

    def render(self) -> Content:
        """The line: what the screen's keys do, and at the right edge the way back, help and the palette."""
        width = self.size.width
        shown = {action.id: action for action in in_scope(self._scope) if self._is_shown(action)}
        if width < _NARROW:
            shown.pop(_PALETTE, None)
        own = [name for name in shown if name not in _EDGE]
        first = [name for name in own if shown[name].first]
        rest = [name for name in own if not shown[name].first]
        # Whatever the width: help. Then what must not be missed, and the way back before or after the screen's own.
        wanted = [_HELP, _PALETTE, *first, _BACK, *rest]
        if width < _NARROW:
            wanted = [_HELP, *first, *(name for name in rest if name != _START), _BACK, _START]
        room = width + len(_GAP)
        kept = set()
        for name in wanted:
            size = self._item(shown[name]).cell_length + len(_GAP) if name in shown else room + 1
            if size <= room:
                kept.add(name)
                room -= size
        left = self._line(shown, [name for name in own if name in kept])
        end = self._line(shown, [name for name in _EDGE if name in kept])
        return Content.assemble(left, " " * max(0, width - left.cell_length - end.cell_length), end)

    def _line(self, shown: dict[str, Action], names: list[str]) -> Content:
        return Content(_GAP).join([self._item(shown[name]) for name in names])

    def _is_shown(self, action: Action) -> bool:
        if not action.footer or action.id == _HERE.get(self._scope):
            return False
        if action.id == _BACK:
            return self._scope != "deck"
        carrier = self.app if action.group in ("app", "go") else self.screen
        return bool(carrier.check_action(action.name, ())) and self._offers(action)

    def _item(self, action: Action) -> Content:
        namespace = "app" if action.group in ("app", "go") else "screen"
        text = Content.assemble((self.app.keymap.shown(action.id), "$accent"), " ", self._label(action))
        if action.group in ("list", "diff"):
            return text
        # Not "@click": Textual gives such text the colours of a link, and the keys would no longer stand out.
        return text.stylize(Style.from_meta({_CLICKED: f"{namespace}.{action.name}"}))

    async def on_click(self, event: events.Click) -> None:
        """Do what the key under the pointer does."""
        action = event.style.meta.get(_CLICKED)
        if action:
            await self.run_action(action)
