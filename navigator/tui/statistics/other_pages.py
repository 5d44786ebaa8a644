"""Outcomes, swaps, throughput and edits as pages. A rehearsal's figures stand under a heading of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from navigator.evidence.edits import EditStats
from navigator.evidence.intervals import ANECDOTAL_BELOW, Share, Summary
from navigator.evidence.outcomes import Outcomes
from navigator.evidence.swaps import Direction
from navigator.evidence.throughput import Throughput
from navigator.tui.statistics.gather import Statistics
from navigator.tui.statistics.plot import axis, interval, parts
from navigator.tui.statistics.rate_page import REHEARSAL, bounds, percent
from navigator.tui.widgets.cells import Piece, cropped, fit, right, thousands
from navigator.tui.widgets.page import Line

_LABEL = 26
_FIGURES = 26
_P95_FROM = 20
_NAMES = 56
"""Most cells of a table's first column: figures stand near what they are about, however wide the screen."""


def outcomes_page(shown: Statistics, width: int) -> list[Line]:
    """Whether the reviewer was right, where developer and reviewer disagreed, what became of tasks."""
    lines: list[Line] = [
        [],
        [("WAS THE REVIEWER RIGHT", "title")],
        [],
        cropped([(fit("planted faults caught", _LABEL), ""), ("not measured yet", "muted")], width),
        cropped([(fit("clean changes passed", _LABEL), ""), ("not measured yet", "muted")], width),
        cropped([(fit("genuine among REVISE", _LABEL), ""), ("not measured yet", "muted")], width),
    ]
    lines += _decisions(shown.outcomes.real, width)
    rehearsed = shown.outcomes.rehearsal
    if rehearsed.states:
        lines += _rehearsal_heading(width)
        lines += _decisions(rehearsed, width)
    return lines


def _decisions(found: Outcomes, width: int) -> list[Line]:
    plot = max(4, width - _LABEL - _FIGURES)
    lines: list[Line] = [
        [],
        [("YOU AND THE REVIEWER", "title")],
        [(fit("", _LABEL), ""), (axis(plot), "faint")],
    ]
    lines += [
        _share_row(name, value, plot)
        for name, value in (
            ("rejected after APPROVE", found.rejected_after_approve),
            ("sent back after APPROVE", found.sent_back_after_approve),
            ("approved over REVISE", found.approved_over_revise),
            ("approved UNREVIEWED", found.approved_unreviewed),
        )
    ]
    if found.not_counted:
        lines.append([(f"not counted: {found.not_counted} on self-reviewed or unreviewed work", "faint")])
    lines += [[], [("WHERE TASKS STAND", "title")], []]
    return [*lines, *_bars(found.states, width, "no task yet")]


def _share_row(name: str, value: Share, plot: int) -> Line:
    if not value.n:
        return [(fit(name, _LABEL), "muted"), ("no such decision yet", "faint")]
    sure = value.n >= ANECDOTAL_BELOW
    pieces: list[Piece] = [(fit(name, _LABEL), "" if sure else "muted")]
    pieces += interval(value.low, value.rate, value.high, plot, sure=sure)
    pieces.append((right(percent(value.rate), 6), "strong" if sure else "muted"))
    pieces.append((right(bounds(value.low, value.high), 9), ""))
    pieces.append((right(f"{value.k} of {value.n}", 11), "muted"))
    return pieces


def _bars(values: Mapping[str, int], width: int, nothing: str) -> list[Line]:
    """Counts as bars, the biggest first."""
    if not values:
        return [[(nothing, "muted")]]
    most = max(values.values())
    figures = max(len(thousands(count)) for count in values.values()) + 1
    room = max(1, min(60, width - _LABEL - figures))
    return [
        [
            (fit(name.replace("_", " "), _LABEL), ""),
            ("▬" * max(1, round(room * count / most)), "accent"),
            (f" {thousands(count)}", "strong"),
        ]
        for name, count in sorted(values.items(), key=lambda item: -item[1])
    ]


def swaps_page(shown: Statistics, width: int) -> list[Line]:
    """What swaps took, by direction."""
    if not shown.swaps:
        return [[], [("No swap was measured yet.", "title")]]
    lines: list[Line] = [[], [("SWAPS", "title"), ("   seconds, those that were done", "muted")]]
    lines += swap_table([row for row in shown.swaps if not row.rehearsal], width)
    rehearsed = [row for row in shown.swaps if row.rehearsal]
    if rehearsed:
        lines += _rehearsal_heading(width)
        lines += swap_table(rehearsed, width)
    return lines


def _duration_row(name: str, took: Summary, label: int) -> Line:
    """One phase, or one warmth: count, mean, median, P95."""
    values = (str(took.n), f"{took.mean:.1f}", f"{took.median:.1f}", f"{took.p95:.1f}")
    sizes = (6, 9, 9, 9)
    return [
        (fit(name, label), "muted"),
        *((right(value, size), "muted") for value, size in zip(values, sizes, strict=True)),
    ]


