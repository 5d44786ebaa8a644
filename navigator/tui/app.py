"""The application: which screen is in front, what the screens share, and how it meets the terminal."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar

from textual.binding import BindingType
from textual.events import Event, Key
from textual.filter import LineFilter
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.screen import Screen

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.domain.errors import NavigatorError
from navigator.domain.text import safe_text
from navigator.tui import modes
from navigator.tui.data.conductor_link import ConductorLink
from navigator.tui.data.deck_snapshot import DeckSnapshot
from navigator.tui.data.feed import DataFeed
from navigator.tui.data.prefs import Prefs
from navigator.tui.data.starting import StartsConductor
from navigator.tui.keys.bindings import bindings_of
from navigator.tui.keys.gate import KeyGate
from navigator.tui.keys.keymap import Keymap
from navigator.tui.keys.own_keys import act_on_own_key
from navigator.tui.keys.palette import ActionProvider
from navigator.tui.messages import (
    ComposeFor,
    DecideAll,
    DeckSnapshotChanged,
    LiveChanged,
    OpenProposal,
    OpenTask,
)
from navigator.tui.terminal import escape as terminal
from navigator.tui.terminal.filter import InertFilter
from navigator.tui.theme import DEFAULT_THEME, THEMES
from navigator.tui.widgets.screen import NavScreen
from navigator.tui.widgets.strip_text import strip_facts

_TOAST = 2.5
_TOAST_OF_TROUBLE = 6.0
"""Seconds that a toast stands: it covers rows."""
_PATIENCE = 3.0
"""Seconds to end in once the terminal hung up: a driver may wait for ever for a terminal that is gone."""
_TICK = 0.25
"""Seconds between looks at what moves (tokens, a swap's bar) while something moves."""


class NavigatorApp(StartsConductor, inherit_bindings=False):
    """Navigator's screens.

    Args:
        settings: as read once at the start.
        paths: the state folder.
        keymap: the developer's own keys.
        time_scale, seed: the rehearsal's, for a conductor started from here.
        autostart: start a conductor at once when none runs: the developer asked for work by opening the screens, as
            the demo does. Opening them otherwise moves no model.
    """

    TITLE = "navigator"
    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = True
    COMMANDS = {ActionProvider}  # noqa: RUF012 (Textual declares it so)
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        name: modes.factory(name) for name in modes.MODES
    }
    DEFAULT_MODE = "deck"
    BINDINGS: ClassVar[list[BindingType]] = bindings_of("app", "go")

    def __init__(
        self,
        settings: Settings,
        paths: StatePaths,
        *,
        keymap: Keymap | None = None,
        time_scale: float | None = None,
        seed: int = 0,
        autostart: bool = False,
    ) -> None:
        self._inert = InertFilter()
        super().__init__()
        self.settings = settings
        self.paths = paths
        self.keymap = keymap or Keymap()
        self.prefs = Prefs(paths.root)
        self.snapshot = DeckSnapshot()
        self.feed = DataFeed(paths, self._new_snapshot, self._store_failed)
        self.link = ConductorLink(paths, self._event, self._live_changed, time_scale=time_scale, seed=seed)
        self.time_scale, self.seed = time_scale, seed
        self._autostart = autostart
        self._gate = KeyGate(self, self._act_on_key)
        self._history: list[str] = []
        self.demo_wanted = False
        self.strip_facts = strip_facts(settings, self.keymap.shown("app.start_conductor"))
        for theme in THEMES:
            self.register_theme(theme)
        chosen = self.prefs.get("theme", DEFAULT_THEME)
        self.theme = chosen if chosen in self.available_themes else DEFAULT_THEME
        self.set_keymap(self.keymap.textual())

    async def on_event(self, event: Event) -> None:
        """Keys go through the gate, everything else straight on."""
        if isinstance(event, Key) and not event.is_forwarded:
            await self._gate.take(event)
        else:
            await super().on_event(event)

    async def _act_on_key(self, key: Key) -> None:
        if not (self.keymap.keys and await act_on_own_key(self, self.keymap.keys, key)):
            await super().on_event(key)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Textual's own, and last the one that lets no control character through."""
        return [*super().get_line_filters(), self._inert]

    # Life

    def on_mount(self) -> None:
        """Follow the store, find the conductor, mind the signals."""
        self.run_worker(self.feed.follow(), group="follow", exit_on_error=True)
        self.run_worker(self.link.keep(), group="conductor", exit_on_error=True)
        self.set_interval(_TICK, self._tick)
        self.theme_changed_signal.subscribe(self, lambda theme: self.prefs.set("theme", theme.name))
        for problem in self.keymap.problems:
            self.toast(problem, "warning")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            with suppress(ValueError, RuntimeError):  # not the main thread: a test, or a web server
                loop.add_signal_handler(number, self._told_to_end, number)
        if self._autostart:
            self.want_work()

    def _told_to_end(self, number: int) -> None:
        """End as if left, which restores the terminal; where it is gone, do not wait for it to take the last bytes."""
        if number == signal.SIGHUP:
            last = threading.Timer(_PATIENCE, os._exit, (128 + number,))
            last.daemon = True
            last.start()
        self.exit(None, 128 + number)

    async def on_unmount(self) -> None:
        """Let the threads go."""
        self.feed.close()

    # The picture

    def _new_snapshot(self, snapshot: DeckSnapshot) -> None:
        before, self.snapshot = self.snapshot, snapshot
        if before.loaded and not self.app_focus and len(snapshot.inbox) > len(before.inbox):
            self._call_back(len(snapshot.inbox))
        self.screen.post_message(DeckSnapshotChanged(snapshot))

    def _store_failed(self, problem: str) -> None:
        self.toast(problem, "error")
        self._new_snapshot(replace(self.snapshot, problem=problem))

    def _event(self, event: dict[str, Any]) -> None:
        self.feed.poke()

    def _live_changed(self) -> None:
        if self.is_running:
            self.screen.post_message(LiveChanged(self.link.live))

    def _tick(self) -> None:
        live = self.link.live
        if live.tasks or live.swap is not None:
            self.screen.post_message(LiveChanged(live))

    def _call_back(self, waiting: int) -> None:
        """Something waits and the developer looks elsewhere: ring, and say it to terminals that can show it."""
        if self._driver is not None:
            text = f"Navigator: {waiting} wait for you"
            self._driver.write(terminal.notification_sequence(text, tmux=terminal.inside_tmux()))

    # Asking for things

    async def ask(
        self, op: str, args: dict[str, Any] | None = None, *, done: str = ""
    ) -> dict[str, Any] | None:
        """Have the conductor do one thing; an error becomes a toast and None, success the toast `done`."""
        try:
            result = await self.link.request(op, args)
        except NavigatorError as error:
            self.toast(str(error), "error")
            return None
        self.feed.poke()
        if done:
            self.toast(done)
        return result

    def toast(self, message: str, severity: SeverityLevel = "information") -> None:
        """Say something for a few seconds, unless it stands there. Untrusted text is safe here."""
        said, quiet = safe_text(message), severity == "information"
        if self.is_running and not any(note.message == said for note in self._notifications):
            seconds = _TOAST if quiet else _TOAST_OF_TROUBLE
            self.notify(said, severity=severity, markup=False, timeout=seconds)

    def copy_to_clipboard(self, text: str) -> None:
        """Put text on the clipboard by OSC 52, through tmux too; refuse what terminals would drop."""
        text = safe_text(text)  # what others wrote stays inert where it is pasted, too
        self._clipboard = text
        sequence = terminal.clipboard_sequence(text, tmux=terminal.inside_tmux())
        if sequence is None:
            self.toast("Too long for the terminal's clipboard; it was not copied.", "warning")
        elif self._driver is not None:
            self._driver.write(sequence)
            lines = text.count("\n") + 1
            self.toast(f"Copied {lines} line{'s' if lines != 1 else ''}.")

    # Going about

    def go(self, mode: str, request: Message | None = None) -> None:
        """Bring a screen to the front, and give it what it is opened with."""
        if not modes.available(mode):
            self.toast(f"There is no {mode} screen here.", "warning")
            return
        self.run_worker(self._go(mode, request), group="go", exclusive=True)

    async def _go(self, mode: str, request: Message | None) -> None:
        if mode != self.current_mode:
            self._history = [name for name in self._history if name != mode][-8:]
            self._history.append(self.current_mode)
            await self.switch_mode(mode)
        screen = self.screen_stack[0]
        if request is not None and isinstance(screen, NavScreen):
            screen.receive(request)

    def on_open_proposal(self, request: OpenProposal) -> None:
        """To Review."""
        self.go("review", request)

    def on_open_task(self, request: OpenTask) -> None:
        """A task without a proposal is shown over the screen."""
        modes.open_task(self, request)

    def on_compose_for(self, request: ComposeFor) -> None:
        """To Compose."""
        self.go("compose", request)

    def on_decide_all(self, request: DecideAll) -> None:
        """Ask in the batch dialog."""
        modes.ask_batch(self, request)

    async def action_back(self) -> None:
        """Back to where the developer came from."""
        screen = self.screen
        if isinstance(screen, NavScreen) and screen.back():
            return
        if len(self.screen_stack) > 1:
            self.pop_screen()
        elif self._history:
            mode = self._history.pop()
            await self.switch_mode(mode)

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
        """Write a task."""
        self.go("compose", ComposeFor())

    def action_help(self) -> None:
        """What the keys do here."""
        from navigator.tui.dialogs.help import HelpScreen

        if not isinstance(self.screen, HelpScreen):
            scope = self.screen.SCOPE if isinstance(self.screen, NavScreen) else "deck"
            self.push_screen(HelpScreen(scope))

    def action_next_theme(self) -> None:
        """The next of Navigator's themes."""
        names = [theme.name for theme in THEMES]
        here = names.index(self.theme) if self.theme in names else -1
        self.theme = names[(here + 1) % len(names)]

    def leave_for_demo(self) -> None:
        """End the screens; `run_app` goes on with the demo, which opens them again."""
        self.demo_wanted = True
        self.exit()

    def action_leave(self) -> None:
        """Leave; where a conductor works, ask what becomes of it."""
        from navigator.tui.dialogs.quit import QuitDialog

        if not self.link.here:
            self.exit()
        elif not isinstance(self.screen, QuitDialog):
            self.push_screen(QuitDialog())
