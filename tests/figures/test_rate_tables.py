"""The revise rate from a store: by group and week, and two groups compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, cycle, islice
from pathlib import Path

import pytest

from navigator.figures.page import PageQuestion, Table
from navigator.figures.reviewer import comparison, rate_tables
from navigator.model.errors import NotFound, UsageError
from navigator.model.models import Review
from navigator.model.states import Verdict
from navigator.store.database import open_writer
from navigator.store.writes.writer import Store
from tests.records import proposed
from tests.store.test_statistics import at

HALF, NEVER = (Verdict.REVISE, Verdict.APPROVE), (Verdict.APPROVE,)
Add = Callable[..., None]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(open_writer(tmp_path / "navigator.db"))
    yield made
    made.close()


@pytest.fixture
def add(store: Store) -> Add:
    """Proposals reviewed one a quarter of an hour; `pattern` repeats."""
    with store.transaction() as tx:
        project = tx.add_project(name="thing", path="/src/thing", root_commit="r0")
    moments = count(step=900)

    def made(
        n: int,
        pattern: tuple[Verdict, ...],
        prompt: str = "generate@1",
        review_prompt: str = "review@1",
        self_review: bool = False,
    ) -> None:
        with store.transaction() as tx:
            for verdict in islice(cycle(pattern), n):
                task = tx.add_task(project.id, "one more")
                written = tx.add_proposal(proposed(task_id=task.id, model="35B", prompt_version=prompt))
                review = {"verdict": verdict, "model": "122B", "prompt_version": review_prompt}
                tx.add_review(written.id, Review(**review, self_review=self_review, at=at(next(moments))))

    return made


def tables(store: Store, by: str = "") -> dict[str, Table]:
    return {table.title: table for table in rate_tables(store.read, PageQuestion(by))}


def test_a_rate_without_verdicts_says_why(store: Store, add: Add) -> None:
    """As under strategy `adapter`, where only the writer's own model reviews."""
    add(2, HALF, self_review=True)
    found = tables(store)
    assert found["REVISE RATE"].rows == ()
    assert found["REVISE RATE"].empty == "no first-round verdict counts; not counted: 2 self review"


def test_unread_answers_are_shown_beside_n(store: Store, add: Add) -> None:
    add(42, NEVER, "generate@2")
    add(1, (Verdict.UNREVIEWED,), "generate@2")
    table = tables(store, "writer-prompt")["BY WRITER PROMPT"]
    (row,) = table.rows
    said = {column.name: cell for column, cell in zip(table.columns, row.cells, strict=True)}
    assert (row.label, said["n"], said["unread"]) == ("generate@2", "42", "1")


def test_two_prompts_are_compared(store: Store, add: Add) -> None:
    add(60, HALF)
    add(60, NEVER, "generate@2")
    table = comparison(store.read, "generate@1", "generate@2")
    found = table.data
    assert (found["by"], found["first"]["rate"], found["second"]["rate"]) == ("writer-prompt", 0.5, 0.0)
    assert 0.35 < found["low"] < 0.5 == found["difference"] < found["high"]
    assert [row.label for row in table.rows] == ["generate@1", "generate@2"]
    assert table.facts[0][1].startswith("+50 points") and "a difference is shown" in table.facts[0][1]


def test_a_comparison_names_what_its_groups_mix(store: Store, add: Add) -> None:
    add(20, HALF)
    add(20, HALF, review_prompt="review@2")
    add(40, HALF, "generate@2")
    facts = comparison(store.read, "generate@1", "generate@2").facts
    assert ("Mixture", "generate@1 mixes 2 versions") in facts
    assert "no difference shown" in facts[0][1]


def test_names_that_cannot_be_compared_are_refused(store: Store, add: Add) -> None:
    add(3, HALF)
    with pytest.raises(UsageError, match="one group"):
        comparison(store.read, "generate@1", "generate@1")
    with pytest.raises(NotFound, match="not values of the same property"):
        comparison(store.read, "generate@1", "thing")
    with pytest.raises(NotFound) as refused:
        comparison(store.read, "thing", "other", "project")
    assert refused.value.hint == "There are: thing."
