"""The transition table holds in Python and, for whoever goes round it, in the database."""

from __future__ import annotations

import itertools
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

from navigator.model.errors import Conflict, IllegalTransition
from navigator.model.models import Decision, Landing, Proposal, Task
from navigator.model.states import (
    PROPOSAL_TRANSITIONS,
    TASK_TRANSITIONS,
    DecisionKind,
    LandingState,
    ProposalState,
    TaskState,
)
from navigator.store.database import open_reader, open_writer
from navigator.store.reads.reader import Reader
from navigator.store.writes.writer import Store
from tests.store.conftest import AnswerMaker


def force(connection: sqlite3.Connection, table: str, state: str) -> None:
    """Put row 1 into a state, whatever the triggers say."""
    trigger = connection.execute(
        "SELECT sql FROM sqlite_master WHERE name = ?", (f"{table}_transition",)
    ).fetchone()[0]
    connection.execute(f"DROP TRIGGER {table}_transition")
    connection.execute(f"UPDATE {table} SET state = ? WHERE id = 1", (state,))
    connection.execute(trigger)


def test_the_trigger_knows_exactly_the_table_of_tasks(store: Store, task: Task) -> None:
    connection = store._connection
    connection.execute("PRAGMA synchronous = OFF")
    for current, target in itertools.product(TaskState, TaskState):
        force(connection, "tasks", current)
        if target is current or target in TASK_TRANSITIONS[current]:
            connection.execute("UPDATE tasks SET state = ? WHERE id = 1", (target,))
            continue
        with pytest.raises(sqlite3.IntegrityError, match="illegal change of state in tasks"):
            connection.execute("UPDATE tasks SET state = ? WHERE id = 1", (target,))


def test_the_trigger_knows_exactly_the_table_of_proposals(store: Store, answer: AnswerMaker) -> None:
    with store.transaction() as tx:
        tx.add_proposal(answer())
    connection = store._connection
    for current, target in itertools.product(ProposalState, ProposalState):
        force(connection, "proposals", current)
        if target is current or target in PROPOSAL_TRANSITIONS[current]:
            connection.execute("UPDATE proposals SET state = ? WHERE id = 1", (target,))
            continue
        with pytest.raises(sqlite3.IntegrityError, match="illegal change of state in proposals"):
            connection.execute("UPDATE proposals SET state = ? WHERE id = 1", (target,))


def test_rows_begin_at_the_beginning(store: Store, answer: AnswerMaker) -> None:
    with store.transaction() as tx:
        tx.add_proposal(answer())
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


