"""Calls, swaps, failures, drafts, comments, meta values, and the way out as JSON lines."""

from __future__ import annotations

import json
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from navigator.config.paths import StatePaths
from navigator.model.errors import Conflict, NotFound, UsageError
from navigator.model.models import Task, Usage
from navigator.model.states import EditCode, Role, TaskState
from navigator.store.database import open_writer
from navigator.store.schema import tables
from navigator.store.writes.writer import Store
from tests.records import calls_of, proposed, swapped

USAGE = Usage(prompt_tokens=900, completion_tokens=80, cached_tokens=700, seconds=1.5)


def test_a_call_is_announced_then_ended(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        number = tx.begin_call(
            Role.GENERATOR, task.id, 0, 0, "generate", prompt_version="generate@1", prompt_hash="h"
        )
    assert store.read.call_counts() == {"made": 1, "repeated": 0, "lost": 0, "running": 1}
    with store.transaction() as tx:
        tx.end_call(number, usage=USAGE, retries=2, answer="text", model="m")
    (call,) = calls_of(store.read, task.id)
    assert (call.id, call.outcome, call.usage, call.retries) == (number, "ok", USAGE, 2)
    assert (call.model, call.prompt_hash, call.prompt_version) == ("m", "h", "generate@1")
    assert call.ended >= call.started
    with pytest.raises(NotFound, match="no running call"), store.transaction() as tx:
        tx.end_call(number)


def test_a_call_that_never_ended_is_lost_and_the_next_one_a_repeat(
    store: Store, task: Task, paths: StatePaths
) -> None:
    with store.transaction() as tx:
        tx.begin_call(Role.GENERATOR, task.id, 0, 0, "generate")
        ended = tx.begin_call(Role.GENERATOR, task.id, 0, 0, "repair", seq=1)
        tx.end_call(ended)
    store.close()
    again = Store(open_writer(paths.database))
    assert again.read.call_counts() == {"made": 2, "repeated": 0, "lost": 1, "running": 0}
    with again.transaction() as tx:
        tx.begin_call(Role.GENERATOR, task.id, 0, 0, "generate")
        tx.begin_call(Role.GENERATOR, task.id, 0, 0, "repair", seq=2)
        tx.begin_call(Role.GENERATOR, task.id, 0, 1, "generate")
        tx.begin_call(Role.GENERATOR, task.id, 1, 0, "generate")
        tx.begin_call(Role.REVIEWER, purpose="warm")
        tx.begin_call(Role.REVIEWER, purpose="warm")
    assert [call.id for call in again.read.calls_after(0) if call.repeat] == [3]
    assert again.read.call_counts()["repeated"] == 1
    again.close()


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=200) | st.just("\ud800 lone"))
def test_an_answer_is_kept_to_the_letter(store: Store, task: Task, text: str) -> None:
    with store.transaction() as tx:
        number = tx.begin_call(Role.GENERATOR, task.id, 0, 0, "generate")
        tx.end_call(number, answer=text)
    answer = store.read.last_answer(task.id, 0, 0)
    assert (answer.call_id, answer.text) == (number, text)


def test_the_last_answer_is_of_its_round_and_role(store: Store, task: Task) -> None:
    assert store.read.last_answer(task.id, 0, 0) is None
    with store.transaction() as tx:
        for round_, role, text in (
            (0, Role.GENERATOR, "first"),
            (0, Role.GENERATOR, "repaired"),
            (0, Role.REVIEWER, "review"),
            (1, Role.GENERATOR, "second round"),
        ):
            tx.end_call(tx.begin_call(role, task.id, 0, round_, "x"), answer=text)
        tx.end_call(tx.begin_call(Role.GENERATOR, task.id, 0, 0, "x"), outcome="failed")
    answer = store.read.last_answer(task.id, 0, 0)
    assert answer.text == "repaired"
    with store.transaction() as tx:
        tx.judge_call(answer.call_id, "refused")
    judged = store.read.last_answer(task.id, 0, 0)
    assert judged.outcome == "refused"
    assert store.read.answers_judged(task.id, 0, 0, Role.GENERATOR, "refused") == 1
    assert store.read.last_answer(task.id, 1, 0) is None
    with pytest.raises(NotFound), store.transaction() as tx:
        tx.judge_call(tx.begin_call(Role.GENERATOR, task.id), "refused")


