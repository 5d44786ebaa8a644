"""Open the screens. The only place where the command line reaches for Textual."""

from __future__ import annotations

import os
import sys

from navigator.model.errors import UsageError


def open_screens(*, time_scale: float | None = None, seed: int = 0) -> None:
    """Run the Textual app until the developer quits.

    Raises:
        UsageError: there is no terminal to draw on.
    """
    # Textual's own variable: textual-serve has the app talk to a browser through pipes.
    if not (os.environ.get("TEXTUAL_DRIVER") or (sys.stdin.isatty() and sys.stdout.isatty())):
        raise UsageError(
            "The screens need a terminal.", hint="Without one, use the commands: `navigator --help`."
        )
    from navigator.tui.app import run_app

    run_app(time_scale=time_scale, seed=seed)
