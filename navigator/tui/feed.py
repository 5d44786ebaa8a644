"""Reading the store, in threads of its own and never on the event loop.

One thread follows the store (`PRAGMA data_version`, then events by their number) and makes a `DeckSnapshot` of it; another one
answers what screens ask for. Each has a read-only connection of its own.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from navigator.config.paths import StatePaths
from navigator.model.states import LIVE_TASK_STATES
from navigator.sheet.waiting import tips
from navigator.tui import clock
from navigator.tui.deck_snapshot import DeckSnapshot, make_snapshot

if TYPE_CHECKING:
    import sqlite3

    from navigator.model.models import Swap
    from navigator.sheet.marks import Tips
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader

T = TypeVar("T")

POLL = 0.25
"""Seconds between looks when no event arrives; a look costs one PRAGMA."""

_MOST_EVENTS = 2000
"""With more events than this since the last look, everything is read again."""

_TIPS_PAUSE = 3.0
"""Seconds between two looks at the projects' bases; ten times as long as a look took, where that is longer."""


class Follower:
    """Reads the store step by step. Lives in one thread; `look` is all that is called."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        from navigator.store.reads.cards import GlanceReads

        self._connection = connection
        self._rows = GlanceReads(connection)
        self._version = -1
        self._seq = 0
        self._day = ""
        self._cards: dict[str, Card] = {}
        self._projects: list[tuple[int, str, str]] = []
        self._swaps: tuple[Swap, ...] = ()
        self._swaps_stale = True
        self._tips: Tips = {}
        self._tips_due = 0.0
        self._tips_stale = True
        self._picture = DeckSnapshot()

    @cached_property
    def _reader(self) -> Reader:
        """Whatever needs the domain's models, whose import takes longer than to read the rows: from the second look on."""
        from navigator.store.reads.reader import Reader

        return Reader(self._connection)

    def look(self) -> DeckSnapshot | None:
        """A new picture, or None when nothing changed. The first one has the rows alone."""
        version = self._rows.data_version()
        midnight = clock.midnight()
        first, changed = self._version == -1, version != self._version or midnight != self._day
        if changed:
            with self._rows.snapshot():
                self._catch_up(midnight)
            self._version, self._day = version, midnight
        more = not first and self._read_swaps()
        if not changed and not self._look_at_bases() and not more:  # git runs where there are no new rows
            return None
        return replace(self._picture, seq=self._seq, swaps=self._swaps, tips=self._tips)

    def _catch_up(self, midnight: str) -> None:
        events = self._reader.events(self._seq, _MOST_EVENTS) if self._version != -1 else []
        kinds = {event.kind for event in events}
        whole = self._version == -1 or len(events) >= _MOST_EVENTS or midnight != self._day
        projects = whole or any(kind.startswith("project_") for kind in kinds)
        touched = {event.task_id for event in events if event.task_id}
        self._seq = self._rows.last_seq()
        if projects:
            self._cards = {card.task: card for card in self._rows.cards(midnight)}
            self._projects = self._rows.places()
        else:
            self._read_again(touched, midnight)
        if whole or any(kind.startswith("swap") for kind in kinds):
            self._swaps_stale = True
        if whole or "task_state" in kinds:
            self._tips_stale = True
        if projects or touched:
            self._picture = make_snapshot(self._projects, self._cards.values(), self._rows.rehearsal)

    def _read_again(self, touched: set[str], midnight: str) -> None:
        """The cards of these tasks, and of those that wait for one of them."""
        touched |= {card.task for card in self._cards.values() if not touched.isdisjoint(card.after)}
        found = {card.task: card for card in self._rows.cards_of(touched)}
        for name in touched:
            card = found.get(name)
            if card and (card.for_you or card.state in LIVE_TASK_STATES or card.since >= midnight):
                self._cards[name] = card
            else:
                self._cards.pop(name, None)

    def _read_swaps(self) -> bool:
        """Read the newest swaps if there are others than before; says whether it did."""
        from navigator.figures.swaps import NEWEST

        stale, self._swaps_stale = self._swaps_stale, False
        if stale:
            self._swaps = tuple(self._reader.swaps(NEWEST))
        return stale

    def _look_at_bases(self) -> bool:
        """Read where the bases are if something changed and it is time; says whether any of them moved."""
        began = time.monotonic()
        if not self._tips_stale or began < self._tips_due:
            return False
        found = tips(self._rows)
        took = time.monotonic() - began
        self._tips_stale = False
        self._tips_due = time.monotonic() + max(_TIPS_PAUSE, 10 * took)
        moved, self._tips = found != self._tips, found
        return moved


class DataFeed:
    """Follows the store and answers questions about it.

    Attributes:
        checked: the store is the one that the settings mean. The first picture comes before that is known.

    Args:
        paths: the state folder; its database is made if absent.
        publish: called on the event loop with each new picture.
        fail: called on the event loop with the message of a store that cannot be read.
    """

    def __init__(
        self, paths: StatePaths, publish: Callable[[DeckSnapshot], None], fail: Callable[[str], None]
    ) -> None:
        self._paths = paths
        self._publish = publish
        self._fail = fail
        self._poke = asyncio.Event()
        self._closed = False
        self.checked = False
        self._follower: Follower | None = None
        self._reader: Reader | None = None
        self._following = ThreadPoolExecutor(1, "navigator-follow")
        self._asking = ThreadPoolExecutor(1, "navigator-read")

    async def follow(self) -> None:
        """Look again and again, until cancelled. Returns early only where the store cannot be read at all."""
        from navigator.model.errors import NavigatorError

        loop = asyncio.get_running_loop()
        told = ""
        while not self._closed:
            self._poke.clear()
            try:
                snapshot = await loop.run_in_executor(self._following, self._look)
            except NavigatorError as error:
                if str(error) != told:
                    told = str(error)
                    self._fail(told)
                snapshot = None
            if snapshot is not None:
                told = ""
                self._publish(snapshot)
            try:
                await asyncio.wait_for(self._poke.wait(), POLL)
            except TimeoutError:
                continue

    def poke(self, *_: object) -> None:
        """Something happened: look now."""
        self._poke.set()

    async def read(self, question: Callable[[Reader], T]) -> T:
        """Have a function read the store, in a thread of its own.

        Raises:
            NavigatorError: what the function raises.
        """
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._asking, self._answer, question)

    def close(self) -> None:
        """Let both threads end; what they do now is not waited for."""
        self._closed = True
        self._following.shutdown(wait=False, cancel_futures=True)
        self._asking.shutdown(wait=False, cancel_futures=True)

    def _look(self) -> DeckSnapshot | None:
        """Rows first. The settings, which say whether this is the store they mean, take longer to read: they come next."""
        from navigator.store.database import open_reader

        if not self.checked and (self._follower is not None or not self._paths.database.exists()):
            from navigator.engine.acting import open_reading

            open_reading(self._paths).close()
            self.checked = True
        if self._follower is None:
            self._follower = Follower(open_reader(self._paths.database))
        return self._follower.look()

    def _answer(self, question: Callable[[Reader], T]) -> T:
        from navigator.engine.acting import open_reading
        from navigator.store.reads.reader import Reader

        if self._reader is None:
            self._reader = Reader(open_reading(self._paths))
        return question(self._reader)
