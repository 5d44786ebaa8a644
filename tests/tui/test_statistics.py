"""Statistics: plots to the half cell, figures from the store, nothing invented."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from navigator.config.paths import StatePaths
from navigator.figures.intervals import wilson
from navigator.model.errors import UsageError
from navigator.model.records import VerdictCount
from navigator.model.states import Verdict
from navigator.model.text import is_unsafe
from navigator.sheet.statistics.page import PageQuestion, Row, Table, brief, utc_text
from navigator.sheet.statistics.pages import PAGES, REVIEWER
from navigator.sheet.statistics.reviewer import rate_tables
from navigator.store.reads.reader import Reader
from navigator.tui.statistics import StatsScreen
from navigator.tui.widgets import tables as plot
from navigator.tui.widgets.cells import length
from navigator.tui.widgets.page import Line, Page
from navigator.tui.widgets.tables import page_lines, table_lines
from tests.sheet import nights
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, until


def verdict(
    said: Verdict = Verdict.APPROVE,
    *,
    stated: Verdict | None = None,
    project: str = "quill",
    model: str = "big",
    prompt: str = "review@1",
    n: int = 1,
) -> VerdictCount:
    return VerdictCount(
        group=project,
        model=model,
        prompt_version=prompt,
        verdict=said,
        stated_verdict=stated,
        n=n,
    )


class Verdicts:
    """Of the store's reader what the revise rate asks."""

    def __init__(self, rows: Sequence[VerdictCount]) -> None:
        self.rows = list(rows)

    def verdict_counts(self, by: str = "", since: str = "", **how: bool) -> list[VerdictCount]:
        return [] if how.get("existing") else self.rows

    def variant_verdicts(self, since: str) -> int:
        return 0


def counted(*rows: VerdictCount) -> list[Table]:
    reader = cast("Reader", Verdicts(rows))
    return [brief(table) for table in rate_tables(reader, PageQuestion("project"))]


def text_of(lines: Sequence[Line]) -> str:
    return "\n".join("".join(text for text, _ in line) for line in lines)


def rate_page(found: Sequence[Table], width: int) -> list[Line]:
    return page_lines(found, REVIEWER.missing, width, period="all time")


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


@pytest.mark.parametrize("width", [8, 20, 28, 60, 120])
def test_the_axis_names_both_ends(width: int) -> None:
    drawn = plot.axis(width)
    assert len(drawn) == width
    assert drawn.startswith("0%") and drawn.endswith("100%")


# The page


def test_nothing_is_invented_where_nothing_was_counted() -> None:
    said = text_of(rate_page(counted(), 100))
    assert "No first-round verdict yet." in said and "%" not in said


def test_unread_answers_are_shown_beside_n() -> None:
    said = text_of(rate_page(counted(verdict(n=42), verdict(said=Verdict.UNREVIEWED)), 120))
    assert re.search(r"unread.*\n.*\b42\b.*\b1\b", said)


def test_untrusted_names_are_made_visible() -> None:
    said = text_of(rate_page(counted(verdict(project="evil\x1b]0;x\x07\u202eup")), 120))
    assert not set("\x1b\x07\u202e") & set(said)


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


def test_a_text_that_is_no_date_is_refused() -> None:
    with pytest.raises(UsageError, match="2026-11-03"):
        utc_text("last week")


@pytest.mark.parametrize("width", [40, 110])
def test_no_line_is_wider_than_the_page(width: int, state: StatePaths) -> None:
    from navigator.engine.acting import open_reading

    connection = open_reading(state)
    found = {page.name: page.read(Reader(connection), PageQuestion(by="kind")) for page in PAGES}
    connection.close()
    for page in PAGES:
        for line in page_lines(found[page.name], page.missing, width):
            # Below 76 cells columns are cut by the widget itself.
            assert length(line) <= max(width, 76), page.name


def test_a_sentence_is_wrapped_and_whole() -> None:
    words = " ".join(f"{number} of many:" for number in range(30))
    lines = table_lines(Table("T", empty=words, notes=(words,)), 60)
    assert max(map(length, lines)) <= 60
    assert " ".join(text_of(lines).split()) == f"T {words} {words}"


@pytest.mark.parametrize("width", [40, 160])
def test_a_bar_leaves_room_for_its_count(width: int) -> None:
    rows = (Row("awaiting approval", count=123456), Row("failed", count=1))
    for line in table_lines(Table("TASKS BY STATE", rows=rows), width):
        assert length(line) <= width


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
        # two more headings, and three sentences of at most two lines
        assert len([line for line in figures.split("\n") if line.strip()]) <= 9
        assert all(words in told for words in ("waits", "T162 pinyon: failed: NO_MATCH", "done", "2 swaps"))
        assert told.strip().startswith("WHAT HAPPENED SINCE THURSDAY 19 NOVEMBER 14:30?")

        for marks in (
            ("[23–37]", "166", "DOES UNCERTAINTY TELL?"),
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


def test_a_picture(make_app: AppMaker, snap_compare: Callable[..., bool]) -> None:
    async def before(pilot: Pilot[Any]) -> None:
        await opened(pilot)

    assert snap_compare(make_app(), terminal_size=(80, 24), run_before=before)
