"""Fleet: what is resident, how the servers are, what swaps cost, the conductor's log."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from pathlib import Path

from textual import work
from textual.app import ComposeResult

from navigator.actions.conducting import Conduct
from navigator.figures.cost import swap_table
from navigator.figures.swaps import usual_swap
from navigator.model.models import Swap
from navigator.model.states import Role
from navigator.model.text import plural
from navigator.swap import look_at_servers
from navigator.swap.status import ServerLook
from navigator.tui.base import begin
from navigator.tui.deck_snapshot import DeckSnapshot, LiveStatus, SwapProgress, meanwhile, swap_bar
from navigator.tui.dialogs import ConfirmDialog
from navigator.tui.keys import Action
from navigator.tui.verbs import perform
from navigator.tui.widgets.cells import Piece, bar, clip, cropped, fit, justified, length
from navigator.tui.widgets.page import Line, Page
from navigator.tui.widgets.screen import NavScreen
from navigator.tui.widgets.strip import StripFacts
from navigator.tui.widgets.tables import table_lines

_NEEDS_CONDUCTOR = frozenset({"fleet.swap", "fleet.stop"})
_ASK = 10.0
"""Seconds between two questions to the servers while the screen is in front: health costs SGLang a token."""
_READ = 1.0
"""Seconds between two looks at the log while the screen is in front."""


class FleetScreen(NavScreen):
    """Servers and log are read in threads, and only while the screen is in front.

    Attributes:
        looks: the servers as last seen; None before they were asked.
    """

    SCOPE = "fleet"
    TITLE = "fleet"
    DEFAULT_CSS = "FleetScreen { #fleet { height: 1fr; } &.-wide #fleet { padding: 0 4; } }"
    AUTO_FOCUS = "#fleet"

    def __init__(self) -> None:
        super().__init__()
        self._snapshot = DeckSnapshot()
        self._live = LiveStatus()
        self.looks: tuple[ServerLook, ...] | None = None
        self._log: list[str] = []

    def compose_body(self) -> ComposeResult:
        """One page."""
        yield Page(self._lines, follow=True, id="fleet")

    def on_mount(self) -> None:
        """Begin to look around."""
        self.set_interval(_ASK, self._ask_if_shown)
        self.set_interval(_READ, self._read_if_shown)

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
            *now_lines(self._snapshot, self._live, self.app.strip_facts, width),
            *server_lines(self.looks, self._live, width),
            *_swaps(self._snapshot.swaps, width),
            [],
            *log_lines(self._log, width),
        ]

    def _ask_if_shown(self) -> None:
        if self.is_current:
            begin(self, self._ask, group="servers", exclusive=True)

    async def _ask(self) -> None:
        self.looks = await asyncio.to_thread(look_at_servers, self.app.settings, self.app.paths)
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
        running = self._live.streams
        lines = [
            f"{plural(running, 'request')} running; they finish first." if running else "Nothing is running.",
            f"{swap_price(self._snapshot.swaps, to.value)} Afterwards Navigator schedules as usual.",
        ]
        if await self.app.push_screen_wait(ConfirmDialog(f"Swap to the {to.value}?", lines, yes="swap")):
            await perform(self.app, Conduct(do="swap", role=to))

    @work(group="stop", exclusive=True)
    async def action_stop(self) -> None:
        """Stop the conductor."""
        await perform(self.app, Conduct(do="stop"))


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


# The fleet as lines: what is loaded, servers, swaps; the log.


_STATES = {
    "ready": ("● ready", "good"),
    "other": ("◐ another model", "warn"),
    "loading": ("◌ loading", "warn"),
    "silent": ("✗ not answering", "bad"),
    "not loaded": ("○ not loaded", "muted"),
    "asleep": ("☾ asleep", "muted"),
    "paused": ("◐ paused", "warn"),
    "unsure": ("? state unknown", "bad"),
    "unusable": ("✗ not usable", "bad"),
}
_LEVELS = {"WARNING": "warn", "ERROR": "bad", "CRITICAL": "bad"}


def now_lines(snapshot: DeckSnapshot, live: LiveStatus, facts: StripFacts, width: int) -> list[Line]:
    """What the GPU holds, or the swap under way."""
    lines: list[Line] = [[], [("NOW", "title")], []]
    if live.swap is not None:
        return [*lines, *_swap_lines(live.swap, snapshot, facts, width, meanwhile(snapshot, live))]
    if live.conductor != "here":
        said = "starting the conductor …" if live.conductor == "starting" else "no conductor running"
        lines.append([("○ ", "warn"), (said, "warn"), (f"   {facts.start_key} starts one", "muted")])
        if live.problem:
            lines.append([(clip(live.problem, width), "muted")])
        return lines
    status = live.status
    role = str(status.get("resident") or "")
    held = (
        "both models" if status.get("both_resident") else f"{role} {facts.name(role)}" if role else "nothing"
    )
    lines.append(
        cropped(
            [
                ("● ", "good"),
                (held, "strong"),
                (" loaded", ""),
                (f"   strategy {status.get('strategy')}", "muted"),
                (f"   {plural(live.streams, 'stream')}" if live.streams else "   idle", "muted"),
                (f"   until {status.get('until')}" if status.get("until") else "", "muted"),
            ],
            width,
        )
    )
    return [*lines, *_troubles(live, width), *_read_ahead(live, facts, width)]


def _troubles(live: LiveStatus, width: int) -> list[Line]:
    """Servers that died, roles that are disabled after failures, a swap that was requested."""
    lines: list[Line] = []
    given_up = live.section("given_up")
    for role, reason in given_up.items():
        lines.append([(clip(f"✗ {role} disabled after repeated failures: {reason}", width), "bad")])
        lines.append([(clip(f"  its tasks stay queued; swap to the {role} to try again", width), "muted")])
    for role, count in live.section("deaths").items():
        if role not in given_up:
            words = f"▲ the {role}'s server died {count} times in this residency; it is restarted when needed"
            lines.append([(clip(words.replace(" 1 times", " once"), width), "warn")])
    for role, seen in live.section("canary").items():
        if seen.get("outcome") == "garbage":
            words = f"▲ canary of the {role}: {seen.get('reason')}"
            lines.append([(clip(words, width), "bad")])
    if wanted := live.status.get("wanted"):
        words = f"▸ the {wanted} loads when current work finishes"
        lines.append([(clip(words, width), "accent")])
    return lines


def _read_ahead(live: LiveStatus, facts: StripFacts, width: int) -> list[Line]:
    """How much of the other model's weights is in memory already."""
    seen = live.section("read_ahead")
    total, warm = seen.get("weight_bytes"), seen.get("warm_bytes")
    if not total:
        return []
    share = "" if warm is None else f"{100 * min(1.0, warm / total):.0f}% of "
    words = f"read ahead: {share}{total / 1e9:.1f} GB of {facts.name(seen['role'])} in memory"
    return [[(clip(words, width), ""), (clip(f"   {seen['ended'] or 'running'}", 24), "muted")]]


