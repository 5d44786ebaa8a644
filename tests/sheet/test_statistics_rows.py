"""Figures as rows: each once, exact, with its n and limits, real and simulated ones told apart."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from navigator.config.paths import StatePaths
from navigator.figures.intervals import Durations, share
from navigator.sheet.statistics.page import (
    COLUMNS,
    PageQuestion,
    StatisticsPage,
    as_csv,
    as_json_lines,
    document,
    figure_rows,
)
from navigator.sheet.statistics.pages import PAGES
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from tests.tui import world


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    paths = StatePaths(tmp_path_factory.mktemp("rows") / "s").ensure()
    world.fill(paths)
    return Reader(open_reader(paths.database))


def document_of(page: StatisticsPage, reader: Reader) -> dict[str, Any]:
    return {**document(page.read(reader, PageQuestion(by="kind"))), "rehearsal": reader.rehearsal}


COUNTS = st.builds(lambda k, rest: share(k, k + rest), st.integers(0, 40), st.integers(0, 40))
TABLES = st.dictionaries(st.sampled_from(("a", "b.c", "rows_of", "n_of")), COUNTS, max_size=4)


@given(TABLES, st.booleans())
def test_each_share_is_one_row(table: dict[str, Any], simulated: bool) -> None:
    document = {"rehearsal": simulated, "rows": {name: asdict(found) for name, found in table.items()}}
    made = {row.figure: row for row in figure_rows("some", document)}
    assert set(made) == set(table)
    for name, found in table.items():
        row = made[name]
        assert (row.value, row.n, row.low, row.high) == (found.rate, found.n, found.low, found.high)
        assert row.rehearsal is simulated


def test_an_item_of_a_list_is_named_by_what_comes_first_in_it() -> None:
    took = asdict(Durations(3, 2.5, 2.0, 4.0))
    document = {
        "directions": [{"to": "reviewer", "by": None, "seconds": took, "failed": 1}],
        "rehearsal": True,
    }
    rows = figure_rows("some", document)
    assert {row.subject for row in rows} == {"to=reviewer; by="}
    assert all(row.rehearsal for row in rows)
    assert {(row.figure, row.value, row.n) for row in rows} == {
        ("directions.seconds.mean", 2.5, 3),
        ("directions.seconds.median", 2.0, 3),
        ("directions.seconds.p95", 4.0, 3),
        ("directions.failed", 1, None),
    }


def test_csv_and_json_lines_hold_the_same_rows(reader: Reader) -> None:
    for page in PAGES:
        rows = figure_rows(page.name, document_of(page, reader))
        assert rows, page.name
        read = list(csv.DictReader(io.StringIO(as_csv(rows))))
        lines = [json.loads(line) for line in as_json_lines(rows).splitlines()]
        assert len(read) == len(lines) == len(rows)
        for cells, line, row in zip(read, lines, rows, strict=True):
            assert tuple(cells) == tuple(line) == COLUMNS
            assert line == asdict(row)
            if isinstance(row.value, (int, float)):
                assert float(cells["value"]) == row.value
            assert cells["rehearsal"] == str(int(row.rehearsal))


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x", "\x1b[31mred", 'a\nb,c"d'])
def test_no_name_becomes_a_formula_a_second_row_or_a_colour(name: str) -> None:
    document = {"rows": [{"group": "x", "n": 1, "note": name}], "rehearsal": False}
    (_, note) = figure_rows("some", document)
    heads, cells = csv.reader(io.StringIO(as_csv([note])))
    assert len(cells) == len(heads)
    value = cells[heads.index("value")]
    assert not value.startswith(("=", "+", "-", "@")) and "\x1b" not in value and "\n" not in value


def test_a_rate_keeps_every_digit(reader: Reader) -> None:
    rate = next(page for page in PAGES if page.name == "reviewer")
    rows = figure_rows(rate.name, document_of(rate, reader))
    fix = next(row for row in rows if row.subject == "group=fix" and row.figure == "revise_rate.rate")
    assert (fix.value, fix.n) == (8 / 30, 30)