class Histories(RuleBasedStateMachine):
    """Random histories through the store beside a model in two dictionaries."""

    tasks = Bundle("tasks")

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "navigator.db"
        self.store = Store(open_writer(path))
        # The machine is about states, not about power cuts: no waiting for the disk.
        self.store._connection.execute("PRAGMA synchronous = OFF")
        self.reader = Reader(open_reader(path))
        self.states: dict[str, TaskState] = {}
        self.proposals: dict[str, ProposalState] = {}
        self.attempts: dict[str, int] = {}
        with self.store.transaction() as tx:
            self.project = tx.add_project(name="p", path="/p")

    def teardown(self) -> None:
        if not hasattr(self, "store"):
            return
        self.reader._connection.close()
        self.store.close()
        self.folder.cleanup()

    @rule(target=tasks)
    def add(self) -> str:
        with self.store.transaction() as tx:
            made = tx.add_task(self.project.id, "do it")
        self.states[made.id] = TaskState.QUEUED
        self.attempts[made.id] = 0
        return made.id

    @rule(task=tasks, to=st.sampled_from(TaskState))
    def move(self, task: str, to: TaskState) -> None:
        legal = to in TASK_TRANSITIONS[self.states[task]]
        try:
            with self.store.transaction() as tx:
                tx.set_task_state(task, to)
        except IllegalTransition:
            assert not legal
        else:
            assert legal
            self.states[task] = to

    @rule(task=tasks)
    def again(self, task: str) -> None:
        legal = TaskState.QUEUED in TASK_TRANSITIONS[self.states[task]]
        try:
            with self.store.transaction() as tx:
                tx.new_attempt(task, note="again")
        except IllegalTransition:
            assert not legal
            return
        assert legal
        self.states[task] = TaskState.QUEUED
        self.attempts[task] += 1
        for identifier, state in self.proposals.items():
            if state in (ProposalState.OPEN, ProposalState.DECIDED) and self.task_of(identifier) == task:
                self.proposals[identifier] = ProposalState.SUPERSEDED

    @rule(task=tasks, round_=st.integers(0, 2), late=st.booleans())
    def propose(self, task: str, round_: int, late: bool) -> None:
        attempt = max(0, self.attempts[task] - late)
        proposal = Proposal(
            id="",
            task_id=task,
            project_id=0,
            project="",
            attempt=attempt,
            round=round_,
            base_commit="b",
            tree=f"{attempt}-{round_}",
        )
        try:
            with self.store.transaction() as tx:
                made = tx.add_proposal(proposal)
        except Conflict:
            # Too late for its attempt, or its round was decided on already.
            made_before = self.store.read.proposals(task_id=task)
            same = [p for p in made_before if (p.attempt, p.round) == (attempt, round_)]
            assert attempt < self.attempts[task] or self.was_read(same[0].id)
            return
        for other, state in self.proposals.items():
            if state is ProposalState.OPEN and self.task_of(other) == task:
                self.proposals[other] = ProposalState.SUPERSEDED
        self.proposals[made.id] = ProposalState.OPEN

    @rule(data=st.data(), to=st.sampled_from(ProposalState))
    def move_proposal(self, data: st.DataObject, to: ProposalState) -> None:
        if not self.proposals:
            return
        identifier = data.draw(st.sampled_from(sorted(self.proposals)))
        current = self.proposals[identifier]
        legal = to is current or to in PROPOSAL_TRANSITIONS[current]
        try:
            with self.store.transaction() as tx:
                tx.set_proposal_state(identifier, to)
        except IllegalTransition:
            assert not legal
        else:
            assert legal
            self.proposals[identifier] = to

    @rule(data=st.data(), kind=st.sampled_from(DecisionKind))
    def decide(self, data: st.DataObject, kind: DecisionKind) -> None:
        if not self.proposals:
            return
        identifier = data.draw(st.sampled_from(sorted(self.proposals)))
        legal = self.proposals[identifier] is ProposalState.OPEN
        try:
            with self.store.transaction() as tx:
                tx.add_decision(identifier, Decision(kind=kind))
                if kind is DecisionKind.APPROVE:
                    tx.set_landing(identifier, Landing(state=LandingState.LANDED, ref="r"))
        except IllegalTransition:
            assert not legal
            return
        assert legal
        landed = kind is DecisionKind.APPROVE
        self.proposals[identifier] = ProposalState.LANDED if landed else ProposalState.DECIDED

    def task_of(self, identifier: str) -> str:
        return self.store.read.proposal(identifier).task_id

    def was_read(self, identifier: str) -> bool:
        if self.proposals[identifier] in (ProposalState.DECIDED, ProposalState.LANDED):
            return True
        number = int(identifier[1:])
        sql = "SELECT count(*) FROM decisions WHERE proposal_id = ?"
        return bool(self.store._connection.execute(sql, (number,)).fetchone()[0])

    @invariant()
    def the_store_says_what_the_model_says(self) -> None:
        if not hasattr(self, "store"):
            return
        assert {task.id: task.state for task in self.reader.tasks()} == self.states
        assert {task.id: task.attempt for task in self.reader.tasks()} == self.attempts
        assert {made.id: made.state for made in self.reader.proposals()} == self.proposals
        counts = self.reader.counts()
        assert sum(counts["tasks"].values()) == len(self.states)
        # Every change was told: replaying the events gives the same states.
        told: dict[str, str] = {}
        for event in self.reader.events(limit=100_000):
            if event.kind in ("task_added", "task_state"):
                told[event.task_id] = event.data.get("to", event.data.get("state"))
        assert told == {task: state.value for task, state in self.states.items()}


Histories.TestCase.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
TestHistories = Histories.TestCase
