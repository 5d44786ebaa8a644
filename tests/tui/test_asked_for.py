"""Work begins when the developer asks for it, and what stands on the screen says how."""

from __future__ import annotations

import string

import pytest

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.sheet.statistics.page import Row, Table
from navigator.tui.app import NavigatorApp, rehearsed
from navigator.tui.data.prefs import Prefs
from navigator.tui.keys import key_name, shown_key
from navigator.tui.widgets.cells import length
from navigator.tui.widgets.tables import table_lines
from tests.tui.driving import loaded

REHEARSAL = Settings.model_validate({"swap": {"strategy": "rehearsal"}})


@pytest.mark.parametrize("asked", [False, True])
async def test_opening_alone_starts_no_conductor(
    state: StatePaths, asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: list[bool] = []
    monkeypatch.setattr(NavigatorApp, "want_work", lambda app: wanted.append(True))
    app = NavigatorApp(REHEARSAL, state, autostart=True) if asked else NavigatorApp(REHEARSAL, state)
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
    assert wanted == ([True] if asked else [])


def test_a_demo_is_rehearsed_again_as_it_was(
    empty_state: StatePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NAVIGATOR_TIME_SCALE", raising=False)
    root = empty_state.root
    assert rehearsed(Prefs(root), None, 0) == (None, 0)
    assert rehearsed(Prefs(root), 0.02, 7) == (0.02, 7)
    assert rehearsed(Prefs(root), None, 0) == (0.02, 7)
    monkeypatch.setenv("NAVIGATOR_TIME_SCALE", "1")
    assert rehearsed(Prefs(root), None, 0) == (None, 7)


@pytest.mark.parametrize("character", string.punctuation)
def test_a_key_is_shown_as_its_character(character: str) -> None:
    assert shown_key(key_name(character)) == character


@pytest.mark.parametrize("width", [40, 60, 76, 160])
def test_a_bar_leaves_room_for_its_count(width: int) -> None:
    rows = (Row("awaiting approval", count=123456), Row("failed", count=1))
    for line in table_lines(Table("TASKS BY STATE", rows=rows), width):
        assert length(line) <= width
