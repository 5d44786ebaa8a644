"""Fleet: what is resident, how the servers are, what swaps cost, the conductor's log."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from textual import work
from textual.app import ComposeResult

from navigator.actions.conducting import Conduct
from navigator.client.status import ServerLook
from navigator.model.states import Role
from navigator.swap import look_at_servers
from navigator.tui.base import begin
from navigator.tui.data.deck_snapshot import DeckSnapshot, LiveStatus
from navigator.tui.dialogs.confirm import ConfirmDialog
from navigator.tui.fleet.panes import FleetView, log_lines, overview, swap_price
from navigator.tui.keys.registry import Action
from navigator.tui.verbs import perform
from navigator.tui.widgets.page import Line, Page
from navigator.tui.widgets.screen import NavScreen

_NEEDS_CONDUCTOR = frozenset({"fleet.swap", "fleet.stop"})
_ASK = 10.0
"""Seconds between two questions to the servers while the screen is in front: health costs SGLang a token."""
_READ = 1.0
"""Seconds between two looks at the log while the screen is in front."""


class FleetScreen(NavScreen):
    """Servers and log are read in threads, and only while the screen is in front."""

    SCOPE = "fleet"
    TITLE = "fleet"
    DEFAULT_CSS = "FleetScreen { #fleet { height: 1fr; } &.-wide #fleet { padding: 0 4; } }"
    AUTO_FOCUS = "#fleet"

    def __init__(self) -> None:
        super().__init__()
        self._snapshot = DeckSnapshot()
        self._live = LiveStatus()
        self._looks: tuple[ServerLook, ...] | None = None
        self._log: list[str] = []

    def compose_body(self) -> ComposeResult:
        """One page."""
        yield Page(self._lines, follow=True, id="fleet")

    def on_mount(self) -> None:
        """Begin to look around."""
        self.set_interval(_ASK, self._ask_if_shown)
        self.set_interval(_READ, self._read_if_shown)

    @property
    def looks(self) -> tuple[ServerLook, ...] | None:
        """The servers as last seen; None before they were asked."""
        return self._looks

    # What is shown

    def on_screen_resume(self) -> None:
        """In front again: look at once."""
        super().on_screen_resume()
        self._ask_if_shown()
        self._read_if_shown()

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """New swaps, new figures."""
        self._snapshot = snapshot
        self._redraw()

    def show_live(self, live: LiveStatus) -> None:
        """A swap moves, a model has come."""
        came = live.status.get("resident") != self._live.status.get("resident")
        self._live = live
        self._redraw()
        if came:
            self._ask_if_shown()

    def offers(self, action: Action) -> bool:
        """What only a conductor can do is not shown where none works."""
        return self._live.conductor == "here" or action.id not in _NEEDS_CONDUCTOR

    def _redraw(self) -> None:
        self.query_one(Page).redraw()

    def _lines(self, width: int) -> list[Line]:
        """Servers and swaps, and the end of a log."""
        return [
            *overview(FleetView(self._snapshot, self._live, self.app.strip_facts, self._looks), width),
            [],
            *log_lines(self._log, width),
        ]

    def _ask_if_shown(self) -> None:
        if self.is_current:
            begin(self, self._ask, group="servers", exclusive=True)

    async def _ask(self) -> None:
        self._looks = await asyncio.to_thread(look_at_servers, self.app.settings, self.app.paths)
        self._redraw()

    def _read_if_shown(self) -> None:
        if self.is_current:
            begin(self, self._read, group="log")

    async def _read(self) -> None:
        lines = await asyncio.to_thread(log_end, self.app.paths.log)
        if lines != self._log:
            self._log = lines
            self._redraw()

    @work
    async def action_swap(self) -> None:
        """Load the role that is not loaded; the conductor finishes its running tasks first."""
        status = self._live.status
        if status.get("both_resident"):
            self.app.toast("Both models are loaded; there is nothing to swap.")
            return
        to = Role.GENERATOR if status.get("resident") == "reviewer" else Role.REVIEWER
        running = len(self._live.tasks)
        lines = [
            f"{running} request{'s' if running != 1 else ''} running; they finish first."
            if running
            else "Nothing is running.",
            f"{swap_price(self._snapshot.swaps, to.value)} Afterwards Navigator schedules as usual.",
        ]
        if await self.app.push_screen_wait(ConfirmDialog(f"Swap to the {to.value}?", lines, yes="swap")):
            await perform(self.app, Conduct(do="swap", role=to), ask=False)

    @work(group="stop", exclusive=True)
    async def action_stop(self) -> None:
        """Stop the conductor."""
        await perform(self.app, Conduct(do="stop"), ask=False)


TAIL_BYTES = 64 * 1024
"""Bytes of the log that are shown, from its end."""


def log_end(path: Path) -> list[str]:
    """The last lines of a log, oldest first; none where there is no file. Blocks: call it in a thread."""
    try:
        with path.open("rb") as stream:
            first = max(0, stream.seek(0, os.SEEK_END) - TAIL_BYTES)
            stream.seek(first)
            lines = stream.read(TAIL_BYTES).decode("utf-8", "replace").split("\n")
    except FileNotFoundError:
        return []
    except OSError as error:
        return [f"The log cannot be read: {error.strerror}."]
    return [line for line in (lines[1:] if first else lines) if line]  # the first one is cut