def test_old_answers_are_forgotten_but_not_those_still_needed(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        done = tx.add_task(task.project_id, "given up")
        tx.set_task_state(done.id, TaskState.CANCELLED)
        for owner in (task, done):
            tx.end_call(tx.begin_call(Role.GENERATOR, owner.id, 0, 0, "generate"), answer="text")
        assert tx.forget_answers("2000-01-01") == 0
        assert tx.forget_answers("9999-01-01") == 1
    assert store.read.last_answer(task.id, 0, 0) is not None
    assert store.read.last_answer(done.id, 0, 0) is None
    assert store.read.call_counts()["made"] == 2


def test_old_events_are_forgotten_and_numbers_do_not_come_again(store: Store, task: Task) -> None:
    last = store.read.last_seq()
    with store.transaction() as tx:
        assert tx.forget_events("9999-01-01") == last - 1
        tx.event("next")
    assert [event.seq for event in store.read.events()] == [last, last + 1]


def test_what_a_round_cost(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        first = tx.begin_call(Role.GENERATOR, task.id, 0, 0, "generate", prompt_version="generate@1")
        tx.end_call(first, usage=USAGE, answer="a", model="m")
        second = tx.begin_call(Role.GENERATOR, task.id, 0, 0, "repair", prompt_version="repair@1")
        tx.end_call(second, usage=USAGE, answer="b", model="m")
        tx.begin_call(Role.REVIEWER, task.id, 0, 0, "review")
    cost = store.read.round_cost(task.id, 0, 0)
    assert (cost.usage, cost.model) == (USAGE + USAGE, "m")
    assert cost.prompt_version == "generate@1"
    assert store.read.last_number("calls") == 3


def test_swaps_come_newest_first(store: Store) -> None:
    cold = swapped(**{"from": None, "to": Role.GENERATOR})
    swap = swapped(started="2026-11-21", outcome="failed", reason="out of memory")
    with store.transaction() as tx:
        assert [tx.add_swap(cold), tx.add_swap(swap)] == [1, 2]
    newest, oldest = store.read.swaps()
    assert newest == swap.model_copy(update={"id": 2})
    assert oldest == cold.model_copy(update={"id": 1})
    assert store.read.swaps(1) == [newest]


def test_failures_of_one_answer_are_one_try_a_file(store: Store, task: Task) -> None:
    for _ in range(2):
        with store.transaction() as tx:
            for path in ("a.py", "a.py", "b.py"):
                tx.add_edit_failure(task.id, 0, 0, EditCode.NO_MATCH, path, model="m")
        # Two answers never end within one millisecond; two transactions of a test may.
        store._connection.execute("UPDATE edit_failures SET at = '2000' WHERE id <= 3")
    assert sorted(store.read.failed_paths(task.id, 0, 0)) == ["a.py", "a.py", "b.py", "b.py"]
    assert store.read.failed_paths(task.id, 0, 1) == []
    row = next(store.read.export_rows("edit_failures"))
    assert (row["task_id"], row["code"], row["path"]) == (task.id, "NO_MATCH", "a.py")
    with pytest.raises(ValueError, match="WHATEVER"), store.transaction() as tx:
        tx.add_edit_failure(task.id, 0, 0, cast("EditCode", "WHATEVER"))


def test_drafts_and_meta_values(store: Store) -> None:
    with store.transaction() as tx:
        tx.save_draft("compose", "a")
        tx.save_draft("note:P1", "b")
        tx.save_draft("note:P2", "c")
        tx.save_draft("note:P1", "bb")
        tx.save_draft("note:P2", "")
        tx.set_meta("audit:1", {"n": [1, None]})
        tx.set_meta("audit:2", 2)
        tx.set_meta("other", "x")
        tx.set_meta("audit:2", None)
    assert store.read.drafts() == {"compose": "a", "note:P1": "bb"}
    assert store.read.drafts("note:") == {"note:P1": "bb"}
    # A prefix is text, not a pattern.
    assert store.read.drafts("%") == {}
    assert store.read.meta("audit:1", dict) == {"n": [1, None]}
    assert store.read.meta("audit:2", dict) is None
    assert store.read.meta("none", str) is None


def test_comments_on_lines(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        made = tx.add_proposal(proposed())
        first = tx.add_comment(made.id, path="a.py", line=3, text="why?", quote="x = 1")
        second = tx.add_comment(made.id, path="a.py", line=9, text="old", side="old")
        tx.drop_comment(second)
    (comment,) = store.read.comments(task.id)
    assert (comment.id, comment.text, comment.quote, comment.side) == (first, "why?", "x = 1", "new")
    assert (comment.task_id, comment.proposal_id, comment.sent) == (task.id, made.id, False)
    with store.transaction() as tx:
        tx.mark_comments_sent([first])
    assert store.read.comments(sent=False) == []
    assert len(store.read.comments(sent=True)) == 1
    with pytest.raises(Conflict, match="sent already"), store.transaction() as tx:
        tx.drop_comment(first)
    with pytest.raises(UsageError), store.transaction() as tx:
        tx.add_comment(made.id, path="a.py", line=1, text=" ")
    with pytest.raises(UsageError), store.transaction() as tx:
        tx.add_comment(made.id, path="a.py", line=1, text="x", side="left")
    with pytest.raises(NotFound), store.transaction() as tx:
        tx.drop_comment(99)


def test_everything_leaves_as_json_lines(store: Store, task: Task) -> None:
    with store.transaction() as tx:
        made = tx.add_proposal(proposed())
        tx.end_call(tx.begin_call(Role.GENERATOR, task.id, 0, 0, "generate"), answer="ünï")
        tx.add_comment(made.id, path="a", line=1, text="x")
        tx.save_draft("k", "v")
        tx.set_meta("m", {"a": 1})
        tx.journal_open(made.id, {"a": 1})
    lines = {
        table: [json.loads(json.dumps(row)) for row in store.read.export_rows(table)] for table in tables()
    }
    assert lines["tasks"][0]["id"] == task.id
    assert lines["proposals"][0]["id"] == made.id
    assert lines["proposals"][0]["task_id"] == task.id
    assert lines["proposals"][0]["edits"] == []
    assert lines["calls"][0]["answer"] == "ünï"
    assert lines["projects"][0]["removed"] is False
    assert lines["meta"] == [{"key": "m", "value": {"a": 1}}]
    assert lines["journal"][0]["plan"] == {"a": 1}
    assert len(lines["events"]) == store.read.last_seq()
    known = store._connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    )
    assert {row[0] for row in known} == set(tables())
