"""Strip and footer: filled to the last cell, and the keys that must not be missed have room first."""

from __future__ import annotations

import pytest
from textual.widgets._toast import Toast

from navigator.config.paths import StatePaths
from navigator.tui.app import NavigatorApp
from navigator.tui.conductor_link import ConductorLink
from navigator.tui.deck import DeckScreen
from navigator.tui.deck_snapshot import LiveStatus
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

WIDTHS = [60, 80, 99, 100, 120, 160, 200]


def line_of(app: NavigatorApp) -> str:
    """The footer as it stands on the screen."""
    return app.screen.query_one(KeyBar).render().plain


async def test_both_lines_at_every_width(make_app: AppMaker) -> None:
    app = make_app()
    async with app.run_test(size=(120, 30), notifications=True) as pilot:
        await loaded(pilot)
        deck, bar, strip = app.screen, app.screen.query_one(KeyBar), app.screen.query_one(StatusStrip)
        app.last_decided = ("P1",)
        for width in WIDTHS:
            await pilot.resize_terminal(width, 30)
            await until(pilot, lambda width=width: bar.region.width == width)  # type: ignore[misc]
            footer = bar.render()
            assert footer.cell_length == width - 2 and not footer.plain.endswith(" ")
            line = strip.render().plain
            assert len(line) == width - 2 and not line.endswith(" ")
            assert "esc back" not in footer.plain and "? help" in footer.plain
            if width >= 120:
                for words in ("u undo", "C compose", "S statistics", "F fleet"):
                    assert words in footer.plain

        listed = deck.query_one("#work", RowList)
        listed.set_rows([])  # one without rows shows that it has the keys
        assert listed.render_line(0).text.startswith("  WORKING")
        listed.focus()
        await pilot.pause()
        assert listed.render_line(0).text.startswith("▌ WORKING")

        await pilot.press("ctrl+c")
        await until(pilot, lambda: bool(deck.query(Toast)))
        assert [note.message for note in app._notifications] == ["Press q to quit."]
        await pilot.pause()
        said = deck.query_one(Toast).region  # a message covers no row
        assert said.bottom <= deck.query_one("#panes").region.y
        assert said.right == 200  # no character of the status line is left at its end

        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        page = app.screen.query_one(Page)
        for width in (120, 80):
            await pilot.resize_terminal(width, 30)
            await until(pilot, lambda width=width: page.size.width <= width)  # type: ignore[misc]
            drawn = ["".join(text for text, _ in line) for line in page.lines]
            assert not [line for line in drawn if "…" in line], "no sentence is cut"
        words = " ".join(" ".join(drawn).split())
        assert all(ACTIONS[action.id].help in words for action in in_scope("review"))
        assert "esc back" in line_of(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is deck)

        await pilot.resize_terminal(200, 30)
        await pilot.press("S")  # where one is already is not offered
        await until(pilot, lambda: isinstance(app.screen, StatsScreen))
        assert "S statistics" not in line_of(app) and "esc back" in line_of(app)


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
