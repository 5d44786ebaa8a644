"""Small choices that outlive the screens: theme, sorting, how diffs are shown. A JSON file in the state folder."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from navigator.config.paths import write_private
from navigator.model.errors import NavigatorError
from navigator.model.json_text import read_json

log = logging.getLogger(__name__)


class Prefs:
    """Reads once, writes when something changes. A file that cannot be read or written costs only the memory of a choice."""

    def __init__(self, root: Path) -> None:
        self._path = root / "screens.json"
        self._values: dict[str, Any] = {}
        try:
            held = read_json(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        if isinstance(held, dict):
            self._values = held

    def get(self, key: str, default: str) -> str:
        """A choice, or `default`."""
        value = self._values.get(key)
        return value if isinstance(value, str) else default

    def set(self, key: str, value: str) -> None:
        """Keep a choice."""
        if self._values.get(key) == value:
            return
        self._values[key] = value
        try:
            write_private(self._path, json.dumps(self._values, indent=1).encode())
        except OSError as error:
            log.warning("choices of the screens are not kept: %s", error)


# Drafts, saved while they are typed: a moment after the last key, and at once when a screen is left.

PAUSE = 0.4
"""Seconds of silence after which what was typed is written down."""

_AGAIN = 2.0
"""Seconds until a text that could not be written down is tried again."""


class DraftKeeper:
    """Writes drafts through the operation `draft.save`. The newest text of a key wins.

    Args:
        request: asks the conductor, or does it here (`ConductorLink.request`).
        told: tells the user that a text is not saved yet.
    """

    def __init__(
        self, request: Callable[[str, dict[str, Any]], Awaitable[Any]], told: Callable[[str], None]
    ) -> None:
        self._request = request
        self._told = told
        self._waiting: dict[str, str] = {}
        self._kept: dict[str, str] = {}
        self._timer: asyncio.Task[None] | None = None
        self._writing = asyncio.Lock()

    def seed(self, key: str, text: str) -> None:
        """What the store holds under a key, so that the same text is not written again."""
        self._kept[key] = text

    def keep(self, key: str, text: str) -> None:
        """Keep a text soon; an empty one is forgotten."""
        if self._waiting.get(key, self._kept.get(key, "")) == text:
            return
        self._waiting[key] = text
        self._later(PAUSE)

    async def flush(self) -> bool:
        """Write down now what waits; says whether nothing waits any more."""
        async with self._writing:
            for key, text in list(self._waiting.items()):
                try:
                    await self._request("draft.save", {"key": key, "text": text})
                except NavigatorError as error:
                    log.warning("a draft is not kept yet: %s", error)
                    self._told(f"Your text is not saved yet: {error}")
                    self._later(_AGAIN)
                    return False
                self._kept[key] = text
                if self._waiting.get(key) == text:
                    del self._waiting[key]
        return not self._waiting

    async def close(self) -> None:
        """Write down what waits, and stop."""
        if self._timer is not None:
            self._timer.cancel()
            with suppress(asyncio.CancelledError):
                await self._timer
            self._timer = None
        await self.flush()
        if self._timer is not None:
            self._timer.cancel()

    def _later(self, pause: float) -> None:
        if self._timer is not None and self._timer is not asyncio.current_task():
            self._timer.cancel()
        self._timer = asyncio.create_task(self._after(pause))

    async def _after(self, pause: float) -> None:
        await asyncio.sleep(pause)
        # What was begun is finished though another key arrives meanwhile.
        await asyncio.shield(self.flush())
