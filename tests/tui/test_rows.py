"""The list of any length; and how the deck puts variants and linked tasks into rows."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from navigator.model.states import TaskState, Verdict
from navigator.sheet.marks import overlapping, places_of
from navigator.sheet.variants import best_first
from navigator.sheet.waiting import by_effort
from navigator.store.reads.cards import Card
from navigator.tui.deck_rows import flags_of, together, work_word
from navigator.tui.theme import DEFAULT_THEME, THEMES
from navigator.tui.widgets.cells import Piece, fit
from navigator.tui.widgets.rows import RowList
from tests.sheet.cards import CARD


class Lists(App[None]):
    """One list of words."""

    def __init__(self, count: int = 100) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = DEFAULT_THEME
        self.drawn = 0
        self.heard: list[str] = []
        self.list = RowList[str](
            str, self._draw, heading=lambda width: [("WORDS", "heading")], selectable=True
        )
        self.list.empty = ("nothing", "here")
        self.list.set_rows([f"row {number}" for number in range(count)])

    def compose(self) -> ComposeResult:
        yield self.list

    def _draw(self, row: str, width: int) -> list[Piece]:
        self.drawn += 1
        return [(fit(row, width), "")]

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        self.heard.append(f"at {event.rows.current}")

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        self.heard.append(f"chose {event.rows.current}")

    def line(self, y: int) -> str:
        return self.list.render_line(y).text.rstrip()


async def pressed(pilot: Pilot[None], *keys: str) -> None:
    await pilot.press(*keys)
    await pilot.pause()


async def test_keys_and_mouse_move_the_cursor_and_it_stays_in_sight() -> None:
    app = Lists()
    async with app.run_test(size=(40, 11)) as pilot:
        keys = "j down k up k ctrl+d ctrl+u pagedown pageup G j g end home"
        cursors = (1, 2, 1, 0, 0, 5, 0, 10, 0, 99, 99, 0, 99, 0)
        for key, cursor in zip(keys.split(), cursors, strict=True):
            await pressed(pilot, key)
            assert app.list.cursor == cursor, key
            top = round(app.list.scroll_y)
            assert top <= cursor < top + 10
            assert app.line(0) == "▌ WORDS", "the heading stays"
        assert app.line(1) == "▸ row 0" and app.heard[-1] == "at row 0"

        await pilot.click(RowList, offset=(5, 4))
        assert app.list.current == "row 3"
        await pilot.click(RowList, offset=(1, 2))
        assert app.list.selected_rows == ["row 1"]
        await pilot.click(RowList, offset=(5, 0))
        assert app.list.current == "row 1"
        await pilot.double_click(RowList, offset=(5, 6))
        await pilot.pause()
        assert "chose row 5" in app.heard

        app.list.set_rows([f"row {number}" for number in range(50_000)])
        await pilot.pause()
        app.drawn = 0
        await pressed(pilot, "G")
        assert app.line(10) == "▸ row 49999"
        assert app.drawn < 100, "only what is on the screen is drawn"


async def test_cursor_and_selection_follow_their_rows() -> None:
    app = Lists()
    async with app.run_test(size=(40, 11)) as pilot:
        await pressed(pilot, "j", "j", "j")
        app.list.set_rows(["new", *(f"row {number}" for number in range(100))])
        assert app.list.current == "row 3"
        app.list.set_rows([f"row {number}" for number in range(100) if number != 3])
        assert app.list.cursor == 4
        app.list.set_rows(["only"])
        assert app.list.current == "only"
        app.list.set_rows([])
        assert app.list.current is None
        await pilot.pause()
        assert app.line(1) == "  nothing"
        await pressed(pilot, "j", "G", "space", "ctrl+a")
        assert not app.list.selection

        app.list.set_rows([f"row {number}" for number in range(5)])
        await pressed(pilot, "space", "space")
        assert app.list.selected_rows == ["row 0", "row 1"] and app.list.cursor == 2
        app.list.set_rows(["row 1", "row 4"])
        assert app.list.selected_rows == ["row 1"]
        await pressed(pilot, "ctrl+a")
        assert app.list.selected_rows == ["row 1", "row 4"]
        await pressed(pilot, "ctrl+a")
        assert app.list.selected_rows == []
        await pressed(pilot, "space")
        assert app.list.clear_selection() and not app.list.clear_selection()


PLAIN = CARD._replace(verdict=Verdict.APPROVE, added=5, paths=("a.py",), tests="passed")


def card(number: int, **more: object) -> Card:
    return PLAIN._replace(task=f"T{number}", proposal=f"P{number}", **more)  # type: ignore[arg-type]


GROUP = {"variant_of": "T2", "variants": 3}
ROWS = [
    card(1, added=60),
    card(2, variant=1, verdict=Verdict.REVISE, blocking=1, added=2, **GROUP),
    card(3, added=9),
    card(4, variant=2, added=30, **GROUP),
    card(5, variant=3, added=20, failed=("tests",), tests="failed", **GROUP),
]


@pytest.mark.parametrize("cards", [ROWS, by_effort(ROWS)[0]])
def test_variants_stay_together_with_the_best_first_in_every_order(cards: list[Card]) -> None:
    groups = best_first(ROWS)
    rows = [row.task for row in together(cards, groups)]
    start = rows.index("T4")
    # T4 passes and has APPROVE; T2 has a serious finding; the tests of T5 fail.
    assert rows[start : start + 3] == ["T4", "T2", "T5"]
    assert sorted(rows) == [row.task for row in ROWS]


def test_a_filter_that_hides_the_best_shows_the_others() -> None:
    shown, _ = by_effort(row for row in ROWS if row.task != "T4")
    assert [row.task for row in together(shown, best_first(ROWS))] == ["T2", "T5", "T3", "T1"]


def test_variants_of_one_task_do_not_overlap_one_another_but_others_do() -> None:
    met = overlapping(places_of(ROWS[1:]))
    assert met["P3"] == ("P2", "P4", "P5") and met["P4"] == ("P3",)


def test_a_row_says_which_variant_it_is_and_what_a_queued_task_waits_for() -> None:
    assert ("best 2/3", "good") in flags_of(ROWS[3], short=False, best=True)
    assert ("variant 1/3", "muted") in flags_of(ROWS[1], short=False)
    queued = card(6, state=TaskState.QUEUED, waits=(("T1", TaskState.REVIEWING),))
    assert work_word(queued) == ("after T1", "muted")
    stuck = queued._replace(waits=(("T1", TaskState.REVIEWING), ("T3", TaskState.REJECTED)))
    assert work_word(stuck) == ("after T3", "warn")
