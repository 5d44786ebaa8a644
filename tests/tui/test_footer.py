"""Strip and footer: filled to the last cell, and the keys that must not be missed have room first."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets._toast import Toast

from navigator.config.paths import StatePaths
from navigator.tui.app import NavigatorApp
from navigator.tui.data.conductor_link import ConductorLink
from navigator.tui.data.deck_snapshot import LiveStatus
from navigator.tui.deck.screen import DeckScreen
from navigator.tui.dialogs import HelpScreen
from navigator.tui.fleet import FleetScreen
from navigator.tui.keys import ACTIONS, in_scope
from navigator.tui.statistics import StatsScreen
from navigator.tui.welcome import FirstRunScreen
from navigator.tui.widgets.page import Page
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import KeyBar
from navigator.tui.widgets.strip import StatusStrip
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, until
from tests.tui.reviewing import Reviewing
from tests.tui.test_review import opened

WIDTHS = [60, 80, 99, 100, 120, 160, 200]


def line_of(app: NavigatorApp) -> str:
    """The footer as it stands on the screen."""
    return app.screen.query_one(KeyBar).render().plain


@pytest.mark.parametrize("width", WIDTHS)
async def test_both_lines_end_at_the_last_cell(make_app: AppMaker, width: int) -> None:
    app = make_app()
    async with app.run_test(size=(width, 30)) as pilot:
        await loaded(pilot)
        bar, strip = app.screen.query_one(KeyBar), app.screen.query_one(StatusStrip)
        assert bar.region.width == width
        footer = bar.render()
        assert footer.cell_length == width - 2 and not footer.plain.endswith(" ")
        for line in strip.render().plain.split("\n"):
            assert len(line) == width - 2 and not line.endswith(" ")


@pytest.mark.parametrize("width", WIDTHS[1:])
async def test_choosing_a_hunk_has_room_on_every_width(tmp_path: Path, width: int) -> None:
    reviewing = Reviewing(StatePaths(tmp_path / "s").ensure(), tmp_path)
    async with opened(reviewing, size=(width, 24)) as at:
        said = line_of(at.app)
        for words in ("a approve", "r reject", "b send back", "c comment", "space choose hunk", "? help"):
            assert words in said


async def test_the_fleet_offers_what_a_conductor_can_do_where_one_is(
    make_app: AppMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 30)) as pilot:
        await loaded(pilot)
        await pilot.press("F")
        await until(pilot, lambda: isinstance(app.screen, FleetScreen))
        alone = line_of(app)
        assert "ctrl+n start" in alone and "esc back" in alone
        assert "s swap" not in alone and "X stop" not in alone and "F fleet" not in alone
        here = LiveStatus(conductor="here", status={"resident": "generator"})
        monkeypatch.setattr(ConductorLink, "live", property(lambda link: here))
        monkeypatch.setattr(ConductorLink, "here", property(lambda link: True))
        app._live_changed()
        await until(pilot, lambda: "s swap" in line_of(app))
        assert "X stop" in line_of(app) and "ctrl+n start" not in line_of(app)


@pytest.mark.parametrize("width", [120, 200])
async def test_the_keys_of_the_other_screens_are_in_sight(make_app: AppMaker, width: int) -> None:
    app = make_app()
    async with app.run_test(size=(width, 30)) as pilot:
        await loaded(pilot)
        app.last_decided = ("P1",)
        app.screen.query_one(KeyBar).refresh()
        await pilot.pause()
        for words in ("u undo", "C compose", "S statistics", "F fleet", "? help"):
            assert words in line_of(app)


async def test_an_interrupt_says_how_to_quit(make_app: AppMaker) -> None:
    app = make_app()
    async with app.run_test(size=(120, 30)) as pilot:
        await loaded(pilot)
        await pilot.press("ctrl+c")
        assert [note.message for note in app._notifications] == ["Press q to quit."]


async def test_a_list_without_rows_shows_that_it_has_the_keys(make_app: AppMaker) -> None:
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        listed = app.screen.query_one("#work", RowList)
        listed.set_rows([])
        assert listed.render_line(0).text.startswith("  WORKING")
        listed.focus()
        await pilot.pause()
        assert listed.render_line(0).text.startswith("▌ WORKING")


async def test_a_message_covers_no_row(make_app: AppMaker) -> None:
    app = make_app()
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await loaded(pilot)
        app.toast("P1 landed.")
        await until(pilot, lambda: bool(app.screen.query(Toast)))
        await pilot.pause()
        said = app.screen.query_one(Toast).region
        assert said.bottom <= app.screen.query_one("#panes").region.y
        assert said.right == 120  # no character of the status line is left at its end


async def test_an_empty_deck_offers_only_what_does_something(
    make_app: AppMaker, empty_state: StatePaths
) -> None:
    app = make_app(empty_state)
    async with app.run_test(size=(120, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, FirstRunScreen))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, DeckScreen))
        said = line_of(app)
        assert "+ add projects" in said and "C compose" in said
        for words in ("enter open", "a approve", "A approve batch", "s swap now", "ctrl+n start"):
            assert words not in said


async def test_a_click_does_what_the_key_does(make_app: AppMaker) -> None:
    app = make_app()
    async with app.run_test(size=(120, 30)) as pilot:
        await loaded(pilot)
        await pilot.click(KeyBar, offset=(1 + line_of(app).index("? help"), 0))
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await pilot.click(KeyBar, offset=(1 + line_of(app).index("esc back") + 5, 0))
        await until(pilot, lambda: not isinstance(app.screen, HelpScreen))


async def test_where_one_is_already_is_not_offered(make_app: AppMaker) -> None:
    app = make_app()
    async with app.run_test(size=(200, 30)) as pilot:
        await loaded(pilot)
        assert "esc back" not in line_of(app) and "S statistics" in line_of(app)
        await pilot.press("S")
        await until(pilot, lambda: isinstance(app.screen, StatsScreen))
        assert "S statistics" not in line_of(app) and "esc back" in line_of(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_no_sentence_of_the_help_is_cut(make_app: AppMaker, size: tuple[int, int]) -> None:
    app = make_app()
    async with app.run_test(size=size) as pilot:
        await loaded(pilot)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        drawn = ["".join(text for text, _ in line) for line in app.screen.query_one(Page).lines]
        assert not [line for line in drawn if "…" in line]
        words = " ".join(" ".join(drawn).split())
        if size[0] < 100:
            for action in in_scope("review"):
                assert ACTIONS[action.id].help in words