def swap_table(rows: Sequence[Direction], width: int) -> list[Line]:
    """Directions with count, mean, median and P95; below each its phases in the same columns, and as parts of the median."""
    if not rows:
        return [[], [("no real swap yet: not measured", "muted")]]
    columns = (("n", 6), ("mean", 9), ("median", 9), ("P95", 9), ("failed", 8))
    label = max(20, min(_NAMES, width - sum(size for _, size in columns)))
    lines: list[Line] = [
        [],
        [(fit("", label), ""), *((right(name, size), "muted") for name, size in columns)],
    ]
    few = False
    for row in rows:
        name = f"{row.from_role.value if row.from_role else 'nothing'} → {row.to_role.value}"
        took = row.seconds
        rough = took is not None and took.n < _P95_FROM
        few = few or rough
        values = (
            (str(took.n), f"{took.mean:.1f}", f"{took.median:.1f}", f"{'~' if rough else ''}{took.p95:.1f}")
            if took
            else ("0", "–", "–", "–")
        )
        styles = ("", "", "strong", "muted" if rough else "", "bad" if row.failed else "faint")
        lines.append(
            [
                *cropped([(name, "strong"), (f"  by {row.strategy}", "muted")], label),
                (" " * max(0, label - min(label, len(name) + 5 + len(row.strategy))), ""),
                *(
                    (right(value, size), style)
                    for value, (_, size), style in zip(
                        (*values, str(row.failed) if row.failed else "–"), columns, styles, strict=True
                    )
                ),
            ]
        )
        medians = [(phase, summary.median) for phase, summary in row.phases.items()]
        lines += [_duration_row(f"  {phase}", summary, label) for phase, summary in row.phases.items()]
        lines += [
            _duration_row(f"  began {kind.name}, {100 * kind.share:.0f}% in memory", kind.seconds, label)
            for kind in row.warmth
        ]
        if medians:
            lines.append(parts(medians, min(width, 96)))
        rest = [f"{count} {failure.replace('_', ' ')}" for failure, count in row.failures.items()]
        rest += [f"{row.outside} by other hands, in no figure"] if row.outside else []
        if rest:
            lines.append(cropped([("  ", ""), (", ".join(rest), "muted")], width))
        lines.append([])
    if few:
        lines.append(
            [(f"~ P95 of fewer than {_P95_FROM} lies between the two longest: an indication", "faint")]
        )
    return lines


def throughput_page(shown: Statistics, width: int) -> list[Line]:
    """Tokens a second by role and model, as the client measured them."""
    if not shown.throughput:
        return [[], [("No model was called yet.", "title")]]
    lines: list[Line] = [
        [],
        [
            ("THROUGHPUT", "title"),
            ("   measured by the client, waiting for the first token included", "muted"),
        ],
    ]
    real = [row for row in shown.throughput if not row.rehearsal]
    lines += _speeds(real, width) if real else [[], [("no real call yet: not measured", "muted")]]
    rehearsed = [row for row in shown.throughput if row.rehearsal]
    if rehearsed:
        lines += _rehearsal_heading(width)
        lines += _speeds(rehearsed, width)
    return lines


def _speeds(rows: Sequence[Throughput], width: int) -> list[Line]:
    columns: tuple[tuple[str, int], ...] = (
        ("tok/s", 8),
        ("a stream", 10),
        ("streams", 9),
        ("calls", 7),
        ("failed", 8),
        ("cached", 8),
    )
    if width >= 100:
        columns = (*columns, ("tokens out", 13))
    label = max(12, min(_NAMES, width - sum(size for _, size in columns)))
    lines: list[Line] = [
        [],
        [(fit("", label), ""), *((right(name, size), "muted") for name, size in columns)],
    ]
    for row in rows:
        values = [
            _number(row.tokens_per_second),
            _number(row.stream_tokens_per_second),
            "–" if row.streams is None else f"{row.streams:.1f}",
            thousands(row.calls),
            thousands(row.failed) if row.failed else "–",
            percent(row.cached_share),
            thousands(row.completion_tokens),
        ]
        lines.append(
            [
                (fit(f"{row.role.value}  {row.model}", label - 1) + " ", ""),
                *(
                    (right(value, size), "strong" if name == "tok/s" else "")
                    for value, (name, size) in zip(values, columns, strict=False)
                ),
            ]
        )
    return lines


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def edits_page(shown: Statistics, width: int) -> list[Line]:
    """How cleanly edits applied."""
    lines: list[Line] = [[], [("EDITS", "title"), ("   how the generator's edits applied", "muted")], []]
    out: list[Line] = [*lines, *_edits(shown.edits.real, width)]
    if shown.edits.rehearsal.clean_first.n:
        out += _rehearsal_heading(width)
        out += _edits(shown.edits.rehearsal, width)
    return out


def _edits(found: EditStats, width: int) -> list[Line]:
    if not found.clean_first.n:
        return [[], [("no real edit yet: not measured", "muted")]]
    plot = max(4, width - _LABEL - _FIGURES)
    lines: list[Line] = [
        [(fit("", _LABEL), ""), (axis(plot), "faint")],
        _share_row("clean at the first answer", found.clean_first, plot),
        [],
        [
            (f"{found.repaired} repaired", ""),
            ("   ", ""),
            (f"{found.lost} lost", "bad" if found.lost else "muted"),
            (f"   of {found.clean_first.n} rounds that asked for edits", "muted"),
        ],
        [],
        [("ON WHICH RUNG THEY APPLIED", "heading")],
    ]
    lines += _bars(found.rungs, width, "none applied")
    lines += [[], [("WHY THEY DID NOT", "heading")]]
    return [*lines, *_bars(found.codes, width, "every edit applied at once")]


def _rehearsal_heading(width: int) -> list[Line]:
    return [[], cropped([("REHEARSAL", "warn"), (f"   {REHEARSAL}", "muted")], width)]
