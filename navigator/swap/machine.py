"""The machine that the model servers run on, for what only looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from navigator.swap.remote.machine import HERE, Machine, There

if TYPE_CHECKING:
    from navigator.config.settings import Settings


@contextmanager
def servers_machine(settings: Settings) -> Iterator[Machine]:
    """This machine, or the one of `[swap.systemd] host`; the conductor's connection to it is used while there is one.

    Raises:
        ConnectionLost: by the machine's methods, where it cannot be reached.
    """
    if not settings.swap.host:
        yield HERE
        return
    from navigator.swap.remote.ssh import SshConnection
    from navigator.swap.strategies.systemd import forwards

    connection = SshConnection(settings.swap.host, forwards(settings))
    try:
        yield There(connection)
    finally:
        connection.close()
