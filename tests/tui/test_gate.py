"""Keys typed in one go act where the developer meant them, however far behind the screens are."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.tui.app import NavigatorApp
from tests.tui.driving import loaded, until

NAMES = {"?": "question_mark", "/": "slash", ":": "colon", " ": "space"}


@asynccontextmanager
async def opened(state: StatePaths) -> AsyncIterator[tuple[NavigatorApp, Pilot[Any]]]:
    """The deck on a state with projects and proposals."""
    app = NavigatorApp(Settings(), state)
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        yield app, pilot


def type_at_once(app: NavigatorApp, text: str) -> None:
    """Post every key before the first is handled, as a paste into the terminal does."""
    for char in text:
        app.post_message(events.Key(NAMES.get(char, char), char))


async def test_what_follows_the_slash_goes_into_the_field(state: StatePaths) -> None:
    async with opened(state) as (app, pilot):
        before = app.snapshot
        type_at_once(app, "/is:approve")
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == "is:approve")
        assert len(app.screen_stack) == 1
        assert app.snapshot.inbox == before.inbox


async def test_a_key_after_one_that_opens_a_dialog_goes_to_the_dialog(state: StatePaths) -> None:
    async with opened(state) as (app, pilot):
        deck = app.screen
        type_at_once(app, "?jjj")
        await until(pilot, lambda: app.screen is not deck)
        await pilot.pause()
        assert len(app.screen_stack) == 2


async def test_keys_are_not_lost_and_keep_their_order(state: StatePaths) -> None:
    async with opened(state) as (app, pilot):
        text = "abcdefghijklmnopqrstuvwxyz" * 4
        type_at_once(app, f"/{text}")
        await until(pilot, lambda: isinstance(app.focused, Input) and app.focused.value == text)
