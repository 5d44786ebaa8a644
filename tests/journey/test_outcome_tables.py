"""What the pages of outcomes and cost say: n, what is unknown, and nothing where nothing was counted."""

from __future__ import annotations

from dataclasses import replace

from navigator.figures.cost import Cost, cost
from navigator.figures.exam import retest
from navigator.figures.intervals import share
from navigator.figures.outcomes import findings_met, landed, revisions
from navigator.model.outcomes import FateCount, FindingTotals, RevisionCount, SwapTotals, WorkTotals, Yield
from navigator.model.records import CallTotals
from navigator.model.states import CheckOutcome, Role, Verdict
from navigator.sheet.statistics import cost as cost_page
from navigator.sheet.statistics.outcomes import finding_table, landed_table, repeat_table, revision_table
from navigator.sheet.statistics.page import RatePlot, Table, brief, share_table

PASSED, FAILED = CheckOutcome.PASSED, CheckOutcome.FAILED


def rows(table: Table) -> dict[str, tuple[str, ...]]:
    return {row.label.strip(): row.cells for row in table.rows}


def test_nothing_counted_is_no_table() -> None:
    assert list(revision_table(revisions([]))) == []
    assert list(finding_table(findings_met([]))) == []
    assert list(landed_table(landed([]))) == []
    assert list(repeat_table(retest([]))) == []
    none = cost(Yield(), [], [], SwapTotals())
    assert cost_page.COST.tables(none) == ()


def test_revisions_say_what_is_not_known() -> None:
    (table,) = revision_table(
        revisions([RevisionCount(before=FAILED, after=PASSED, n=3), RevisionCount(before=PASSED, n=2)])
    )
    assert rows(table)["fixed: fail → pass"] == ("100%", "[44–100]", "3 of 3")
    assert table.notes == ("2 not known: tests not run, or failing as on the base",)


def test_findings_say_what_is_not_known() -> None:
    (table,) = finding_table(
        findings_met([FindingTotals(revisions=40, asked=50, met=30, unmet=10, unread=2)])
    )
    assert rows(table)["met in round 1"][2] == "30 of 40"
    assert table.notes == (
        "10 not known: the next review does not say",
        "2 of those reviews could not be read",
    )


def test_landed_commits_say_how_they_were_found_and_when() -> None:
    (table,) = landed_table(
        landed(
            [
                FateCount(verdict=Verdict.APPROVE, fate="kept", looked="2026-11-20T10:05:00.000Z", n=35),
                FateCount(verdict=Verdict.REVISE, fate="reverted", how="named", looked="2026-11-21"),
                FateCount(fate="undone"),
                FateCount(fate="unknown", reason="not on the base branch", n=4),
                FateCount(n=2),
            ]
        )
    )
    assert rows(table)["reverted later"][2] == "2 of 37"
    assert rows(table)["after REVISE"][2] == "1 of 1"
    assert rows(table)["without an independent review"][2] == "1 of 1"
    assert table.notes == (
        "1 named by the commit that reverts it, 1 undone with Navigator",
        "not known: 2 not looked at yet, 4 not on the base branch",
        "last looked at 2026-11-20 10:05 UTC",
    )


def spent() -> Cost:
    return cost(
        Yield(accepted=4, proposals=10, reviews=8),
        [WorkTotals(role=Role.GENERATOR, work="write", calls=9, lost=2, prompt_tokens=4_000)],
        [CallTotals(role=Role.GENERATOR, model="a", calls=9, busy_seconds=20)],
        SwapTotals(n=4, seconds=120, batch_n=2, batch_seconds=60, failed=1, unmeasured=1),
    )


def tables(found: Cost) -> dict[str, Table]:
    return {table.title: table for table in cost_page.COST.tables(found)}


def test_cost_says_n_and_what_is_not_known() -> None:
    found = tables(spent())
    whole = found["COST PER ACCEPTED CHANGE"]
    assert whole.headline == "1,000 tokens, 5.0 s of models, 30.0 s of swaps  n 4"
    assert "accepted changes: 4, proposals: 10, reviews: 8" in whole.notes
    assert "anecdotal: n below 30" in whole.notes
    assert rows(found["TOKENS"])["generator, writing: read"] == ("1,000", "400", "", "4,000")
    assert found["TOKENS"].notes == ("calls that were cut off, whose tokens are not known: 2",)
    assert rows(found["SECONDS"])["round trips of batches: 50%"] == ("15.0", "6.0", "7.5", "60.0")
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


def test_a_rate_over_time_stays_a_plot_where_its_periods_are_enough_together() -> None:
    points = tuple((f"2026-11-{day:02}", share(4, 12)) for day in (2, 9, 16))
    weeks = replace(share_table("BY WEEK", points), plot=RatePlot(points))
    assert brief(weeks).plot is not None and brief(weeks).rows == weeks.rows
    assert brief(replace(weeks, rows=weeks.rows[:2])).rows == ()
