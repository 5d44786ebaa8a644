"""The command palette, made from the action registry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.dom import DOMNode

from navigator.tui.keys.registry import Action, in_scope, title_of
from navigator.tui.widgets.screen import NavScreen

if TYPE_CHECKING:
    from navigator.tui.app import NavigatorApp


class ActionProvider(Provider):
    """Every action of the screen below the palette, and the themes by name."""

    async def discover(self) -> Hits:
        """What stands there before anything is typed."""
        for action in self._actions():
            yield DiscoveryHit(
                self._title(action), partial(self._run, action), text=action.label, help=action.help
            )

    async def search(self, query: str) -> Hits:
        """Actions whose label or sentence matches."""
        matcher = self.matcher(query)
        for action in self._actions():
            title = self._title(action)
            score = max(matcher.match(title), matcher.match(action.help) * 0.8)
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(title),
                    partial(self._run, action),
                    text=action.label,
                    help=action.help,
                )
        for name in self.app.available_themes:
            if not name.startswith("navigator-"):
                continue
            title = f"theme: {name.removeprefix('navigator-')}"
            score = matcher.match(title)
            if score > 0:
                yield Hit(
                    score,
                    matcher.highlight(title),
                    partial(setattr, self.app, "theme", name),
                    help="Use this theme.",
                )

    def _actions(self) -> list[Action]:
        scope = self.screen.SCOPE if isinstance(self.screen, NavScreen) else "deck"
        return [action for action in in_scope(scope) if action.palette]

    def _title(self, action: Action) -> str:
        keymap = cast("NavigatorApp", self.app).keymap
        return f"{title_of(action.group).lower()}: {action.label}   {keymap.shown(action.id)}"

    async def _run(self, action: Action) -> None:
        carrier: DOMNode = self.app if action.group in ("app", "go") else self.screen
        if action.group in ("list", "diff") and self.screen.focused is not None:
            carrier = self.screen.focused
        await self.app.run_action(action.name, carrier)
