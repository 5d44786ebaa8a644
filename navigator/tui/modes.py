"""Which screens there are. A new one is one line here and its groups in `actions.SCOPES`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from navigator.tui.app import NavigatorApp
    from navigator.tui.messages import DecideAll, OpenTask
    from navigator.tui.widgets.screen import NavScreen

MODES: dict[str, str] = {
    "deck": "navigator.tui.deck.screen:DeckScreen",
    "review": "navigator.tui.review.screen:ReviewScreen",
    "compose": "navigator.tui.compose.screen:ComposeScreen",
    "stats": "navigator.tui.statistics.screen:StatsScreen",
    "fleet": "navigator.tui.fleet.screen:FleetScreen",
}
"""Mode -> module and class; the module is imported when the mode is first shown."""


def factory(mode: str) -> Callable[[], NavScreen]:
    """A function that imports and makes the screen of a mode."""

    def make() -> NavScreen:
        module, _, name = MODES[mode].partition(":")
        return cast("NavScreen", getattr(import_module(module), name)())

    return make


def available(mode: str) -> bool:
    """Whether the mode's module is there."""
    from importlib.util import find_spec

    return find_spec(MODES[mode].partition(":")[0]) is not None


TASK_PAGES: dict[str, str] = {
    "": "navigator.tui.answers.task:TaskScreen",
    "report": "navigator.tui.answers.report:ReportScreen",
    "suggestions": "navigator.tui.answers.suggestions:SuggestionsScreen",
}
"""How a task without a proposal is shown -> module and class."""


def open_task(app: NavigatorApp, request: OpenTask) -> None:
    """Show a task without a proposal over the screen."""
    module, _, name = TASK_PAGES[request.page].partition(":")
    app.push_screen(getattr(import_module(module), name)(request.task))


def ask_batch(app: NavigatorApp, request: DecideAll) -> None:
    """Show the dialog that asks for one decision on several proposals."""
    from navigator.tui.review.batch import BatchDialog

    app.push_screen(BatchDialog(request))
