"""The revise rate as a page: whole, by group, by week; every rate with its interval drawn on one axis."""

from __future__ import annotations

from collections.abc import Sequence

from navigator.evidence.intervals import ANECDOTAL_BELOW, needed
from navigator.evidence.rates import RateRow
from navigator.tui.answers.markdown import wrapped
from navigator.tui.statistics.gather import PERIODS, Statistics, Week
from navigator.tui.statistics.plot import axis, interval, sparkline
from navigator.tui.widgets.cells import Piece, cropped, fit, justified, right, thousands
from navigator.tui.widgets.page import Line

REHEARSAL = "simulated by the embedded stand-in; says nothing about a real model"
_ASSUMED = 0.35
"""The rate that "how sure" reckons with while too few verdicts say what it is."""

_FIGURES = (("rate", 6), ("95 %", 10), ("n", 7), ("unread", 8), ("stated", 8))
_NOTE = 18
_NAME = 10
_WIDE = 110
_SPARK_FROM = 4
"""Weeks from which a line of little bars says more than the rows."""


def rate_page(shown: Statistics, width: int) -> list[Line]:
    """The whole page."""
    if not shown.whole.rows and not shown.whole.rehearsal:
        return [
            [],
            [
                (
                    "No first-round verdict "
                    + ("yet." if not shown.days else f"in the last {shown.days} days."),
                    "title",
                )
            ],
            [],
            [("The revise rate appears once the reviewer has read proposals.", "muted")],
        ]
    lines: list[Line] = []
    if shown.whole.rows:
        lines += _whole(shown.whole.rows[0], shown, width)
        lines += _table(f"BY {shown.by.upper()}", shown.grouped.rows, width, "b: by another property")
        lines += _weeks(shown.weeks.real, width)
        lines += _left_out(shown.excluded, width)
    else:
        lines += [[], [("REVISE RATE", "title"), ("   no real review yet: not measured", "muted")]]
    if shown.whole.rehearsal:
        lines += _rehearsed(shown, width)
    return lines


def percent(rate: float | None) -> str:
    """`35%`, or a dash where nothing is known."""
    return "–" if rate is None else f"{100 * rate:.0f}%"


def bounds(low: float, high: float) -> str:
    """`[26–45]`, in points."""
    return f"[{100 * low:.0f}–{100 * high:.0f}]"


def how_sure(row: RateRow) -> str:
    """What the interval is worth, and how many verdicts a narrower one needs."""
    known = row.n >= ANECDOTAL_BELOW and row.rate is not None
    rate = row.rate if known and row.rate else _ASSUMED
    said = [_reach(row.n, points, needed(points / 100, rate)) for points in (10, 5)]
    basis = "" if known else f" (reckoned with {100 * _ASSUMED:.0f}% while n is below {ANECDOTAL_BELOW})"
    return " · ".join(said) + basis


def _reach(n: int, points: int, need: int) -> str:
    if n >= need:
        return f"±{points} points reached at n {thousands(need)}"
    return f"±{points} needs n {thousands(need)}, {thousands(need - n)} to go"


def _whole(row: RateRow, shown: Statistics, width: int) -> list[Line]:
    period = next(name for name, days in PERIODS if days == shown.days)
    pooled = _pooled(row)
    head: list[Piece] = [("REVISE RATE", "title"), (f"   first-round verdicts, {period}", "muted")]
    end: list[Piece] = [
        (percent(row.rate), "strong"),
        (f" {bounds(row.low, row.high) if row.n else ''}  n {thousands(row.n)}", ""),
    ]
    lines: list[Line] = [[], justified(head, end, width), []]
    lines += _said("How sure", [(how_sure(row), "")], width)
    if row.stated_rate is not None:
        counts = " is what the model itself called REVISE; the rate counts findings whose quotes were found"
        lines += _said("Stated", [(percent(row.stated_rate), ""), (counts, "muted")], width)
    if row.unreviewed:
        one = row.unreviewed == 1
        stand = (
            f" could not be read (UNREVIEWED); {'it stands' if one else 'they stand'} beside n, never in it"
        )
        answers = f"{thousands(row.unreviewed)} {'answer' if one else 'answers'}"
        lines += _said("Unread", [(answers, ""), (stand, "muted")], width)
    if pooled:
        lines += _said(
            "Mixture", [(pooled, "warn"), (": a mixture says nothing about any one of them", "muted")], width
        )
    return lines


