"""The developer's own keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.tui.dialogs import ConfirmDialog, HelpScreen
from navigator.tui.keys import Keymap, load_keymap
from navigator.tui.theme import THEMES
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, until


def written(tmp_path: Path, text: str) -> Keymap:
    path = tmp_path / "keys.toml"
    path.write_text(text, encoding="utf-8")
    return load_keymap(path)


def test_no_file_no_change(tmp_path: Path) -> None:
    assert load_keymap(tmp_path / "absent.toml") == Keymap()


def test_keys_are_taken_as_people_write_them(tmp_path: Path) -> None:
    keymap = written(tmp_path, '[keys]\n"deck.sort" = "%"\n"deck.approve" = ["a", "ctrl+a2"]\n')
    assert keymap.keys["deck.sort"] == ("percent_sign",)
    assert keymap.shown("deck.sort") == "%"
    assert keymap.shown("deck.search") == "/"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[keys]\n"deck.aprove" = "x"', "Did you mean 'deck.approve'"),
        ('[keys]\n"deck.approve" = 7', "needs a key or a list of keys"),
        ('[keys]\n"deck.approve" = []', "needs a key or a list of keys"),
        ('[keys]\n"deck.approve" = "a,b"', "write a list"),
        ('[keys]\n"compose.send" = "q"', "would be typed"),
        ("[keyz]\n", "no table 'keyz'"),
        ("keys = 3", "must be a table"),
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


def test_two_keys_may_change_places(tmp_path: Path) -> None:
    keymap = written(tmp_path, '[keys]\n"review.approve" = "r"\n"review.reject" = "a"\n')
    assert not keymap.problems
    assert dict(keymap.keys) == {"review.approve": ("r",), "review.reject": ("a",)}


async def test_a_moved_key_works_and_its_old_place_is_free(tmp_path: Path, make_app: AppMaker) -> None:
    app = make_app(keymap=written(tmp_path, '[keys]\n"app.help" = "f1"\n"list.down" = "x"\n'))
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        inbox = app.screen.query_one("#inbox")
        await pilot.press("x")
        assert inbox.cursor == 1  # type: ignore[attr-defined]
        await pilot.press("j", "down")
        assert inbox.cursor == 1  # type: ignore[attr-defined]
        await pilot.press("question_mark")
        assert not isinstance(app.screen, HelpScreen)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))


async def test_an_own_key_stays_below_a_dialog(tmp_path: Path, make_app: AppMaker) -> None:
    app = make_app(keymap=written(tmp_path, '[keys]\n"app.next_theme" = "f5"\n"deck.sort" = "f8"\n'))
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        app.push_screen(ConfirmDialog("Really?"))
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await pilot.press("f8", "f5")
        assert app.theme == THEMES[0].name and app.prefs.get("deck.inbox", "") == "oldest"


async def test_problems_are_told(tmp_path: Path, make_app: AppMaker) -> None:
    app = make_app(keymap=written(tmp_path, '[keys]\n"deck.nothing" = "x"\n'))
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        assert any("deck.nothing" in notice.message for notice in app._notifications)
