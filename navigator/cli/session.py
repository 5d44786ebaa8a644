"""How a command reaches the state: through the conductor if one lives, else by itself under the lock."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import click

from navigator.cascade.socket.client import request
from navigator.cascade.socket.wire import NoConductor
from navigator.config.paths import StatePaths, state_dir
from navigator.domain.errors import Conflict
from navigator.domain.text import safe_line

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


def state_paths() -> StatePaths:
    """The state folder of this call, made if absent."""
    return StatePaths(state_dir()).ensure()


@contextmanager
def reading(paths: StatePaths | None = None) -> Iterator[Reader]:
    """The store, read-only. A state folder without a database gets an empty one first."""
    from navigator.store.database import open_reader
    from navigator.store.reads.reader import Reader

    paths = paths or state_paths()
    if not paths.database.exists():
        _create(paths)
    connection = open_reader(paths.database)
    try:
        yield Reader(connection)
    finally:
        connection.close()


def known_project(store: Reader, name: str | None) -> None:
    """Nothing for the name of a project, also of one that was removed, and for None.

    Raises:
        NotFound: there never was such a project.
    """
    if name is not None and name not in {held.name for held in store.projects(include_removed=True)}:
        store.project(name)


def _create(paths: StatePaths) -> None:
    from navigator.store.database import open_writer
    from navigator.store.lock import StateLock

    lock = StateLock(paths)
    # Somebody else is making it at this moment: wait for them instead.
    lock.acquire(blocking=True)
    try:
        open_writer(paths.database).close()
    finally:
        lock.release()


def act(op: str, args: dict[str, Any]) -> dict[str, Any]:
    """Have one thing done: by the conductor, or here under its lock.

    Raises:
        NavigatorError: what the operation refuses; `Conflict` when another command holds the lock.
    """
    from navigator.cascade.socket.alone import act_alone

    paths = state_paths()
    try:
        return request(paths.socket, op, args)
    except NoConductor:
        # Nobody to ask: the lock decides whether we may do it ourselves.
        return act_alone(paths, op, args, on_problem=_say)


def take_config_projects() -> None:
    """Have the store know the settings' `[[project]]` entries, where it does not yet.

    A conductor read its settings when it started; what was added to the file since is taken at its next start.
    """
    from navigator.config.settings import load_settings

    entries = {str(entry.location) for entry in load_settings().project}
    if not entries:
        return
    paths = state_paths()
    with reading(paths) as store:
        known = {project.path for project in store.projects()}
    if entries <= known:
        return
    with suppress(Conflict), locked_dependencies(paths):
        pass  # taking the lock is what brings them in; a Conflict is a conductor, which brought its own


@contextmanager
def locked_dependencies(paths: StatePaths, **options: Any) -> Iterator[Dependencies]:
    """`cascade.alone.locked_dependencies`, telling on stderr what of the settings could not be taken."""
    from navigator.cascade.socket import alone

    with alone.locked_dependencies(paths, on_problem=_say, **options) as deps:
        yield deps


def _say(problem: str) -> None:
    click.echo(safe_line(problem), err=True)
