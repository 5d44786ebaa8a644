"""What every screen may ask of the application: settings, keys, the store, the conductor, toasts and the clipboard."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from textual.app import App
from textual.dom import DOMNode
from textual.message import Message
from textual.notifications import SeverityLevel
from textual.worker import WorkType

from navigator.config.paths import StatePaths
from navigator.model.errors import NavigatorError
from navigator.model.states import DecisionKind
from navigator.model.text import safe_text
from navigator.tui.conductor_link import ConductorLink
from navigator.tui.deck_snapshot import DeckSnapshot, LiveStatus
from navigator.tui.feed import DataFeed
from navigator.tui.keys import Keymap
from navigator.tui.prefs import DraftKeeper, Prefs
from navigator.tui.widgets.strip import StripFacts, strip_facts

if TYPE_CHECKING:
    from navigator.config.settings import Settings


_TOAST = 2.5
_TOAST_OF_TROUBLE = 6.0
"""Seconds that a toast stays: it covers rows."""
_TICK = 0.25
"""Seconds between redraws of what moves (tokens, a swap's bar) while something moves."""


class BaseApp(App[None], inherit_bindings=False):
    """The services behind the screens. `NavigatorApp` adds the screens themselves.

    Attributes:
        paths: the state folder.
        keymap: the user's own keys.
        prefs: choices of the screens that are kept between runs.
        snapshot: the store as last read.
        feed: reads the store.
        link: the connection to the conductor.
        then: the command that the user left the screens for.
        failed: why the screens ended at once.
        last_decided: the proposals that were approved last, and not undone since.
        settled: the settings were read and can be used.
    """

    def __init__(
        self,
        settings: Settings | None,
        paths: StatePaths,
        keymap: Keymap,
        *,
        time_scale: float | None,
    ) -> None:
        super().__init__()
        self._given_settings = settings
        self.paths = paths
        self.keymap = keymap
        self.prefs = Prefs(paths.root)
        self.snapshot = DeckSnapshot()
        self.feed = DataFeed(paths, self._new_snapshot, self._store_failed)
        self.link = ConductorLink(paths, self.feed.poke, self._live_changed, time_scale=time_scale)
        self.then = ""
        self.failed: NavigatorError | None = None
        self.last_decided: tuple[str, ...] = ()
        self.settled = self._settling = False

    @cached_property
    def settings(self) -> Settings:
        """The settings, read when they are first needed: after the first paint.

        Raises:
            ConfigError: the file cannot be used.
        """
        from navigator.config.settings import load_settings

        return self._given_settings or load_settings()

    @cached_property
    def drafts(self) -> DraftKeeper:
        """Where what is written goes until it is sent."""
        return DraftKeeper(self.link.request, lambda told: self.toast(told, "warning"))

    @cached_property
    def strip_facts(self) -> StripFacts:
        """What the strip needs of the settings."""
        return strip_facts(self.settings, self.keymap.shown("app.start_conductor"))

    def follow(self) -> None:
        """Follow the store. The settings are read when its first rows are painted: their models take as long to import."""
        self.run_worker(self.feed.follow(), group="follow", exit_on_error=True)

    def _settle(self) -> None:
        """Read the settings, then follow the conductor. Settings that cannot be used end the screens."""
        try:
            self.strip_facts  # noqa: B018 (read once, here)
        except NavigatorError as error:
            self.failed = error
            self.exit(return_code=error.exit_code)
            return
        self.settled = True
        self._tell_screen(DeckSnapshotChanged(self.snapshot))
        self.run_worker(self.link.keep(), group="conductor", exit_on_error=True)
        self.set_interval(_TICK, self._tick)

    async def on_unmount(self) -> None:
        """Keep what is unfinished, and stop the reading threads."""
        await self.drafts.close()
        self.feed.close()

    # The store and the conductor

    def _new_snapshot(self, snapshot: DeckSnapshot) -> None:
        self.snapshot = snapshot
        self._tell_screen(DeckSnapshotChanged(snapshot))
        if not self._settling:
            self._settling = True
            self.call_after_refresh(self._settle)

    def _store_failed(self, problem: str) -> None:
        self.toast(problem, "error")
        # No rows of a store that is not the one meant.
        known = self.snapshot if self.feed.checked else DeckSnapshot()
        self._new_snapshot(replace(known, problem=problem))

    def _live_changed(self) -> None:
        self._tell_screen(LiveChanged(self.link.live))

    def _tick(self) -> None:
        live = self.link.live
        if live.streams or live.swap is not None:
            self._tell_screen(LiveChanged(live))

    def _tell_screen(self, message: Message) -> None:
        """Post to the screen in front; while the app closes there is none."""
        if self.is_running and self.screen_stack:
            self.screen.post_message(message)

    # Starting the conductor. Opening the screens alone loads no model.

    def want_work(self) -> None:
        """The user asked for work: start a conductor unless one is found soon, where there is a way to swap."""
        if self.settings.swap.strategy is not None:
            self.run_worker(self._start_quietly(), group="start", exclusive=True)

    async def _start_quietly(self) -> None:
        await asyncio.sleep(0.3)
        with suppress(NavigatorError):  # the strip shows the reason; trying again is up to the user
            await self.link.start()

    async def start_conductor(self) -> bool:
        """Start a conductor unless one runs; says whether one answers within a few seconds. A failure becomes a toast."""
        try:
            return await self.link.start()
        except NavigatorError as error:
            self.toast(str(error), "error")
            return False

    # The terminal

    def toast(self, message: str, severity: SeverityLevel = "information") -> None:
        """Show a message for a few seconds, unless it is shown already. Untrusted text is safe here."""
        said, quiet = safe_text(message), severity == "information"
        if self.is_running and not any(note.message == said for note in self._notifications):
            seconds = _TOAST if quiet else _TOAST_OF_TROUBLE
            self.notify(said, severity=severity, markup=False, timeout=seconds)

    def copy_to_clipboard(self, text: str) -> None:
        """Copy text. What models wrote stays inert where it is pasted, too."""
        super().copy_to_clipboard(safe_text(text))
        self.toast("Copied.")

    def leave_for(self, command: str) -> None:
        """Close the screens; `run_app` then runs `navigator COMMAND`, and opens them again after `setup`."""
        self.then = command
        self.exit()


def begin(
    node: DOMNode, work: Callable[[], Coroutine[Any, Any, object]], *, group: str, exclusive: bool = False
) -> None:
    """Run `work` on the event loop; an exclusive one ends the others of its group."""
    node.run_worker(cast("WorkType[None]", work), group=group, exclusive=exclusive)


# Immutable messages between screens, and from the workers to the screens. Workers post; they never touch a widget.


@dataclass
class DeckSnapshotChanged(Message):
    """The store says something new. Sent to the screen in front; others get it when they come to the front."""

    snapshot: DeckSnapshot


@dataclass
class LiveChanged(Message):
    """Progress that is not kept: tokens so far, a swap's phase, whether a conductor answers."""

    live: LiveStatus


@dataclass
class OpenProposal(Message):
    """Show a proposal in Review, with the others to step through by n and p."""

    proposal: str
    queue: Sequence[str] = ()


@dataclass
class OpenTask(Message):
    """Show a task that has no proposal to decide. `page` is "report", "suggestions" or "" for the task's own page."""

    task: str
    page: str = ""


@dataclass
class ComposeFor(Message):
    """Write a task for these projects (names); none: let the user choose."""

    projects: Sequence[str] = ()


@dataclass
class DecideAll(Message):
    """Ask, in a dialog, for one decision on these proposals, exactly as they are on the screen now.

    `proposals` are (id, tree) pairs.
    """

    kind: DecisionKind
    proposals: Sequence[tuple[str, str]]
