"""The strip on top of every screen: which model is loaded, the progress of a swap, how full the batch is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widget import Widget

from navigator.context.tokens import BYTES_PER_TOKEN
from navigator.model.json_text import table
from navigator.model.states import Role, TaskState
from navigator.model.text import plural, safe_line, short_model
from navigator.sheet.waiting import about
from navigator.tui.deck_snapshot import (
    DeckSnapshot,
    LiveStatus,
    meanwhile,
    swap_bar,
)
from navigator.tui.widgets.cells import Piece, bar, cropped, justified, length, short_duration, thousands

if TYPE_CHECKING:
    from navigator.config.settings import Settings


_STYLES: dict[str, str] = table("navigator.tui", "themes.toml")["content"]


def content_of(pieces: list[Piece]) -> Content:
    """Pieces as Textual content, in the theme's colours."""
    return Content.assemble(*((text, _STYLES[style]) if style else text for text, style in pieces))


class StatusStrip(Widget):
    """The line at the top: the screen's title, and what runs and waits.

    Args:
        title: of the screen.
        facts: asked each time it is drawn; None before the settings were read.
        full: what waits stands in place of the title.
    """

    DEFAULT_CSS = """
    StatusStrip {
        dock: top;
        height: 1;
        padding: 0 1;
        background: $surface;
    }
    """

    def __init__(self, title: str, facts: Callable[[], StripFacts | None], *, full: bool = False) -> None:
        super().__init__()
        self._title = title
        self._full = full
        self._facts = facts
        self._snapshot = DeckSnapshot()
        self._live = LiveStatus()

    def show(self, snapshot: DeckSnapshot, live: LiveStatus) -> None:
        """Replace the snapshot, and draw it."""
        self._snapshot, self._live = snapshot, live
        self.refresh()

    def render(self) -> Content:
        """The line. The name gives way first, then what is said at the left."""
        width = self.size.width
        said: list[Piece] = [(self._title, "muted")]
        line: list[Piece] = []
        # Before the first look at the store there is nothing to say.
        if self._snapshot.loaded or self._snapshot.problem:
            said = summary(self._snapshot, self._live) if self._full else said
            if (facts := self._facts()) is not None:
                kept = min(length(said[:1]), _KEPT) + 2
                line = strip_line(self._snapshot, self._live, facts, width, kept)
        head: list[Piece] = [("navigator  ", "title"), *said]
        # All of it, else without the name, else the count of what waits alone.
        fit = (left for left in (head, said) if length([*left, *line]) + 2 <= width)
        return content_of(justified(next(fit, said[:1]), line, width))


# The words of the strip, by the room there is. No widget here.

WIDE = 100
"""Cells from which the strip spells things out."""


@dataclass(frozen=True, slots=True)
class StripFacts:
    """What the strip takes from the settings: model names by role, the batch's target, and warnings."""

    models: dict[str, str]
    target: int
    unsandboxed: bool = False
    start_key: str = "ctrl+n"

    def name(self, role: str) -> str:
        """A role's model in a few characters."""
        return short_model(self.models.get(role, "")) or role


def strip_facts(settings: Settings, start_key: str = "ctrl+n") -> StripFacts:
    """What the strip needs of the settings, and the key that starts a conductor."""
    return StripFacts(
        models={role.value: settings.server(role).model for role in Role},
        target=settings.batch.target,
        unsandboxed=settings.checks.unsandboxed,
        start_key=start_key,
    )


_KEPT = 20
"""Cells at the left, of what waits or the title, that nothing takes away."""


def strip_line(
    snapshot: DeckSnapshot, live: LiveStatus, facts: StripFacts, width: int, kept: int = 0
) -> list[Piece]:
    """What the GPU does, how full the batch is, and when its review comes; `kept` of the cells are for what waits."""
    wide, room = width >= WIDE, width - kept
    line = _gpu(snapshot, live, facts, width, room)
    if live.swap is not None:
        return cropped(line, room)
    counted = (f"   batch {snapshot.awaiting_review} of {facts.target}", "")
    line += [counted] if length([*line, counted]) <= room else []
    left = live.section("next_review").get("seconds") if live.conductor == "here" else None
    if wide and left is not None and not _failed_servers(live):
        line.append((", review due" if left < 1 else f", review in {short_duration(left)}", "muted"))
    return cropped(line, room)


