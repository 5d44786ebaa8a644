"""The fleet as lines: what is loaded, servers, swaps, a forecast; the history of swaps; the log."""

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
from navigator.schedule.forecast import best_batch, between, break_even, forecast
from navigator.sheet.statistics.cost import swap_table
from navigator.tui.answers.markdown import wrapped
from navigator.tui.clock import seconds_since
from navigator.tui.data.deck_snapshot import DeckSnapshot, LiveStatus, SwapProgress
from navigator.tui.data.meter import meanwhile, swap_bar
from navigator.tui.statistics.draw import named_parts, table_lines
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
    thousands,
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
_SWAPS = 10
"""Swaps that are listed."""
_LEVELS = {"WARNING": "warn", "ERROR": "bad", "CRITICAL": "bad"}


@dataclass(frozen=True, slots=True)
class FleetView:
    """Everything the overview is drawn from. `looks` is None before the servers were asked."""

    snapshot: DeckSnapshot
    live: LiveStatus
    facts: StripFacts
    looks: tuple[ServerLook, ...] | None


def overview(view: FleetView, width: int) -> list[Line]:
    """Now, servers, swaps, forecast."""
    return [
        *now_lines(view, width),
        *server_lines(view, width),
        *_swaps(view.snapshot.swaps, width),
        *_forecast(view, width),
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
    origin = facts.name(shown.origin) if shown.origin else "nothing"
    head: list[Piece] = [("SWAPPING ", "strong"), (f"{origin} → {facts.name(shown.to)}", "strong")]
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


def _forecast(view: FleetView, width: int) -> list[Line]:
    figures = view.snapshot.figured.figures
    made = forecast(view.facts.target, figures)
    rehearsed = view.snapshot.rehearsal
    origin = {
        "measured": "scaled figures of the rehearsal"
        if rehearsed
        else "measured here; published figures where nothing was measured",
        "published": "published figures for one 96 GB GPU; nothing measured here yet",
    }.get(figures.source, figures.source)
    rows = [
        ("writing", duration(made.write_seconds)),
        ("swaps, both ways", duration(made.swap_seconds) if made.swap_seconds else "none"),
        ("review", duration(made.review_seconds)),
        (f"revisions, at {figures.revise_rate:.0%}", duration(made.revision_seconds)),
        ("total", duration(made.total_seconds)),
        *([("swap cost per proposal", f"{made.swap_each:.1f} s")] if made.swap_each else []),
        ("overall", f"{made.tokens_per_second:.0f} tok/s"),
        ("best batch", f"{best_batch(figures) or 'any'}"),
    ]
    ends = {
        "total": between(figures, lambda given: duration(forecast(made.batch, given).total_seconds)),
        "best batch": between(figures, lambda given: f"{best_batch(given) or 'any'}"),
    }
    head: list[Piece] = [
        ("FORECAST", "title"),
        (f"   a batch of {made.batch}", ""),
        (f"   {origin}", "muted"),
    ]
    lines: list[Line] = [[], *wrapped(head, width), []]
    for name, value in rows:
        low, high = ends.get(name) or ("", "")
        interval = f"   {low} to {high}" if low != high else ""
        lines.append([(fit(name, 26), "muted"), (right(value, 12), ""), (interval, "muted")])
    if figures.revise_n:
        rates = f"revise rate of {figures.revise_low:.0%} to {figures.revise_high:.0%}, its 95% interval"
        lines.append([(clip(f"from … to …: at a {rates}", width), "faint")])
    earned = break_even(figures).tokens
    if earned is not None and not rehearsed:
        text = (
            f"The swaps pay after {thousands(earned)} tokens of proposals, compared with a single model at"
            f" {figures.single_speed:.0f} tok/s without a reviewer."
        )
        lines += [[], *wrapped([(text, "muted")], width)]
    return lines


def history_lines(swaps: Sequence[Swap], width: int) -> list[Line]:
    """The newest swaps, each with its phases."""
    lines: list[Line] = [
        [("HISTORY", "title"), (f"   {plural(len(swaps), 'swap')}, newest first" if swaps else "", "muted")],
        [],
    ]
    if not swaps:
        return [*lines, [("No swaps yet.", "muted")]]
    for swap in swaps[:_SWAPS]:
        origin = swap.from_role.value if swap.from_role else "nothing"
        done, outside = swap.outcome == "done", swap.made_by == "outside"
        head: list[Piece] = [
            (swap.started[5:16].replace("T", " ") + "  ", "muted"),
            (fit(f"{origin} → {swap.to_role.value}", 23), ""),
            (right(f"{swap.seconds:.1f} s", 9), "strong") if not outside else (right("–", 9), "faint"),
        ]
        if outside:
            head.append(("  externally", "muted"))
        if not done:
            words = ": ".join(filter(None, (swap.outcome, swap.failure)))
            head.append((f"  {clip(words.replace('_', ' '), 28)}", "bad"))
        if swap.weight_bytes:
            head.append((f"  {100 * min(1.0, swap.warm_bytes / swap.weight_bytes):.0f}% warm", "muted"))
        phases = named_parts([(phase.name, phase.seconds) for phase in swap.phases], width)
        if width >= 110:
            lines.append(cropped([*head, ("   ", ""), *phases], width))
        else:
            lines += [cropped(head, width), cropped([("  ", ""), *phases], width)]
        if swap.reason:
            lines.append([("  ", ""), (clip(swap.reason, width - 2), "bad" if not done else "muted")])
    return lines


def log_lines(lines: Sequence[str], width: int, name: str = "conductor") -> list[Line]:
    """A log: the conductor's without date and place, warnings and errors marked by word and colour."""
    if not lines:
        return [
            [("LOG", "title"), (f"   {name}", "muted")],
            [],
            [("Empty.", "muted")],
        ]
    made: list[Line] = [[("LOG", "title"), (clip(f"   {name}, its end", width), "muted")], []]
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
