"""Using the state without a conductor: under its lock, through the same verbs."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.socket.wire import Result
from navigator.config.paths import StatePaths
from navigator.domain.errors import Conflict

_ONE_AT_A_TIME = threading.Lock()
"""Requests of one process wait for each other; only another process that holds the lock is a conflict."""


def _log_only(problem: str) -> None:
    """Nothing to do: `sync_projects` logs it."""


@contextmanager
def locked_dependencies(
    paths: StatePaths, *, on_problem: Callable[[str], None] = _log_only, **options: Any
) -> Iterator[Dependencies]:
    """Hold the lock and the one writing connection; release both at the end.

    Args:
        on_problem: called with a message for each `[[project]]` entry of the settings that could not be added.
        options: further fields of `Dependencies`.

    Raises:
        Conflict: another Navigator holds the lock.
    """
    from navigator.config.settings import load_settings
    from navigator.store.database import open_writer
    from navigator.store.lock import StateLock
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Store

    settings = load_settings()
    lock = StateLock(paths)
    if not lock.acquire(blocking=False):
        holder = lock.holder() or {}
        raise Conflict(
            f"Another Navigator (process {holder.get('pid', 'unknown')}) is using {paths.root}.",
            hint="Wait until it has finished. If it is a conductor: `navigator status` shows it, `navigator stop` stops it.",
        )
    try:
        connection = open_writer(paths.database)
        try:
            deps = Dependencies(
                settings=settings, paths=paths, store=Store(connection), reader=Reader(connection), **options
            )
            if settings.project or any(held.source == "config" for held in deps.reader.projects()):
                from navigator.cascade.config_projects import sync_projects

                for problem in sync_projects(deps):
                    on_problem(problem)
            yield deps
        finally:
            connection.close()
    finally:
        lock.release()


def act_alone(
    paths: StatePaths, op: str, args: dict[str, Any], *, on_problem: Callable[[str], None] = _log_only
) -> Result:
    """Take the lock, perform one verb, release the lock. Blocks: call it in a thread where there is an event loop.

    Raises:
        Conflict: another Navigator holds the lock.
        NavigatorError: what the verb refuses.
    """
    from navigator.cascade.verbs.registry import perform

    with _ONE_AT_A_TIME, locked_dependencies(paths, on_problem=on_problem) as deps:

        async def once() -> Result:
            try:
                return await perform(deps, op, args)
            finally:
                await deps.close()

        return asyncio.run(once())
