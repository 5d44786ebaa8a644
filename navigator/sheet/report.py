"""The report: the account of a night, what waits for you and the three answers, on one page that loads nothing."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from importlib import resources

from navigator.model.text import SIMULATED, safe_line
from navigator.sheet.account import account, table
from navigator.sheet.statistics.page import PageQuestion, Table
from navigator.sheet.statistics.summary import PAGE as SUMMARY
from navigator.sheet.waiting import waiting
from navigator.store.reads.reader import Reader

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may load for the page: nothing."""


def report(reader: Reader, since: str, redact: Callable[[str], str]) -> str:
    """The report as an HTML document.

    Args:
        since: a UTC time, from which on the account tells; "": of the newest night.
        redact: takes secrets out of a text: the page is made to be passed on.
    """

    def text(value: str) -> str:
        return escape(safe_line(redact(value)))

    with reader.snapshot():
        tables = (
            table(account(reader, since)),
            _waiting_table(reader),
            *SUMMARY.tables(SUMMARY.read(reader, PageQuestion())),
        )
    simulated = f'<p class="simulated">{SIMULATED}</p>' if reader.rehearsal else ""
    style = resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>Navigator report</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"<header><h1>Navigator report</h1>{simulated}</header>\n<main>\n"
        f"{''.join(_section(one, text) for one in tables)}</main>\n</body>\n</html>\n"
    )


def _waiting_table(reader: Reader) -> Table:
    """The list that `navigator proposals` shows."""
    facts = []
    for one in (held.document() for held in waiting(reader)):
        said = "; ".join([one["title"], *(mark["words"] for mark in one["marks"]), one["to_do"]])
        facts.append((one["id"], f"{one['says']}, {one['project']}: {said}"))
    return Table("WHAT WAITS FOR YOU?", answer="" if facts else "Nothing waits for you.", facts=tuple(facts))


def _section(one: Table, text: Callable[[str], str]) -> str:
    facts = "".join(f"<dt>{text(name)}</dt><dd>{text(words)}</dd>" for name, words in one.facts)
    answer = f"<p>{text(one.answer)}</p>" if one.answer else ""
    return f"<section><h2>{text(one.title)}</h2>{answer}{f'<dl>{facts}</dl>' if facts else ''}</section>\n"
