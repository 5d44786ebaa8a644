"""The Statistics screen: pages to leaf through, grouped and limited to a span of time by key.

What a page holds is in `sheet/statistics/`, for this screen and for `navigator stats`.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from textual import work
from textual.app import ComposeResult
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.worker import Worker

from navigator.config.paths import write_new
from navigator.model.errors import NavigatorError, NotFound
from navigator.model.text import SIMULATED
from navigator.sheet.account import account, folded, newest_night
from navigator.sheet.statistics.page import (
    PageQuestion,
    StatisticsPage,
    Table,
    document,
    drawn,
    exported,
    utc_text,
)
from navigator.sheet.statistics.pages import PAGES, REVIEWER
from navigator.sheet.statistics.revise_rate import comparison
from navigator.store.reads.reader import Reader
from navigator.store.reads.verdicts import GROUPINGS
from navigator.tui import clock
from navigator.tui.data.deck_snapshot import DeckSnapshot
from navigator.tui.dialogs.pick import FileDialog, PickDialog
from navigator.tui.statistics.draw import page_lines, table_lines
from navigator.tui.widgets.page import Line, Page
from navigator.tui.widgets.screen import NavScreen

PERIODS: tuple[tuple[str, int], ...] = (("all time", 0), ("7 days", 7), ("30 days", 30), ("90 days", 90))
"""Spans of time to choose from, with their days; 0 for everything."""

_GROUPS = tuple(name for name in GROUPINGS if name != "week")
_PAUSE = 3.0
"""Seconds between two countings of a store that keeps changing."""


class PageTabs(Widget):
    """The names of the pages, the one that is shown marked; a click goes there."""

    DEFAULT_CSS = """
    PageTabs { height: 1; padding: 0 1; background: $background; link-style: none; link-color: $muted;
        link-background: $background; link-style-hover: none; link-background-hover: $panel; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._pages: Sequence[StatisticsPage] = ()
        self._shown = 0
        self._note = ""

    def show(self, pages: Sequence[StatisticsPage], page: int, note: str) -> None:
        """Mark one of some pages; `note` is shown at the right edge."""
        self._pages, self._shown, self._note = pages, page, note
        self.refresh()

    def render(self) -> Content:
        """The line; where it is too short for every name, those around the marked one."""
        room = self.size.width - len(self._note) - 2
        names = [len(page.title) + 2 for page in self._pages]
        first, last = _around(names, self._shown, room)
        items = (
            [Content.styled("‹" if first else " ", "$faint")]
            if (first, last) != (0, len(self._pages))
            else []
        )
        for place, page in enumerate(self._pages[first:last], first):
            if place == self._shown:
                item = Content.assemble(("▸ ", "$accent"), (page.title, "bold $accent"))
            else:
                item = Content.assemble("  ", (page.title, "$muted"))
            items.append(item.stylize(Style.from_meta({"@click": f"screen.to_page({place})"})))
        if last < len(self._pages):
            items.append(Content.styled("›", "$faint"))
        left = Content("  ").join(items)
        gap = self.size.width - left.cell_length - len(self._note)
        return Content.assemble(left, " " * gap, (self._note, "$muted")) if gap > 1 else left


def _around(widths: Sequence[int], marked: int, room: int) -> tuple[int, int]:
    """The longest stretch of items around the marked one that fits, two cells between them and a sign at each end."""
    if sum(widths) + 2 * (len(widths) - 1) <= room:
        return 0, len(widths)
    first, last, used = marked, marked + 1, widths[marked] + 6
    while True:
        # In turns to the right and to the left, so that the next page is in sight.
        right = last < len(widths) and used + widths[last] + 2 <= room
        if right:
            used += widths[last] + 2
            last += 1
        left = first > 0 and used + widths[first - 1] + 2 <= room
        if left:
            used += widths[first - 1] + 2
            first -= 1
        if not right and not left:
            return first, last


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
        self._pair: tuple[str, str, str] | None = None
        self._compared: Table | str | None = None
        self._seq = -1
        self._due = 0.0
        self._counting: Worker[None] | None = None

    def compose_body(self) -> ComposeResult:
        """The pages' names, and one page."""
        yield PageTabs()
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
        """Count every page, the one that is shown first."""
        question = _question(by, days)
        began = time.monotonic()
        for page in sorted(PAGES, key=lambda page: page is not self._shown):
            try:
                found = await self.app.feed.read(partial(_read, page, question))
                if page is PAGES[0]:
                    self._night = await self.app.feed.read(
                        partial(_told, question, max(19, self.size.height - 16))
                    )
                if page is REVIEWER:
                    self._compared = await self.app.feed.read(partial(_compare_groups, self._pair, question))
            except NavigatorError as error:
                self.app.toast(str(error), "error")
                return
            self._counted = {**self._counted, page.name: found}
            self._redraw()
        self._due = time.monotonic() + max(_PAUSE, 10 * (time.monotonic() - began))

    @property
    def _period(self) -> str:
        return next(name for name, days in PERIODS if days == self._days)

    def _redraw(self) -> None:
        pages = self.pages
        self._shown = self._shown if self._shown in pages else PAGES[0]
        self.query_one(PageTabs).show(pages, pages.index(self._shown), self._period)
        self.query_one(Page).redraw()

    def _lines(self, width: int) -> list[Line]:
        page = self._shown
        if page.name not in self._counted:
            return [[], [("counting …", "muted")]]
        lines = page_lines(self._counted[page.name], page.missing, width, period=self._period)
        if page is PAGES[0] and self._night is not None:
            lines = [*table_lines(self._night, width), *lines]
        if self.app.snapshot.rehearsal:
            lines = [[(SIMULATED, "warn")], *lines]
        if page is not REVIEWER or self._compared is None:
            return lines
        if isinstance(self._compared, str):
            return [[], [(self._compared, "muted")], *lines]
        return [*table_lines(self._compared, width, period=self._period), *lines]

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
        self._count(self._seq)

    @work
    async def action_compare(self) -> None:
        """Ask for two groups, and show them above the revise rate; take the comparison away where one is shown."""
        counted = self._counted.get(REVIEWER.name)
        if counted is None:
            return
        rates = document(counted)["revise_rate"]
        if self._compared is not None:
            self._pair = None
        else:
            names = [row["group"] for row in rates["rows"]]
            title = f"Mark two to compare, by {rates['by'].replace('-', ' ')}"
            chosen = await self.app.push_screen_wait(PickDialog(title, names, empty="No verdict yet."))
            if chosen is None:
                return
            if len(chosen) != 2:
                other = f"{self.app.keymap.shown('stats.group')} groups by another property."
                self.app.toast(f"A comparison is of two groups. {other}", "warning")
                return
            self._pair = (rates["by"], *chosen)
        self._compared = "comparing …" if self._pair else None
        self.action_to_page(self.pages.index(REVIEWER))
        self._count(self._seq)

    def action_since(self) -> None:
        """The next span of time."""
        spans = [days for _, days in PERIODS]
        self._days = spans[(spans.index(self._days) + 1) % len(spans)]
        self._count(self._seq)

    def action_copy(self) -> None:
        """Copy the page as text."""
        self.app.copy_to_clipboard(as_text(self.query_one(Page).lines))

    @work
    async def action_write(self) -> None:
        """Ask for a file's name, and write the page there; a report where it ends with .html."""
        page = self._shown
        if page.name not in self._counted:
            return
        lines = (
            "The ending says what is written: .csv and .jsonl one figure a row,",
            ".json and .txt the page as it is, .html what happened and what waits.",
        )
        dialog = FileDialog(
            f"Write {page.title.lower()} to a file?",
            lines,
            name=f"navigator-{page.name}.csv",
            endings=ENDINGS,
        )
        path: Path | None = await self.app.push_screen_wait(dialog)
        if path is None:
            return
        try:
            if path.suffix == ".html":
                text = await self.app.feed.read(self._report)
            else:
                figures = document(self._counted[page.name]) | {"rehearsal": self.app.snapshot.rehearsal}
                text = contents(page.name, figures, self._lines(WIDTH), path.suffix)
            write_new(path, text.encode())
        except NavigatorError as error:
            self.app.toast(str(error), "error")
        except OSError as error:
            self.app.toast(f"{path} cannot be written: {error.strerror}.", "error")
        else:
            self.app.toast(f"Wrote {path}.")

    def _report(self, reader: Reader) -> str:
        from navigator.engine.acting import report_page

        return report_page(self.app.paths, reader, _question("", self._days).since)


def _question(by: str, days: int) -> PageQuestion:
    return PageQuestion(by, utc_text(clock.now() - timedelta(days=days)) if days else "")


def _read(page: StatisticsPage, question: PageQuestion, reader: Reader) -> tuple[Table, ...]:
    with reader.snapshot():
        return page.read(reader, question)


def _told(question: PageQuestion, height: int, reader: Reader) -> Table:
    """The account of the time in question, in so many lines; of all time: of the newest night."""
    with reader.snapshot():
        return folded(account(reader, question.since or newest_night(reader, clock.now())), height)


def _compare_groups(
    pair: tuple[str, str, str] | None, question: PageQuestion, reader: Reader
) -> Table | str | None:
    """The comparison of a property's two groups, or why there is none; None where none was asked for."""
    if pair is None or pair[0] != question.by:
        return None
    try:
        return comparison(reader, *pair[1:], by=question.by, since=question.since)
    except NotFound as error:
        return str(error)


ENDINGS = (".csv", ".jsonl", ".json", ".txt", ".html")
"""What a page can be written as; `.html` is the report."""

WIDTH = 100
"""Cells of a line of text."""


def as_text(lines: Sequence[Line]) -> str:
    """Drawn lines without their styles."""
    return "".join("".join(text for text, _ in line).rstrip() + "\n" for line in lines).lstrip("\n")


def contents(page: str, figures: Mapping[str, Any], lines: Sequence[Line], ending: str) -> str:
    """One page, as its JSON figures and as it is drawn, in the format of an ending other than `.html`."""
    return as_text(lines) if ending == ".txt" else exported(page, figures, ending[1:])
