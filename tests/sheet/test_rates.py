"""The revise rate from a store: by group and week, since a change, and two groups compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from navigator.model.errors import NotFound, UsageError
from navigator.model.models import Proposal, Review
from navigator.model.states import Verdict
from navigator.sheet.statistics.page import PageQuestion, Table, document
from navigator.sheet.statistics.pages import better
from navigator.sheet.statistics.reviewer import comparison, rate_tables
from navigator.store.database import open_writer
from navigator.store.writes.writer import Store

START = datetime(2026, 11, 2, 10, tzinfo=UTC)
HALF, NEVER = (True, False), (False,)
Add = Callable[..., None]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(open_writer(tmp_path / "navigator.db"))
    yield made
    made.close()


@pytest.fixture
def add(store: Store) -> Add:
    """Proposals reviewed one a quarter of an hour; `pattern` repeats, True for REVISE."""
    with store.transaction() as tx:
        project = tx.add_project(name="thing", path="/src/thing", root_commit="r0")
    moments = (START + timedelta(minutes=15 * number) for number in range(10_000))

    def made(
        n: int,
        pattern: tuple[bool, ...],
        prompt: str = "generate@1",
        review_prompt: str = "review@1",
        block_on: str = "grounded",
        self_review: bool = False,
        **fields: object,
    ) -> None:
        with store.transaction() as tx:
            for revise in islice(cycle(pattern), n):
                task = tx.add_task(project.id, "one more")
                values = {"model": "35B", "prompt_version": prompt, "base_commit": "b" * 40, "tree": "t" * 40}
                proposal = Proposal.model_validate(
                    {
                        "id": "",
                        "task_id": task.id,
                        "project_id": project.id,
                        "project": "thing",
                        "attempt": 0,
                        "round": 0,
                        **values,
                        **fields,
                    }
                )
                verdict = Verdict.REVISE if revise else Verdict.APPROVE
                at = next(moments).isoformat(timespec="milliseconds").replace("+00:00", "Z")
                tx.add_review(
                    tx.add_proposal(proposal).id,
                    Review(
                        verdict=verdict,
                        stated_verdict=verdict,
                        model="122B",
                        prompt_version=review_prompt,
                        block_on=block_on,
                        self_review=self_review,
                        at=at,
                    ),
                )

    return made


def tables(store: Store, by: str = "") -> dict[str, Table]:
    return {table.title: table for table in rate_tables(store.read, PageQuestion(by))}


def rates(store: Store, by: str = "") -> dict[str, Any]:
    return document(rate_tables(store.read, PageQuestion(by)))["revise_rate"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("added", "known", "begins", "ends"),
    [
        ([(3, HALF, {})], False, "Cannot tell yet: there are 3 first verdicts in the newest 4 weeks", ""),
        (
            [(60, HALF, {}), (4, NEVER, {"prompt": "generate@2"})],
            False,
            "Cannot tell yet: there are 4 first verdicts since Nov 3 (new: generate@2) and 60 before; 30 of each are needed.",
            "",
        ),
        (
            [(60, HALF, {}), (34, NEVER, {"prompt": "generate@2"})],
            True,
            "Yes. Revise rate: 50% [38–62] before, 0% [0–10] since Nov 3 (new: generate@2).",
            "",
        ),
        (  # only the versions just before are compared
            [(60, HALF, {}), (40, NEVER, {"prompt": "generate@2"}), (40, HALF, {"prompt": "generate@3"})],
            True,
            "No. Revise rate: 0% [0–9] before, 50%",
            "",
        ),
        (
            [(60, HALF, {}), (60, HALF, {"prompt": "generate@2"})],
            False,
            "No change of the revise rate is shown",
            "",
        ),
        (
            [(60, HALF, {}), (60, NEVER, {"prompt": "generate@2", "block_on": "reproduced"})],
            False,
            "Cannot tell: the reviewer itself changed",
            "since Nov 3 (new: generate@2, block_on = reproduced).",
        ),
    ],
)
def test_whether_it_is_getting_better(
    store: Store, add: Add, added: list[tuple[int, Any, Any]], known: bool, begins: str, ends: str
) -> None:
    for n, pattern, changes in added:
        add(n, pattern, **changes)
    found = better(store.read)
    assert found.known is known
    assert found.sentence.startswith(begins) and found.sentence.endswith(ends)


def test_a_rate_without_verdicts_says_why(store: Store, add: Add) -> None:
    """As under strategy `adapter`, where only the writer's own model reviews."""
    add(2, HALF, self_review=True)
    found = tables(store)
    assert found["REVISE RATE"].rows == ()
    assert found["REVISE RATE"].empty == "no first-round verdict counts; not counted: 2 self review"


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("writer-prompt", {"generate@1": 40, "generate@2": 50}),
        ("writer-model", {"35B": 60, "80B": 30}),
        ("way", {"blocks": 60, "looking": 30}),
        ("reviewer-prompt", {"review@1": 90}),
        ("reviewer-model", {"122B": 90}),
        ("week", {"2026-11-02": 90}),
    ],
)
def test_the_rate_is_grouped_by_the_writers_side_too(
    store: Store, add: Add, by: str, groups: dict[str, int]
) -> None:
    add(40, HALF)
    add(20, HALF, "generate@2")
    add(30, HALF, "generate@2", model="80B", way="looking")
    assert {row["group"]: row["n"] for row in rates(store, by)["rows"]} == groups
    assert f"BY {by.replace('-', ' ').upper()}" in tables(store, by)


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
