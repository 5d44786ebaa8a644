"""One operation without a conductor: under the state folder's lock, through the same functions."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from navigator.config.paths import StatePaths

_ONE_AT_A_TIME = threading.Lock()
"""Two requests of one process queue up here; only another process's hold on the state is a conflict."""


def act_alone(paths: StatePaths, op: str, args: dict[str, Any]) -> dict[str, Any]:
    """Take the lock, do one thing, let go. Blocks: call it in a thread.

    Raises:
        Conflict: another Navigator holds the lock.
        NavigatorError: what the operation refuses.
    """
    with _ONE_AT_A_TIME:
        return _act(paths, op, args)


def _act(paths: StatePaths, op: str, args: dict[str, Any]) -> dict[str, Any]:
    from navigator.cascade.commands.registry import perform
    from navigator.cascade.world import World
    from navigator.config.settings import load_settings
    from navigator.domain.errors import Conflict
    from navigator.store.database import open_writer
    from navigator.store.lock import StateLock
    from navigator.store.reader import Reader
    from navigator.store.writer import Store

    lock = StateLock(paths)
    if not lock.acquire(blocking=False):
        holder = (lock.holder() or {}).get("pid", "unknown")
        raise Conflict(
            f"Another Navigator (process {holder}) works on this state.", hint="Try again in a moment."
        )
    try:
        connection = open_writer(paths.database)
        try:
            world = World(load_settings(), paths, Store(connection), Reader(connection))

            async def once() -> dict[str, Any]:
                try:
                    return await perform(world, op, args)
                finally:
                    await world.close()

            return asyncio.run(once())
        finally:
            connection.close()
    finally:
        lock.release()
