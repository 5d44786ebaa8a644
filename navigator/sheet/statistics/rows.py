"""The figures of a page as rows, one per figure, for CSV and JSON lines."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from navigator.model.text import safe_line

_LIMITS = ("low", "high")
_ABOUT = ("k", "n", *_LIMITS, "unit", "source")
_MAIN = ("rate", "value", "estimate")
"""Which field of a record with limits they belong to."""

_ROWS = "rows"
"""The name of a list that says nothing about the figures in it."""

_NUMBERED = ("round",)
"""Numbers that say what a record is about, as a text does."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class FigureRow:
    """One figure.

    Attributes:
        page: the page of statistics.
        subject: what it is about, as `name=value`, several with a semicolon between; "" for the whole.
        figure: its name, with dots between the parts; one below 1 that is a rate is a fraction, not per cent.
        value: None where it is unknown.
        n: observations behind it; None for plain counts.
        low: lower limit of its 95 % interval; None where it has none.
        high: upper limit.
        rehearsal: whether it is simulated.
    """

    page: str
    subject: str
    figure: str
    value: float | str | None
    n: float | None
    low: float | None
    high: float | None
    rehearsal: bool = False


COLUMNS = tuple(field.name for field in fields(FigureRow))


def figure_rows(page: str, document: Mapping[str, Any]) -> list[FigureRow]:
    """Every figure of a page's JSON document, in its order."""
    figures = {name: value for name, value in document.items() if name != "rehearsal"}
    return [replace(row, rehearsal=document["rehearsal"]) for row in _walk(figures, page, (), "")]


def as_csv(rows: Iterable[FigureRow]) -> str:
    """Rows under a line of names. A text that a spreadsheet would take for a formula gets an apostrophe in front."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        values = asdict(row) | {"rehearsal": int(row.rehearsal)}
        writer.writerow([_cell(values[name]) for name in COLUMNS])
    return stream.getvalue()


def as_json_lines(rows: Iterable[FigureRow]) -> str:
    """One JSON object a line."""
    return "".join(json.dumps(asdict(row), ensure_ascii=True) + "\n" for row in rows)


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = safe_line(value)
    return f"'{text}" if text.startswith(_FORMULA) else text


def _walk(
    node: Any, page: str, subject: tuple[str, ...], path: str, *, listed: bool = False
) -> Iterator[FigureRow]:
    if isinstance(node, Mapping):
        yield from _figure_rows(node, page, subject, path, listed=listed)
    elif isinstance(node, (list, tuple)):
        for place, item in enumerate(node):
            plain = not isinstance(item, Mapping)
            where = f"{path}.{place}" if plain and path else path
            yield from _walk(item, page, subject, where, listed=True)
    else:
        yield FigureRow(page, "; ".join(subject), path, _plain_value(node), None, None, None)


def _figure_rows(
    node: Mapping[str, Any],
    page: str,
    subject: tuple[str, ...],
    path: str,
    *,
    listed: bool,
) -> Iterator[FigureRow]:
    if listed:  # what an item of a list is about comes first in it, as text
        for name, value in node.items():
            if value is not None and not isinstance(value, str) and name not in _NUMBERED:
                break
            subject = (*subject, f"{name}={value or ''}")
    named = {part.partition("=")[0] for part in subject} if listed else set[str]()
    main = _main_figure(node)
    alone = main is not None and set(node) <= {main, *_ABOUT}
    for name, value in node.items():
        if name in named and (value is None or isinstance(value, str) or name in _NUMBERED):
            continue
        if (
            name == "n"
            and main is None
            and any(name != "n" and _is_number(other) for name, other in node.items())
        ):
            continue  # beside the others
        nested = isinstance(value, (Mapping, list, tuple))
        if nested:
            yield from _walk(value, page, subject, path if name == _ROWS else _dotted(path, name))
        elif name == main:
            where = path if alone and path else _dotted(path, name)
            low, high = (node[limit] for limit in _LIMITS)
            yield FigureRow(page, "; ".join(subject), where, _plain_value(value), node.get("n"), low, high)
        elif main is None or name not in _ABOUT:
            # Without limits, n is that of every figure beside it; with them, of the main one alone.
            n = node.get("n") if main is None and name != "n" else None
            yield FigureRow(page, "; ".join(subject), _dotted(path, name), _plain_value(value), n, None, None)


def _main_figure(node: Mapping[str, Any]) -> str | None:
    if not all(limit in node for limit in _LIMITS):
        return None
    return next((name for name in _MAIN if name in node), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _dotted(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _plain_value(value: Any) -> float | str | None:
    if isinstance(value, bool):
        return int(value)
    return value if value is None or isinstance(value, (int, float)) else str(value)
