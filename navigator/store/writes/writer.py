"""The one writer: every change of state and its events in one transaction, seen by others only after the commit."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from navigator.model.models import Event
from navigator.store.database import immediately, translated
from navigator.store.errors import StoreError
from navigator.store.reads.queries import database_of
from navigator.store.reads.reader import Reader
from navigator.store.writes.ledger import AgentWrites, ExamWrites, LedgerWrites, OutcomeWrites
from navigator.store.writes.projects import ProjectWrites, TaskWrites
from navigator.store.writes.proposals import ProposalWrites, ReproductionWrites


class Transaction(
    ProjectWrites,
    TaskWrites,
    ProposalWrites,
    LedgerWrites,
    ExamWrites,
    OutcomeWrites,
    ReproductionWrites,
    AgentWrites,
):
    """All writing methods. One lives for one `with store.transaction()` and is of no use after it."""


class Store:
    """The writer over one connection of `open_writer`. Whoever makes one holds the state folder's lock.

    Calls that an earlier process left running are marked lost here: nothing else could be waiting for them.

    Attributes:
        on_commit: called after each commit with that transaction's events, in order; it must not raise, nor write.
        read: reads through the same connection; inside a transaction use `tx.read`.
    """

    def __init__(
        self, connection: sqlite3.Connection, on_commit: Callable[[tuple[Event, ...]], None] | None = None
    ) -> None:
        self._connection = connection
        self._lock = threading.RLock()
        self._path = database_of(connection)
        self.on_commit = on_commit
        self.read = Reader(connection)
        with self.transaction() as tx:
            tx.lose_calls()
            tx.lose_agent_turns()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction: committed when the block ends, rolled back when it raises.

        Threads take turns. The block must not await anything: another task of the same thread would then find the
        transaction open.

        Raises:
            StoreError: this thread has one open already.
            DiskFull, DatabaseLocked, DatabaseCorrupt, Conflict, IllegalTransition: what SQLite said; all rolled back.
        """
        with self._lock:
            if self._connection.in_transaction:
                raise StoreError(
                    "A transaction is open already.", hint="This is a defect in Navigator; report it."
                )
            tx = Transaction(self._connection)
            try:
                with immediately(self._connection):
                    yield tx
            except sqlite3.Error as error:
                raise translated(error, self._path) from error
            if tx.events and self.on_commit is not None:
                self.on_commit(tuple(tx.events))

    def close(self) -> None:
        """Write the log back into the database and close the connection."""
        with self._lock:
            self._connection.close()
