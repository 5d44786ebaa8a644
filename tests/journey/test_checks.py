"""Tests before review, through the conductor: whose failure it is, the repair while the writer is loaded, what is shown."""

from __future__ import annotations

import pytest

from navigator.engine.conductor import Conductor
from navigator.model.states import CheckOutcome, LandingState, TaskState
from navigator.sandbox.probe import Sandbox
from tests.journey.room import BAD, CHECK, CODE_TESTED, GOOD, TESTS, Room, block, saying
from tests.journey.support import git, why_left_out
from tests.sandbox.support import needs_sandbox

PASSED, FAILED, UNTESTED = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.UNTESTED
BROKEN_BEFORE = {"app.py": CODE_TESTED.replace("x / 2", "x / 3"), "test_app.py": TESTS}


@pytest.fixture
def room(bare: Room) -> Room:
    bare.models.write = saying(GOOD)
    return bare


def test_a_reviewer_that_always_approves_gets_no_removed_test_past(room: Room) -> None:
    """The gate speaks whatever the reviewer says: no batch key covers it, and one approval needs the word for that file."""
    removal = block("test_app.py", TESTS[TESTS.index("    def test_half") :], "")
    room.models.write = saying(GOOD + removal)
    path = room.add(check="true", landing="current")
    proposal = room.done(files=["app.py", "test_app.py"])
    assert proposal.review is not None and proposal.review.verdict.value == "APPROVE"
    assert [(item.rule, item.path) for item in proposal.policy] == [("removed_tests", "test_app.py")]
    assert proposal.policy[0].detail == "removes 1 test: Numbers.test_half"
    assert why_left_out(room.read(), proposal.id).startswith("to confirm: test_app.py: ")
    refused = room.approve(proposal)
    assert not refused["recorded"] and "confirmed individually" in refused["reason"]
    assert "test_half" in git(path, "show", "HEAD:test_app.py")
    landed = room.approve(proposal, confirm=["removed_tests:test_app.py"])
    assert landed["landing"] == LandingState.LANDED.value


@pytest.mark.sandbox
@needs_sandbox
class TestSandboxed:
    def test_sound_changes_are_tested_before_they_are_reviewed(self, room: Room) -> None:
        path = room.add(check=f"{CHECK}; code=$?; rm -rf *; exit $code", landing="current")
        left = room.paths.root / "checks" / "check-old" / "tree"  # by a crash
        left.mkdir(parents=True)
        first, second = (room.queue(f"Make double() multiply, {n}") for n in range(2))
        room.work()
        said = room.tests(first)
        assert (said.outcome, said.before, said.detail) == (PASSED, PASSED, "2 passed") and said.seconds > 0
        assert room.tests(second).outcome is PASSED
        assert "tests: passed" in room.models.read_by[0][-1]["content"]
        assert room.task(first).state is TaskState.AWAITING_APPROVAL
        assert len(room.models.written) == 2
        assert len(room.read().events_of(["baseline_set"], 0)) == 1, "the base is run once"
        assert list((room.paths.root / "checks").glob("*")) == []
        assert git(path, "status", "--porcelain") == ""
        # Meanwhile the developer makes something that only together with the proposal fails.
        more = (
            "import unittest\n\n\nclass More(unittest.TestCase):\n    def test_source(self):\n"
            "        self.assertNotIn('2 * x', open('app.py').read())\n"
        )
        tip = room.commit({"test_more.py": more})
        row = room.approve(room.proposal(first))
        assert row["landing"] == LandingState.REFUSED.value
        assert "1 newly failing: test_more.More.test_source" in row["reason"]
        assert git(path, "rev-parse", "HEAD") == tip
        # The developer mends it, and approves again: now it lands.
        git(path, "rm", "-q", "test_more.py")
        git(path, "commit", "-q", "-m", "No more tests")
        row = room.approve(room.proposal(first))
        assert row["landing"] == LandingState.LANDED.value
        assert "2 * x" in git(path, "show", "HEAD:app.py")

    def test_a_new_failure_goes_back_to_the_writer_with_its_output(self, room: Room) -> None:
        room.models.write = saying(BAD, GOOD)
        room.add(BROKEN_BEFORE)
        proposal = room.done()
        assert len(room.models.written) == 2
        asked = room.models.written[1]
        assert asked[-2] == {"role": "assistant", "content": BAD}
        new = "1 newly failing: test_app.Numbers.test_double (1 more fails on the base too)"
        assert new in asked[-1]["content"]
        assert "12 != 8" in asked[-1]["content"] and "[[begin output" in asked[-1]["content"]
        # What fails on the base is nobody's doing.
        said = room.tests(proposal.task_id)
        assert (said.outcome, said.before) == (CheckOutcome.FAILED_BEFORE, FAILED)
        assert "on the base" in said.detail and proposal.failed_checks == ()
        # A repair is no round, and the reviewer never saw the first answer.
        assert proposal.round == 0
        assert len(room.models.read_by) == 1 and "3 * x" not in room.models.read_by[0][-1]["content"]
        assert not [call for call in room.read().calls_after(0) if call.repeat]

    def test_no_swap_is_made_to_mend_a_failure(self, room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Conductor, "_at_hand", lambda self, role: False)
        room.models.write = saying(BAD, GOOD)
        room.add()
        proposal = room.done()
        assert room.tests(proposal.task_id).outcome is FAILED and proposal.review is not None
        assert len(room.models.written) == 1


def test_without_a_sandbox_it_is_untested_and_continues(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navigator.journey.checking.probe", lambda: Sandbox(reason="none", hint="Get it."))
    room.add(check="touch /tmp/never")
    proposal = room.done()
    said = room.tests(proposal.task_id)
    assert said.outcome is UNTESTED and said.detail == "no sandbox: none\n\nGet it."
    assert room.task(proposal.task_id).state is TaskState.AWAITING_APPROVAL
    assert why_left_out(room.read(), proposal.id) == ""
