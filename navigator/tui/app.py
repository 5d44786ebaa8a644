"""The application: which screen is in front, which keys act, and how it meets the terminal."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual.app import SystemCommand
from textual.binding import BindingType
from textual.dom import DOMNode
from textual.events import Event, Key
from textual.filter import LineFilter
from textual.message import Message
from textual.screen import Screen

from navigator.config.paths import StatePaths, config_path, state_dir
from navigator.tui.base import BaseApp, ComposeFor, DecideAll, OpenProposal, OpenTask, begin
from navigator.tui.keys import TITLES, Action, KeyGate, Keymap, bindings_of, in_scope, load_keymap
from navigator.tui.terminal import InertFilter
from navigator.tui.theme import DEFAULT_THEME, THEMES
from navigator.tui.widgets.screen import NavScreen

if TYPE_CHECKING:
    from navigator.config.settings import Settings

_PATIENCE = 3.0
"""Seconds to exit in once the terminal hung up: a driver may wait for ever for a terminal that is gone."""

MODES: dict[str, str] = {
    "deck": "navigator.tui.deck:DeckScreen",
    "review": "navigator.tui.review.screen:ReviewScreen",
    "compose": "navigator.tui.compose:ComposeScreen",
    "stats": "navigator.tui.statistics:StatsScreen",
    "fleet": "navigator.tui.fleet:FleetScreen",
}
"""Mode -> module and class; the module is imported when the mode is first shown."""

OVERLAYS: dict[str, str] = {
    "task": "navigator.tui.answers.screen:TaskScreen",
    "suggestions": "navigator.tui.answers.suggestions:SuggestionsScreen",
    "batch": "navigator.tui.review.batch:BatchDialog",
    "help": "navigator.tui.dialogs:HelpScreen",
}
"""Screens shown over another one, imported when first shown."""


def load(place: str) -> Callable[..., Any]:
    """The class at `module:name`."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)  # type: ignore[no-any-return]


def _make_screen(place: str) -> Screen[Any]:
    return cast("Screen[Any]", load(place)())


