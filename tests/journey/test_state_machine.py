"""Any order of commands, stages, edits by the developer, crashes and restarts: what must always hold, held after each.

The store, the conductor's own stages and a real repository; the models' answers are scripted, in this process.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from navigator.actions.registry import perform
from navigator.client.body import ChatAnswer, ChatRequest
from navigator.journey import land as landing
from navigator.journey.change import review, write
from navigator.journey.dependencies import Dependencies
from navigator.journey.land import land
from navigator.journey.recovery import recover
from navigator.model.models import Usage
from navigator.model.states import (
    CANCELLABLE_TASK_STATES,
    RETRYABLE_TASK_STATES,
    DecisionKind,
    LandingState,
    TaskState,
)
from navigator.sheet.waiting import waiting
from navigator.store.writes.proposals import ProposalWrites
from tests.journey.room import Bench, block
from tests.journey.scripted_models import WRITER, approval, objection
from tests.journey.support import commits_of_proposals, git

FILES = ("a.py", "b.py", "c.py")


class Crash(BaseException):
    """The process is gone: nothing may catch it."""


class Scripted:
    """A model client that answers from a list, or dies."""

    def __init__(self, machine: SessionMachine) -> None:
        self._machine = machine

    async def load(self) -> None:
        """It does not say how many requests it runs."""

    async def chat(self, request: ChatRequest, tell: Callable[[int, str], None] | None = None) -> ChatAnswer:
        text = self._machine.answer
        if text is None:
            raise Crash
        usage = Usage(prompt_tokens=10, completion_tokens=5, seconds=0.1)
        return ChatAnswer(text=text, reasoning="", usage=usage, model=WRITER, retries=0)

    async def aclose(self) -> None:
        """Nothing is open."""


class SessionMachine(RuleBasedStateMachine):
    """One project, few tasks; each rule is one thing that a person, the conductor or a power cut does."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="navigator-machine-"))
        self.patch = pytest.MonkeyPatch()
        url = 'base_url = "http://127.0.0.1:9"'
        roles = "".join(f'[{role}]\nmodel = "{WRITER}"\n{url}\n' for role in ("generator", "reviewer"))
        self.bench = Bench(self.folder, self.patch, f'{roles}[swap]\nstrategy = "resident"\n')
        self.repository = self.bench.add(dict.fromkeys(FILES, b"x = 0\ny = 0\n"), check="")
        self.answer: str | None = ""
        self.steps = 0
        self.held: AbstractContextManager[Dependencies] | None = None
        self.world = self.open()

    def open(self) -> Dependencies:
        self.held = self.bench.world()
        world = self.held.__enter__()
        self.patch.setattr(world.servers, "client", lambda role: Scripted(self))
        return world

    def act(self, op: str, **args: Any) -> None:
        asyncio.run(perform(self.world, op, args))

    def crash(self) -> None:
        """Drop everything as it is. The kernel lets go of the lock; nothing else is told; the next start recovers."""
        held, self.held = self.held, None
        assert held is not None
        self.world.store._connection.close()
        with suppress(BaseException):
            held.__exit__(Crash, Crash(), None)
        self.world = self.open()
        asyncio.run(recover(self.world))
        assert self.world.reader.journal_pending() == []
        assert self.tasks(TaskState.GENERATING, TaskState.REVIEWING) == []
        assert self.world.reader.call_counts()["running"] == 0

    def tasks(self, *states: TaskState) -> list[str]:
        return [task.id for task in self.world.reader.tasks(states=set(states))]

    def stage(self, work: Coroutine[Any, Any, Any]) -> None:
        try:
            asyncio.run(work)
        except Crash:
            self.crash()

    # The developer

    @initialize()
    def begin(self) -> None:
        for file in FILES:
            self.add(file)

    @precondition(lambda self: len(self.world.reader.tasks()) < 8)
    @rule(file=st.sampled_from(FILES))
    def add(self, file: str) -> None:
        self.act("task.add", tasks=[{"project": "code", "text": f"Change {file}", "files": [file]}])

    @precondition(lambda self: self.tasks(*CANCELLABLE_TASK_STATES, *RETRYABLE_TASK_STATES))
    @rule(data=st.data())
    def cancel_or_retry(self, data: st.DataObject) -> None:
        chosen = data.draw(st.sampled_from(self.tasks(*CANCELLABLE_TASK_STATES, *RETRYABLE_TASK_STATES)))
        before = self.world.reader.task(chosen)
        again = before.state in RETRYABLE_TASK_STATES
        self.act("task.retry" if again else "task.cancel", ids=[chosen])
        assert self.world.reader.task(chosen).attempt == before.attempt + again

    @precondition(lambda self: self.tasks(TaskState.AWAITING_APPROVAL))
    @rule(data=st.data(), dies=st.sampled_from(["", "", "before", "after"]))
    def approve(self, data: st.DataObject, dies: str) -> None:
        """What waits, perhaps several at once."""
        open_ones = [card.proposal for card in waiting(self.world.reader) if card.with_you]
        if not open_ones:
            return
        chosen = data.draw(st.lists(st.sampled_from(open_ones), min_size=1, unique=True))
        with self.dying(dies):
            args = {"proposals": [{"id": one} for one in chosen]}
            self.stage(perform(self.world, "approve", args))

    @precondition(lambda self: self.world.reader.proposals())
    @rule(
        data=st.data(), kind=st.sampled_from(DecisionKind), dies=st.sampled_from(["", "", "before", "after"])
    )
    def decide(self, data: st.DataObject, kind: DecisionKind, dies: str) -> None:
        """About any proposal, also one that cannot be decided any more."""
        chosen = data.draw(st.sampled_from([proposal.id for proposal in self.world.reader.proposals()]))
        args = {"proposals": [{"id": chosen}], "note": "Otherwise."}
        with self.dying(dies):
            self.stage(perform(self.world, kind.value.replace("_", "-"), args))

    @precondition(lambda self: self.tasks(TaskState.LANDED))
    @rule(data=st.data(), dies=st.sampled_from(["", "before", "after"]))
    def undo(self, data: st.DataObject, dies: str) -> None:
        chosen = self.bench.proposal(data.draw(st.sampled_from(self.tasks(TaskState.LANDED)))).id
        with self.dying(dies):
            self.stage(perform(self.world, "undo", {"ids": [chosen]}))

    @rule(file=st.sampled_from(FILES))
    def commit(self, file: str) -> None:
        """The developer goes on working on main."""
        self.steps += 1
        (self.repository / file).write_text(f"x = 0\ny = 0\n# {self.steps}\n")
        git(self.repository, "commit", "--quiet", "--all", "-m", f"By hand {self.steps}")

    # The conductor

    @precondition(lambda self: self.tasks(TaskState.QUEUED))
    @rule()
    def work_through(self) -> None:
        """As a session does with all that waits: written, read, before the developer."""
        for task in self.world.reader.tasks(states={TaskState.QUEUED}):
            self.steps += 1
            self.answer = block(task.files[0], "x = 0\n", f"x = {self.steps}\n")
            self.stage(write(self.world, task.id))
            if self.world.reader.task(task.id).state is TaskState.AWAITING_REVIEW:
                self.answer = approval(addressed=[])
                self.stage(review(self.world, task.id))

    @precondition(lambda self: self.tasks(TaskState.QUEUED, TaskState.REVISING, TaskState.CHECKING))
    @rule(data=st.data(), what=st.sampled_from(["edit", "edit", "no_change", "nonsense", "crash", "dead"]))
    def generate(self, data: st.DataObject, what: str) -> None:
        ready = self.tasks(TaskState.QUEUED, TaskState.REVISING, TaskState.CHECKING)
        task = self.world.reader.task(data.draw(st.sampled_from(ready)))
        self.steps += 1
        said = {"no_change": "NO_CHANGE: it is right.\n", "nonsense": "?", "crash": None}
        self.answer = said.get(what, block(task.files[0], "x = 0\n", f"x = {self.steps}\n"))
        with pytest.MonkeyPatch.context() as patch:
            if what == "dead":  # the answer is stored and applied; death comes before the proposal is
                patch.setattr(ProposalWrites, "add_proposal", dead)
            self.stage(write(self.world, task.id))

    @precondition(lambda self: self.tasks(TaskState.AWAITING_REVIEW))
    @rule(data=st.data(), what=st.sampled_from(["approve", "revise", "nonsense", "crash"]))
    def read(self, data: st.DataObject, what: str) -> None:
        task = data.draw(st.sampled_from(self.tasks(TaskState.AWAITING_REVIEW)))
        no = approval(findings=[objection("x = 0")], verdict="REVISE", addressed=[])
        said = {"approve": approval(addressed=[]), "revise": no, "nonsense": "LGTM", "crash": None}
        self.answer = said[what]
        self.stage(review(self.world, task))

    @precondition(lambda self: self.world.reader.pending_landings())
    @rule(dies=st.sampled_from(["", "before", "after"]))
    def land_what_is_due(self, dies: str) -> None:
        due = sorted(self.world.reader.pending_landings())[0]
        with self.dying(dies):
            self.stage(land(self.world, due))

    @rule()
    def crash_and_restart(self) -> None:
        self.crash()

    @contextmanager
    def dying(self, when: str) -> Iterator[None]:
        """Die right before the repository is written, or right after and before anything is noted."""
        real = landing.execute_landing

        def execute(plan: Any) -> None:
            if when == "after":
                real(plan)
            raise Crash

        with pytest.MonkeyPatch.context() as patch:
            if when:
                patch.setattr(landing, "execute_landing", execute)
            yield

    # What always holds

    @invariant()
    def a_round_has_one_proposal(self) -> None:
        places = Counter((p.task_id, p.attempt, p.round) for p in self.world.reader.proposals())
        assert [place for place, count in places.items() if count > 1] == []

    @invariant()
    def what_landed_stands_on_a_branch_once(self) -> None:
        on_branches = Counter(commits_of_proposals(self.repository))
        assert not on_branches or max(on_branches.values()) == 1
        landed, undone = (
            {one.id for one in self.world.reader.proposals() if one.landing and one.landing.state is state}
            for state in (LandingState.LANDED, LandingState.UNDONE)
        )
        assert landed <= set(on_branches)
        # An undo of what others stand on leaves the commit and puts its reverse on top.
        assert set(on_branches) <= landed | undone
        for proposal in self.world.reader.proposals():
            if proposal.id in landed:
                assert proposal.decision is not None
                assert proposal.decision.kind is DecisionKind.APPROVE
                assert proposal.decision.tree == proposal.tree

    @invariant()
    def the_checkout_is_the_developers(self) -> None:
        assert git(self.repository, "status", "--porcelain") == ""
        assert not list((self.repository / ".git").rglob("*.lock"))
        by_hand = git(self.repository, "log", "--format=%s", "main").splitlines()
        assert all(line.startswith(("By hand", "As it was")) for line in by_hand)

    @invariant()
    def every_call_is_accounted_for(self) -> None:
        counts = self.world.reader.call_counts()
        made = self.world.reader.calls_after(0)
        assert counts["made"] == len(made)
        assert counts["running"] == 0
        answered = Counter(
            (call.task_id, call.attempt, call.round, call.purpose, call.seq)
            for call in made
            if call.outcome in ("ok", "refused") and call.purpose in ("generate", "revise")
        )
        assert [step for step, count in answered.items() if count > 1] == []

    def teardown(self) -> None:
        if self.held is not None:
            self.held.__exit__(None, None, None)
        self.patch.undo()
        shutil.rmtree(self.folder, ignore_errors=True)


def dead(*_: object, **__: object) -> None:
    raise Crash


SessionMachine.TestCase.settings = settings(
    max_examples=int(os.environ.get("NAVIGATOR_EXAMPLES", "3")),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
TestAnyOrder = pytest.mark.slow(SessionMachine.TestCase)
