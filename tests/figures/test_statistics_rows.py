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
from navigator.figures.page import (
    COLUMNS,
    PageQuestion,
    StatisticsPage,
    document,
    exported,
    figure_rows,
)
from navigator.figures.pages import PAGES
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
    made = {row["figure"]: row for row in figure_rows("some", document)}
    assert set(made) == set(table)
    for name, found in table.items():
        row = made[name]
        assert [row[key] for key in ("value", "n", "low", "high")] == [
            found.rate,
            found.n,
            found.low,
            found.high,
        ]
        assert row["rehearsal"] is simulated


def test_an_item_of_a_list_is_named_by_what_comes_first_in_it() -> None:
    took = asdict(Durations(3, 2.5, 2.0, 4.0))
    document = {
        "directions": [{"to": "reviewer", "by": None, "seconds": took, "failed": 1}],
        "rehearsal": True,
    }
    rows = figure_rows("some", document)
    assert {row["subject"] for row in rows} == {"to=reviewer; by="}
    assert all(row["rehearsal"] for row in rows)
    assert {(row["figure"], row["value"], row["n"]) for row in rows} == {
        ("directions.seconds.mean", 2.5, 3),
        ("directions.seconds.median", 2.0, 3),
        ("directions.seconds.p95", 4.0, 3),
        ("directions.failed", 1, None),
    }


def test_csv_and_json_lines_hold_the_same_rows_with_every_digit(reader: Reader) -> None:
    for page in PAGES:
        found = document_of(page, reader)
        rows = figure_rows(page.name, found)
        assert rows, page.name
        read = list(csv.DictReader(io.StringIO(exported(page.name, found, "csv"))))
        lines = [json.loads(line) for line in exported(page.name, found, "jsonl").splitlines()]
        assert lines == rows and len(read) == len(rows)
        for cells, row in zip(read, rows, strict=True):
            assert tuple(cells) == tuple(row) == COLUMNS
            if isinstance(row["value"], (int, float)):
                assert float(cells["value"]) == row["value"]
            assert cells["rehearsal"] == str(int(row["rehearsal"]))
        if page.name == "reviewer":
            (fix,) = [
                one for one in rows if (one["subject"], one["figure"]) == ("group=fix", "revise_rate.rate")
            ]
            assert (fix["value"], fix["n"]) == (8 / 30, 30)


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x", "\x1b[31mred", 'a\nb,c"d'])
def test_no_name_becomes_a_formula_a_second_row_or_a_colour(name: str) -> None:
    document = {"rows": [{"group": "x", "n": 1, "note": name}], "rehearsal": False}
    _, _, cells = csv.reader(io.StringIO(exported("some", document, "csv")))
    assert len(cells) == len(COLUMNS)
    value = cells[COLUMNS.index("value")]
    assert not value.startswith(("=", "+", "-", "@")) and "\x1b" not in value and "\n" not in value
