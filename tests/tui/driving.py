"""Waiting for the screens by what they show, never by the clock."""

from __future__ import annotations

import asyncio
import faulthandler
from collections.abc import Callable
from typing import Any, cast

from textual.events import Key
from textual.pilot import Pilot

from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from navigator.tui.app import NavigatorApp
from navigator.tui.diff.view import DiffView


async def until(pilot: Pilot[Any], true: Callable[[], bool], *, what: str = "it") -> None:
    """Let the app run until something holds."""
    for _ in range(1000):
        await pilot.pause()
        if true():
            await pilot.pause()
            return
        await asyncio.sleep(0.01)
    faulthandler.dump_traceback(2)  # what each thread does instead
    raise AssertionError(f"{what} did not come about")


async def loaded(pilot: Pilot[Any]) -> NavigatorApp:
    """The app, once it shows the store with its figures."""
    app = cast("NavigatorApp", pilot.app)
    await until(pilot, lambda: app.snapshot.loaded and app.settled, what="the first picture")
    swaps = Reader(open_reader(app.paths.database)).swaps(1)
    await until(pilot, lambda: bool(app.snapshot.swaps) or not swaps, what="the figures")
    return app


_NAMES = {"?": "question_mark", "/": "slash", ":": "colon", " ": "space"}


def type_at_once(app: NavigatorApp, text: str) -> None:
    """Post every key before the first is handled, as a paste into the terminal does."""
    for character in text:
        app.post_message(Key(_NAMES.get(character, character), character))


class Driver:
    """The app driven by keys, and what it told."""

    def __init__(self, pilot: Pilot[Any], app: NavigatorApp) -> None:
        self.pilot, self.app = pilot, app

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        type_at_once(self.app, text)
        await self.pilot.pause()

    async def until(self, true: Callable[[], bool], what: str = "it") -> None:
        await until(self.pilot, true, what=what)

    def told(self, words: str) -> bool:
        return any(words in note.message for note in self.app._notifications)

    def read(self) -> Reader:
        return Reader(open_reader(self.app.paths.database))


def go_to_finding(view: DiffView, key: str) -> bool:
    """Put the cursor on a finding or comment; False when it is not shown."""
    row = view._row_of_key(key)
    if row is not None:
        view._move(row)
    return row is not None
