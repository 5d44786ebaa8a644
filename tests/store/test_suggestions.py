"""What scans propose, as it is kept."""

from __future__ import annotations

import pytest

from navigator.model.models import Suggestion, Usage
from navigator.model.states import Complexity, Role, TaskKind, TaskState
from navigator.store.reads.cards import CardReads
from navigator.store.writes.writer import Store


def suggestion(rank: int, text: str = "Close the file", scan: str = "T1", **fields: object) -> Suggestion:
    given = {"kind": TaskKind.FIX, "complexity": Complexity.SIMPLE, "files": ("a.py",), "why": "it leaks"}
    return Suggestion.model_validate({"task_id": scan, "rank": rank, "text": text} | given | fields)


def scanned(store: Store, *texts: str) -> str:
    """A scan before the developer, with these suggestions."""
    with store.transaction() as tx:
        known = tx.read.projects()
        project = known[0] if known else tx.add_project(name="p", path="/p")
        scan = tx.add_task(project.id, "look", TaskKind.SCAN)
        tx.set_task_state(scan.id, TaskState.GENERATING)
        tx.add_suggestions(
            scan.id, 0, [suggestion(rank, text, scan.id) for rank, text in enumerate(texts, 1)]
        )
        tx.set_task_state(scan.id, TaskState.AWAITING_APPROVAL, report="found")
    return scan.id


def test_a_suggestion_comes_back_as_it_was_kept(store: Store) -> None:
    scan = scanned(store, "one")
    kept = suggestion(
        2, "two", scan, new_files=("b.py",), quote="x = 1", quote_path="a.py", quote_line=4
    ).model_copy(update={"rank": 1})
    with store.transaction() as tx:
        tx.new_attempt(scan, note="more")
        tx.add_suggestions(scan, 1, [kept])
    (found,) = store.read.suggestions(scan)
    assert found.grounded
    assert found == kept.model_copy(update={"id": found.id, "attempt": 1, "at": found.at})


def test_what_an_earlier_attempt_left_open_is_dismissed(store: Store) -> None:
    scan = scanned(store, "one", "two")
    with store.transaction() as tx:
        made = tx.add_task(1, "one", origin=scan)
        tx.accept_suggestion(tx.read.suggestions(scan)[0], made.id)
        tx.new_attempt(scan, note="more")
        tx.add_suggestions(scan, 1, [])
    assert [(one.state, one.made_task) for one in store.read.suggestions(scan, attempt=0)] == [
        ("accepted", made.id),
        ("dismissed", ""),
    ]


def test_only_what_is_open_can_be_dismissed(store: Store) -> None:
    scan = scanned(store, "one", "two", "three")
    with store.transaction() as tx:
        tx.accept_suggestion(tx.read.suggestions(scan)[0], tx.add_task(1, "one", origin=scan).id)
        assert tx.dismiss_suggestions(scan, 0, {1, 2}) == 1
        (card,) = CardReads(tx.read._connection).cards("2000")[:1]
        assert (card.task, card.suggestions) == (scan, 1)
        assert tx.dismiss_suggestions(scan, 0) == 1
        assert tx.dismiss_suggestions(scan, 0) == 0
    assert [one.state for one in store.read.suggestions(scan)] == ["accepted", "dismissed", "dismissed"]


def test_what_was_proposed_before_is_known_to_a_later_scan(store: Store) -> None:
    first, second = scanned(store, "one", "two"), scanned(store, "three")
    with store.transaction() as tx:
        tx.accept_suggestion(tx.read.suggestions(second)[0], tx.add_task(1, "three", origin=second).id)
    assert [one.text for one in store.read.earlier_suggestions(1, second)] == ["one", "two", "three"]
    assert [one.text for one in store.read.earlier_suggestions(1, first)] == ["three"]
    assert store.read.earlier_suggestions(2, first) == []


def nobody(kind: TaskKind, complexity: Complexity) -> Role:
    """Who would write a task of which nothing is written."""
    return Role.FINAL


@pytest.mark.parametrize("purpose", ["review", "review-own", "final"])
def test_a_reading_is_not_what_was_written(store: Store, purpose: str) -> None:
    """A model that writes and reads in one round has one text of its own in it."""
    with store.transaction() as tx:
        task = tx.add_task(tx.add_project(name="p", path="/p").id, "do it")
        tx.set_task_state(task.id, TaskState.GENERATING)
        for what, text in (("generate", "the change"), (purpose, "the reading")):
            call = tx.begin_call(Role.REVIEWER, task.id, purpose=what, model="m")
            tx.end_call(call, answer=text, usage=Usage(prompt_tokens=7))
    read = store.read
    answer = read.last_answer(task.id, 0, 0, role=Role.REVIEWER)
    assert answer.text == "the change"
    assert read.last_answer(task.id, 0, 0) is None
    assert read.round_cost(task.id, 0, 0, Role.REVIEWER).usage.prompt_tokens == 7
    assert read.wrote(task.id) is Role.REVIEWER
    (held,) = read.loop_tasks({TaskState.GENERATING}, nobody)
    assert held.writer is Role.REVIEWER
    assert read.loop_tasks({TaskState.GENERATING}, nobody)[0] is held


def test_a_new_attempt_has_no_writer_yet(store: Store) -> None:
    with store.transaction() as tx:
        task = tx.add_task(tx.add_project(name="p", path="/p").id, "do it")
        tx.end_call(tx.begin_call(Role.REVIEWER, task.id, purpose="generate"), answer="text")
    assert store.read.wrote(task.id) is None
    assert store.read.loop_tasks({TaskState.QUEUED}, nobody)[0].writer is Role.FINAL
