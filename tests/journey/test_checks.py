"""Tests before review, through the conductor: whose failure it is, the repair while the writer is loaded, what is shown."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.config.paths import StatePaths
from navigator.engine.conductor import Conductor, RunOptions
from navigator.model.models import CheckResult, Proposal, Task
from navigator.model.states import CheckOutcome, LandingState, TaskState
from navigator.sandbox import probe as probing
from navigator.sandbox.probe import Sandbox
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from tests.journey.scripted_models import Messages, Models, speaking
from tests.journey.support import PATIENCE, Desk, git, make_repository, why_left_out
from tests.sandbox.support import needs_sandbox, processes_saying

PASSED, FAILED, UNTESTED = CheckOutcome.PASSED, CheckOutcome.FAILED, CheckOutcome.UNTESTED
FAILED_BEFORE = CheckOutcome.FAILED_BEFORE

CODE = "def double(x):\n    return x + x\n\n\ndef half(x):\n    return x / 2\n"
TESTS = (
    "import unittest\n\nfrom app import double, half\n\n\nclass Numbers(unittest.TestCase):\n"
    "    def test_double(self):\n        self.assertEqual(double(4), 8)\n\n"
    "    def test_half(self):\n        self.assertEqual(half(8), 4)\n"
)
CHECK = "python3 -m unittest"


def block(path: str, old: str, new: str) -> str:
    return f"{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


GOOD = block("app.py", "    return x + x\n", "    return 2 * x\n")
BAD = block("app.py", "    return x + x\n", "    return 3 * x\n")


def new_file(path: str, text: str) -> str:
    return f"{path}\n<<<<<<< SEARCH\n=======\n{text}>>>>>>> REPLACE\n"


class Room:
    """A state folder, a repository with tests, scripted models; sessions run in this process."""

    def __init__(self, folder: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.models = models
        self.config = folder / "config.toml"
        self.config.write_text(models.settings, encoding="utf-8")
        state = folder / "state"
        state.mkdir(mode=0o700)
        self.paths = StatePaths(state).ensure()
        monkeypatch.setenv("NAVIGATOR_CONFIG", str(self.config))
        monkeypatch.setenv("NAVIGATOR_STATE", str(state))

    def add(self, files: dict[str, str] | None = None, check: str = CHECK, **fields: Any) -> Path:
        held = {"app.py": CODE, "test_app.py": TESTS} if files is None else files
        path = make_repository(self.folder / "code", {name: text.encode() for name, text in held.items()})
        self.act("project.add", path=str(path), name="code", check=check, **fields)
        return path

    def act(self, op: str, **args: Any) -> dict[str, Any]:
        with locked_dependencies(self.paths) as world:
            return asyncio.run(perform(world, op, args))

    def queue(self, text: str = "Make double() multiply", **fields: Any) -> str:
        added = self.act("task.add", tasks=[{"project": "code", "text": text, "files": ["app.py"]} | fields])
        return str(added["tasks"][0]["id"])

    def work(self, until: str = "idle") -> None:
        with locked_dependencies(self.paths) as world:
            asyncio.run(Conductor(world, RunOptions(until=until)).run())

    def approve(self, proposal: Proposal, *confirm: str) -> dict[str, Any]:
        entry = {"id": proposal.id, "tree": proposal.tree}
        done = self.act("approve", proposals=[entry], confirm=list(confirm))
        return dict(done["decisions"][0])

    def reading(self) -> Reader:
        return Reader(open_reader(self.paths.database))

    def task(self, identifier: str) -> Task:
        return self.reading().task(identifier)

    def proposal(self, task: str) -> Proposal:
        return self.reading().proposals(task_id=task)[-1]

    def tests(self, task: str) -> CheckResult:
        found = [check for check in self.proposal(task).checks if check.name == "tests"]
        assert len(found) == 1
        return found[0]


@pytest.fixture
def models() -> Iterator[Models]:
    with speaking(Models(write=lambda messages: GOOD)) as served:
        yield served


@pytest.fixture
def room(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> Room:
    return Room(tmp_path, models, monkeypatch)


def saying(*answers: str) -> Any:
    """A writer that gives one answer after the other, and the last one for ever."""
    left = list(answers)

    def write(messages: Messages) -> str:
        return left.pop(0) if len(left) > 1 else left[0]

    return write


def test_a_reviewer_that_always_approves_gets_no_removed_test_past(room: Room) -> None:
    """The gate speaks whatever the reviewer says: no batch key covers it, and one approval needs the word for that file."""
    removal = block("test_app.py", TESTS[TESTS.index("    def test_half") :], "")
    room.models.write = saying(GOOD + removal)
    path = room.add(check="true", landing="current")
    task = room.queue(files=["app.py", "test_app.py"])
    room.work()
    proposal = room.proposal(task)
    assert proposal.review is not None and proposal.review.verdict.value == "APPROVE"
    assert [(item.rule, item.path) for item in proposal.policy] == [("removed_tests", "test_app.py")]
    assert proposal.policy[0].detail == "removes 1 test: Numbers.test_half"
    assert why_left_out(proposal).startswith("to confirm: test_app.py: ")
    refused = room.approve(proposal)
    assert not refused["recorded"] and "confirmed individually" in refused["reason"]
    assert "test_half" in git(path, "show", "HEAD:test_app.py")
    assert room.approve(proposal, "removed_tests:test_app.py")["landing"] == LandingState.LANDED.value


def test_a_secret_that_is_written_into_the_text_is_confirmed_separately(room: Room) -> None:
    key = "".join(chr(65 + (7 * n) % 26) + str((3 * n) % 10) for n in range(16))
    room.models.write = saying(
        block("app.py", "    return x + x\n", f'    api_key = "{key}"\n    return x + x\n')
    )
    room.add(check="")
    task = room.queue()
    room.work()
    proposal = room.proposal(task)
    assert [item.rule for item in proposal.policy] == ["secrets_added"]
    assert key not in proposal.policy[0].detail and "line 2" in proposal.policy[0].detail


def test_a_change_of_words_alone_is_said_and_fails_nothing(room: Room) -> None:
    room.models.write = saying(block("app.py", "def double(x):\n", "def double(x):\n    # doubles\n"))
    room.add(check="")
    task = room.queue()
    room.work()
    proposal = room.proposal(task)
    assert "only documentation changed" in [check.name for check in proposal.checks]
    assert not proposal.failed_checks and why_left_out(proposal) == ""


@pytest.mark.sandbox
@needs_sandbox
class TestSandboxed:
    def test_a_sound_change_is_tested_before_it_is_reviewed(self, room: Room) -> None:
        room.add()
        task = room.queue()
        room.work()
        said = room.tests(task)
        assert (said.outcome, said.before) == (PASSED, PASSED)
        assert said.detail == "2 passed" and said.seconds > 0
        assert "tests: passed" in room.models.read_by[0][-1]["content"]
        assert room.task(task).state is TaskState.AWAITING_APPROVAL
        assert len(room.models.written) == 1

    def test_a_new_failure_goes_back_to_the_writer_with_its_output(self, room: Room) -> None:
        room.models.write = saying(BAD, GOOD)
        room.add()
        task = room.queue()
        room.work()
        assert room.tests(task).outcome is PASSED
        assert len(room.models.written) == 2
        asked = room.models.written[1]
        assert asked[-2] == {"role": "assistant", "content": BAD}
        assert "test_app.Numbers.test_double" in asked[-1]["content"]
        assert "12 != 8" in asked[-1]["content"] and "[[begin output" in asked[-1]["content"]
        # A repair is no round, and the reviewer never saw the first answer.
        assert room.proposal(task).round == 0
        assert len(room.models.read_by) == 1 and "3 * x" not in room.models.read_by[0][-1]["content"]
        assert not [call for call in room.reading().calls() if call.repeat]

    def test_after_two_repairs_it_is_reviewed_with_the_failure_and_left_out_of_batches(
        self, room: Room
    ) -> None:
        room.models.write = saying(BAD)
        room.add()
        task = room.queue()
        room.work()
        assert len(room.models.written) == 3
        said = room.tests(task)
        assert said.outcome is FAILED and "1 newly failing: test_app.Numbers.test_double" in said.detail
        assert "newly failing" in room.models.read_by[0][-1]["content"]
        proposal = room.proposal(task)
        assert proposal.review is not None and proposal.review.verdict.value == "APPROVE"
        assert why_left_out(proposal) == "failed check: tests"
        assert not [call for call in room.reading().calls() if call.repeat]

    def test_a_failure_that_comes_after_the_swap_is_reviewed_not_mended(
        self, room: Room, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The writer is not loaded any more: a repair would cost a round trip of its own."""
        monkeypatch.setattr(Conductor, "_at_hand", lambda self, role: False)
        room.models.write = saying(BAD, GOOD)
        room.add()
        task = room.queue()
        room.work()
        assert len(room.models.written) == 1
        assert room.tests(task).outcome is FAILED and room.proposal(task).review is not None

    def test_a_repair_that_does_not_apply_leaves_the_change_as_it_stood(self, room: Room) -> None:
        room.models.write = saying(BAD, "What a pity.")
        room.add()
        task = room.queue()
        room.work()
        assert room.tests(task).outcome is FAILED
        assert room.task(task).state is TaskState.AWAITING_APPROVAL
        assert len(room.models.read_by) == 1

    def test_a_writer_that_keeps_its_change_is_heard(self, room: Room) -> None:
        room.models.write = saying(BAD, "NO_CHANGE: the test is wrong")
        room.add()
        task = room.queue()
        room.work()
        assert len(room.models.written) == 2
        assert room.tests(task).outcome is FAILED and room.proposal(task).review is not None

    def test_what_fails_on_the_base_is_nobodys_doing(self, room: Room) -> None:
        broken = CODE.replace("x / 2", "x / 3")
        room.add({"app.py": broken, "test_app.py": TESTS})
        task = room.queue()
        room.work()
        said = room.tests(task)
        assert (said.outcome, said.before) == (FAILED_BEFORE, FAILED)
        assert "fail as they do on the base" in said.detail
        assert len(room.models.written) == 1 and room.proposal(task).failed_checks == ()

    def test_a_new_failure_beside_old_ones_is_told_apart(self, room: Room) -> None:
        room.models.write = saying(BAD, GOOD)
        room.add({"app.py": CODE.replace("x / 2", "x / 3"), "test_app.py": TESTS})
        task = room.queue()
        room.work()
        assert (
            "1 newly failing: test_app.Numbers.test_double (1 more fail on the base too)"
            in (room.models.written[1][-1]["content"])
        )
        assert room.tests(task).outcome is FAILED_BEFORE

    def test_a_command_that_is_not_there_is_explained(self, room: Room) -> None:
        room.add(check="no-such-runner --all")
        task = room.queue()
        room.work()
        said = room.tests(task)
        assert said.outcome is UNTESTED and "no-such-runner was not found" in said.detail
        assert len(room.models.written) == 1

    def test_the_base_is_run_once_for_many_proposals(self, room: Room) -> None:
        room.add(check="echo ran >> $HOME/ran; python3 -m unittest")
        tasks = [room.queue(f"Make double() multiply, {n}") for n in range(4)]
        room.work()
        assert [room.tests(task).outcome for task in tasks] == [PASSED] * 4
        events = [event for event in room.reading().events(0) if event.kind == "baseline_set"]
        assert len(events) == 1

    def test_a_broken_test_environment_is_cleared_away_after_a_crash(self, room: Room) -> None:
        room.add()
        left = room.paths.root / "checks" / "check-old" / "tree"
        left.mkdir(parents=True)
        room.queue()
        room.work()
        assert list((room.paths.root / "checks").glob("*")) == []

    def test_a_landing_on_a_moved_tip_is_tested_there(self, room: Room) -> None:
        path = room.add(landing="current")
        task = room.queue()
        room.work()
        # Meanwhile the developer makes something that only together with the proposal fails.
        (path / "test_more.py").write_text(
            "import unittest\n\n\nclass More(unittest.TestCase):\n    def test_source(self):\n"
            "        self.assertNotIn('2 * x', open('app.py').read())\n"
        )
        git(path, "add", "--all")
        git(path, "commit", "-q", "-m", "More tests")
        tip = git(path, "rev-parse", "HEAD")
        row = room.approve(room.proposal(task))
        assert row["landing"] == LandingState.REFUSED.value
        assert "1 newly failing: test_more.More.test_source" in row["reason"]
        assert git(path, "rev-parse", "HEAD") == tip
        # The developer mends it, and approves again: now it lands.
        git(path, "rm", "-q", "test_more.py")
        git(path, "commit", "-q", "-m", "No more tests")
        assert room.approve(room.proposal(task))["landing"] == LandingState.LANDED.value
        assert "2 * x" in git(path, "show", "HEAD:app.py")

    def test_a_landing_on_a_moved_tip_that_passes_lands(self, room: Room) -> None:
        path = room.add()
        task = room.queue()
        room.work()
        (path / "README.md").write_text("# More\n")
        git(path, "add", "--all")
        git(path, "commit", "-q", "-m", "Words")
        row = room.approve(room.proposal(task))
        assert row["landing"] == LandingState.LANDED.value and row["transplanted"]

    def test_the_users_checkout_keeps_its_files(self, room: Room) -> None:
        path = room.add(check="rm -rf * && exit 1")
        room.queue()
        room.work()
        assert git(path, "status", "--porcelain") == ""
        assert (path / "app.py").read_text() == CODE


