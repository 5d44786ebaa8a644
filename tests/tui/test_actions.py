"""The registry: one key one meaning, one action one method, and everything derived is current."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.tui import app
from navigator.tui.answers.screen import TaskScreen
from navigator.tui.app import NavigatorApp
from navigator.tui.deck.screen import DeckScreen
from navigator.tui.dialogs import glossary, term_lines
from navigator.tui.diff.view import DiffView
from navigator.tui.keys import (
    ACTIONS,
    SCOPES,
    TERMS,
    TITLES,
    clashes,
    in_group,
    in_scope,
    key_name,
    shown_key,
)
from navigator.tui.welcome import AddProjectsScreen, FirstRunScreen
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import Dialog
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


def test_no_key_means_two_things_on_one_screen() -> None:
    assert clashes({}) == []


ELSEWHERE = {
    "enter": "do what is under the cursor, or what is asked",
    "escape": "leave what is open, or what is asked",
    "y": "yes, to a question; copy, elsewhere",
    "n": "no, to a question; next, elsewhere",
    "tab": "mark, in a list that is searched by typing; the next pane, elsewhere",
    **dict.fromkeys(("up", "down", "left", "right"), "go there, whatever is there"),
}
"""The keys that may mean something else on another screen, and what they mean."""


def test_a_key_means_one_thing_on_every_screen() -> None:
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


@pytest.mark.parametrize("group", CARRIERS)
def test_every_action_has_its_method(group: str) -> None:
    missing = [
        action.id for action in in_group(group) if not hasattr(CARRIERS[group], f"action_{action.name}")
    ]
    assert missing == []


@pytest.mark.parametrize("mode", app.MODES)
def test_every_action_of_a_mode_has_its_method(mode: str) -> None:
    screen = app.load(app.MODES[mode])
    assert [action.id for action in in_group(mode) if not hasattr(screen, f"action_{action.name}")] == []


def test_every_action_says_what_it_does() -> None:
    for action in ACTIONS.values():
        assert action.keys and action.label and action.help.endswith("."), action.id


def test_keys_survive_the_way_to_textual_and_back() -> None:
    for action in ACTIONS.values():
        for key in action.keys:
            assert key_name(shown_key(key_name(key))) in (key_name(key), shown_key(key)) or len(key) > 1
    assert key_name("?") == "question_mark"
    assert key_name("ctrl+\\") == "ctrl+backslash"
    assert key_name("+") == "plus"
    assert shown_key("left_curly_bracket") == "{"
    assert shown_key("space") == "space"
    assert shown_key("tab") == "tab"
    assert shown_key("full_stop") == "."


def test_the_footer_has_help_everywhere() -> None:
    for scope in ("deck", "review", "compose", "stats", "fleet"):
        assert "app.help" in {action.id for action in in_scope(scope) if action.footer}


def test_the_page_of_keys_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "keys.md"
    assert page.read_text(encoding="utf-8") == keys_page(), "python -m tests.tui.keys_page > docs/keys.md"


@pytest.mark.parametrize("scope", TERMS)
def test_the_help_explains_the_terms_of_a_screen_from_the_glossary(scope: str) -> None:
    assert scope in SCOPES
    assert [term for term in TERMS[scope] if not glossary().get(term)] == []
    shown = text_of(list(term_lines(TERMS[scope], 60)))
    assert [term for term in TERMS[scope] if f" {term}"[:19] not in shown] == []
