"""Statistics: the revise rate with its intervals, outcomes, swaps, throughput, edits. What is not measured says so."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from textual.app import ComposeResult
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.worker import Worker

from navigator.domain.errors import NavigatorError
from navigator.evidence.rates import GROUPINGS
from navigator.tui import clock
from navigator.tui.data.deck_snapshot import DeckSnapshot
from navigator.tui.statistics.gather import PERIODS, Statistics, gather
from navigator.tui.statistics.other_pages import edits_page, outcomes_page, swaps_page, throughput_page
from navigator.tui.statistics.rate_page import rate_page
from navigator.tui.widgets.page import Line, Page
from navigator.tui.widgets.screen import NavScreen

PAGES: tuple[tuple[str, str, Callable[[Statistics, int], list[Line]]], ...] = (
    ("rate", "Revise rate", rate_page),
    ("outcomes", "Outcomes", outcomes_page),
    ("swaps", "Swaps", swaps_page),
    ("throughput", "Throughput", throughput_page),
    ("edits", "Edits", edits_page),
)
_GROUPS = ("kind", *(name for name in GROUPINGS if name != "kind"))
_PAUSE = 3.0
"""Seconds between two countings of a store that keeps changing; counting reads all of it."""


class PageTabs(Widget):
    """The names of the pages, the one that is shown marked; a click goes there."""

    DEFAULT_CSS = """
    PageTabs { height: 1; padding: 0 1; background: $background; link-style: none; link-color: $muted;
        link-background: $background; link-style-hover: none; link-background-hover: $panel; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._shown = 0
        self._note = ""

    def show(self, page: int, note: str) -> None:
        """Mark a page; `note` stands at the right edge."""
        self._shown, self._note = page, note
        self.refresh()

    def render(self) -> Content:
        """The line."""
        items = []
        for place, (_, name, _) in enumerate(PAGES):
            if place == self._shown:
                item = Content.assemble(("▸ ", "$accent"), (name, "bold $accent"))
            else:
                item = Content.assemble("  ", (name, "$muted"))
            items.append(item.stylize(Style.from_meta({"@click": f"screen.to_page({place})"})))
        left = Content("  ").join(items)
        gap = self.size.width - left.cell_length - len(self._note)
        return Content.assemble(left, " " * gap, (self._note, "$muted")) if gap > 1 else left


class StatsScreen(NavScreen):
    """Counted anew, in a thread, when the store has changed."""

    SCOPE = "stats"
    TITLE = "statistics"
    CSS_PATH = "stats.tcss"
    AUTO_FOCUS = "#page"

    def __init__(self) -> None:
        super().__init__()
        self._page = 0
        self._by = _GROUPS[0]
        self._days = 0
        self._counted: Statistics | None = None
        self._seq = -1
        self._due = 0.0
        self._counting: Worker[None] | None = None

    def compose_body(self) -> ComposeResult:
        """The pages' names, and one page."""
        yield PageTabs()
        yield Page(self._lines, id="page")

    @property
    def counted(self) -> Statistics | None:
        """What is shown; None before it was counted."""
        return self._counted

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """The store has changed: count anew, but not all the time."""
        if not snapshot.loaded or snapshot.seq == self._seq:
            return
        wait = max(0.0, self._due - time.monotonic())
        if wait:
            self.set_timer(wait + 0.05, partial(self._late, snapshot.seq))
        else:
            self._count(snapshot.seq)

    def _late(self, seq: int) -> None:
        if self.is_current and seq > self._seq and time.monotonic() >= self._due:
            self._count(self.app.snapshot.seq)

    def _count(self, seq: int) -> None:
        self._seq = seq
        self._due = time.monotonic() + _PAUSE
        self._counting = self.run_worker(
            partial(self._gather, self._by, self._days), group="count", exclusive=True
        )

    async def _gather(self, by: str, days: int) -> None:
        began = time.monotonic()
        question = partial(gather, by=by, days=days, now=clock.now())
        try:
            self._counted = await self.app.feed.read(question)
        except NavigatorError as error:
            self.app.toast(str(error), "error")
            return
        self._due = time.monotonic() + max(_PAUSE, 10 * (time.monotonic() - began))
        self._redraw()

    def _redraw(self) -> None:
        period = next(name for name, days in PERIODS if days == self._days)
        self.query_one(PageTabs).show(self._page, period)
        self.query_one(Page).redraw()

    def _lines(self, width: int) -> list[Line]:
        if self._counted is None:
            return [[], [("counting …", "muted")]]
        return PAGES[self._page][2](self._counted, width)

    def action_to_page(self, page: int) -> None:
        """To one page."""
        self._page = page % len(PAGES)
        self._redraw()
        self.query_one(Page).scroll_to(y=0, animate=False, force=True)

    def action_next_page(self) -> None:
        """To the next page."""
        self.action_to_page(self._page + 1)

    def action_previous_page(self) -> None:
        """To the page before."""
        self.action_to_page(self._page - 1)

    def action_group(self) -> None:
        """Group by the next property."""
        self._by = _GROUPS[(_GROUPS.index(self._by) + 1) % len(_GROUPS)]
        self._page = 0
        self._count(self._seq)

    def action_since(self) -> None:
        """The next span of time."""
        spans = [days for _, days in PERIODS]
        self._days = spans[(spans.index(self._days) + 1) % len(spans)]
        self._count(self._seq)
