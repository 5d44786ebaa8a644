"""The revise rate's page from a store: groups of the writer, marks, the monitor's sentence, and two groups compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path

import pytest

from navigator.figures.rates import RateTables, revise_rate
from navigator.model.errors import NotFound, UsageError
from navigator.model.models import Proposal, Review
from navigator.model.records import VerdictCount
from navigator.model.states import Verdict
from navigator.sheet.statistics.comparison import compare_rates, comparison_document, comparison_table
from navigator.sheet.statistics.page import PageQuestion, RatePlot
from navigator.sheet.statistics.revise_rate import PAGE, Rates
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
    """Proposals, one reviewed every so many quarters of an hour; `pattern` repeats, True for REVISE."""
    with store.transaction() as tx:
        project = tx.add_project(name="thing", path="/src/thing", root_commit="r0")
    moments = (START + timedelta(minutes=15 * number) for number in range(10_000))

    def made(
        n: int,
        pattern: tuple[bool, ...],
        prompt: str = "generate@1",
        review_prompt: str = "review@1",
        block_on: str = "grounded",
        quarters: int = 1,
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
                at = (
                    next(islice(moments, quarters - 1, None))
                    .isoformat(timespec="milliseconds")
                    .replace("+00:00", "Z")
                )
                tx.add_review(
                    tx.add_proposal(proposal).id,
                    Review(
                        verdict=verdict,
                        stated_verdict=verdict,
                        model="122B",
                        prompt_version=review_prompt,
                        block_on=block_on,
                        at=at,
                    ),
                )

    return made


def facts(store: Store) -> list[tuple[str, str]]:
    found = PAGE.read(store.read, PageQuestion())
    return [fact for fact in PAGE.tables(found)[0].facts if fact[0] == "Since"]


def test_a_fall_since_a_prompt_is_said_with_its_evidence(store: Store, add: Add) -> None:
    add(60, HALF)
    assert facts(store) == []
    add(30, NEVER, "generate@2")
    ((_, said),) = facts(store)
    assert said == "generate@2 (Nov 3): fell from 50% (n 60) to 0% (n 30), evidence over 1,000:1"
    (change,) = PAGE.document(PAGE.read(store.read, PageQuestion()))["changes"]
    assert change["changed"] == {"writer_prompt": "generate@2"}
    assert change["from"] == {"writer_prompt": "generate@1"}
    assert (change["before"]["k"], change["before"]["n"], change["after"]["n"]) == (30, 60, 30)
    assert change["shown"] and change["shown_at"] < 30 and change["evidence"] > 1000


def test_little_since_a_prompt_shows_nothing(store: Store, add: Add) -> None:
    add(60, HALF)
    add(4, HALF, "generate@2", review_prompt="review@2")
    ((_, said),) = facts(store)
    assert said.startswith("generate@2 and review@2 (Nov 3): 50% (n 60) before, 50% (n 4) since; no change")
    assert said.endswith(":1, and 20:1 is needed")


def test_another_rule_for_verdicts_is_a_change_like_another_prompt(store: Store, add: Add) -> None:
    add(40, HALF)
    add(20, NEVER, block_on="reproduced")
    ((_, said),) = facts(store)
    assert said.startswith("block_on = reproduced (Nov 2): fell from 50% (n 40) to 0% (n 20)")
    found = PAGE.read(store.read, PageQuestion("block-on"))
    assert [(row.group, row.n) for row in found.grouped.rows] == [("grounded", 40), ("reproduced", 20)]
    assert ("Mixture", "mixes 2 settings of block_on, counted together here") in PAGE.tables(found)[0].facts


def test_the_plot_marks_changes_of_both_sides(store: Store, add: Add) -> None:
    add(40, HALF, quarters=10)
    add(30, HALF, "generate@2", quarters=10)
    add(30, HALF, "generate@2", review_prompt="review@2", model="80B", quarters=10)
    found = PAGE.read(store.read, PageQuestion())
    plot = PAGE.tables(found)[-1].plot
    assert isinstance(plot, RatePlot)
    assert [(at[:10], label) for at, label in plot.marks] == [
        ("2026-11-06", "generate@2"),
        ("2026-11-09", "writer 80B"),
        ("2026-11-09", "review@2"),
    ]
    assert sum(row.n for row in found.weeks.rows) == 100
    assert [row.group for row in found.weeks.rows] == ["2026-11-02", "2026-11-09"]


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
    found = PAGE.read(store.read, PageQuestion(by))
    assert {row.group: row.n for row in found.grouped.rows} == groups
    titles = [table.title for table in PAGE.tables(found)]
    assert (f"BY {by.replace('-', ' ').upper()}" in titles) is (by != "week")


def test_two_prompts_are_compared(store: Store, add: Add) -> None:
    add(60, HALF)
    add(60, NEVER, "generate@2")
    found = compare_rates(store.read, "generate@1", "generate@2")
    assert (found.by, found.first.rate, found.second.rate) == ("writer-prompt", 0.5, 0.0)
    document = comparison_document(found)
    assert 0.35 < document["low"] < 0.5 == document["difference"] < document["high"]
    assert document["p"] < 1e-6
    table = comparison_table(found)
    assert [row.label for row in table.rows] == ["generate@1", "generate@2"]
    assert table.facts[0][1].startswith("+50 points") and "a difference is shown" in table.facts[0][1]


def test_a_comparison_names_what_its_groups_mix(store: Store, add: Add) -> None:
    add(20, HALF)
    add(20, HALF, review_prompt="review@2")
    add(40, HALF, "generate@2")
    facts = comparison_table(compare_rates(store.read, "generate@1", "generate@2")).facts
    assert ("Mixture", "generate@1 mixes 2 reviewer prompts") in facts
    assert "no difference shown" in facts[0][1]


def test_names_that_cannot_be_compared_are_refused(store: Store, add: Add) -> None:
    add(3, HALF)
    with pytest.raises(UsageError, match="one group"):
        compare_rates(store.read, "generate@1", "generate@1")
    with pytest.raises(NotFound, match="belongs to 'generate@9'"):
        compare_rates(store.read, "generate@1", "generate@9")
    with pytest.raises(NotFound, match="not values of the same property"):
        compare_rates(store.read, "generate@1", "thing")
    with pytest.raises(NotFound) as refused:
        compare_rates(store.read, "thing", "other", "project")
    assert refused.value.hint == "There are: thing."


def test_self_reviews_have_a_rate_of_their_own_and_the_empty_one_says_why() -> None:
    counts = [
        VerdictCount(group="", verdict=verdict, stated_verdict=verdict, self_review=True, n=1)
        for verdict in (Verdict.REVISE, Verdict.APPROVE)
    ]
    found = Rates(
        whole=revise_rate(counts, whole=True),
        grouped=revise_rate(counts),
        weeks=RateTables(()),
        by="",
        existing=RateTables(()),
        own=revise_rate(counts, whole=True, own=True),
    )
    rate, own = PAGE.tables(found)
    assert (rate.rows, rate.empty) == ((), "no first-round verdict counts; not counted: 2 self-reviews")
    assert (own.title, own.rows[0].cells[0], own.rows[0].cells[2]) == ("SELF-REVIEWS", "50%", "2")
