"""Findings that run, through the conductor: the test is asked for, run, shown, and decides where the settings say so."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from navigator.model.models import Finding
from navigator.model.states import CheckOutcome, ReproductionOutcome, RevisedOutcome, TaskState, Verdict
from navigator.store.reads.exam import Precedent
from tests.journey.room import Room, block, review_of, text_of, whole
from tests.journey.scripted_models import Messages, approval, objection
from tests.records import calls_of
from tests.sandbox.support import needs_sandbox

pytestmark = [pytest.mark.sandbox, needs_sandbox]

REGRESSION = ReproductionOutcome.REGRESSION

WRONG = block("app.py", "    return x / 2\n", "    return x // 2\n")
"""No test of the project notices it: half(3)."""
RIGHT = block("app.py", "    return x / 2\n", "    return 0.5 * x\n")

HEAD = (
    "import unittest\n\nfrom app import half\n\n\nclass Finding(unittest.TestCase):\n    def test_it(self):\n"
)
PROOF = f"{HEAD}        self.assertEqual(half(3), 1.5)\n"
UNTRUE = f"{HEAD}        self.assertEqual(half(4), 2)\n"


def reader(*tests: str, **finding: Any) -> Any:
    """A reviewer that objects once, and answers each request for a test with the next of `tests`."""
    left = list(tests)

    def read(messages: Messages) -> str:
        if (
            "prove one of its findings" in messages[-1]["content"]
            or "cannot be used" in messages[-1]["content"]
        ):
            return left.pop(0)
        if "[[begin earlier" in messages[-1]["content"]:
            return approval(addressed=[{"finding": 1, "why": "Done.", "met": True}])
        found = objection("    return x // 2", trigger="half(3)", message="It drops the half.", **finding)
        return json.dumps({"summary": "s", "findings": [found], "verdict": "REVISE"})

    return read


@pytest.fixture
def room(bare: Room) -> Room:
    bare.models.write = lambda messages: WRONG if len(messages) == 2 else RIGHT
    return bare


def findings(room: Room, task: str, round: int = 0) -> tuple[Finding, ...]:
    return review_of(room.proposals(task)[round]).findings


def test_a_proof_travels_with_the_revision_and_is_run_on_it(room: Room) -> None:
    room.models.read = reader(whole("test_finding.py", PROOF))
    room.add(landing="current")
    task = room.done("Rework half()").task_id
    made = findings(room, task)[0].reproduction
    assert made is not None and made.outcome is REGRESSION, made
    assert (made.path, made.text) == ("test_finding.py", PROOF)
    assert "1 != 1.5" in made.failure and made.seconds > 0
    asked = room.models.written[-1][-1]["content"]
    assert json.dumps(PROOF)[1:-1] in asked and "1 != 1.5" in asked, "the writer sees test and failure"
    _, second = room.proposals(task)
    check = next(check for check in second.checks if check.name == "finding tests")
    assert (
        check.outcome is CheckOutcome.PASSED
        and "test_finding.py (regression, round 0): passes" in check.detail
    )
    assert made.revised is RevisedOutcome.PASSES and made.revised_by == second.id
    assert "finding tests: passed" in room.models.read_by[-1][-1]["content"], "the reviewer sees it, too"
    talk = room.models.read_by[1]
    assert talk[:2] == room.models.read_by[0], "asked in the conversation of the review"
    assert [call.purpose for call in calls_of(room.read(), task)][:4] == [
        "generate",
        "review",
        "reproduce",
        "revise",
    ]


def test_a_regression_that_is_still_there_is_a_failed_check(room: Room) -> None:
    room.models.write = lambda messages: (
        WRONG if len(messages) == 2 else WRONG.replace("x // 2", "int(x / 2)")
    )
    room.models.read = reader(whole("test_finding.py", PROOF), precedent=1)
    room.add()
    held = Precedent(
        project_id=1,
        criterion="correctness",
        path="app.py",
        quote="    return x // 2",
        message="It drops the half.",
        note="does not matter",
    )
    with room.world() as deps, deps.store.transaction() as tx:
        tx.add_precedent(held)
    task = room.done("Rework half()").task_id
    first, second = room.proposals(task)
    (found,) = findings(room, task)
    assert review_of(first).verdict is Verdict.REVISE
    assert found.precedent == 1 and not found.set_aside, "no precedent silences a finding whose test fails"
    check = next(check for check in second.checks if check.name == "finding tests")
    assert check.outcome is CheckOutcome.FAILED and "fails" in check.detail
    made = findings(room, task)[0].reproduction
    assert made is not None and made.revised is RevisedOutcome.FAILS


def test_the_settings_say_whether_a_finding_that_was_not_reproduced_causes_revise(room: Room) -> None:
    room.settle(review='block_on = "reproduced"')
    room.models.read = reader(whole("test_finding.py", UNTRUE))
    room.add()
    task = room.done("Rework half()").task_id
    (first,) = room.proposals(task)
    made = findings(room, task)[0].reproduction
    assert made is not None and made.reason == "the test passes on the proposal"
    review = review_of(first)
    assert (review.verdict, review.block_on) == (Verdict.APPROVE, "reproduced")
    assert review.stated_verdict is Verdict.REVISE, "what the model said is kept"


@pytest.mark.parametrize(
    ("answer", "outcome", "words", "asked"),
    [
        (
            "NO_TEST: it takes a large machine",
            ReproductionOutcome.COULD_NOT_RUN,
            "it takes a large machine",
            1,
        ),
        (whole("app.py", "x = 1\n"), ReproductionOutcome.NOT_REPRODUCED, "edits the project: app.py", 2),
    ],
    ids=["no test", "an edit of the project"],
)
def test_what_is_no_test_proves_nothing_and_what_could_not_run_counts_as_grounded(
    room: Room, answer: str, outcome: ReproductionOutcome, words: str, asked: int
) -> None:
    """Never APPROVE because something is missing."""
    room.settle(review='block_on = "reproduced"')
    room.models.read = reader(answer, answer)
    room.add()
    task = room.done("Rework half()").task_id
    made = findings(room, task)[0].reproduction
    assert made is not None and made.outcome is outcome and words in made.reason and made.text == ""
    could_not_run = outcome is ReproductionOutcome.COULD_NOT_RUN
    assert (review_of(room.proposals(task)[0]).verdict is Verdict.REVISE) is could_not_run
    assert sum(call.purpose == "reproduce" for call in calls_of(room.read(), task)) == asked
    told = [words in text_of(messages[-1:]) for messages in room.models.read_by]
    assert told.count(True) == asked - 1, "the reviewer is told why"


def test_a_runner_that_is_not_known_is_not_asked_about_nor_is_any_without_the_setting(room: Room) -> None:
    room.models.read = reader()
    room.add(check="sh -c true")
    task = room.queue("Rework half()")
    room.work(until="reviewed")
    made = findings(room, task)[0].reproduction
    assert made is not None and made.outcome is ReproductionOutcome.COULD_NOT_RUN
    assert "how `sh -c true` runs one test file is not known" in made.reason
    assert room.task(task).round == 1
    room.settle(review="reproduce = false")
    assert findings(room, room.done("Rework half()").task_id)[0].reproduction is None


# A crash


def test_a_killed_conductor_asks_for_nothing_twice_and_runs_again(room: Room) -> None:
    room.models.read = reader(whole("test_finding.py", PROOF))
    room.add()
    task = room.queue("Rework half()")
    assert room.desk.killed_at("before", "navigator.journey.proving:_run", 3, "run", "--until", "idle")[0]
    room.work()
    made = findings(room, task)[0].reproduction
    assert made is not None and made.outcome is REGRESSION and made.revised is RevisedOutcome.PASSES
    answered = Counter(call.purpose for call in calls_of(room.read(), task) if call.outcome != "lost")
    assert answered == {"generate": 1, "review": 2, "reproduce": 1, "revise": 1}
    assert len(room.proposals(task)) == 2
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
