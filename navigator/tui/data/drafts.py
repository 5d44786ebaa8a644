"""Drafts, saved while they are typed: a moment after the last key, and at once when a screen is left."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from navigator.model.errors import NavigatorError

log = logging.getLogger(__name__)

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
