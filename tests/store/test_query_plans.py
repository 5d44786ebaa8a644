"""What happens for each proposal and each call reads no table from end to end."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing

from navigator.config.paths import StatePaths
from navigator.figures.cost import call_totals
from navigator.figures.page import PageQuestion
from navigator.figures.pages import SUMMARY
from navigator.model.models import Task, Usage
from navigator.model.states import Role
from navigator.store.writes.writer import Store
from tests.records import proposed

LARGE = ("proposals", "reviews", "tasks", "calls", "decisions", "events", "landings", "edit_failures")


def scans(store: Store, paths: StatePaths, work: Callable[[], object]) -> list[str]:
    """The steps of `work` that read one of the large tables whole."""
    said: list[str] = []
    store.read._connection.set_trace_callback(said.append)
    work()
    store.read._connection.set_trace_callback(None)
    assert said
    found = []
    with closing(sqlite3.connect(paths.database)) as reader:
        for statement in said:
            if statement.startswith(("SELECT", "UPDATE", "DELETE", "INSERT", "WITH")):
                plan = [row[3] for row in reader.execute(f"EXPLAIN QUERY PLAN {statement}")]
                found += [f"{step}: {statement}" for step in plan if step.startswith(scan_words())]
    return found


def scan_words() -> tuple[str, ...]:
    return tuple(f"SCAN {table}" for table in LARGE)


def test_a_new_round_finds_the_proposals_it_supersedes_by_an_index(
    store: Store, task: Task, paths: StatePaths
) -> None:
    with store.transaction() as tx:
        first = tx.add_proposal(proposed())

    def add() -> None:
        with store.transaction() as tx:
            tx.add_proposal(proposed(round=1, tree="u" * 40))

    assert scans(store, paths, add) == []
    assert store.read.proposal(first.id).state == "superseded"
    whole = scans(store, paths, lambda: store.read._connection.execute("SELECT * FROM proposals").fetchall())
    assert len(whole) == 1  # such a step would have been seen


def test_a_call_is_counted_by_an_index(store: Store, paths: StatePaths) -> None:
    def call() -> None:
        with store.transaction() as tx:
            number = tx.begin_call(Role.GENERATOR, "", 0, 0, "generate", model="small")
            tx.end_call(number, usage=Usage(prompt_tokens=5, completion_tokens=7, seconds=2.0))

    call()
    assert scans(store, paths, call) == []
    (total,) = call_totals(store.read)
    assert (total.calls, total.prompt_tokens, total.completion_tokens) == (2, 10, 14)


def test_the_summary_is_counted_from_indexes_alone(store: Store, paths: StatePaths) -> None:
    """The tables hold whole changes, readings and answers: to scan one costs many times what its index does."""
    read = scans(store, paths, lambda: SUMMARY.read(store.read, PageQuestion()))
    scanned = {step.split(":")[0] for step in read}
    assert scanned == {
        "SCAN calls USING COVERING INDEX calls_figures",
        "SCAN decisions",  # small rows: quicker than by an index that leads to each of them
        "SCAN landings USING COVERING INDEX landings_proposal",
        "SCAN proposals USING COVERING INDEX proposals_task",
        "SCAN reviews USING COVERING INDEX reviews_proposal",
    }
