"""What the keys do, derived from the action registry."""

from __future__ import annotations

from textual.app import ComposeResult

from navigator.tui.screens.base import NavScreen


class HelpScreen(NavScreen):
    """Over any screen; esc leaves it."""

    SCOPE = "help"
    TITLE = "help"

    def __init__(self, about: str) -> None:
        super().__init__()
        self._about = about

    def compose_body(self) -> ComposeResult:
        """The table."""
        yield from ()
