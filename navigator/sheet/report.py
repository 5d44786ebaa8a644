"""The page: what waits for you, the three answers, then every page of statistics; a rehearsal's says that it is simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from html import escape
from importlib import resources
from itertools import groupby
from typing import Any

from navigator.figures.intervals import ANECDOTAL_BELOW, Share
from navigator.model import patterns
from navigator.model.text import SIMULATED, safe_line
from navigator.sheet.statistics.chart import place_in_time, short_date, top_of
from navigator.sheet.statistics.page import (
    Column,
    Question,
    RatePlot,
    Row,
    StatisticsPage,
    Table,
    bounds,
    percent,
)
from navigator.sheet.statistics.pages import PAGES, REVIEWER
from navigator.sheet.statistics.revise_rate import PAGE as REVISE_RATE
from navigator.sheet.waiting import waiting
from navigator.store.reads.reader import Reader
from navigator.store.reads.verdicts import GROUPINGS

_CODE = patterns.compile(r"`([^`]+)`")
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may load for the page: nothing."""


def report(reader: Reader, question: Question, *, written: str, period: str) -> str:
    """The report as an HTML document.

    Args:
        written: when, in words.
        period: what span of time it covers, in words.
    """
    with reader.snapshot():
        found = [(page, page.read(reader, question)) for page in PAGES]
        groups = _groups(reader, question)
        waits = _waits(reader)
    links = " ".join(f'<a href="#{page.name}">{text(page.title)}</a>' for page, _ in found)
    sections = f'<section id="waits"><h2>What waits for you</h2>{_table(waits)}</section>\n' + "".join(
        _section(page, (*page.tables(counts), *(groups if page is REVIEWER else ())))
        for page, counts in found
    )
    simulated = f'<p class="simulated">{SIMULATED}</p>' if reader.rehearsal else ""
    style = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Navigator report, {text(written)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header><h1>Navigator report</h1><p>Written {text(written)}. Covers {text(period)}."
        f" Brackets hold 95 % intervals; a rate of fewer than {ANECDOTAL_BELOW} is anecdotal.</p>{simulated}"
        f"<nav>{links}</nav></header>\n<main>\n{sections}</main>\n</body>\n</html>\n"
    )


def _waits(reader: Reader) -> Table:
    """The list that `navigator proposals` shows."""
    found = [one.document() for one in waiting(reader)]
    rows = tuple(
        Row(
            f"{one['id']} {one['title']}",
            (one["project"], one["says"]),
            note="; ".join([*(mark["words"] for mark in one["marks"]), one["to_do"]]),
        )
        for one in found
    )
    columns = (Column("project", str), Column("says", str))
    return Table(f"{len(rows)} in all", columns, rows, empty="Nothing waits for you.")


def _groups(reader: Reader, question: Question) -> tuple[Table, ...]:
    """The revise rate by every other property than the one asked about."""
    made: list[Table] = []
    for by in GROUPINGS:
        if by not in (question.by, "week"):
            counts = REVISE_RATE.read(reader, replace(question, by=by))
            made += [table for table in REVISE_RATE.tables(counts) if table.title.startswith("BY ")]
    return tuple(made)


def _section(page: StatisticsPage[Any], tables: Sequence[Table]) -> str:
    made = [f'<section id="{page.name}"><h2>{text(page.title)}</h2><p class="about">{text(page.help)}</p>']
    if not tables:
        made.append(f"<p>{_said(page.missing)}</p>")
    made += [_table(table) for table in tables]
    return "".join(made) + "</section>\n"


def _table(table: Table) -> str:
    about = f" <small>{text(table.about)}</small>" if table.about else ""
    headline = f' <strong class="headline">{text(table.headline)}</strong>' if table.headline else ""
    made = [f'<div class="table"><h3>{text(table.title.capitalize())}{about}{headline}</h3>']
    if table.answer:
        made.append(f'<p class="answer">{_said(table.answer)}</p>')
    if table.facts:
        facts = "".join(f"<dt>{text(name)}</dt><dd>{_said(fact)}</dd>" for name, fact in table.facts)
        made.append(f"<dl>{facts}</dl>")
    if table.plot is not None:
        made.append(rate_plot(table.plot))
    if table.rows:
        made.append(_rows(table))
    elif table.empty:
        made.append(f'<p class="note">{_said(table.empty)}</p>')
    made += [f'<p class="note">{_said(note)}</p>' for note in table.notes]
    return "".join(made) + "</div>\n"


