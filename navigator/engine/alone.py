"""Using the state without a conductor: under its lock, with the `[[project]]` entries of the settings, through the same verbs."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from navigator.config.paths import StatePaths
from navigator.config.settings import ProjectEntry
from navigator.engine.wire import Result
from navigator.journey.dependencies import Dependencies
from navigator.journey.servers import ModelServers
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Project

log = logging.getLogger(__name__)

FROM_CONFIG = "config"
FROM_STORE = "store"

PATIENCE = 2.0
"""Seconds that a command waits for another one; a conductor that died closes its socket a moment before its lock is free."""

_ONE_AT_A_TIME = threading.Lock()
"""Requests of one process wait for each other; only another process that holds the lock is a conflict."""


@contextmanager
def locked_dependencies(
    paths: StatePaths,
    *,
    on_problem: Callable[[str], None] = lambda problem: None,
    patience: float = 0.0,
    time_scale: float = 1.0,
    **options: Any,
) -> Iterator[Dependencies]:
    """Hold the lock and the one writing connection; release both at the end.

    Args:
        on_problem: called with a message for each `[[project]]` entry of the settings that could not be added.
        patience: seconds to wait for the lock.
        time_scale: the rehearsal's.
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
    if not lock.acquire(patience=patience):
        holder = lock.holder() or {}
        raise Conflict(
            f"Another Navigator (process {holder.get('pid', 'unknown')}) is using {paths.root}.",
            hint="Wait until it has finished. `navigator status` shows a conductor, `navigator run --stop` stops it.",
        )
    try:
        connection = open_writer(paths.database, rehearsal=settings.rehearsal)
        try:
            servers = ModelServers(settings, paths, time_scale)
            deps = Dependencies(settings, paths, Store(connection), Reader(connection), servers, **options)
            if settings.project or any(held.source == FROM_CONFIG for held in deps.reader.projects()):
                for problem in sync_projects(deps):
                    on_problem(problem)
            yield deps
        finally:
            connection.close()
    finally:
        lock.release()


def act_alone(
    paths: StatePaths,
    op: str,
    args: dict[str, Any],
    *,
    on_problem: Callable[[str], None] = lambda problem: None,
    **options: Any,
) -> Result:
    """Take the lock, perform one verb, release the lock. Blocks: call it in a thread where there is an event loop.

    Raises:
        Conflict: another Navigator holds the lock.
        NavigatorError: what the verb refuses.
    """
    from navigator.actions.registry import perform

    with (
        _ONE_AT_A_TIME,
        locked_dependencies(paths, on_problem=on_problem, patience=PATIENCE, **options) as deps,
    ):

        async def once() -> Result:
            try:
                return await perform(deps, op, args)
            finally:
                await deps.servers.close()

        return asyncio.run(once())


def sync_projects(deps: Dependencies) -> list[str]:
    """Add what the settings name and the store lacks; let the settings override what both have, by path.

    A project whose entry was removed from the settings keeps its last values, as one added by command.

    Returns:
        Words about each entry that could not be taken: its repository is gone, or has no commit. The others are taken.
    """
    held = {project.path: project for project in deps.reader.projects()}
    named = {str(entry.location): entry for entry in deps.settings.project}
    problems: list[str] = []
    for path, entry in named.items():
        try:
            _take(deps, entry, held.get(path))
        except NavigatorError as error:
            log.warning("[[project]] %s: %s", entry.path, error)
            problems.append(f"{entry.path}: {error}")
    for path, project in held.items():
        if project.source == FROM_CONFIG and path not in named:
            with deps.store.transaction() as tx:
                tx.update_project(project.id, source=FROM_STORE)
    return problems


def _take(deps: Dependencies, entry: ProjectEntry, project: Project | None) -> None:
    wanted: dict[str, Any] = {
        name: getattr(entry, name) for name in entry.model_fields_set if name != "path"
    } | {"source": FROM_CONFIG}
    if project is None:
        from navigator.actions.projects import require_fitting
        from navigator.git.facts import read_facts

        facts = read_facts(entry.location)
        require_fitting(deps.reader, facts)
        with deps.store.transaction() as tx:
            tx.add_project(
                **{"name": entry.display_name, "path": str(entry.location)} | wanted,
                root_commit=facts.root_commit,
            )
        return
    changes = {name: value for name, value in wanted.items() if getattr(project, name) != value}
    if changes:
        with deps.store.transaction() as tx:
            tx.update_project(project.id, **changes)
