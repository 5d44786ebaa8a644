"""What tables say: n, what is unknown, one sentence for few, and nothing where nothing was counted."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path

from navigator.figures.cost import cost_tables
from navigator.figures.intervals import share
from navigator.figures.page import (
    PageQuestion,
    Row,
    Table,
    brief,
    drawn,
    share_rows,
    share_table,
)
from navigator.model.models import Decision, Usage
from navigator.model.states import DecisionKind, Role
from navigator.store.database import open_writer
from navigator.store.writes.writer import Store
from tests.records import proposed, swapped


def rows(table: Table) -> dict[str, tuple[str, ...]]:
    return {row.label.strip(): row.cells for row in table.rows}


def test_cost_says_n_and_what_is_not_known(tmp_path: Path) -> None:
    with closing(open_writer(tmp_path / "navigator.db")) as connection:
        store = Store(connection)
        assert drawn(cost_tables(store.read, PageQuestion())) == ()
        with store.transaction() as tx:
            project = tx.add_project(name="thing", path="/src/thing", root_commit="r0")
            for _ in range(4):
                made = tx.add_proposal(proposed(task_id=tx.add_task(project.id, "Fix").id))
                tx.add_decision(made.id, Decision(kind=DecisionKind.APPROVE, tree=made.tree))
            for _ in range(2):
                call = tx.begin_call(Role.GENERATOR, purpose="generate", model="m")
            tx.end_call(call, usage=Usage(prompt_tokens=4_000, seconds=20.0))
            tx.lose_calls()
            for by in ("navigator", "outside"):
                tx.add_swap(swapped(seconds=120.0, made_by=by))
        found = {table.title: table for table in cost_tables(store.read, PageQuestion())}
    whole = found["COST PER ACCEPTED CHANGE"]
    assert rows(whole)["tokens, read and written"] == ("1,000", "4,000")
    assert rows(whole)["seconds of swaps"] == ("30.0", "120.0")
    assert "accepted changes: 4, proposals: 4, reviews: 0" in whole.notes
    assert "anecdotal: n below 30" in whole.notes
    assert rows(found["TOKENS"])["generator, writing: read"] == ("1,000", "4,000")
    assert found["TOKENS"].notes == ("calls that were cut off, whose tokens are not known: 1",)
    assert rows(found["SECONDS"])["generator, writing"] == ("5.0", "20.0")
    assert found["SECONDS"].notes[1] == "swaps made externally, whose seconds are not known: 1"


def test_shares_of_few_are_one_sentence() -> None:
    few = brief(
        share_table("MET", ((f"in round {number}", share(1, 19)) for number in range(8)), "revisions")
    )
    assert (few.rows, few.about) == ((), "revisions")
    assert few.empty.startswith("in round 0 1 of 19, in round 1 1 of 19")
    assert few.empty.endswith("2 more: too few for a rate, needed: 30")
    mixed = brief(
        share_table("MET", (("enough", share(4, 32)), ("few", share(3, 19)), ("none", share(0, 0))))
    )
    assert len(mixed.rows) == 3 and mixed.notes == ("anecdotal: n below 30",)
    enough = share_table("MET", (("enough", share(4, 32)), ("none", share(0, 0))))
    assert brief(enough) is enough


def test_a_rate_over_time_stays_rows_where_its_periods_are_enough_together() -> None:
    weeks = replace(
        share_table("BY WEEK", ((f"Nov {day}", share(4, 12)) for day in (2, 9, 16))), periods=True
    )
    assert brief(weeks).rows == weeks.rows
    assert brief(replace(weeks, rows=weeks.rows[:2])).rows == ()


def test_an_answer_keeps_what_is_no_share() -> None:
    others = (Row("tokens", ("1,000", "", "4", "cost")),)
    answered = brief(
        replace(
            share_table("COST", (("few", share(3, 19)),)),
            answer="Yes.",
            rows=(*share_rows((("few", share(3, 19)),)), *others),
        )
    )
    assert (answered.answer, answered.rows) == ("Yes.", others)
    assert answered.notes == ("few 3 of 19: too few for a rate, needed: 30",)
