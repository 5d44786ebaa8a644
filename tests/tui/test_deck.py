"""The deck by its keys."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from textual.message import Message
from textual.pilot import Pilot
from textual.widgets import Input

from navigator.config.settings import Settings
from navigator.engine.alone import act_alone
from navigator.model.states import DecisionKind, TaskState
from navigator.sheet.waiting import card_seconds
from navigator.tui.app import NavigatorApp
from navigator.tui.base import DecideAll, OpenProposal
from navigator.tui.deck import DeckScreen, pane_heights
from navigator.tui.dialogs import ConfirmDialog, HelpScreen
from navigator.tui.theme import THEMES
from navigator.tui.welcome import AddProjectsScreen, FirstRunScreen
from navigator.tui.widgets.page import Page
from navigator.tui.widgets.strip import StatusStrip
from tests.git.world import make_repo
from tests.tui import world
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, type_at_once, until

Deck = tuple[Pilot[Any], NavigatorApp, DeckScreen, list[Message]]


@pytest.fixture
def deck(make_app: AppMaker) -> Callable[..., Any]:
    """The deck over the day's state, and every message that passes."""

    @asynccontextmanager
    async def opened(size: tuple[int, int] = (140, 50), **options: Any) -> AsyncIterator[Deck]:
        app = make_app(**options)
        heard: list[Message] = []
        async with app.run_test(size=size, message_hook=heard.append) as pilot:
            await loaded(pilot)
            screen = app.screen
            assert isinstance(screen, DeckScreen)
            await until(pilot, lambda: bool(screen.pane("inbox").rows))
            yield pilot, app, screen, heard

    return opened


def last(heard: list[Message], kind: type[Any]) -> Any:
    found = [message for message in heard if isinstance(message, kind)]
    assert found, f"no {kind.__name__}"
    return found[-1]


def keys_of(screen: DeckScreen, pane: str = "inbox") -> list[str]:
    return [row.proposal or row.task for row in screen.pane(pane).rows]


async def to_row(pilot: Pilot[Any], screen: DeckScreen, pane: str, key: str) -> None:
    screen._focus(pane)
    screen.pane(pane).move_to_key(key)
    await pilot.pause()


async def test_lists_are_walked_filtered_and_sorted(deck: Any) -> None:
    async with deck() as (pilot, app, screen, _):
        seen = []
        for key in ("tab", "tab", "tab", "tab", "shift+tab"):
            await pilot.press(key)
            seen.append(screen.focused_pane)
        assert seen == ["work", "ended", "projects", "inbox", "projects"]

        await to_row(pilot, screen, "projects", "dune-loader")
        await pilot.press("enter")  # a project narrows the inbox to itself
        await pilot.pause()
        assert keys_of(screen) == ["P163", "P164"]
        await pilot.press("escape")
        await pilot.pause()
        assert len(keys_of(screen)) == 9

        type_at_once(app, "/is:approve")
        await until(pilot, lambda: len(keys_of(screen)) == 5)
        assert keys_of(screen) == ["P163", "P164", "P166", "P167", "P168"]
        await pilot.press("enter")
        assert screen.focused_pane == "inbox" and not isinstance(screen.focused, Input)
        for word, rows in (("is:confirm", ["P162"]), ("is:fail retry", []), ("is:self", ["P168"])):
            screen.query_one("#filter", Input).value = word
            await pilot.pause()
            assert keys_of(screen) == rows, word
        await pilot.press("escape")

        await pilot.press("o")
        await pilot.pause()
        assert app.prefs.get("deck.inbox", "") == "effort"
        rows = screen.pane("inbox").rows
        to_decide = [card_seconds(card) for card in rows[:-1]]
        assert to_decide == sorted(to_decide) and rows[-1].state is TaskState.FAILED
        assert "quickest first" in "".join(text for text, _ in screen._inbox_heading(160))

        await pilot.resize_terminal(80, 24)  # one list at a time
        for key, shown in (("", "inbox"), ("tab", "work"), ("tab", "ended"), ("tab", "projects")):
            await pilot.press(*filter(None, [key]))
            await pilot.pause()
            panes = ("projects", "inbox", "work", "ended")
            assert [name for name in panes if screen.pane(name).region.height > 1] == [shown]
        assert screen.pane("projects").region.height == 22