def _swap_lines(
    swap: SwapProgress, snapshot: DeckSnapshot, facts: StripFacts, width: int, doing: str
) -> list[Line]:
    now = time.monotonic()
    shown = swap_bar(swap, snapshot.swaps, now)
    origin = facts.name(swap.origin) if swap.origin else "nothing"
    head: list[Piece] = [("SWAPPING ", "strong"), (f"{origin} → {facts.name(swap.to)}", "strong")]
    end: list[Piece] = [
        (bar(shown.share, 24), "accent"),
        (f"  {shown.seconds:.0f} s of ~{shown.expected:.0f} s, {shown.source}", ""),
    ]
    lines: list[Line] = [cropped([*head, ("   ", ""), *end], width)]
    if swap.phase:
        seconds = f"{now - swap.phase_begun:.0f} s"
        lines.append([("▸ ", "accent"), (f"{swap.phase}  {seconds}", "")])
    if doing:
        lines.append([(clip(f"meanwhile {doing}", width), "muted")])
    return lines


def swap_price(swaps: Sequence[Swap], to: str) -> str:
    """What a swap to a role usually takes here, as a sentence."""
    found = usual_swap(swaps, Role.GENERATOR if to == Role.REVIEWER else Role.REVIEWER, to)
    if found is None or found.seconds is None:
        return "No such swap has been measured here yet."
    return f"It takes about {found.seconds.median:.0f} s here."


def server_lines(looks: tuple[ServerLook, ...] | None, live: LiveStatus, width: int) -> list[Line]:
    """One line per configured server; `looks` is None before they were asked."""
    lines: list[Line] = [[], [("SERVERS", "title"), ("   from the settings", "muted")], []]
    if looks is None:
        return [*lines, [("checking …", "muted")]]
    for look in looks:
        word, style = _STATES[look.state]
        left: list[Piece] = [
            (fit(look.role.value, 11), ""),
            (fit(word, 19), style),
            (
                clip(look.served or look.wanted, max(30, width - 74)) + "  ",
                "strong" if look.state == "ready" else "muted",
            ),
            (clip(look.address.removeprefix("http://"), 30), "muted"),
        ]
        end: list[Piece] = []
        if look.load is not None:
            end.append((f"{look.load.running} running  {look.load.waiting} waiting", ""))
            if look.load.token_usage is not None:
                end.append((f"  memory {100 * look.load.token_usage:.0f}%", "muted"))
        if length(left) + length(end) + 2 > width:
            lines += [cropped(left, width), *([justified([], end, width)] if end else [])]
        else:
            lines.append(justified(left, end, width))
        if look.problem:
            lines.append([(fit("", 11), ""), (clip(look.problem, width - 11), "faint")])
    return lines


def _swaps(swaps: Sequence[Swap], width: int) -> list[Line]:
    if not swaps:
        return [[], [("SWAPS", "title")], [], [("No swaps measured yet.", "muted")]]
    return table_lines(swap_table(swaps), width, period=f"the newest {len(swaps)}")


def log_lines(lines: Sequence[str], width: int) -> list[Line]:
    """The conductor's log without date and place, warnings and errors marked by word and colour."""
    made: list[Line] = [[("LOG", "title"), ("   of the conductor", "muted")], []]
    if not lines:
        return [*made, [("Empty.", "muted")]]
    for line in lines:
        words = line.split(" ", 4)
        if len(words) == 5 and words[2].isupper():
            level = words[2]
            left: list[Piece] = [
                (clip(words[1][:8], 8) + " ", "faint"),
                (fit(level.lower(), 8), _LEVELS.get(level, "muted")),
            ]
            made.append([*left, (clip(words[4], max(1, width - length(left))), _LEVELS.get(level, ""))])
        else:
            made.append([(clip(line, width), "muted")])
    return made
