"""Fleet: what is resident, how the servers are, what swaps cost, what a batch will cost, the conductor's log."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from textual import work
from textual.app import ComposeResult

from navigator.actions.conducting import Conduct, ConductArgs
from navigator.client.status import ServerLook
from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.model.errors import NavigatorError
from navigator.model.states import Role
from navigator.swap import look_at_servers, strategy_class
from navigator.swap.remote.machine import servers_machine
from navigator.tui.base import begin
from navigator.tui.data.deck_snapshot import DeckSnapshot, LiveStatus
from navigator.tui.dialogs.confirm import ConfirmDialog
from navigator.tui.fleet.panes import FleetView, history_lines, log_lines, overview, swap_price
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
        self._sources: tuple[LogSource, ...] = ()
        self._source = 0
        self._logs: dict[int, list[str]] = {}
        self._reading = set[int]()

    def compose_body(self) -> ComposeResult:
        """One page."""
        yield Page(self._lines, follow=True, id="fleet")

    def on_mount(self) -> None:
        """Begin to look around."""
        self._sources = log_sources(self.app.settings, self.app.paths)
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
        name = self._sources[self._source].name if self._sources else "conductor"
        return [
            *overview(FleetView(self._snapshot, self._live, self.app.strip_facts, self._looks), width),
            [],
            *history_lines(self._snapshot.swaps, width),
            [],
            *log_lines(self._logs.get(self._source, []), width, name),
        ]

    def _ask_if_shown(self) -> None:
        if self.is_current:
            begin(self, self._ask, group="servers", exclusive=True)

    async def _ask(self) -> None:
        self._looks = await asyncio.to_thread(look_at_servers, self.app.settings, self.app.paths)
        self._redraw()

    def _read_if_shown(self) -> None:
        number = self._source
        if self.is_current and self._sources and number not in self._reading:
            self._reading.add(number)
            begin(self, partial(self._read, number), group="log")

    async def _read(self, number: int) -> None:
        # Never cut short by the next: a source says a change once, and its thread would have read it for nobody.
        try:
            lines = await asyncio.to_thread(self._sources[number].read)
        finally:
            self._reading.remove(number)
        if lines is not None:
            self._logs[number] = lines
            self._redraw()

    def action_next(self) -> None:
        """To the log at the page's end; there, to the next one."""
        page = self.query_one(Page)
        if page.scroll_offset.y >= page.max_scroll_y and self._sources:
            self._source = (self._source + 1) % len(self._sources)
            self._redraw()
            self._read_if_shown()
        page.action_last()

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
            await perform(self.app, Conduct(), ConductArgs(do="swap", role=to), ask=False)

    @work(group="stop", exclusive=True)
    async def action_stop(self) -> None:
        """Stop the conductor."""
        await perform(self.app, Conduct(), ConductArgs(do="stop"), ask=False)


# Where logs are read from: the conductor's, and each model server's where it is known.

TAIL_BYTES = 64 * 1024
_LINES = 200
_SECONDS = 5.0

Read = Callable[[], list[str] | None]
"""The last lines, oldest first; None when nothing changed. Blocks: called in a thread."""


@dataclass(frozen=True, slots=True)
class LogSource:
    """One log. `name` is for the heading."""

    name: str
    read: Read


def log_sources(settings: Settings, paths: StatePaths) -> tuple[LogSource, ...]:
    """The conductor's log first; then the rehearsal's processes or systemd's units. Other servers keep theirs elsewhere."""
    found = [LogSource("conductor", LogTail(paths.log).read)]
    strategy = settings.swap.strategy
    for log in strategy_class(strategy).logs(settings, paths) if strategy else ():
        if log.path is not None:
            name, read = log.path.name, LogTail(log.path).read
        else:
            name, read = log.unit, UnitJournal(settings, log.scope, log.unit).read
            name += f" on {log.host}" if log.host else ""
        found.append(LogSource(f"the {log.role.value}'s server, {name}", read))
    return tuple(found)


class UnitJournal:
    """The end of a unit's journal, on the servers' machine.

    Args:
        settings: which machine that is.
        scope: "user" or "system".
        unit: its name.
    """

    def __init__(self, settings: Settings, scope: str, unit: str) -> None:
        self._settings = settings
        self._words = ["--user" if scope == "user" else "--system", "--unit", unit]
        self._seen: list[str] | None = None

    def read(self) -> list[str] | None:
        """The last lines; None when they are those of the call before."""
        lines = self._ask()
        if lines == self._seen:
            return None
        self._seen = lines
        return lines

    def _ask(self) -> list[str]:
        words = ["journalctl", *self._words, "--lines", str(_LINES), "--no-pager", "--quiet"]
        try:
            with servers_machine(self._settings) as machine:
                done = machine.run([*words, "--output", "short-iso"], _SECONDS)
        except NavigatorError as error:
            return [str(error)]
        if done is None:
            return [
                "journalctl did not answer or is not installed; the unit file says where its output goes."
            ]
        said = done.out or done.err
        return said.decode("utf-8", "replace").splitlines()[-_LINES:]


class LogTail:
    """Reads the end of a file again when it has changed. Blocks: call it in a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None

    def read(self) -> list[str] | None:
        """The last lines, oldest first; None when nothing changed since the last call."""
        try:
            with self._path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                seen = (status.st_size, status.st_mtime_ns)
                if seen == self._seen:
                    return None
                stream.seek(max(0, status.st_size - TAIL_BYTES))
                data = stream.read(TAIL_BYTES)
        except FileNotFoundError:
            seen, data = (0, 0), b""
            if seen == self._seen:
                return None
        except OSError as error:
            seen, data = (0, -1), f"The log cannot be read: {error.strerror}.".encode()
            if seen == self._seen:
                return None
        self._seen = seen
        lines = data.decode("utf-8", "replace").split("\n")
        if len(data) == TAIL_BYTES:
            lines = lines[1:]  # the first one is cut
        return [line for line in lines if line]
