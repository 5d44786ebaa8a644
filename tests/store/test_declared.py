"""The declared statistics, counted from rows that the store wrote itself."""

from __future__ import annotations

from typing import Any

from navigator.figures.page import PageQuestion, declared, document
from navigator.model.models import (
    AppliedEdit,
    CheckResult,
    Decision,
    Landing,
    Proposal,
    Review,
    Task,
)
from navigator.model.records import Fate
from navigator.model.states import (
    CheckOutcome,
    DecisionKind,
    EditCode,
    LandingState,
    Role,
    Rung,
    Severity,
    Verdict,
)
from navigator.store.writes.writer import Store
from tests.records import finding, proposed
from tests.store.test_statistics import another, at

PASSED, FAILED, BEFORE = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.FAILED_BEFORE
APPROVE = Review(
    verdict=Verdict.APPROVE, stated_verdict=Verdict.APPROVE, model="122B", prompt_version="review@1"
)
REVISE = APPROVE.model_copy(update={"verdict": Verdict.REVISE})
UNREADABLE = APPROVE.model_copy(update={"verdict": Verdict.UNREVIEWED, "stated_verdict": None})


def figures(store: Store, page: str, name: str, since: str = "") -> Any:
    """The JSON of a declared table."""
    return document(declared(page)(store.read, PageQuestion(since=since)))[name]


