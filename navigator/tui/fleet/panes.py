"""The fleet as lines: what is loaded, servers, swaps; the log."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from navigator.client.status import ServerLook
from navigator.figures.swaps import usual_swap
from navigator.model.models import Swap
from navigator.model.states import Role
from navigator.model.text import plural, safe_line
from navigator.sheet.statistics.cost import swap_table
from navigator.tui.clock import seconds_since
from navigator.tui.data.deck_snapshot import DeckSnapshot, LiveStatus, SwapProgress
from navigator.tui.data.meter import meanwhile, swap_bar
from navigator.tui.statistics.draw import table_lines
from navigator.tui.widgets.cells import (
    Piece,
    bar,
    clip,
    cropped,
    duration,
    fit,
    justified,
    length,
    right,
)
from navigator.tui.widgets.page import Line
from navigator.tui.widgets.strip import StripFacts

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


@dataclass(frozen=True, slots=True)
class FleetView:
    """Everything the overview is drawn from. `looks` is None before the servers were asked."""

    snapshot: DeckSnapshot
    live: LiveStatus
    facts: StripFacts
    looks: tuple[ServerLook, ...] | None


def overview(view: FleetView, width: int) -> list[Line]:
    """Now, servers, swaps."""
    return [
        *now_lines(view, width),
        *server_lines(view, width),
        *_swaps(view.snapshot.swaps, width),
    ]


def now_lines(view: FleetView, width: int) -> list[Line]:
    """What the GPU holds, or the swap under way phase by phase."""
    live, snapshot, facts = view.live, view.snapshot, view.facts
    lines: list[Line] = [[], [("NOW", "title")], []]
    if live.swap is not None:
        doing = meanwhile(snapshot, live)
        return [*lines, *_swap_lines(live.swap, snapshot, facts, width, doing)]
    if live.conductor != "here":
        said = "starting the conductor …" if live.conductor == "starting" else "no conductor running"
        lines.append([("○ ", "warn"), (said, "warn"), (f"   {facts.start_key} starts one", "muted")])
        if live.problem:
            lines.append([(clip(live.problem, width), "muted")])
        if snapshot.resident and snapshot.resident_at:
            held = "both models" if snapshot.resident == "both" else f"the {snapshot.resident}"
            age = duration(seconds_since(snapshot.resident_at))
            lines.append([(f"last known: {held} loaded, {age} ago", "muted")])
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
    return [*lines, *_troubles(status, width), *_read_ahead(status, facts, width)]


def _troubles(status: Mapping[str, object], width: int) -> list[Line]:
    """Servers that died, roles that are disabled after failures, a swap that was requested."""
    lines: list[Line] = []
    given_up = _table(status.get("given_up"))
    for role, reason in given_up.items():
        lines.append([(clip(f"✗ {role} disabled after repeated failures: {reason}", width), "bad")])
        lines.append([(clip(f"  its tasks stay queued; swap to the {role} to try again", width), "muted")])
    for role, count in _table(status.get("deaths")).items():
        if role not in given_up:
            words = f"▲ the {role}'s server died {count} times in this residency; it is restarted when needed"
            lines.append([(clip(words.replace(" 1 times", " once"), width), "warn")])
    for role, seen in _table(status.get("canary")).items():
        if _table(seen).get("outcome") == "garbage":
            words = f"▲ canary of the {role}: {safe_line(str(_table(seen).get('reason')))}"
            lines.append([(clip(words, width), "bad")])
    if status.get("wanted"):
        words = f"▸ the {status.get('wanted')} loads when current work finishes"
        lines.append([(clip(words, width), "accent")])
    return lines


def _read_ahead(status: Mapping[str, object], facts: StripFacts, width: int) -> list[Line]:
    """How much of the other model's weights is in memory already."""
    seen = _table(status.get("read_ahead"))
    total, warm = seen.get("weight_bytes"), seen.get("warm_bytes")
    if not isinstance(total, int) or not total:
        return []
    ended = str(seen.get("ended") or "running")
    share = f"{100 * min(1.0, warm / total):.0f}% of " if isinstance(warm, int) else ""
    words = f"read ahead: {share}{total / 1e9:.1f} GB of {facts.name(str(seen.get('role')))} in memory"
    return [[(clip(words, width), ""), (clip(f"   {ended}", 24), "muted")]]


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


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
    ended = dict(swap.done)
    usual = _usual(snapshot.swaps, swap)
    names = [*ended, *(name for name in usual if name not in ended)]
    if swap.phase and swap.phase not in names:
        names.append(swap.phase)
    lines: list[Line] = [cropped([*head, ("   ", ""), *end], width)]
    for name in names:
        usually = f"median {usual[name]:.1f} s" if name in usual else ""
        if name in ended:
            row: list[Piece] = [("✓ ", "good"), (fit(name, 10), ""), (right(f"{ended[name]:.1f} s", 9), "")]
        elif name == swap.phase:
            row = [
                ("▸ ", "accent"),
                (fit(name, 10), "strong"),
                (right(f"{now - swap.phase_begun:.1f} s", 9), "strong"),
            ]
        else:
            row = [("· ", "faint"), (fit(name, 10), "muted"), (right("", 9), "")]
        lines.append(cropped([*row, (f"   {usually}", "muted")], width))
    if doing:
        lines.append([(clip(f"meanwhile {doing}", width), "muted")])
    return lines


def swap_price(swaps: Sequence[Swap], to: str) -> str:
    """What a swap to a role usually takes here, as a sentence."""
    found = usual_swap(swaps, Role.GENERATOR if to == Role.REVIEWER else Role.REVIEWER, to)
    if found is None or found.seconds is None:
        return "No such swap has been measured here yet."
    return f"It takes about {found.seconds.median:.0f} s here."


def _usual(swaps: Sequence[Swap], now: SwapProgress) -> dict[str, float]:
    """The median seconds of each phase of swaps in the same direction."""
    found = usual_swap(swaps, now.origin, now.to)
    return {name: summary.median for name, summary in found.phases.items()} if found else {}


def server_lines(view: FleetView, width: int) -> list[Line]:
    """One line per configured server."""
    lines: list[Line] = [[], [("SERVERS", "title"), ("   from the settings", "muted")], []]
    if view.looks is None:
        return [*lines, [("checking …", "muted")]]
    for look in view.looks:
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
            limits = _table(_table(view.live.status.get("inflight")).get(look.role.value))
            if limits:
                end.append((f"  limit {limits['limit']} of {limits['most']}", "muted"))
            if look.load.token_usage is not None:
                end.append((f"  memory {100 * look.load.token_usage:.0f}%", "muted"))
        if look.seconds is not None and width >= 130:
            end.append((f"  health {_brief(look.seconds)}", "muted"))
        if length(left) + length(end) + 2 > width:
            lines += [cropped(left, width), *([justified([], end, width)] if end else [])]
        else:
            lines.append(justified(left, end, width))
        if look.problem:
            lines.append([(fit("", 11), ""), (clip(look.problem, width - 11), "faint")])
    return lines


def _brief(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


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
            if words[2] == "INFO" and words[3].endswith(".canary"):
                continue  # all is well, after every swap
            level = words[2]
            left: list[Piece] = [
                (clip(words[1][:8], 8) + " ", "faint"),
                (fit(level.lower(), 8), _LEVELS.get(level, "muted")),
            ]
            made.append([*left, (clip(words[4], max(1, width - length(left))), _LEVELS.get(level, ""))])
        else:
            made.append([(clip(line, width), "muted")])
    return made
