"""Keeps the weights of the model that is not resident in the page cache, and says how warm a swap began."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from navigator.config.settings import Settings
from navigator.model.states import Role
from navigator.swap.base import SwapStrategy
from navigator.swap.page_cache import MIB, CachedBytes
from navigator.swap.read_ahead import ReadAhead, ReadLimits

log = logging.getLogger(__name__)

_NEXT = {Role.GENERATOR: Role.REVIEWER, Role.REVIEWER: Role.GENERATOR}


class WeightReadAhead:
    """What the conductor asks for around a swap. Without weight files on this machine it does nothing.

    Args:
        settings: the whole settings.
        strategy: how the GPU changes hands.
    """

    def __init__(self, settings: Settings, strategy: SwapStrategy) -> None:
        self._settings = settings
        self._wanted = strategy.reads_weights and not strategy.elsewhere
        self._ahead: ReadAhead | None = None

    async def rest(self, resident: Role | None) -> None:
        """A role is resident and no swap is in progress: begin to read what the next one will need. Returns at once."""
        following = _NEXT.get(resident) if resident is not None else None
        if following is None or not self._wanted:
            return
        await (await self._reader()).start(following)

    async def before(self, to: Role) -> asyncio.Task[CachedBytes] | None:
        """A swap begins: stop reading, so that the disk is the server's, and measure what there is.

        Returns:
            The measurement, which is over long before the old server is gone; None where there is nothing to measure.
        """
        if not self._wanted:
            return None
        reader = await self._reader()
        await reader.stop()
        return asyncio.create_task(reader.residency(to))

    async def measured(self, task: asyncio.Task[CachedBytes] | None) -> tuple[int, int]:
        """Weight bytes and warm bytes of a measurement; 0 and 0 where nothing was measured."""
        if task is None:
            return 0, 0
        seen = await task
        if not seen.known or not seen.total:
            return 0, 0
        # Pages are counted whole, so a file's last one may count more than the file has.
        warm = min(seen.resident, seen.total)
        log.info("weights: %d of %d MB were in memory when the swap began", warm // MIB, seen.total // MIB)
        return seen.total, warm

    def report(self) -> dict[str, Any] | None:
        """The newest reading, as clients show it; None before the first."""
        seen = self._ahead.report() if self._ahead is not None else None
        if seen is None:
            return None
        warm = seen.warm_after if seen.warm_after is not None else seen.warm_before
        return {
            "role": seen.role.value,
            "weight_bytes": seen.weight_bytes,
            "warm_bytes": warm,
            "read_bytes": seen.read_bytes,
            "ended": seen.ended,
        }

    async def close(self) -> None:
        """Stop reading."""
        if self._ahead is not None:
            await self._ahead.stop()

    async def _reader(self) -> ReadAhead:
        from navigator.setup.weights import weight_files

        dirs = self._settings.swap.model_dirs
        # Looked up each time: a model may be downloaded, moved or updated while the conductor works.
        files = {
            role: await asyncio.to_thread(weight_files, self._settings.server(role).model, dirs)
            for role in _NEXT
        }
        if self._ahead is None:
            self._ahead = ReadAhead(files, ReadLimits())
        self._ahead.files = files
        return self._ahead
