"""The page: the three answers, then every page of statistics; a rehearsal's says that it is simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

from navigator.cascade.views.report.svg import (
    count_bar,
    interval_plot,
    parts_plot,
    rate_plot,
    spread_plot,
    text,
)
from navigator.cascade.views.statistics.page import (
    Question,
    RatePlot,
    Row,
    StatisticsPage,
    Table,
)
from navigator.cascade.views.statistics.pages import PAGES, REVIEWER
from navigator.cascade.views.statistics.revise_rate import PAGE as REVISE_RATE
from navigator.figures.intervals import ANECDOTAL_BELOW
from navigator.model import patterns
from navigator.model.text import SIMULATED
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
    links = " ".join(f'<a href="#{page.name}">{text(page.title)}</a>' for page, _ in found)
    sections = "".join(
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
        made.append(rate_plot(table.plot) if isinstance(table.plot, RatePlot) else spread_plot(table.plot))
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
        cells.append(f'<td class="note left">{text(row.note)}</td>')
    return f"<tr{f' class={chr(34)}{names}{chr(34)}' if names else ''}>{''.join(cells)}</tr>"


def _said(sentence: str) -> str:
    """A sentence with its commands as code."""
    return _CODE.sub(r"<code>\1</code>", text(sentence))