class NavigatorApp(BaseApp, inherit_bindings=False):
    """Navigator's screens.

    Args:
        settings: the settings; None to read the user's, after the first paint.
        paths: the state folder.
        keymap: the user's own keys.
        time_scale: the rehearsal's, for a conductor started from here.
        autostart: start a conductor at once when none runs, as the demo does. Opening the screens otherwise loads no
            model.
    """

    TITLE = "navigator"
    CSS_PATH = ["app.tcss", "deck.tcss"]  # noqa: RUF012 (Textual declares it so)
    """The first screen's with it: for what comes later Textual parses all of it again."""
    ENABLE_COMMAND_PALETTE = True
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        name: partial(_make_screen, place) for name, place in MODES.items()
    }
    DEFAULT_MODE = "deck"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("app", "go")

    def __init__(
        self,
        settings: Settings | None,
        paths: StatePaths,
        *,
        keymap: Keymap | None = None,
        time_scale: float | None = None,
        autostart: bool = False,
    ) -> None:
        self._inert = InertFilter()
        super().__init__(settings, paths, keymap or Keymap(), time_scale=time_scale)
        self._autostart = autostart
        self._gate = KeyGate(self, super().on_event)
        for theme in THEMES:
            self.register_theme(theme)
        chosen = self.prefs.get("theme", DEFAULT_THEME)
        self.theme = chosen if chosen in [theme.name for theme in THEMES] else DEFAULT_THEME
        self.set_keymap(self.keymap.textual())

    async def on_event(self, event: Event) -> None:
        """Keys go through the gate, everything else straight on."""
        if isinstance(event, Key) and not event.is_forwarded:
            await self._gate.take(event)
        else:
            await super().on_event(event)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's own, and last the one that lets no control character through."""
        return [*super().get_line_filters(), self._inert]

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the command palette offers: the actions of the screen below it that one would search for."""
        for action in in_scope(screen.SCOPE if isinstance(screen, NavScreen) else "deck"):
            title = f"{TITLES[action.group].lower()}: {action.label}   {self.keymap.shown(action.id)}"
            if not action.moves:
                yield SystemCommand(title, action.help, partial(self._act, screen, action))

    async def _act(self, screen: Screen[Any], action: Action) -> None:
        carrier: DOMNode = self if action.group in ("app", "go") else screen
        if action.group in ("list", "diff") and screen.focused is not None:
            carrier = screen.focused
        await self.run_action(action.name, carrier)

    # Life

    def on_mount(self) -> None:
        """Follow the store, find the conductor, mind the signals."""
        self.call_after_refresh(self.follow)
        self.theme_changed_signal.subscribe(self, lambda theme: self.prefs.set("theme", theme.name))
        for problem in self.keymap.problems:
            self.toast(problem, "warning")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with suppress(ValueError, RuntimeError):  # not the main thread: a test, or a web server
                loop.add_signal_handler(number, self._told_to_end, number)
        if self._autostart:
            self.call_after_refresh(self.want_work)

    def _told_to_end(self, number: int) -> None:
        """End as if left, which restores the terminal; where it is gone, do not wait for it to take the last bytes."""
        if number == signal.SIGHUP:
            last = threading.Timer(_PATIENCE, os._exit, (128 + number,))
            last.daemon = True
            last.start()
        self.exit(None, 128 + number)

    # Going about

    def go(self, mode: str, request: Message | None = None) -> None:
        """Bring a screen to the front, and give it what it is opened with."""
        self.run_worker(self._go(mode, request), group="go", exclusive=True)

    async def _go(self, mode: str, request: Message | None) -> None:
        if mode != self.current_mode:
            await self.switch_mode(mode)
        screen = self.screen_stack[0]
        if request is not None and isinstance(screen, NavScreen):
            screen.receive(request)

    def on_open_proposal(self, request: OpenProposal) -> None:
        """To Review."""
        self.go("review", request)

    def on_open_task(self, request: OpenTask) -> None:
        """A task without a proposal is shown over the screen."""
        self.push_screen(load(OVERLAYS[request.page or "task"])(request.task))

    def on_compose_for(self, request: ComposeFor) -> None:
        """To Compose."""
        self.go("compose", request)

    def on_decide_all(self, request: DecideAll) -> None:
        """Ask in the batch dialog."""
        self.push_screen(load(OVERLAYS["batch"])(request))

    async def action_back(self) -> None:
        """Leave what is open, else to the deck."""
        screen = self.screen
        if isinstance(screen, NavScreen) and screen.back():
            return
        if len(self.screen_stack) > 1:
            self.pop_screen()
        else:
            await self.switch_mode("deck")

    def action_deck(self) -> None:
        """To the deck."""
        self.go("deck")

    def action_statistics(self) -> None:
        """To the statistics."""
        self.go("stats")

    def action_fleet(self) -> None:
        """To the fleet."""
        self.go("fleet")

    def action_compose(self) -> None:
        """Write a task, for the projects that are meant where one is."""
        screen = self.screen
        self.go("compose", ComposeFor(screen.meant_projects() if isinstance(screen, NavScreen) else ()))

    def action_help(self) -> None:
        """What the keys do here."""
        scope = getattr(self.screen, "SCOPE", "deck")
        if scope != "help":
            self.push_screen(load(OVERLAYS["help"])(scope))

    def action_next_theme(self) -> None:
        """The next of Navigator's themes."""
        names = [theme.name for theme in THEMES]
        here = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(here + 1) % len(names)]

    def action_interrupt(self) -> None:
        """Say how to quit."""
        self.toast(f"Press {self.keymap.shown('app.quit')} to quit.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """A conductor is started only while none runs."""
        if action == "start_conductor":
            return not self.link.here
        return super().check_action(action, parameters)

    def action_start_conductor(self) -> None:
        """Start a conductor; a failure becomes a toast."""
        begin(self, self.start_conductor, group="start", exclusive=True)


def collect_rarely() -> None:
    """Look for garbage rarely: what was imported stays to the end, and thousands of rows stay as long as they are shown. To
    look through them again and again took as long as to read them."""
    gc.freeze()
    gc.set_threshold(50_000)


def run_app(*, time_scale: float | None = None) -> None:
    """Open the screens until the user leaves.

    Args:
        time_scale: a demo's. A conductor is started at once where it is given.

    Raises:
        ConfigError: the settings cannot be used.
    """
    collect_rarely()
    paths = StatePaths(state_dir()).ensure()
    app = NavigatorApp(
        None,
        paths,
        keymap=load_keymap(config_path().parent / "keys.toml"),
        time_scale=time_scale,
        autostart=time_scale is not None,
    )
    app.run()
    command = [sys.executable, "-m", "navigator"]
    if app.then == "setup":
        import click

        from navigator.process.runner import foreground

        foreground([*command, app.then])
        click.prompt("\nPress enter to open the screens again", "", show_default=False, prompt_suffix=" ")
        os.execv(sys.executable, command)
    if app.then:
        os.execv(sys.executable, [*command, app.then])
    if app.failed is not None:
        raise app.failed
    if app.return_code:
        raise SystemExit(app.return_code)
