"""The transition table holds in Python and, for whoever goes round it, in the database."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Collection, Mapping
from contextlib import nullcontext
from enum import StrEnum
from typing import Any

import pytest

from navigator.model.models import Task
from navigator.model.states import (
    PROPOSAL_TRANSITIONS,
    TASK_TRANSITIONS,
    ProposalState,
    TaskState,
)
from navigator.store.errors import IllegalTransition
from navigator.store.writes.writer import Store
from tests.records import proposed


def force(connection: sqlite3.Connection, table: str, state: str) -> None:
    """Put row 1 into a state, whatever the triggers say."""
    trigger = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name = ?", (f"{table}_transition",)
    ).fetchone()[0]
    connection.execute(f"DROP TRIGGER {table}_transition")
    connection.execute(f"UPDATE {table} SET state = ? WHERE id = 1", (state,))
    connection.execute(trigger)


@pytest.mark.parametrize(
    ("table", "states", "allowed"),
    [("tasks", TaskState, TASK_TRANSITIONS), ("proposals", ProposalState, PROPOSAL_TRANSITIONS)],
)
def test_the_trigger_knows_exactly_the_table(
    store: Store, task: Task, table: str, states: type[StrEnum], allowed: Mapping[Any, Collection[Any]]
) -> None:
    with store.transaction() as tx:
        tx.add_proposal(proposed())
    connection = store._connection
    connection.execute("PRAGMA synchronous = OFF")
    for current, target in itertools.product(states, states):
        force(connection, table, current)
        legal = target is current or target in allowed[current]
        with (
            nullcontext()
            if legal
            else pytest.raises(sqlite3.IntegrityError, match=f"illegal change of state in {table}")
        ):
            connection.execute(f"UPDATE {table} SET state = ? WHERE id = 1", (target,))


def test_rows_begin_at_the_beginning(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        tx.add_proposal(proposed())
    connection = store._connection
    columns = "project_id, text, kind, complexity, created, updated, since"
    with pytest.raises(sqlite3.IntegrityError, match="starts as queued"):
        connection.execute(
            f"INSERT INTO tasks ({columns}, state) VALUES (1, 'x', 'fix', 'simple', '', '', '', 'approved')"
        )
    with pytest.raises(sqlite3.IntegrityError, match="starts as open"):
        connection.execute(
            "INSERT INTO proposals (task_id, attempt, round, state, base_commit, tree, written_by, created)"
            " VALUES (1, 5, 0, 'landed', 'b', 't', 'generator', '')"
        )


def test_a_trigger_met_by_a_transaction_is_a_typed_error_and_nothing_stays(store: Store, task: Task) -> None:
    with pytest.raises(IllegalTransition), store.transaction() as tx:
        tx._run("UPDATE tasks SET priority = 9 WHERE id = 1")
        tx._run("UPDATE tasks SET state = 'landed' WHERE id = 1")
    assert store.read.task(task.id).priority == 0