@pytest.mark.parametrize(
    ("height", "waiting", "work", "ended", "heights"),
    [
        (34, 0, 32, 0, (4, 26)),  # nothing waits: the work has the height
        (34, 40, 32, 9, (16, 10)),
        (34, 40, 0, 5, (25, 1)),  # no blank line under an empty list: what ended has it
        (34, 2, 3, 0, (4, 4)),
        (20, 30, 0, 30, (13, 1)),
    ],
)
def test_each_list_has_what_it_needs_or_its_share(
    height: int, waiting: int, work: int, ended: int, heights: tuple[int, int]
) -> None:
    assert pane_heights(height, waiting, work, ended) == heights
    assert sum(heights) + 4 <= height


async def test_keys_are_about_exactly_what_is_under_the_cursor_or_selected(
    deck: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NavigatorApp, "on_decide_all", lambda app, request: None)
    async with deck() as (pilot, app, screen, heard):
        await pilot.press("A")
        await pilot.pause()
        assert [name for name, _ in last(heard, DecideAll).proposals] == [f"P{n}" for n in range(162, 169)]
        await pilot.press("j", "a")
        await pilot.pause()
        asked = last(heard, DecideAll)
        tree = app.snapshot.card("P163").tree
        assert (asked.kind, list(asked.proposals)) == (DecisionKind.APPROVE, [("P163", tree)])
        await pilot.press("space", "space", "R")
        await pilot.pause()
        asked = last(heard, DecideAll)
        assert asked.kind is DecisionKind.REJECT
        assert [name for name, _ in asked.proposals] == ["P163", "P164"]
        await pilot.press("escape")
        assert not screen.pane("inbox").selection

        await pilot.press("g", "j", "enter")
        await pilot.pause()
        opened = last(heard, OpenProposal)
        assert opened.proposal == "P163"
        assert list(opened.queue) == [key for key in keys_of(screen) if key.startswith("P")]
        await until(pilot, lambda: app.current_mode == "review")
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)

        asked_for: list[Any] = []
        app.go = lambda mode, request=None: asked_for.append(request)
        await pilot.press("g", "C")
        await to_row(pilot, screen, "projects", "aurora-api")
        await pilot.press("space", "space", "C")
        await pilot.pause()
        assert [list(request.projects) for request in asked_for] == [["billing"], ["aurora-api", "billing"]]


async def test_verbs_change_what_is_under_the_cursor(
    deck: Any, state: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with deck() as (pilot, app, screen, _):

        def told() -> list[str]:
            return [notice.message for notice in app._notifications]

        for pane, row, key, said in (
            ("work", "T179", "a", "has no proposal to decide on"),
            ("work", "T179", "t", "cannot be retried"),
            ("ended", "T162", "u", ""),
            ("inbox", "P163", "u", "nothing to undo"),
            ("inbox", "P163", "s", "No conductor"),
        ):
            await to_row(pilot, screen, pane, row)
            before = len(told())
            await pilot.press(key)
            if said:
                await until(pilot, lambda said=said: said in told()[-1])  # type: ignore[misc]
            else:
                await pilot.pause()
                assert len(told()) == before

        await to_row(pilot, screen, "inbox", "P162")
        assert not screen.current_card.seen
        await pilot.press("m")
        await until(pilot, lambda: app.snapshot.card("P162").seen)
        await pilot.press("m")
        await until(pilot, lambda: not app.snapshot.card("P162").seen)

        await to_row(pilot, screen, "inbox", "T162")
        await pilot.press("t")
        await until(pilot, lambda: app.snapshot.card("T162").state is TaskState.QUEUED)

        landed = next(card for card in app.snapshot.ended if card.state is TaskState.LANDED)
        await to_row(pilot, screen, "ended", landed.task)
        await pilot.press("u")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, DeckScreen))
        assert app.snapshot.card(landed.task).state is TaskState.LANDED

        task = {"project": "inkwell", "text": "Said by another hand"}
        await asyncio.to_thread(act_alone, state, "task.add", {"tasks": [task]})
        await until(pilot, lambda: task["text"] in [card.title for card in screen.pane("work").rows])

        # The moment of grace ends when the test says so: on a loaded machine half a second may be over before a key arrives.
        monkeypatch.setattr(ConfirmDialog, "GRACE", 3600.0)
        await to_row(pilot, screen, "work", "T179")
        await pilot.press("X")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog) and app.screen.is_mounted)
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, ConfirmDialog), "the key that was meant for the deck must not answer"
        app.screen._arm()
        await pilot.press("enter")
        await until(pilot, lambda: app.snapshot.card("T179").state is TaskState.CANCELLED)