def _rows(table: Table) -> str:
    plotted = any(row.share is not None for row in table.rows)
    counted = any(row.count is not None for row in table.rows)
    noted = any(row.note for row in table.rows)
    heads = ["<th></th>", *(['<th class="scale">0 – 100 %</th>'] if plotted else [])]
    heads += [f"<th>{text(column.name)}</th>" for column in table.columns]
    heads += ['<th class="left">n</th>'] if counted else []
    heads += ["<th></th>"] if noted else []
    width = len(heads)
    most = max((row.count or 0 for row in table.rows), default=0)
    body = []
    for row in table.rows:
        body.append(_row(row, table, plotted=plotted, counted=counted, noted=noted, most=most))
        if row.parts:
            words = " · ".join(f"{text(name)} {seconds:.1f} s" for name, seconds in row.parts)
            body.append(
                f'<tr class="parts"><td colspan="{width}">{parts_plot(row.parts)}<small>{words}</small></td></tr>'
            )
    return f"<table><thead><tr>{''.join(heads)}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _row(row: Row, table: Table, *, plotted: bool, counted: bool, noted: bool, most: int) -> str:
    few = row.share is not None and row.share.n < ANECDOTAL_BELOW
    names = " ".join(name for name, on in (("detail", row.detail), ("few", few)) if on)
    cells = [f'<th scope="row">{text(row.label)}</th>']
    if not row.cells and row.count is None:
        cells.append(
            f'<td class="note left" colspan="{len(table.columns) + plotted + noted}">{text(row.note)}</td>'
        )
        return f"<tr>{''.join(cells)}</tr>"
    if plotted:
        cells.append(f'<td class="scale">{interval_plot(row.share) if row.share else ""}</td>')
    cells += [f"<td>{text(cell)}</td>" for cell in row.cells]
    if counted:
        cells.append(f'<td class="left">{count_bar(row.count or 0, most)} {row.count or 0:,}</td>')
    if noted:
        cells.append(f'<td class="note left">{_said(row.note)}</td>')
    return f"<tr{f' class={chr(34)}{names}{chr(34)}' if names else ''}>{''.join(cells)}</tr>"


def _said(sentence: str) -> str:
    """A sentence with its commands as code."""
    return _CODE.sub(r"<code>\1</code>", text(sentence))


# Plots as SVG inside a page. Colours come from the page's style sheet, by class; every text is escaped.

_WIDTH, _HEIGHT = 720, 200
_LEFT, _TOP, _BOTTOM = 44, 22, 26
_LABEL = 64
"""Units from one date on the axis to the next, at least."""


def text(value: str) -> str:
    """Untrusted text for a page: control characters made visible, then escaped."""
    return escape(safe_line(value))


def rate_plot(plot: RatePlot) -> str:
    """A rate over time: the band of its 95 % interval, a dot per period, a dashed line per mark; "" without a point."""
    shown = [(day, found) for day, found in plot.points if found.n]
    if not shown:
        return ""
    top = top_of(shown)
    places, marks = place_in_time(plot)
    room, height = _WIDTH - _LEFT - 8, _HEIGHT - _TOP - _BOTTOM

    def at(day: str) -> float:
        return _LEFT + places[day] * room

    def up(value: float) -> float:
        return _TOP + height * (1 - min(value, top) / top)

    drawn = [_axis(top, up)]
    for known, run in groupby(plot.points, key=lambda point: point[1].n > 0):
        if known:
            drawn.append(_band([(at(day), found) for day, found in run], up))
    for place, day, label in marks:
        drawn.append(_mark(_LEFT + place * room, day, label))
    free = 0.0
    for day, found in plot.points:
        if at(day) >= free:
            drawn.append(
                f'<text class="tick" x="{at(day):.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{short_date(day)}</text>'
            )
            free = at(day) + _LABEL
        if found.n:
            drawn.append(_dot(at(day), day, found, up))
    return _svg(_WIDTH, _HEIGHT, "Rate over time with its 95 % interval", drawn)


