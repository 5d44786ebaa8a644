"""Who writes, what a scan proposes, what is a report, and a writer that reads its own change."""

from __future__ import annotations

import json
from typing import Any

import pytest

from navigator.actions.tasks import PutAway
from navigator.figures.page import PageQuestion, declared, document
from navigator.figures.queries import verdict_counts
from navigator.figures.rates import revise_rate
from navigator.model.errors import NavigatorError
from navigator.model.models import Suggestion
from navigator.model.states import Complexity, Role, TaskKind, TaskState
from tests.journey.room import Room, edit, review_of, saying, text_of
from tests.journey.scripted_models import READER, Messages, Said, approval, objection

LINE = "    return x + x"


def suggestion(title: str = "Multiply in double", **fields: Any) -> dict[str, Any]:
    return {
        "title": title,
        "text": "It adds where it should multiply.",
        "kind": "fix",
        "complexity": "simple",
        "files": ["app.py"],
        "new_files": [],
        "why": "Nobody else writes it so.",
        "evidence": {"path": "app.py", "line": 2, "quote": LINE},
    } | fields


def listing(*found: dict[str, Any]) -> str:
    return json.dumps({"suggestions": list(found)})


def is_reading(messages: Messages) -> bool:
    return "You review" in messages[0]["content"]


def scan(room: Room, answer: Any, **fields: Any) -> str:
    room.models.write = answer if callable(answer) else lambda messages: answer
    identifier = room.queue("What is worth a task?", kind="scan", **fields)
    room.work()
    return identifier


def found(room: Room, identifier: str) -> list[Suggestion]:
    return room.read().suggestions(identifier)


# Scans


def test_what_a_scan_suggests_is_accepted_and_written_or_dismissed(room: Room) -> None:
    identifier = scan(room, listing(suggestion("Write the guide", kind="docs", evidence={}), suggestion()))
    assert not any("<<<<<<<" in message["content"] for message in room.models.written[0])
    task = room.task(identifier)
    assert (task.state, task.reason) == (TaskState.AWAITING_APPROVAL, "2 suggestions")
    told = [(one.text.partition("\n")[0], one.grounded) for one in found(room, identifier)]
    assert told == [("Multiply in double", True), ("Write the guide", False)]
    assert task.report.startswith("# 2 suggestions")
    assert room.read().calls_after(0)[0].purpose == "scan"
    assert not room.proposals() and not room.models.read_by
    # All that are named, or none.
    with pytest.raises(NavigatorError, match="no suggestion 9"):
        room.act("suggestions", task=identifier, ranks=[1, 9])
    assert found(room, identifier)[0].state == "open" and len(room.read().tasks()) == 1
    room.models.write = lambda messages: edit("return x * 2")
    made = room.act("suggestions", task=identifier, ranks=[1])["tasks"]
    room.work()
    (proposal,) = room.proposals()
    assert proposal.task_id == made[0]["id"]
    task = room.task(proposal.task_id)
    assert (task.origin, task.kind, task.complexity) == (identifier, TaskKind.FIX, Complexity.SIMPLE)
    assert not review_of(proposal).self_review
    question = PutAway(ids=(identifier,)).question(room.read())
    assert question is not None and question.lines == ("1 open suggestion will be dismissed.",)
    done = room.act("suggestions", accept=False, task=identifier, everything=True)
    assert done["scan"]["state"] == "done"
    assert [one.state for one in found(room, identifier)] == ["accepted", "dismissed"]
    late = room.act("suggestions", task=identifier, ranks=[2])
    assert late["tasks"][0]["origin"] == identifier


def test_an_answer_that_cannot_be_read_fails_the_scan(room: Room) -> None:
    # With thinking off, some servers put what a schema constrains into the reasoning channel.
    identifier = scan(room, saying(Said("", reasoning=listing(suggestion()))))
    assert len(found(room, identifier)) == 1
    task = room.task(scan(room, "I would \x1b[31mmultiply."))
    assert task.state is TaskState.FAILED
    assert task.reason == "The model's answer is no list of suggestions: the answer holds no JSON object."


