"""The kept sums of calls are those of a recount, whatever happened to the calls and in which order."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from navigator.model.records import CallTotals
from navigator.store.database import open_writer
from navigator.store.reads.reader import Reader

START = datetime(2026, 11, 20, tzinfo=UTC)
ALL = "0"
"""Earlier than every time, so that the calls themselves are counted."""


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path: Path = tmp_path_factory.mktemp("sums") / "navigator.db"
    with closing(open_writer(path)) as opened:
        yield opened


def time_text(seconds: float) -> str:
    return (START + timedelta(seconds=seconds)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


KINDS = st.tuples(
    st.sampled_from(("generator", "reviewer")),
    st.sampled_from(("35B", "122B")),
    st.sampled_from(("generate", "repair", "review", "scan", "exam")),
)
ENDS = st.tuples(
    st.sampled_from(("ok", "failed", "refused", "lost", "tests_failed")),
    st.integers(0, 400),  # tenths of a second after the start
    st.integers(0, 200),  # tenths of a second that it took
    st.integers(0, 50),
)
STEPS = st.one_of(
    st.tuples(st.just("begin"), KINDS),
    st.tuples(st.just("end"), st.integers(0, 30), ENDS),
    st.tuples(
        st.just("rename"), st.integers(0, 30), st.sampled_from(("ok", "tests_failed", "lost", "started"))
    ),
    st.tuples(st.just("delete"), st.integers(0, 30)),
    st.tuples(st.just("forget"), st.integers(0, 30)),
)


def perform(connection: sqlite3.Connection, step: tuple[object, ...], ids: list[int]) -> None:
    if step[0] == "begin":
        made = connection.execute(
            "INSERT INTO calls (role, model, purpose, outcome, started) VALUES (?, ?, ?, 'started', ?)",
            (*step[1], time_text(0)),  # type: ignore[misc]
        )
        assert made.lastrowid is not None
        ids.append(made.lastrowid)
        return
    if not ids:
        return
    chosen = ids[step[1] % len(ids)]  # type: ignore[operator]
    if step[0] == "end":
        outcome, at, took, tokens = step[2]  # type: ignore[misc]
        connection.execute(
            "UPDATE calls SET outcome = ?, ended = ?, seconds = ?, prompt_tokens = ?, completion_tokens = ? WHERE id = ?",
            (outcome, time_text(at / 10), took / 10, tokens, 2 * tokens, chosen),
        )
    elif step[0] == "rename":
        connection.execute(
            "UPDATE calls SET outcome = ? WHERE id = ? AND ended IS NOT NULL", (step[2], chosen)
        )
    elif step[0] == "forget":
        connection.execute("UPDATE calls SET answer = NULL WHERE id = ?", (chosen,))
    else:
        connection.execute("DELETE FROM calls WHERE id = ?", (chosen,))
        ids.remove(chosen)


def same(kept: list[CallTotals], counted: list[CallTotals]) -> None:
    assert [row.model_copy(update={"seconds": 0, "busy_seconds": 0}) for row in kept] == [
        row.model_copy(update={"seconds": 0, "busy_seconds": 0}) for row in counted
    ]
    for one, other in zip(kept, counted, strict=True):
        assert one.seconds == pytest.approx(other.seconds, abs=1e-6)
        assert one.busy_seconds == pytest.approx(other.busy_seconds, abs=0.005)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(STEPS, max_size=40))
def test_what_is_kept_is_what_a_recount_finds(
    connection: sqlite3.Connection, steps: list[tuple[object, ...]]
) -> None:
    for table in ("calls", "call_sums", "call_busy"):  # an example that failed leaves its rows
        connection.execute(f"DELETE FROM {table}")
    reader, ids = Reader(connection), list[int]()
    for step in steps:
        perform(connection, step, ids)
    kept = reader.call_totals()
    same(kept, reader.call_totals(ALL))
    connection.execute("DELETE FROM calls")
    assert reader.call_totals() == []