def _axis(top: float, up: Callable[[float], float]) -> str:
    return "".join(
        f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - 8}" y1="{up(value):.1f}" y2="{up(value):.1f}"/>'
        f'<text class="tick" x="{_LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{100 * value:.0f}%</text>'
        for value in (0.0, top / 2, top)
    )


def _band(points: Sequence[tuple[float, Share]], up: Callable[[float], float]) -> str:
    """The interval as an area and the rate as a line, over neighbouring periods."""
    above = [f"{x:.1f},{up(found.high):.1f}" for x, found in points]
    below = [f"{x:.1f},{up(found.low):.1f}" for x, found in reversed(points)]
    line = [f"{x:.1f},{up(found.rate or 0.0):.1f}" for x, found in points]
    return (
        f'<polygon class="band" points="{" ".join(above + below)}"/>'
        f'<polyline class="line" points="{" ".join(line)}"/>'
    )


def _dot(x: float, day: str, found: Share, up: Callable[[float], float]) -> str:
    sure = "" if found.n >= ANECDOTAL_BELOW else " few"
    said = f"{short_date(day)}: {percent(found.rate)} {bounds(found)}, n {found.n:,}"
    return (
        f'<g><title>{said}</title><line class="limits" x1="{x:.1f}" x2="{x:.1f}"'
        f' y1="{up(found.low):.1f}" y2="{up(found.high):.1f}"/>'
        f'<circle class="dot{sure}" cx="{x:.1f}" cy="{up(found.rate or 0.0):.1f}" r="4"/></g>'
    )


def _mark(x: float, day: str, label: str) -> str:
    end = x > _WIDTH * 0.7
    return (
        f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 8}" y2="{_HEIGHT - _BOTTOM}"/>'
        f'<text class="tick" x="{x + (-5 if end else 5):.1f}" y="{_TOP - 10}"'
        f' text-anchor="{"end" if end else "start"}">{short_date(day)} {text(label)}</text>'
    )


def interval_plot(found: Share) -> str:
    """A line between the limits on a scale from 0 to 100 %, with the rate as a dot."""
    if not found.n or found.rate is None:
        return ""
    sure = "" if found.n >= ANECDOTAL_BELOW else " few"
    ticks = "".join(f'<line class="grid" x1="{x}" x2="{x}" y1="2" y2="14"/>' for x in (4, 44, 84, 124, 164))
    return _svg(
        168,
        16,
        f"{percent(found.rate)} {bounds(found)}",
        [
            ticks,
            f'<line class="limits" x1="{4 + 160 * found.low:.1f}" x2="{4 + 160 * found.high:.1f}" y1="8" y2="8"/>',
            f'<circle class="dot{sure}" cx="{4 + 160 * found.rate:.1f}" cy="8" r="3.5"/>',
        ],
        small=True,
    )


def parts_plot(parts: Sequence[tuple[str, float]]) -> str:
    """Named seconds as stretches of one line."""
    total = sum(seconds for _, seconds in parts)
    if total <= 0:
        return ""
    drawn, reached = [], 0.0
    for place, (name, seconds) in enumerate(parts):
        wide = _WIDTH * seconds / total
        drawn.append(
            f'<rect class="{"part" if place % 2 else "bar"}" x="{reached:.1f}" y="1" width="{max(0.5, wide - 1):.1f}" height="6">'
            f"<title>{text(name)} {seconds:.1f} s</title></rect>"
        )
        reached += wide
    return _svg(_WIDTH, 8, "Phases", drawn)


def count_bar(count: int, most: int) -> str:
    """A bar as long as its share of the largest count."""
    wide = 300 * count / most if most else 0.0
    drawn = [f'<rect class="bar" x="0" y="4" width="{max(1.0, wide):.1f}" height="8"/>']
    return _svg(300, 16, "", drawn, small=True)


def _svg(width: float, height: float, label: str, drawn: Sequence[str], *, small: bool = False) -> str:
    named = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    kind = ' class="small"' if small else ' class="plot"'
    size = f' width="{width:g}" height="{height:g}"' if small else ""
    return f'<svg viewBox="0 0 {width:g} {height:g}"{size}{kind} {named}>{"".join(drawn)}</svg>'
