"""The Statistics screen: pages to leaf through, grouped and limited to a span of time by key.

What a page holds is in `sheet/statistics/`, for this screen and for `navigator stats`.
"""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta
from functools import partial

from textual.app import ComposeResult

from navigator.model.errors import NavigatorError
from navigator.model.text import SIMULATED
from navigator.sheet.account import account, folded, newest_night
from navigator.sheet.statistics.page import PageQuestion, StatisticsPage, Table, drawn, utc_text
from navigator.sheet.statistics.pages import PAGES, REVIEWER
from navigator.store.reads.reader import Reader
from navigator.store.reads.statistics import GROUPINGS
from navigator.tui import clock
from navigator.tui.base import begin
from navigator.tui.deck_snapshot import DeckSnapshot
from navigator.tui.widgets.cells import Piece, justified
from navigator.tui.widgets.page import Line, Page, PieceLines
from navigator.tui.widgets.screen import NavScreen
from navigator.tui.widgets.tables import page_lines, table_lines

PERIODS: tuple[tuple[str, int], ...] = (("all time", 0), ("7 days", 7), ("30 days", 30), ("90 days", 90))
"""Spans of time to choose from, with their days; 0 for everything."""

_GROUPS = tuple(name for name in GROUPINGS if name != "week")
_PAUSE = 3.0
"""Seconds between two countings of a store that keeps changing."""


class StatsScreen(NavScreen):
    """The pages of `sheet.statistics`, counted again, in a thread, when the store has changed."""

    SCOPE = "stats"
    TITLE = "statistics"
    CSS_PATH = "stats.tcss"
    AUTO_FOCUS = "#page"

    def __init__(self) -> None:
        super().__init__()
        self._shown: StatisticsPage = PAGES[0]
        self._by = _GROUPS[0]
        self._days = 0
        self._counted: dict[str, tuple[Table, ...]] = {}
        self._night: Table | None = None
        self._asked: tuple[int, str, int] | None = None

    def compose_body(self) -> ComposeResult:
        """The pages' names, and one page."""
        yield PieceLines(id="tabs")
        yield Page(self._lines, id="page")

    @property
    def counted(self) -> dict[str, tuple[Table, ...]]:
        """What each page counted, by its name; a page that was not counted yet is not in it."""
        return self._counted

    @property
    def pages(self) -> list[StatisticsPage]:
        """The summary, and the pages that have something to say."""
        counted = self._counted
        return [
            page
            for page in PAGES
            if page is PAGES[0] or page.name not in counted or drawn(counted[page.name])
        ]

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """The store has changed: count again, but not all the time."""
        if snapshot.loaded and not any(w.group == "count" and not w.is_finished for w in self.workers):
            self._count()

    def _count(self) -> None:
        begin(self, self._gather, group="count", exclusive=True)

    async def _gather(self) -> None:
        """Count every page, the one that is shown first, until there is nothing new."""
        while (asked := (self.app.snapshot.seq, self._by, self._days)) != self._asked and self.is_current:
            self._asked = asked
            question = _question(self._by, self._days)
            began = time.monotonic()
            for page in sorted(PAGES, key=lambda page: page is not self._shown):
                try:
                    found = await self.app.feed.read(partial(_read, page, question))
                    if page is PAGES[0]:
                        self._night = await self.app.feed.read(
                            partial(_told, question, max(19, self.size.height - 16))
                        )
                except NavigatorError as error:
                    self.app.toast(str(error), "error")
                    return
                self._counted = {**self._counted, page.name: found}
                self._redraw()
            await asyncio.sleep(max(_PAUSE, 10 * (time.monotonic() - began)))

    @property
    def _period(self) -> str:
        return next(name for name, days in PERIODS if days == self._days)

    def _redraw(self) -> None:
        pages = self.pages
        self._shown = self._shown if self._shown in pages else PAGES[0]
        self.query_one(PieceLines).show(self._tabs)
        self.query_one(Page).redraw()

    def _tabs(self, width: int) -> list[Line]:
        """The names of the pages, the one that is shown marked, and the period."""
        names: list[Piece] = []
        for page in self.pages:
            here = page is self._shown
            names.append((f"{'▸' if here else ' '} {page.title}  ", "accent" if here else "muted"))
        return [justified(names, [(self._period, "muted")], width)]

    def _lines(self, width: int) -> list[Line]:
        page = self._shown
        if page.name not in self._counted:
            return [[], [("counting …", "muted")]]
        lines = page_lines(self._counted[page.name], page.missing, width, period=self._period)
        if page is PAGES[0] and self._night is not None:
            lines = [*table_lines(self._night, width), *lines]
        if self.app.snapshot.rehearsal:
            lines = [[(SIMULATED, "warn")], *lines]
        return lines

    def action_to_page(self, page: int) -> None:
        """To one page."""
        self._shown = self.pages[page % len(self.pages)]
        self._redraw()
        self.query_one(Page).scroll_to(y=0, animate=False, force=True)

    def action_next(self) -> None:
        """To the next page."""
        self.action_to_page(self.pages.index(self._shown) + 1)

    def action_previous(self) -> None:
        """To the page before."""
        self.action_to_page(self.pages.index(self._shown) - 1)

    def action_group(self) -> None:
        """Group by the next property."""
        self._by = _GROUPS[(_GROUPS.index(self._by) + 1) % len(_GROUPS)]
        self._shown = REVIEWER
        self._count()

    def action_since(self) -> None:
        """The next span of time."""
        spans = [days for _, days in PERIODS]
        self._days = spans[(spans.index(self._days) + 1) % len(spans)]
        self._count()


def _question(by: str, days: int) -> PageQuestion:
    return PageQuestion(by, utc_text(clock.now() - timedelta(days=days)) if days else "")


def _read(page: StatisticsPage, question: PageQuestion, reader: Reader) -> tuple[Table, ...]:
    with reader.snapshot():
        return page.read(reader, question)


def _told(question: PageQuestion, height: int, reader: Reader) -> Table:
    """The account of the time in question, in so many lines; of all time: of the newest night."""
    with reader.snapshot():
        return folded(account(reader, question.since or newest_night(reader, clock.now())), height)
