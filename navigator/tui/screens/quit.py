"""Leaving: does the conductor work on?"""

from __future__ import annotations

from navigator.tui.screens.base import Dialog


class QuitDialog(Dialog):
    """Asks whether the conductor is left working or stopped."""

    def accept(self) -> None:
        """Leave it working."""
        self.app.exit()
