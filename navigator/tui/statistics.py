"""The Statistics screen: pages to leaf through.

What a page holds is in `figures/`, for this screen and for `navigator stats`, which groups and limits it.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial

from textual.app import ComposeResult

from navigator.figures.page import PageQuestion, StatisticsPage, Table
from navigator.figures.pages import PAGES
from navigator.model.errors import NavigatorError
from navigator.model.text import SIMULATED
from navigator.sheet.account import WIDTH, Account, account, folded, newest_night
from navigator.store.reads.reader import Reader
from navigator.tui import clock
from navigator.tui.base import begin
from navigator.tui.deck_snapshot import DeckSnapshot
from navigator.tui.widgets.cells import Piece
from navigator.tui.widgets.page import Line, Page, PieceLines
from navigator.tui.widgets.screen import NavScreen
from navigator.tui.widgets.tables import page_lines, table_lines

_PAUSE = 3.0
"""Seconds between two countings of a store that keeps changing."""


class StatsScreen(NavScreen):
    """The pages of `figures`, counted again, in a thread, when the store has changed.

    Attributes:
        counted: what each page counted, by its name; a page that was not counted yet is not in it.
    """

    SCOPE = "stats"
    TITLE = "statistics"
    CSS_PATH = "stats.tcss"
    AUTO_FOCUS = "#page"

    def __init__(self) -> None:
        super().__init__()
        self._shown: StatisticsPage = PAGES[0]
        self.counted: dict[str, tuple[Table, ...]] = {}
        self._night: Account | None = None
        self._asked = -1

    def compose_body(self) -> ComposeResult:
        """The pages' names, and one page."""
        yield PieceLines(id="tabs")
        yield Page(self._lines, id="page")

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """The store has changed: count again, but not all the time."""
        if snapshot.loaded and not any(w.group == "count" and not w.is_finished for w in self.workers):
            begin(self, self._gather, group="count", exclusive=True)

    async def _gather(self) -> None:
        """Count every page, the one that is shown first, until there is nothing new."""
        while (asked := self.app.snapshot.seq) != self._asked and self.is_current:
            self._asked = asked
            began = time.monotonic()
            for page in sorted(PAGES, key=lambda page: page is not self._shown):
                try:
                    found = await self.app.feed.read(partial(_read, page))
                    if page is PAGES[0]:
                        self._night = await self.app.feed.read(_newest)
                except NavigatorError as error:
                    self.app.toast(str(error), "error")
                    return
                self.counted = {**self.counted, page.name: found}
                self._redraw()
            await asyncio.sleep(max(_PAUSE, 10 * (time.monotonic() - began)))

    def _redraw(self) -> None:
        self.query_one(PieceLines).show(self._tabs)
        self.query_one(Page).redraw()

    def _tabs(self, width: int) -> list[Line]:
        """The names of the pages, the one that is shown marked."""
        names: list[Piece] = []
        for page in PAGES:
            here = page is self._shown
            names.append((f"{'▸' if here else ' '} {page.title}  ", "accent" if here else "muted"))
        return [names]

    def _lines(self, width: int) -> list[Line]:
        page = self._shown
        if page.name not in self.counted:
            return [[], [("counting …", "muted")]]
        lines = page_lines(self.counted[page.name], page.missing, width)
        if page is PAGES[0] and self._night is not None:
            night = folded(self._night, max(19, self.size.height - 16), max(WIDTH, width))
            lines = [*table_lines(night, width), *lines]
        if self.app.snapshot.rehearsal:
            lines = [[(SIMULATED, "warn")], *lines]
        return lines

    def action_to_page(self, page: int) -> None:
        """To one page."""
        self._shown = PAGES[page % len(PAGES)]
        self._redraw()
        self.query_one(Page).scroll_to(y=0, animate=False, force=True)

    def action_next(self) -> None:
        """To the next page."""
        self.action_to_page(PAGES.index(self._shown) + 1)

    def action_previous(self) -> None:
        """To the page before."""
        self.action_to_page(PAGES.index(self._shown) - 1)


def _read(page: StatisticsPage, reader: Reader) -> tuple[Table, ...]:
    with reader.snapshot():
        return page.read(reader, PageQuestion())


def _newest(reader: Reader) -> Account:
    """The account of the newest night."""
    with reader.snapshot():
        return account(reader, newest_night(reader, clock.now()))
