"""Statistics: plots to the half cell, figures from the store, nothing invented."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import product
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from navigator.config.paths import StatePaths
from navigator.figures.intervals import wilson
from navigator.figures.page import PageQuestion, Row, Table, utc_text
from navigator.figures.pages import PAGES
from navigator.model.text import is_unsafe
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from navigator.tui.statistics import StatsScreen
from navigator.tui.widgets import tables as plot
from navigator.tui.widgets.cells import length
from navigator.tui.widgets.page import Line, Page
from navigator.tui.widgets.tables import page_lines, table_lines
from tests.sheet import nights
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, until


def text_of(lines: Sequence[Line]) -> str:
    return "\n".join("".join(text for text, _ in line) for line in lines)


# Plots


@given(st.integers(0, 60), st.integers(0, 60), st.integers(4, 90))
def test_an_interval_fills_its_cells_and_holds_its_dot(k: int, more: int, width: int) -> None:
    n = k + more
    low, high = wilson(k, n)
    rate = k / n if n else None
    drawn = plot.interval(low, rate, high, width)
    text = "".join(piece for piece, _ in drawn)
    assert len(text) == width == length(drawn)
    assert text.count("●") == (n > 0)
    if rate is None:
        assert set(text) <= {" ", "┊"}
        return
    line = [place for place, glyph in enumerate(text) if glyph in "━╸╺●"]
    assert line == list(range(line[0], line[-1] + 1))
    assert abs(line[0] / width - low) <= 1.5 / width
    assert abs((line[-1] + 1) / width - high) <= 1.5 / width


def test_the_axis_names_both_ends() -> None:
    for width in (8, 28, 120):
        drawn = plot.axis(width)
        assert len(drawn) == width
        assert drawn.startswith("0%") and drawn.endswith("100%")


# The page


@pytest.mark.parametrize(
    ("since", "text"),
    [
        ("2026-11-10", "2026-11-10T00:00:00.000Z"),
        ("2026-11-10T12:00:00Z", "2026-11-10T12:00:00.000Z"),
        ("2026-11-10T13:00:00+01:00", "2026-11-10T12:00:00.000Z"),
        (datetime(2026, 11, 10, 11, tzinfo=UTC), "2026-11-10T11:00:00.000Z"),
    ],
)
def test_a_moment_is_written_as_the_store_does(since: str | datetime, text: str) -> None:
    assert utc_text(since) == text


def test_no_line_is_wider_than_the_page(state: StatePaths) -> None:
    with closing(open_reader(state.database)) as connection:
        found = {page: page.read(Reader(connection), PageQuestion(by="kind")) for page in PAGES}
    for page, width in product(PAGES, (40, 110)):
        for line in page_lines(found[page], page.missing, width):
            # Below 76 cells columns are cut by the widget itself.
            assert length(line) <= max(width, 76), page.name


def test_a_sentence_is_wrapped_and_whole() -> None:
    words = " ".join(f"{number} of many:" for number in range(30))
    lines = table_lines(Table("T", empty=words, notes=(words,)), 60)
    assert max(map(length, lines)) <= 60
    assert " ".join(text_of(lines).split()) == f"T {words} {words}"


def test_a_bar_leaves_room_for_its_count() -> None:
    rows = (Row("awaiting approval", count=123456), Row("failed", count=1))
    for width in (40, 160):
        assert all(length(line) <= width for line in table_lines(Table("BY STATE", rows=rows), width))


# The screen


async def opened(pilot: Pilot[Any]) -> StatsScreen:
    await loaded(pilot)
    await pilot.press("S")
    await until(
        pilot,
        lambda: isinstance(pilot.app.screen, StatsScreen) and len(pilot.app.screen.counted) == len(PAGES),
        what="the statistics",
    )
    return cast("StatsScreen", pilot.app.screen)


def shown(screen: StatsScreen) -> str:
    return text_of(list(screen.query_one(Page).lines))


async def test_pages_by_key(make_app: AppMaker) -> None:
    async with make_app().run_test(size=(120, 60)) as pilot:
        screen = await opened(pilot)
        told, _, figures = shown(screen).partition("IS THE REVIEWER WORTH IT?")
        # one more heading, and two sentences of at most two lines
        assert len([line for line in figures.split("\n") if line.strip()]) <= 9
        assert all(words in told for words in ("waits", "T162 pinyon: failed: NO_MATCH", "done", "2 swaps"))
        assert told.strip().startswith("WHAT HAPPENED SINCE THURSDAY 19 NOVEMBER 14:30?")

        for marks in (
            ("[23–37]", "166"),
            ("YOU AND THE REVIEWER",),
            ("COST PER ACCEPTED CHANGE", "generator → reviewer", "THROUGHPUT"),
            ("EDITS", "RUNGS THAT APPLIED"),
            ("WHAT DOES IT COST?",),
        ):
            await pilot.press("n")
            assert [mark for mark in marks if mark not in shown(screen)] == []
        await pilot.press("p")
        assert "EDITS" in shown(screen)

        await pilot.press("n")

        await pilot.resize_terminal(80, 24)  # a long page scrolls by keys
        page = screen.query_one(Page)
        await until(pilot, lambda: page.max_scroll_y > 1)
        await pilot.press("j")
        assert page.scroll_offset.y == 1
        await pilot.press("G")
        assert page.scroll_offset.y == page.max_scroll_y
        await pilot.press("g")
        assert page.scroll_offset.y == 0


async def test_a_hostile_night_stays_text(make_app: AppMaker, empty_state: StatePaths) -> None:
    nights.made(empty_state, nights.hostile)
    async with make_app(empty_state).run_test(size=(80, 24)) as pilot:
        lines = shown(await opened(pilot)).split("\n")
        assert any("<script>" in line for line in lines)
        assert not any(is_unsafe(line) for line in lines)