def _said(name: str, pieces: list[Piece], width: int) -> list[Line]:
    """A sentence beside its name, in as many lines as it needs."""
    return list(wrapped(pieces, width, [(fit(name, _NAME), "muted")], " " * _NAME))


def _pooled(row: RateRow) -> str:
    what = []
    if row.models > 1:
        what.append(f"{row.models} models")
    if row.prompt_versions > 1:
        what.append(f"{row.prompt_versions} prompt versions")
    return f"pools {' and '.join(what)}" if what else ""


def _table(title: str, rows: Sequence[RateRow], width: int, note: str = "") -> list[Line]:
    if not rows:
        return []
    label, plot = _columns(width)
    lines: list[Line] = [[], _heading(title, width), _axis_line(label, plot, note, width)]
    lines += [_row(row.group, row, label, plot, width) for row in rows]
    return lines


def _columns(width: int) -> tuple[int, int]:
    """Cells of the label and of the plot."""
    label = 28 if width >= _WIDE else 16
    figures = sum(size for _, size in _FIGURES) + (_NOTE if width >= _WIDE else 0)
    return label, max(4, width - label - figures - 2)


def _heading(title: str, width: int) -> Line:
    label, plot = _columns(width)
    pieces: list[Piece] = [(fit(title, label + plot + 2), "heading")]
    pieces += [(right(name, size), "muted") for name, size in _FIGURES]
    return pieces


def _axis_line(label: int, plot: int, note: str, width: int) -> Line:
    pieces: list[Piece] = [(" " * label, ""), (axis(plot), "faint")]
    rest = width - label - plot
    if note and rest > len(note) + 2:
        pieces.append((right(note, rest), "faint"))
    return pieces


def _row(name: str, row: RateRow, label: int, plot: int, width: int) -> Line:
    sure = row.n >= ANECDOTAL_BELOW
    style = "" if sure else "muted"
    pieces: list[Piece] = [(fit(name, label - 1) + " ", style)]
    pieces += interval(row.low, row.rate, row.high, plot, sure=sure)
    pieces.append(("  ", ""))
    values = (
        percent(row.rate),
        bounds(row.low, row.high) if row.n else "",
        thousands(row.n),
        thousands(row.unreviewed) if row.unreviewed else "–",
        percent(row.stated_rate),
    )
    pieces += [
        (right(value, size), "strong" if sure and place == 0 else style)
        for place, (value, (_, size)) in enumerate(zip(values, _FIGURES, strict=True))
    ]
    if width >= _WIDE:
        pieces.append(("  " + fit(row.note or _pooled(row), _NOTE - 2), "muted"))
    return pieces


def _weeks(weeks: Sequence[Week], width: int) -> list[Line]:
    if not weeks:
        return []
    label, plot = _columns(width)
    lines: list[Line] = [[], _heading("OVER TIME, BY WEEK", width)]
    if len(weeks) >= _SPARK_FROM:
        rates = [week.row.rate if week.row else None for week in weeks]
        line = sparkline(rates, max((rate for rate in rates if rate), default=1.0))
        lines.append([(fit("", label), ""), (line, "accent"), ("  rate, oldest week first", "faint")])
    for week in reversed(weeks):
        name = f"week of {week.monday.strftime('%b')} {week.monday.day}"
        if week.row is None:
            lines.append([(fit(name, label), "muted"), ("no verdicts", "faint")])
        else:
            lines.append(_row(name, week.row, label, plot, width))
    return lines


def _left_out(excluded: dict[str, int], width: int) -> list[Line]:
    notes = [f"○ anecdotal: n below {ANECDOTAL_BELOW}"]
    if excluded:
        left = ", ".join(f"{count} {why.replace('_', ' ')}" for why, count in sorted(excluded.items()))
        notes.append(f"not counted: {left}")
    return [[], cropped([("   ".join(notes), "faint")], width)]


def _rehearsed(shown: Statistics, width: int) -> list[Line]:
    whole = shown.whole.rehearsal[0]
    lines: list[Line] = [
        [],
        cropped([("REHEARSAL", "warn"), (f"   {REHEARSAL}", "muted")], width),
    ]
    lines += _table("ITS REVISE RATE", [whole], width)
    lines += _table(
        f"ITS RATE BY {shown.by.upper()}", shown.grouped.rehearsal, width, "b: by another property"
    )
    if not shown.whole.rows:
        lines += _left_out({}, width)
    return lines
