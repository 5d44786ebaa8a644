"""A page of statistics as the contents of a file, or of the clipboard."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from navigator.sheet.statistics.rows import as_csv, as_json_lines, figure_rows
from navigator.tui.widgets.page import Line

ENDINGS = (".csv", ".jsonl", ".json", ".txt", ".html")
"""What a page can be written as; `.html` is the report."""

WIDTH = 100
"""Cells of a line of text."""


def as_text(lines: Sequence[Line]) -> str:
    """Drawn lines without their styles."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines).lstrip("\n")


def contents(page: str, document: Mapping[str, Any], lines: Sequence[Line], ending: str) -> str:
    """One page, as its JSON document and as it is drawn, in the format of an ending other than `.html`."""
    if ending == ".csv":
        return as_csv(figure_rows(page, document))
    if ending == ".jsonl":
        return as_json_lines(figure_rows(page, document))
    if ending == ".json":
        return json.dumps(document, indent=2, ensure_ascii=True) + "\n"
    return as_text(lines)