async def test_help_themes_palette_and_leaving(deck: Any) -> None:
    async with deck() as (pilot, app, screen, _):
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))
        lines = app.screen.query_one(Page).lines
        assert any(("  deck.swap", "faint") in line or ("deck.swap", "faint") in line for line in lines)
        assert lines[0] == [("DECK", "heading")] and [("REVIEW", "heading")] in lines
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        for theme in [*THEMES[1:], THEMES[0]]:
            await pilot.press("ctrl+y")
            await until(pilot, lambda theme=theme: app.theme == theme.name)  # type: ignore[misc]
        assert app.prefs.get("theme", "") == THEMES[0].name

        await pilot.press("ctrl+p")  # the palette does what the key does
        await pilot.pause()
        type_at_once(app, "fleet")
        found = app.screen.query("OptionList")
        await until(pilot, lambda: bool(found and found.first().option_count))
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "fleet")
        await pilot.press("q")
        await until(pilot, lambda: app._exit)


async def test_the_first_screen_gives_way_to_the_deck_once_there_are_projects(
    make_app: AppMaker, empty_state: Any, tmp_path: Any
) -> None:
    make_repo(tmp_path / "src" / "alpha")
    make_repo(tmp_path / "src" / "deep" / "beta")
    app = make_app(empty_state)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, FirstRunScreen))
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, AddProjectsScreen))
        app.screen.query_one("#folder", Input).value = str(tmp_path / "src")
        await pilot.press("enter")
        await until(pilot, lambda: len(app.screen.query_one("#found").rows) == 2)
        await pilot.press("ctrl+a", "enter")
        await until(pilot, lambda: isinstance(app.screen, DeckScreen))
        await until(pilot, lambda: len(app.snapshot.projects) == 2)
        await until(pilot, lambda: bool(app._notifications))
        (told,) = [notice.message for notice in app._notifications]
        assert told.startswith("2 projects added. C writes a task. 2 without a test command: ")
        assert "`navigator project set NAME --check CMD`" in told


async def test_a_store_that_cannot_be_read_stays_said(make_app: AppMaker, state: Any) -> None:
    whole = state.database.read_bytes()
    state.database.write_bytes(b"not a database at all, " * 400)
    app = make_app()
    async with app.run_test(size=(140, 50)) as pilot:
        await until(pilot, lambda: bool(app.snapshot.problem))
        await pilot.pause()
        app.clear_notifications()
        assert isinstance(app.screen, DeckScreen)
        shown = " ".join(app.screen.pane("inbox").empty)
        assert "cannot be read" in shown and "navigator.db is damaged" in shown
        state.database.write_bytes(whole)
        await until(pilot, lambda: app.snapshot.loaded and not app.snapshot.problem)


async def test_times_move_with_a_picture_of_the_same_rows(deck: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with deck() as (pilot, app, screen, _):
        rows = screen.pane("inbox").rows
        monkeypatch.setattr("navigator.tui.clock.now", lambda: world.NOW + timedelta(hours=9))
        app._new_snapshot(replace(app.snapshot, seq=app.snapshot.seq + 1))
        lines = screen._compositor.render_strips
        await until(pilot, lambda: any("9 h 1" in line.text for line in lines()))
        assert screen.pane("inbox").rows is rows


async def test_rows_of_a_store_that_is_not_the_one_meant_do_not_stay(
    make_app: AppMaker, state: Any, tmp_path: Any
) -> None:
    (tmp_path / "config" / "navigator").mkdir(parents=True)
    (tmp_path / "config" / "navigator" / "config.toml").write_text('[swap]\nstrategy = "rehearsal"\n')
    app = make_app()
    async with app.run_test(size=(140, 50)) as pilot:
        await until(pilot, lambda: bool(app.snapshot.problem))
        await pilot.pause()
        assert "holds real work" in app.snapshot.problem
        assert isinstance(app.screen, DeckScreen) and not app.screen.pane("inbox").rows
        assert "cannot be read" in " ".join(app.screen.pane("inbox").empty)


async def test_what_waits_keeps_its_count_where_there_is_little_room(deck: Any) -> None:
    settings = Settings(checks={"unsandboxed": True})  # type: ignore[arg-type]
    async with deck((80, 24), settings=settings) as (_, _, screen, _):
        said = screen.query_one(StatusStrip).render().plain
        assert said.startswith("9 wait for you") and "⚠ tests run without a sandbox" in said


async def test_the_palette_offers_what_one_would_search_for(deck: Any) -> None:
    async with deck() as (_, app, screen, _):
        offered = {command.title.rpartition("   ")[0] for command in app.get_system_commands(screen)}
        assert {"deck: approve batch", "in a list: select all", "everywhere: quit"} <= offered
        left_out = {"in a list: down", "in a list: half page up", "deck: next pane", "everywhere: palette"}
        assert not left_out & offered
