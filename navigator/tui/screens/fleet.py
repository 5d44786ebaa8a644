"""Fleet: what is resident, how the servers are, what swaps cost, what a batch will cost, the conductor's log."""

from __future__ import annotations

import asyncio
from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.worker import Worker

from navigator.tui.fleet.log_tail import LogTail
from navigator.tui.fleet.panes import FleetView, history_lines, log_lines, overview
from navigator.serving.looking import ServerLook, look_at_servers
from navigator.tui.glance import Glance
from navigator.tui.glance import Live as LivePicture
from navigator.tui.screens.base import NavScreen
from navigator.tui.widgets.page import Line, Page

PANES = ("overview", "history", "log")
_ASK = 10.0
"""Seconds between two questions to the servers while the screen is in front: health costs SGLang a token."""
_READ = 1.0
"""Seconds between two looks at the log while the screen is in front."""


class FleetScreen(NavScreen):
    """Servers and log are read in threads, and only while the screen is in front."""

    SCOPE = "fleet"
    TITLE = "fleet"
    CSS_PATH = "fleet.tcss"
    AUTO_FOCUS = "#overview"

    def __init__(self) -> None:
        super().__init__()
        self._glance = Glance()
        self._live = LivePicture()
        self._looks: tuple[ServerLook, ...] | None = None
        self._tail: LogTail | None = None
        self._log: list[str] = []
        self._work: dict[str, Worker[None]] = {}

    def compose_body(self) -> ComposeResult:
        """Three pages."""
        yield Page(self._overview, id="overview")
        with Horizontal(id="below"):
            yield Page(self._history, id="history")
            yield Page(self._log_page, follow=True, id="log")

    def on_mount(self) -> None:
        """Begin to look around."""
        self._tail = LogTail(self.nav.paths.log)
        self._show("overview")
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

    def show_glance(self, glance: Glance) -> None:
        """New swaps, new figures."""
        changed = glance.swaps is not self._glance.swaps
        self._glance = glance
        self.query_one("#overview", Page).redraw()
        if changed:
            self.query_one("#history", Page).redraw()

    def show_live(self, live: LivePicture) -> None:
        """A swap moves, a model has come."""
        came = live.status.get("resident") != self._live.status.get("resident")
        if live.conductor != self._live.conductor:
            self.refresh_keys()
        self._live = live
        self.query_one("#overview", Page).redraw()
        if came:
            self._ask_if_shown()

    def _overview(self, width: int) -> list[Line]:
        return overview(FleetView(self._glance, self._live, self.nav.strip_facts, self._looks), width)

    def _history(self, width: int) -> list[Line]:
        return history_lines(self._glance.swaps, width)

    def _log_page(self, width: int) -> list[Line]:
        return log_lines(self._log, width)

    def _ask_if_shown(self) -> None:
        if self.is_current:
            self._work["servers"] = self.run_worker(self._ask, group="servers", exclusive=True)

    async def _ask(self) -> None:
        self._looks = await asyncio.to_thread(look_at_servers, self.nav.settings, self.nav.paths)
        self.query_one("#overview", Page).redraw()

    def _read_if_shown(self) -> None:
        if self.is_current and self._tail is not None:
            self._work["log"] = self.run_worker(partial(self._read, self._tail), group="log", exclusive=True)

    async def _read(self, tail: LogTail) -> None:
        lines = await asyncio.to_thread(tail.read)
        if lines is not None:
            self._log = lines
            self.query_one("#log", Page).redraw()

    # Going about

    @property
    def focused_pane(self) -> str:
        """The name of the page that keys go to."""
        held = self.focused.id if self.focused is not None else None
        return held if held in PANES else PANES[0]

    def _show(self, name: str) -> None:
        for other in PANES:
            self.set_class(other == name, f"show-{other}")

    def _go_to(self, name: str) -> None:
        self._show(name)
        self.query_one(f"#{name}", Page).focus()

    def action_next_pane(self) -> None:
        """To the next page."""
        self._go_to(PANES[(PANES.index(self.focused_pane) + 1) % len(PANES)])

    def action_previous_pane(self) -> None:
        """To the page before."""
        self._go_to(PANES[(PANES.index(self.focused_pane) - 1) % len(PANES)])

    def action_log(self) -> None:
        """The log on the whole screen, and back."""
        self.toggle_class("-log-only")
        self._go_to("log" if self.has_class("-log-only") else "overview")

    def back(self) -> bool:
        """Esc first takes the log back to its place."""
        if not self.has_class("-log-only"):
            return False
        self.action_log()
        return True

    def action_stop(self) -> None:
        """Have the conductor end."""
        self._work["stop"] = self.run_worker(self._stop, group="stop", exclusive=True)

    async def _stop(self) -> None:
        await self.nav.ask("stop", done="The conductor ends; what is in flight stays to be done.")