def test_without_a_sandbox_it_is_untested_and_continues(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("navigator.journey.checking.probe", lambda: Sandbox(reason="none", hint="Get it."))
    room.add(check="touch /tmp/never")
    task = room.queue()
    room.work()
    said = room.tests(task)
    assert said.outcome is UNTESTED and said.detail == "no sandbox: none\n\nGet it."
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert why_left_out(room.proposal(task)) == ""


def test_unsandboxed_is_a_choice_that_works(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "_probe", lambda path: pytest.fail("not asked for"))
    room.config.write_text(room.models.settings + "[checks]\nunsandboxed = true\n", encoding="utf-8")
    room.models.write = saying(BAD, GOOD)
    room.add()
    task = room.queue()
    room.work()
    assert room.tests(task).outcome is PASSED and len(room.models.written) == 2


def test_without_a_command_it_says_so(room: Room) -> None:
    room.add(check="")
    task = room.queue()
    room.work()
    assert (room.tests(task).outcome, room.tests(task).detail) == (UNTESTED, "no test command")


@pytest.mark.sandbox
@pytest.mark.slow
@needs_sandbox
@pytest.mark.parametrize("answers", [(GOOD,), (BAD, GOOD)], ids=["sound", "to be mended"])
def test_killed_while_tests_run_the_next_conductor_runs_them_again(
    tmp_path: Path, models: Models, answers: tuple[str, ...]
) -> None:
    """Kill -9 in `checking`: nothing of the run survives, no model is asked twice, and the end is as without the kill."""
    models.write = saying(*answers)
    desk = Desk.make(tmp_path / "desk", models.settings)
    files = {"app.py": CODE.encode(), "test_app.py": TESTS.encode()}
    path = make_repository(tmp_path / "code", files)
    # The base's run must not be the one that is caught: it does without the wait.
    nap = f"sleep 4.5319{len(answers)}"  # its own in each case: both may run at once
    check = f"grep -q 'x + x' app.py || {nap}; {CHECK}"
    desk.run("project", "add", str(path), "--name", "code", "--check", check)
    desk.run("task", "add", "code", "Make double() multiply", "--file", "app.py")
    child = desk.start("run", "--until", "idle")
    deadline = time.monotonic() + PATIENCE
    while not processes_saying(nap):
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    child.kill()
    child.wait()
    while processes_saying(nap):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    with desk.reading() as store:
        assert store.task("T1").state is TaskState.CHECKING
    asked = len(models.written)
    desk.run("run", "--until", "idle")
    with desk.reading() as store:
        proposal = store.proposals(task_id="T1")[-1]
        assert store.task("T1").state is TaskState.AWAITING_APPROVAL
        assert {check.name: check.outcome for check in proposal.checks}["tests"] is PASSED
        assert store.call_counts()["repeated"] == 0
    assert (asked, len(models.written)) == (1, len(answers))
    assert list((desk.root / "checks").glob("*")) == []
    assert git(path, "status", "--porcelain") == ""