def shares(found: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Each share of a table as what was counted, and of how many."""
    return {name: (one["k"], one["n"]) for name, one in found.items() if isinstance(one, dict)}


def checks_of(outcome: CheckOutcome) -> tuple[CheckResult, ...]:
    syntax = CheckResult(name="syntax", outcome=PASSED)
    return (syntax, CheckResult(name="tests", outcome=outcome, detail="1 passed"))


def rounds(store: Store, *outcomes: CheckOutcome | None) -> list[Proposal]:
    """A task of its own with one round per outcome of its tests; None: they have not run yet."""
    with store.transaction() as tx:
        own = tx.add_task(1, "one more")
        made = []
        for number, outcome in enumerate(outcomes):
            tree = f"{own.id}{number}".ljust(40, "0")
            made.append(tx.add_proposal(proposed(task_id=own.id, round=number, tree=tree)))
            if outcome is not None:
                tx.set_checks(made[-1].id, checks_of(outcome))
        return made


def test_each_revision_is_compared_with_the_round_before_it(store: Store, task: Task) -> None:
    rounds(store, FAILED, PASSED, FAILED)
    rounds(store, FAILED, PASSED)
    rounds(store, PASSED, None)
    rounds(store, PASSED)
    rounds(store, PASSED, PASSED)
    rounds(store, FAILED, FAILED)
    rounds(store, BEFORE, BEFORE)
    found = figures(store, "outcomes", "revisions")
    assert shares(found) == {"fixed": (2, 5), "cosmetic": (1, 5), "harmful": (1, 5), "no_help": (1, 5)}
    assert found["unknown"] == 2
    assert shares(figures(store, "outcomes", "revisions", "9999"))["fixed"] == (0, 0)


def test_a_repair_of_a_round_replaces_what_its_tests_said(store: Store, task: Task) -> None:
    first, second = rounds(store, FAILED, FAILED)
    with store.transaction() as tx:
        tx.add_proposal(proposed(task_id=second.task_id, round=1, tree="c" * 40))
    assert figures(store, "outcomes", "revisions")["unknown"] == 1
    with store.transaction() as tx:
        tx.set_checks(second.id, checks_of(PASSED))
    assert shares(figures(store, "outcomes", "revisions"))["fixed"] == (1, 1)
    assert first.task_id == second.task_id


def test_findings_are_met_as_the_next_review_says(store: Store, task: Task) -> None:
    asked = (
        finding(),
        finding(),
        finding(severity=Severity.MINOR),
        finding(severity=Severity.NIT),
        finding(anchored=False),
        finding(remark=True),
    )
    said = (
        {"finding": 1, "met": True, "why": ""},
        {"finding": 1, "met": True, "why": "in another part"},
        {"finding": 2, "met": True, "why": ""},
        {"finding": 2, "met": False, "why": "in another part"},
    )
    first, second, third = rounds(store, PASSED, PASSED, PASSED)
    with store.transaction() as tx:
        tx.add_review(first.id, REVISE.model_copy(update={"findings": asked}))
        tx.add_review(second.id, REVISE.model_copy(update={"addressed": said, "findings": asked[:1]}))
        tx.add_review(third.id, UNREADABLE)
    other, revised = rounds(store, PASSED, PASSED)
    with store.transaction() as tx:
        tx.add_review(other.id, REVISE.model_copy(update={"findings": asked}))
        tx.add_review(revised.id, APPROVE.model_copy(update={"addressed": said, "self_review": True}))
    found = figures(store, "outcomes", "findings_met")
    ((place, row),) = [(row["round"], shares(row)) for row in found["rows"]]
    assert (place, row, found["unknown"]) == (1, {"met": (1, 2), "repaired": (1, 2)}, 2)
    assert figures(store, "outcomes", "findings_met", "9999")["rows"] == []


def landed(store: Store, review: Review | None, at: str) -> Proposal:
    (made,) = rounds(store, PASSED)
    with store.transaction() as tx:
        if review is not None:
            tx.add_review(made.id, review)
        tx.add_decision(made.id, Decision(kind=DecisionKind.APPROVE, tree=made.tree))
        landing = Landing(state=LandingState.LANDED, ref="refs/heads/main", commit=made.tree, at=at)
        tx.set_landing(made.id, landing)
        return tx.read.proposal(made.id)


def test_landed_proposals_are_counted_by_verdict_and_fate(store: Store, task: Task) -> None:
    own = APPROVE.model_copy(update={"self_review": True})
    made = [
        landed(store, review, f"2026-11-{day}")
        for review, day in ((REVISE, 10), (APPROVE, 11), (APPROVE, 12), (own, 13), (None, 14))
    ]
    with store.transaction() as tx:
        tx.set_landing(made[2].id, Landing(state=LandingState.UNDONE, at="2026-11-20"))
        for proposal, fate in zip(made, ("reverted", "kept", "kept", "unknown"), strict=False):
            known = {"proposal_id": proposal.id, "commit": "c", "fate": fate, "at": f"look {proposal.id}"}
            tx.set_fate(Fate.model_validate(known))
        tx.set_fate(Fate(proposal_id=made[1].id, commit="c", fate="kept", at="a later look"))
    found = figures(store, "outcomes", "landed")
    every, *verdicts = found["rows"]
    assert (shares(every)["reverted"], found["unknown"]) == ((2, 3), 2)
    assert {row["verdict"]: shares(row)["reverted"] for row in verdicts} == {
        "APPROVE": (1, 2),
        "REVISE": (1, 1),
    }
    later = figures(store, "outcomes", "landed", "2026-11-12")
    assert later["rows"][0]["reverted"]["n"] + later["unknown"] == 3


def test_what_was_undone_counts_once_the_others_were_looked_at(store: Store, task: Task) -> None:
    """Three of 27 were undone: the rate is never 3 of 3."""
    made = [landed(store, APPROVE, f"2026-11-{day:02}") for day in range(1, 28)]
    with store.transaction() as tx:
        for one in made[:3]:
            tx.set_landing(one.id, Landing(state=LandingState.UNDONE, at="2026-11-28"))
    before = figures(store, "outcomes", "landed")
    assert (before["rows"], before["unknown"]) == ([], 27)
    with store.transaction() as tx:
        for one in made[3:]:
            tx.set_fate(Fate(proposal_id=one.id, commit="c", fate="kept", at="2026-11-29"))
    after = figures(store, "outcomes", "landed")
    assert (shares(after["rows"][0])["reverted"], after["unknown"]) == ((3, 27), 0)


def test_decisions_are_counted_by_the_newest_review(store: Store, task: Task) -> None:
    made = [another(store, UNREADABLE, REVISE) for _ in range(3)]
    made.append(another(store))
    with store.transaction() as tx:
        for number, proposal in enumerate(made):
            kind = DecisionKind.REJECT if number == 0 else DecisionKind.APPROVE
            tx.add_decision(proposal.id, Decision(kind=kind, tree=proposal.tree, at=at(number)))
        # A decision that was taken back, and a proposal that was taken in part, say nothing.
        tx.set_proposal_state(made[1].id, tx.read.proposal("P1").state.OPEN)
        own = tx.add_task(task.project_id, "a part")
        tx.add_proposal(proposed(task_id=own.id, parent=made[2].id))
    found = figures(store, "outcomes", "decisions")
    assert (shares(found)["approved_over_revise"], found["not_counted"]) == ((0, 1), 1)
    later = figures(store, "outcomes", "decisions", at(1))
    assert (shares(later)["approved_over_revise"], later["not_counted"]) == ((0, 0), 1)


def test_decisions_are_held_against_verdicts(store: Store, task: Task) -> None:
    own = APPROVE.model_copy(update={"self_review": True})
    for review, kind in (
        *[(APPROVE, DecisionKind.APPROVE)] * 3,
        (APPROVE, DecisionKind.REJECT),
        (APPROVE, DecisionKind.SEND_BACK),
        (REVISE, DecisionKind.APPROVE),
        (REVISE, DecisionKind.REJECT),
        (UNREADABLE, DecisionKind.APPROVE),
        (own, DecisionKind.REJECT),
    ):
        made = another(store, review)
        with store.transaction() as tx:
            tx.add_decision(made.id, Decision(kind=kind, tree=made.tree))
    found = figures(store, "outcomes", "decisions")
    assert shares(found) == {
        "rejected_after_approve": (1, 5),
        "sent_back_after_approve": (1, 5),
        "approved_over_revise": (1, 2),
        "approved_unreviewed": (1, 1),
    }
    assert found["not_counted"] == 1


def test_every_review_counts_for_its_quality(store: Store, task: Task) -> None:
    another(store, UNREADABLE, APPROVE)
    another(store, REVISE.model_copy(update={"findings": (finding(), finding(anchored=False))}))
    another(store, UNREADABLE.model_copy(update={"parts": 3, "findings": (finding(),)}), round=1)
    lenient = {"stated_verdict": Verdict.REVISE, "findings": (finding(),)}
    another(store, APPROVE.model_copy(update=lenient), round=1)
    another(store, APPROVE, round=2)
    another(store, APPROVE.model_copy(update={"role": Role.FINAL}))
    found = figures(store, "outcomes", "review_quality")
    assert shares(found) == {
        "unreviewed": (2, 6),
        "disagreed": (2, 4),
        "unanchored": (1, 4),
    }
    assert shares(figures(store, "outcomes", "review_quality", "9999"))["unreviewed"] == (0, 0)


def test_edits_that_applied_at_once_after_repair_or_never(store: Store, task: Task) -> None:
    exact, indent = AppliedEdit(path="a", rung=Rung.EXACT), AppliedEdit(path="b", rung=Rung.INDENT)
    another(store, edits=(exact, indent), created=at(0))
    whole = AppliedEdit(path="c", rung=Rung.WHOLE_FILE)
    another(store, edits=(whole,), created=at(0))
    another(store, created=at(0))  # asked for no edit
    repaired = another(store, edits=(exact,), created=at(0))
    part = another(store, edits=(exact,), parent=repaired.id, created=at(0))
    with store.transaction() as tx:
        lost = tx.add_task(task.project_id, "never applied")
        for owner, code in (
            (repaired.task_id, EditCode.NO_MATCH),
            (repaired.task_id, EditCode.NO_MATCH),
            (lost.id, EditCode.AMBIGUOUS),
        ):
            tx.add_edit_failure(owner, 0, 0, code)
    assert part.parent == repaired.id
    found = figures(store, "writing", "edits")
    assert (shares(found), found["repaired"], found["lost"]) == ({"clean_first": (2, 4)}, 1, 1)
    assert figures(store, "writing", "rungs") == {"exact": 2, "indent": 1, "whole file": 1}
    assert figures(store, "writing", "codes") == {"NO MATCH": 2, "AMBIGUOUS": 1}
    # Since a later moment only the failure of today is left: a round's time is its proposal's where it has one.
    later = figures(store, "writing", "edits", at(1))
    assert (shares(later), later["lost"]) == ({"clean_first": (0, 1)}, 1)