# Reports


def test_a_security_task_ends_with_what_its_answer_is(room: Room) -> None:
    """Prose with a heading before blocks is a change; a heading is no report where the kind wants a change."""
    report = "# What reaches double\n\nOnly numbers: `app.py:1`.\n"
    room.models.write = lambda messages: report
    asked, failed = room.queue(kind="security"), room.queue(kind="fix", files=[])
    room.work()
    assert room.task(asked).report.startswith("# What reaches double")
    states = [room.task(one).state for one in (asked, failed)]
    assert states == [TaskState.AWAITING_APPROVAL, TaskState.FAILED]
    offered = ["answer with a report instead" in text_of(messages) for messages in room.models.written]
    assert set(offered) == {True, False} and offered.count(True) == 1
    room.models.write = lambda messages: "# Why\n\n" + edit("return x * 2")
    told = room.done(kind="security")
    assert [proposal.id for proposal in room.proposals()] == [told.id]


def test_a_report_goes_back_only_with_a_note_and_only_while_it_waits(room: Room) -> None:
    room.models.write = lambda messages: "All in one module."
    identifier = room.queue("How does it hang together?", kind="architecture")
    with pytest.raises(NavigatorError, match="is not waiting"):
        room.act("send-back", proposals=[], tasks=[identifier], note="more")
    room.work()
    with pytest.raises(NavigatorError, match="says what to do differently"):
        room.act("send-back", proposals=[], tasks=[identifier], note="  ")
    room.act("send-back", proposals=[], tasks=[identifier, identifier], note="Name the lines.")
    assert room.task(identifier).attempt == 1
    room.models.write = lambda messages: edit("return x * 2")
    change = room.queue()
    room.work()
    with pytest.raises(NavigatorError, match="has a proposal"):
        room.act("send-back", proposals=[], tasks=[change], note="more")


# Who writes


def test_what_is_routed_to_the_reviewer_is_written_and_revised_by_it_and_counts_nowhere(room: Room) -> None:
    verdicts = iter([approval(findings=[objection("    return x * 3")], verdict="REVISE"), approval()])

    def read(messages: Messages) -> str:
        if is_reading(messages):
            return next(verdicts)
        return edit("return x * 2" if len(messages) > 2 else "return x * 3")

    room.models.read = read
    room.settle(routing='reviewer = ["fix"]')
    identifier = room.queue(kind="fix")
    room.work()
    first, second = room.proposals()
    assert [(made.written_by, made.model) for made in (first, second)] == [(Role.REVIEWER, READER)] * 2
    assert second.usage.seconds > 0
    assert review_of(first).self_review and review_of(second).self_review
    assert not room.models.written
    tables = revise_rate(verdict_counts(room.read()))
    assert (tables.rows, tables.excluded) == ((), {"self_review": 1})
    room.decide("reject", second)
    counted = document(declared("outcomes")(room.read(), PageQuestion()))["decisions"]
    assert (counted["rejected_after_approve"]["n"], counted["not_counted"]) == (0, 1)
    assert room.task(identifier).round == 1


def test_an_attempt_continues_with_the_model_that_began_it(room: Room) -> None:
    """Settings that change between two sessions are followed where a task begins anew."""
    room.models.read = lambda messages: approval(findings=[objection("    return x * 3")], verdict="REVISE")
    room.models.write = lambda messages: edit("return x * 3")
    identifier = room.queue(kind="fix")
    room.work(until="reviewed")
    room.settle(routing='reviewer = ["fix"]')
    room.models.write = lambda messages: edit("return x * 2")
    room.work()
    assert {made.written_by for made in room.proposals()} == {Role.GENERATOR}
    room.act("send-back", proposals=[{"id": room.proposals()[-1].id}], note="Multiply, please.")
    room.models.read = lambda messages: approval() if is_reading(messages) else edit("return x * 2")
    room.work()
    assert room.task(identifier).attempt == 1
    assert room.proposals()[-1].written_by is Role.REVIEWER
