"""Keys: one key one meaning, the developer's own, and what is typed in one go; everything derived is current."""

from __future__ import annotations

import string
from pathlib import Path

import pytest
from textual.widgets import Input

from navigator.tui import app
from navigator.tui.answers.screen import TaskScreen
from navigator.tui.app import NavigatorApp
from navigator.tui.deck import DeckScreen
from navigator.tui.dialogs import ConfirmDialog, HelpScreen, glossary, term_lines
from navigator.tui.diff.view import DiffView
from navigator.tui.keys import (
    ACTIONS,
    SCOPES,
    TERMS,
    TITLES,
    Keymap,
    clashes,
    in_group,
    key_name,
    load_keymap,
    shown_key,
)
from navigator.tui.theme import THEMES
from navigator.tui.welcome import AddProjectsScreen, FirstRunScreen
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import Dialog
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, type_at_once, until
from tests.tui.keys_page import keys_page
from tests.tui.test_statistics import text_of

CARRIERS: dict[str, type] = {
    "app": NavigatorApp,
    "go": NavigatorApp,
    "list": RowList,
    "diff": DiffView,
    "deck": DeckScreen,
    "first_run": FirstRunScreen,
    "add_projects": AddProjectsScreen,
    "task": TaskScreen,
    "dialog": Dialog,
}


ELSEWHERE = {
    "enter": "do what is under the cursor, or what is asked",
    "escape": "leave what is open, or what is asked",
    "y": "yes, to a question; copy, elsewhere",
    "n": "no, to a question; next, elsewhere",
    "tab": "mark, in a list that is searched by typing; the next pane, elsewhere",
    **dict.fromkeys(("left", "right"), "go there, whatever is there"),
}
"""The keys that may mean something else on another screen, and what they mean."""


def test_a_key_means_one_thing_on_every_screen() -> None:
    defaults = {name: Keymap().of(action) for name, action in ACTIONS.items()}
    assert clashes(defaults) == [], "one on each screen in any case"
    meanings: dict[str, set[str]] = {}
    for action in ACTIONS.values():
        for key in action.keys:
            meanings.setdefault(key, set()).add(action.name)
    several = {key: names for key, names in meanings.items() if len(names) > 1}
    assert {key: names for key, names in several.items() if key not in ELSEWHERE} == {}
    assert set(ELSEWHERE) - set(several) == set(), "an exception that is not needed"


def test_every_group_has_a_title_and_a_place() -> None:
    assert {action.group for action in ACTIONS.values()} == set(TITLES)
    assert {group for scope in SCOPES.values() for group in scope} == set(TITLES)


def test_every_action_has_its_method() -> None:
    carriers = CARRIERS | {mode: app.load(screen) for mode, screen in app.MODES.items()}
    for group, carrier in carriers.items():
        for action in in_group(group):
            assert hasattr(carrier, f"action_{action.name}"), action.id


def test_keys_survive_the_way_to_textual_and_back() -> None:
    for action in ACTIONS.values():
        for key in action.keys:
            assert key_name(shown_key(key_name(key))) in (key_name(key), shown_key(key)) or len(key) > 1
    for character in string.punctuation:
        assert shown_key(key_name(character)) == character
    assert key_name("ctrl+\\") == "ctrl+backslash"


def test_the_page_of_keys_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "keys.md"
    assert page.read_text(encoding="utf-8") == keys_page(), "python -m tests.tui.keys_page > docs/keys.md"


@pytest.mark.parametrize("scope", TERMS)
def test_the_help_explains_the_terms_of_a_screen_from_the_glossary(scope: str) -> None:
    assert scope in SCOPES
    assert [term for term in TERMS[scope] if not glossary().get(term)] == []
    shown = text_of(list(term_lines(TERMS[scope], 60)))
    assert [term for term in TERMS[scope] if f" {term}"[:19] not in shown] == []


def written(tmp_path: Path, text: str) -> Keymap:
    path = tmp_path / "keys.toml"
    path.write_text(text, encoding="utf-8")
    return load_keymap(path)


def test_keys_are_taken_as_people_write_them(tmp_path: Path) -> None:
    keymap = written(tmp_path, '[keys]\n"deck.sort" = "%"\n"deck.approve" = ["a", "ctrl+a2"]\n')
    assert keymap.keys["deck.sort"] == ("percent_sign",)
    assert keymap.shown("deck.sort") == "%"
    assert keymap.shown("deck.search") == "/"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[keys]\n"deck.aprove" = "x"', "no action 'deck.aprove'"),
        ('[keys]\n"deck.approve" = 7', "needs a key or a list of keys"),
        ('[keys]\n"compose.send" = "q"', "choose a key with ctrl"),
        ("keys = 3", "cannot be read"),
        ("[keys\n", "cannot be read"),
    ],
)
def test_what_does_not_fit_is_said_and_left_out(tmp_path: Path, text: str, said: str) -> None:
    keymap = written(tmp_path, text)
    assert not keymap.keys
    assert said in keymap.problems[0]


def test_a_key_never_gets_two_meanings(tmp_path: Path) -> None:
    keymap = written(tmp_path, '[keys]\n"deck.sort" = "a"\n"deck.open" = "w"\n')
    assert dict(keymap.keys) == {"deck.open": ("w",)}
    assert "a on deck would mean both deck.approve and deck.sort" in keymap.problems[0]
    keymap = written(tmp_path, '[keys]\n"review.approve" = "r"\n"review.reject" = "a"\n')
    assert not keymap.problems, "two keys may change places"
    assert dict(keymap.keys) == {"review.approve": ("r",), "review.reject": ("a",)}


async def test_own_keys_on_the_screens(tmp_path: Path, make_app: AppMaker) -> None:
    moved = {
        "app.help": "f1",
        "list.down": "x",
        "app.next_theme": "f5",
        "deck.sort": "f8",
        "deck.nothing": "x",
    }
    text = "".join(f'"{name}" = "{key}"\n' for name, key in moved.items())
    app = make_app(keymap=written(tmp_path, f"[keys]\n{text}"))
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        assert any("deck.nothing" in notice.message for notice in app._notifications)
        inbox = app.screen.query_one("#inbox", RowList)
        await pilot.press("x")
        assert inbox.cursor == 1
        await pilot.press("j", "down", "question_mark")
        assert inbox.cursor == 1 and not isinstance(app.screen, HelpScreen), "the old place is free"
        app.push_screen(ConfirmDialog("Really?"))
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("f8", "f5")  # they stay below a dialog
        assert app.theme == THEMES[0].name and app.prefs.get("deck.inbox", "") == "oldest"
        await pilot.press("escape", "f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))


async def test_keys_typed_in_one_go_act_where_they_were_meant(make_app: AppMaker) -> None:
    app = make_app()
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        deck, before = app.screen, app.snapshot
        type_at_once(app, "/is:approve")
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "is:approve")
        assert app.screen is deck and app.snapshot.inbox == before.inbox
        text = "abcdefghijklmnopqrstuvwxyz" * 2  # none is lost, and they keep their order
        type_at_once(app, text)
        await until(
            pilot, lambda: isinstance(app.focused, Input) and app.focused.value == f"is:approve{text}"
        )
        await pilot.press("escape")
        type_at_once(app, "?jjj")
        await until(pilot, lambda: app.screen is not deck)
        await pilot.pause()
        assert len(app.screen_stack) == 2
