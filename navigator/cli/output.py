"""Output of commands: one JSON document or text on stdout, everything else on stderr; every character filtered."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, is_dataclass
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from navigator.cli.command import switch_given
from navigator.model import patterns
from navigator.model.errors import UsageError
from navigator.model.text import duration as duration
from navigator.model.text import safe_line, safe_text

if TYPE_CHECKING:
    from navigator.figures.page import Table

T = TypeVar("T")


def show(found: T, text: Callable[[T], object], *, code: int = 0) -> None:
    """What a command found: its one JSON document with --json, else what `text` prints of it. A `code` but 0 ends the process."""
    if switch_given("--json"):
        print_json(found)
    else:
        text(found)
    if code:
        sys.exit(int(code))


def form(named: str | None) -> str:
    """How a command prints: as --format names it, as JSON with --json, else as text.

    Raises:
        UsageError: both were given, and differ.
    """
    if not switch_given("--json"):
        return named or "text"
    if named not in (None, "json"):
        raise UsageError(f"--json and --format {named} contradict each other.", hint="Use one of them.")
    return "json"


def print_json(document: Any) -> None:
    """The one JSON document of a command with --json. ASCII escapes keep control characters from the terminal."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=True, default=plain))


def plain(found: Any) -> Any:
    """The JSON form of an object: its `document()`, else its fields."""
    if hasattr(found, "document"):
        return found.document()
    if is_dataclass(found) and not isinstance(found, type):
        return asdict(found)
    return str(found) if isinstance(found, Path) else found.model_dump(mode="json", by_alias=True)


def say(text: str = "", **attributes: Any) -> None:
    """One line or more for people, on stdout: filtered first, styled after."""
    click.echo(style(safe_text(text), **attributes))


def prose(
    text: str, indent: str = "", *, first: str | None = None, err: bool = False, **attributes: Any
) -> None:
    """Sentences for people, on stdout or stderr: on a terminal broken between words, else one line. `first` begins it."""
    begin = indent if first is None else safe_line(first)
    stream = sys.stderr if err else sys.stdout
    columns = shutil.get_terminal_size().columns if stream.isatty() else 0
    clear = safe_line(text)
    lines = textwrap.wrap(clear, columns, initial_indent=begin, subsequent_indent=indent) if columns else []
    (note if err else say)("\n".join(lines or [begin + clear]), **attributes)


def emit(text: str) -> None:
    """Text whose untrusted parts were made safe already, and that may be styled."""
    click.echo(text)


def note(text: str, **attributes: Any) -> None:
    """One line for people beside the output, on stderr."""
    click.echo(style(safe_text(text), **attributes), err=True)


def style(text: str, **attributes: Any) -> str:
    """Colour where stdout is a terminal and NO_COLOR is not set. The words must be clear without it."""
    if not attributes or os.environ.get("NO_COLOR") or not sys.stdout.isatty():
        return text
    return click.style(text, **attributes)


def table(
    rows: Iterable[T],
    *columns: str | tuple[str, Callable[[T], object]],
    empty: str = "",
    err: bool = False,
) -> None:
    """Print a plain table with two spaces between columns; columns of numbers are aligned at the right.

    Every cell goes through the character filter. The last column is not padded, unless it has numbers.

    Args:
        rows: what the lines are about.
        columns: heads, each with what it shows of a row; a head alone shows the row's item at that place.
        empty: printed instead where there are no rows.
    """
    rows = list(rows)
    if empty and not rows:
        say(empty)
        return
    heads = [column if isinstance(column, str) else column[0] for column in columns]
    cells: list[Callable[[Any], object]] = [
        itemgetter(at) if isinstance(of, str) else of[1] for at, of in enumerate(columns)
    ]
    body = [[safe_line(str(cell(row))) for cell in cells] for row in rows]
    widths = [max(map(_cells, column)) for column in zip(heads, *body, strict=True)]
    right = [all(map(_NUMBER.fullmatch, of)) and any(of) for of in zip(*body, strict=True)]

    def line(words: Sequence[str]) -> str:
        parts = [
            " " * (width - _cells(word)) + word if at_right else word + " " * (width - _cells(word))
            for word, width, at_right in zip(words, widths, right or [False] * len(heads), strict=True)
        ]
        return "  ".join(parts).rstrip()

    click.echo("\n".join([style(line(heads), bold=True), *map(line, body)]), err=err)


_WIDTH = 80
"""Cells of a sentence that answers a question."""


def tables(found: Iterable[Table], missing: str) -> None:
    """Print tables of statistics with their facts and notes; `missing` where none has anything to say."""
    from navigator.figures.page import drawn

    shown = drawn(found)
    if not shown:
        say(missing)
    for one in shown:
        if one.answer:
            say(one.title, bold=True)
            for line in textwrap.wrap(safe_line(one.answer), _WIDTH):
                say(line)
        if one.rows or not one.answer:
            _rows(one)
        if one.empty and not one.rows:
            say(f"  {one.empty}")
        about = (one.about,) if one.about else ()
        for line in (*about, *(f"{name}: {text}" for name, text in one.facts), *one.notes):
            prose(line, "  ")
        say()


def _rows(one: Table) -> None:
    title = "" if one.answer else one.title.lower()
    if one.columns or not one.rows:
        names = [column.name for column in one.columns]
        rows = [(row.label, *(row.cells or [""] * len(names)), row.note) for row in one.rows]
        table(rows, title, *names, "")
    else:
        table([(row.label, f"{row.count:,}") for row in one.rows], title, "n")


_NUMBER = patterns.compile(r"[-+−]?\d(?!\d{3}-).*|–|")
"""A cell that is aligned as numbers are: `1,024 MiB`, `27% [13–46]`, `3 of 10`, but no date."""


def _cells(text: str) -> int:
    """Terminal cells: wide East Asian characters count two."""
    import unicodedata

    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)
