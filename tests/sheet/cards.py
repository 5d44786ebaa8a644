"""A row of the Deck that waits for the developer, to be changed by tests."""

from __future__ import annotations

from navigator.model.states import TaskState, Verdict
from navigator.store.reads.cards import Card

CARD = Card(
    task="T1",
    project_id=1,
    project="thing",
    title="Retry",
    kind="implement",
    priority=0,
    state=TaskState.AWAITING_APPROVAL,
    round=0,
    since="",
    reason="",
    report=False,
    proposal="P1",
    open=True,
)

APPROVED = CARD._replace(verdict=Verdict.APPROVE, stated=Verdict.APPROVE, seen=True)