def summary(snapshot: DeckSnapshot, live: LiveStatus) -> list[Piece]:
    """What is wrong, else what waits for the developer."""
    if live.conductor == "absent" and live.problem:
        return [(safe_line(live.problem), "warn")]
    for role, reason in _failed_servers(live).items():
        return [(safe_line(f"{role} server: {reason}"), "bad")]
    count = len(snapshot.inbox)
    if not count:
        return [("nothing waits for you" if snapshot.loaded else "", "muted")]
    seconds = about(snapshot.seconds)
    waits = "waits" if count == 1 else "wait"
    return [(f"{count} {waits} for you", "strong"), (f", {seconds} to read", "muted")]


ROOMY = 150
"""Cells from which it also says what the CPU does during a swap."""


def _gpu(snapshot: DeckSnapshot, live: LiveStatus, facts: StripFacts, width: int, room: int) -> list[Piece]:
    wide = width >= WIDE
    warning: list[Piece] = [("REHEARSAL   ", "warn")] if snapshot.rehearsal else []
    warning += [("⚠ tests run without a sandbox   ", "warn")] if facts.unsandboxed else []
    if live.swap is not None:
        shown = swap_bar(live.swap, snapshot.swaps, time.monotonic())
        left = f"{shown.seconds:.0f} s of ~{shown.expected:.0f} s"
        if not wide:
            return [
                *warning,
                (f"▸ {facts.name(live.swap.to)} ", "strong"),
                (bar(shown.share, 6), "accent"),
                (f" ~{short_duration(shown.left)}", ""),
            ]
        origin = facts.name(live.swap.origin) if live.swap.origin else "nothing"
        doing = meanwhile(snapshot, live) if width >= ROOMY else ""
        return [
            *warning,
            ("SWAPPING ", "strong"),
            (f"{origin} → {facts.name(live.swap.to)}   ", "strong"),
            (f"{live.swap.phase:<7}", "muted"),
            (bar(shown.share, 12), "accent"),
            (f"  {left}", ""),
            (f"   meanwhile {doing}" if doing else "", "muted"),
        ]
    if live.conductor == "starting":
        return [*warning, ("○ ", "muted"), ("starting the conductor …", "muted")]
    if live.conductor != "here":
        return [*warning, *_no_conductor(snapshot, facts, room - length(warning))]
    if live.status.get("both_resident"):
        held = "BOTH RESIDENT"
    else:
        role = str(live.status.get("resident") or "")
        held = f"{role.upper() if wide else ''} {facts.name(role)}".strip() if role else "GPU empty"
    failed = _failed_servers(live)
    if failed:
        return [*warning, ("✗ ", "bad"), (f"{' and '.join(failed).upper()} NOT USABLE", "bad")]
    pieces: list[Piece] = [*warning, ("● ", "good"), (held, "strong")]
    if live.streams:
        speed = live.chars_per_second / BYTES_PER_TOKEN
        pieces.append((f"  {thousands(speed)} tok/s", ""))
    return pieces


def _no_conductor(snapshot: DeckSnapshot, facts: StripFacts, room: int) -> list[Piece]:
    queued = sum(card.state is TaskState.QUEUED for card in snapshot.work)
    if not queued:
        return [("○ ", "warn"), ("no conductor", "warn")]
    words = f"no conductor, {plural(queued, 'task')} queued: "
    line = [("○ ", "warn"), (words, "warn"), (facts.start_key, "accent"), (" starts", "")]
    return line if length(line) <= room else [line[0], (f"{queued} queued: ", "warn"), *line[2:]]


def _failed_servers(live: LiveStatus) -> dict[str, str]:
    """Why a role's server cannot be used, by role."""
    return {**live.section("given_up"), **live.section("problems")}
