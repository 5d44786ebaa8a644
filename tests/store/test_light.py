"""Light rows of proposals, which `navigator diff` shows: they say what the models say."""

from __future__ import annotations

from enum import Enum
from typing import Any

import pytest

from navigator.model.models import (
    CheckResult,
    Decision,
    Finding,
    Judged,
    Landing,
    Model,
    Project,
    Proposal,
    Reproduction,
    Review,
    Task,
    Usage,
)
from navigator.model.records import AgentTurn, JudgementCount, Look
from navigator.model.states import (
    CheckOutcome,
    DecisionKind,
    Judgement,
    LandingState,
    LookOutcome,
    ReproductionOutcome,
    RevisedOutcome,
    Role,
    Verdict,
)
from navigator.store.reads.proposals import ProposalReads
from navigator.store.schema import DamagedRow
from navigator.store.writes.writer import Store
from tests.records import finding, proposed

SHOWN: dict[type[Model], tuple[str, ...]] = {
    Proposal: (
        *("id", "task_id", "project_id", "project", "attempt", "round", "state", "base_commit", "tree"),
        *("batch", "written_by", "way", "title", "seen", "checks", "review", "first_review", "final_review"),
        "landing",
    ),
    CheckResult: ("name", "outcome", "detail"),
    Review: (
        *("role", "verdict", "stated_verdict", "summary", "findings", "parts", "hunks", "unread", "advice"),
        *("prompt_version", "model"),
    ),
    Finding: (
        *("kind", "path", "line", "quote", "severity", "criterion", "trigger", "message", "anchored", "side"),
        *("remark", "reproduction", "judged", "precedent", "unanchored"),
    ),
    Reproduction: ("outcome", "reason", "path", "failure", "revised", "revised_by"),
    Judged: ("judgement", "note"),
    Landing: ("state",),
    Project: ("id", "path", "root_commit"),
    Look: ("attempt", "round", "role", "turn", "kind", "outcome", "paths"),
    AgentTurn: ("agent", "requests", "seconds"),
    JudgementCount: ("project", "severity", "criterion", "judgement", "n"),
}
"""What `navigator diff` reads of each."""


def same(light: Any, model: Any) -> bool:
    """Whether a light row has what is shown of a model; members of an enum are the same ones, as code compares them with `is`."""
    if isinstance(model, Model):
        return all(same(getattr(light, name), getattr(model, name)) for name in SHOWN[type(model)])
    if isinstance(model, list | tuple):
        return len(light) == len(model) and all(map(same, light, model))
    return (light is model) if isinstance(model, Enum) else bool(light == model or not (light or model))


def test_a_light_row_says_what_the_model_says(store: Store, task: Task) -> None:
    found = finding(anchored=False, unanchored="it is twice there", judged=Judged(judgement=Judgement.WRONG))
    first = Review(verdict=Verdict.UNREVIEWED, model="r", unread=("H2",), hunks=3)
    revise = first.model_copy(update={"verdict": Verdict.REVISE, "findings": (found, finding(precedent=3))})
    tests = [
        Reproduction(
            finding=place, outcome=outcome, path="t.py", revised=RevisedOutcome.PASSES, revised_by="P1"
        )
        for place, outcome in enumerate((ReproductionOutcome.REGRESSION, ReproductionOutcome.COULD_NOT_RUN))
    ]
    check = CheckResult(name="tests", outcome=CheckOutcome.FAILED_BEFORE, detail="d")
    place = {"task_id": task.id, "attempt": 0, "round": 0}
    with store.transaction() as tx:
        tx.add_proposal(proposed(way="agent x", written_by=Role.REVIEWER))
        made = tx.add_proposal(proposed(round=1, checks=(check,), parent="P1"))
        tx.add_review(made.id, first)
        number = tx.add_review(made.id, revise)
        tx.add_review(
            made.id, revise.model_copy(update={"role": Role.FINAL, "stated_verdict": Verdict.APPROVE})
        )
        tx.add_reproductions(made.id, number, revise.findings, tests)
        right = Judged(judgement=Judgement.RIGHT, note="n")
        tx.judge_finding(made.id, (Role.REVIEWER, 1, revise.findings[1]), right, None)
        call = tx.begin_call(Role.GENERATOR, **place, purpose="generate", seq=0)
        tx.end_call(call, answer="LOOK", usage=Usage(), model="m")
        tx.add_looks(call, [Look(**place, turn=1, outcome=LookOutcome.SHOWN, paths=("a.py",))])
        turn = AgentTurn(id=0, **place, seq=0, purpose="write", agent="x 1", outcome="", started="")
        tx.end_agent_turn(tx.begin_agent_turn(turn), outcome="ok", requests=3, seconds=2.5)
    light = ProposalReads(store._connection)
    assert light.replaced_by(light.proposal("P1")) == made.id
    with store.transaction() as tx:
        tx.add_decision(made.id, Decision(kind=DecisionKind.APPROVE, tree=made.tree))
        tx.set_landing(made.id, Landing(state=LandingState.REFUSED))
    for of in store.read.proposals():
        assert same(light.proposal(of.id), of), of.id
        assert same(light.project_of(of), store.read.project(of.project_id))
    for name, args in (("looks", (task.id,)), ("agent_turns", (task.id,)), ("judgement_counts", ())):
        (row,) = getattr(store.read, name)(*args)
        assert same(getattr(light, name)(*args), [row]), name


@pytest.mark.parametrize(
    "text", ["{", "[1]", '[{"kind": "wrong"}]', '[{"kind": "no", "severity": "nit", "criterion": "safety"}]']
)
def test_damage_is_told_as_of_a_model(store: Store, task: Task, text: str) -> None:
    with store.transaction() as tx:
        made = tx.add_proposal(proposed())
        tx.add_review(made.id, Review(verdict=Verdict.APPROVE))
    store._connection.execute("UPDATE reviews SET findings = ?", (text,))
    for reads in (store.read, ProposalReads(store._connection)):
        with pytest.raises(DamagedRow, match=r"^row 1 of Review cannot be read$"):
            reads.proposal(made.id)
