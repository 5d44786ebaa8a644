"""Read-ahead: while one model works, the other one's weight files are read into the page cache.

The next swap then reads them from memory. How much of them was there when it began is recorded with the swap, so that
warm and cold swaps can be compared instead of believed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from navigator.model.json_text import read_json
from navigator.model.states import Role
from navigator.process.runner import running
from navigator.swap import page_cache
from navigator.swap.page_cache import MIB, CachedBytes

Ended = Literal["", "done", "limit", "memory", "stopped", "no room", "no files", "failed"]
"""Why a reading ended; "" while it runs. memory: free memory fell to the floor. no room: there was none at the start."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What a reading may take.

    Attributes:
        bytes_per_second: the rate; 0 for none.
        floor_bytes: of available memory (the page cache included) that are always left.
    """

    bytes_per_second: int = 500 * MIB
    floor_bytes: int = 8192 * MIB


@dataclass(frozen=True, slots=True)
class ReadReport:
    """One reading. `warm_before` and `warm_after` are bytes in the page cache; None where they were not measured."""

    role: Role
    weight_bytes: int = 0
    warm_before: int | None = None
    warm_after: int | None = None
    read_bytes: int = 0
    seconds: float = 0.0
    ended: Ended = ""


class ReadAhead:
    """Reads weight files ahead, one role's at a time. It belongs to one event loop.

    Args:
        files: each role's weight files in the order in which a server loads them. May be replaced; a running
            reading keeps the files it began with.
        limits: what a reading may take.
    """

    def __init__(self, files: Mapping[Role, Sequence[Path]], limits: ReadLimits | None = None) -> None:
        self.files = files
        self._limits = limits or ReadLimits()
        self._task: asyncio.Task[None] | None = None
        self._report: ReadReport | None = None

    async def start(self, role: Role) -> None:
        """Start to read `role`'s files in the background. Another role's reading ends; one of the same role continues."""
        if self._task is not None and not self._task.done() and self._report and self._report.role is role:
            return
        await self.stop()
        self._report = ReadReport(role)
        self._task = asyncio.create_task(self._run(role))

    async def stop(self) -> None:
        """Stop the reading at once: the reader is killed. What it read stays in the cache."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        # One that was cancelled before its first step could not say so itself.
        if self._report is not None and not self._report.ended:
            self._report = replace(self._report, ended="stopped")

    async def wait(self) -> None:
        """Wait until the running reading has ended."""
        if self._task is not None:
            await asyncio.wait([self._task])

    def report(self) -> ReadReport | None:
        """The newest reading, as far as it got; None before the first."""
        return self._report

    async def residency(self, role: Role) -> CachedBytes:
        """How much of `role`'s files is in the page cache right now."""
        return await asyncio.to_thread(page_cache.residency, list(self.files.get(role, ())))

    async def _run(self, role: Role) -> None:
        began = time.monotonic()
        ended: Ended = "failed"
        try:
            ended = await self._read(role)
        except asyncio.CancelledError:
            ended = "stopped"
            raise
        finally:
            self._note(role, ended=ended, seconds=time.monotonic() - began)
        after = await self.residency(role)
        self._note(role, warm_after=after.resident if after.known else None)

    async def _read(self, role: Role) -> Ended:
        files = list(self.files.get(role, ()))
        before = await self.residency(role)
        self._note(role, weight_bytes=before.total, warm_before=before.resident if before.known else None)
        if not before.total:
            return "no files"
        if before.known and before.resident >= before.total:
            return "done"
        # What is available counts the cache in, the files' own pages too: room for what is missing is what is above
        # the floor without those.
        room = page_cache.available_bytes() - self._limits.floor_bytes - before.resident
        if room <= 0:
            return "no room"
        order = {
            "files": [str(path) for path in files],
            "limit": room,
            "rate": self._limits.bytes_per_second,
            "floor": self._limits.floor_bytes,
            "parent": os.getpid(),
        }
        ended: Ended = "failed"
        line = b""

        def heard(chunk: bytes) -> None:
            nonlocal ended, line
            *lines, line = (line + chunk).split(b"\n")
            for said in map(read_json, lines):
                self._note(role, read_bytes=int(said["read"]))
                ended = said.get("ended", ended)

        # -I and -S: a bare interpreter, quick to start, that finds nothing of the environment.
        words = [sys.executable, "-I", "-S", page_cache.__file__]
        await running(words, math.inf, heard, given=json.dumps(order).encode() + b"\n", kept=False)
        return ended

    def _note(self, role: Role, **changes: object) -> None:
        if self._report is not None and self._report.role is role:
            self._report = replace(self._report, **changes)  # type: ignore[arg-type]
