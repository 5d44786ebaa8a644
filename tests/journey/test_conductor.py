"""The conductor's decisions, with real git, a real database and models that say what the test wants."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.engine import conductor as conducting
from navigator.engine import conductor_state as live
from navigator.engine.acting import request
from navigator.engine.conductor import Conductor
from navigator.git.runner import Git
from navigator.journey import land
from navigator.journey.dependencies import Dependencies
from navigator.landing.plan import LandingPlan
from navigator.model.models import Decision, Landing
from navigator.model.states import DecisionKind, LandingState, ProposalState, Role, TaskState, Verdict
from tests.journey.room import CODE, Room, edit, review_of, saying, text_of
from tests.journey.scripted_models import Messages, Models, settings
from tests.journey.support import commits_of_proposals, git

NOBODY = "http://127.0.0.1:9"
"""The discard port: nothing listens there."""


def test_approved_at_once(room: Room, models: Models) -> None:
    models.write = lambda messages: "TRUST ME, I TESTED IT.\n\n" + edit("return x * 2")
    room.queue()
    session = room.work()
    (proposal,) = room.proposals()
    assert review_of(proposal).verdict is Verdict.APPROVE
    assert (proposal.model, review_of(proposal).model) == ("scripted/writer", "scripted/reader")
    assert session["calls"] == {"made": 2, "repeated": 0, "lost": 0, "running": 0}
    assert session["reason"] == "1 waits for you."
    # The reviewer never reads what the generator says of itself.
    (asked,) = models.read_by
    assert "return x * 2" in text_of(asked) and "TRUST ME" not in text_of(asked)
    (private,) = room.paths.private.iterdir()
    assert Git(private).run("cat-file", "-t", proposal.tree).text == "tree"
    assert git(room.repository, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    # A decision is about a tree, and lands once.
    row = room.act("approve", proposals=[{"id": proposal.id, "tree": "0" * 40}])["decisions"][0]
    assert not row["recorded"] and "has changed since you looked" in row["reason"]
    assert room.task(proposal.task_id).state is TaskState.AWAITING_APPROVAL
    assert room.approve(proposal)["landing"] == "landed"
    assert not room.approve(proposal)["recorded"]
    assert commits_of_proposals(room.repository) == [proposal.id]


def test_an_unreachable_reviewer_leaves_the_task_waiting(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conducting, "GIVE_UP_AFTER", 2)
    room.config.write_text(settings(room.models.url, NOBODY), encoding="utf-8")
    task = room.queue()
    session = room.work()
    assert room.task(task).state is TaskState.AWAITING_REVIEW
    assert "reviewer cannot be used" in session["reason"]
    (proposal,) = room.proposals()
    assert (proposal.state, proposal.review) == (ProposalState.OPEN, None)
    assert (session["proposals"], session["rounds"], sum(session["verdicts"].values())) == (1, 1, 0)
    # Reachable again, the next session goes on where this one ended, and writes nothing anew.
    room.config.write_text(room.models.settings, encoding="utf-8")
    session = room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert len(room.models.written) == 1
    # What it only reviewed counts in it, and in no session after it.
    assert (session["proposals"], session["rounds"]) == (1, 1)
    assert session["verdicts"] == {"approve": 1, "revise": 0, "unreviewed": 0}
    session = room.work()
    assert (session["proposals"], session["rounds"], sum(session["verdicts"].values())) == (0, 0, 0)


def test_a_repair_is_told_what_was_wrong_and_is_no_round(room: Room, models: Models) -> None:
    wrong = edit("return x * 2", old="return y + y")
    models.write = saying(wrong, edit("return x * 2"))
    assert room.done().round == 0
    assert "NO_MATCH" in models.written[1][-1]["content"]
    assert "return x + x" in models.written[1][-1]["content"]
    # Edits that never apply: the answer, two repairs, and one try at the whole file.
    models.write = saying(wrong)
    room.queue()
    room.work()
    assert (len(models.written), len(models.read_by)) == (6, 1)


def test_a_base_that_moved_under_an_approval_starts_a_new_attempt(room: Room, models: Models) -> None:
    proposal = room.done()
    task = proposal.task_id
    tip = room.commit({"app.py": CODE.replace("x + x", "x + x  # twice")})
    row = room.approve(proposal)
    assert row["landing"] == "refused" and "app.py" in row["reason"]
    assert room.task(task).state is TaskState.STALE
    assert git(room.repository, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(room.repository, "status", "--porcelain") == ""
    models.write = lambda messages: edit("return x * 2", old="return x + x  # twice")
    room.work()
    renewed = room.task(task)
    assert (renewed.state, renewed.attempt) == (TaskState.AWAITING_APPROVAL, 1)
    assert "# twice" in text_of(models.written[1])
    newest = room.proposals()[-1]
    assert newest.base_commit == tip
    assert room.approve(newest)["landing"] == "landed"
    assert commits_of_proposals(room.repository) == [newest.id]


def test_a_failure_amid_a_landing_is_looked_at(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    proposal = room.done()
    real = land.execute_landing

    def breaks_before(plan: LandingPlan) -> None:
        raise OSError(28, "No space left on device")

    def breaks_after(plan: LandingPlan) -> None:
        real(plan)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(land, "execute_landing", breaks_before)
    row = room.decide("approve", proposal)
    assert (row["landing"], commits_of_proposals(room.repository)) == ("refused", [])
    assert "No space left" in row["reason"]
    assert room.decide("reject", proposal, note="Then not.")["recorded"]
    (rejected,) = room.proposals()
    assert rejected.decision is not None and rejected.decision.note == "Then not."
    assert room.task(rejected.task_id).state is TaskState.REJECTED
    room.act("task.retry", ids=[proposal.task_id])
    room.work()
    proposal = room.proposals()[-1]
    monkeypatch.setattr(land, "execute_landing", breaks_after)
    assert room.decide("approve", proposal)["landing"] == "landed"
    assert commits_of_proposals(room.repository) == [proposal.id]
    assert room.read().journal_pending() == []


@pytest.mark.parametrize("asked", [True, False])
def test_a_landing_at_the_end_is_finished(room: Room, monkeypatch: pytest.MonkeyPatch, asked: bool) -> None:
    """At a client's word, or the conductor's own, due since a crash right after the developer's word was recorded."""
    proposal = room.done()
    if not asked:
        with locked_dependencies(room.paths) as world, world.store.transaction() as tx:
            tx.add_decision(proposal.id, Decision(kind=DecisionKind.APPROVE, tree=proposal.tree))
            tx.set_task_state(proposal.task_id, TaskState.APPROVED)
            tx.set_landing(proposal.id, Landing(state=LandingState.PENDING))
    real, begun = land.execute_landing, threading.Event()

    async def meanwhile(world: Dependencies, conductor: Conductor) -> None:
        def slow(plan: LandingPlan) -> None:
            begun.set()
            while not conductor._stopping:
                time.sleep(0.005)
            real(plan)

        monkeypatch.setattr(land, "execute_landing", slow)
        entry = {"id": proposal.id, "tree": proposal.tree}
        while not room.paths.socket.exists():
            await asyncio.sleep(0.005)
        args = (room.paths.socket, "approve", {"proposals": [entry]})
        asking = asyncio.create_task(asyncio.to_thread(request, *args)) if asked else None
        await asyncio.to_thread(begun.wait)
        conductor.stop("told to stop")
        if asking is not None:
            assert [row["landing"] for row in (await asking)["decisions"]] == ["landed"]

    room.work("", meanwhile)
    landed = room.proposal(proposal.id).landing
    assert landed is not None and landed.state is LandingState.LANDED
    assert commits_of_proposals(room.repository) == [proposal.id]
    assert room.read().journal_pending() == []


def test_a_task_cancelled_and_retried_while_the_model_writes_starts_clean(room: Room, models: Models) -> None:
    asked, answer = threading.Event(), threading.Event()

    def write(messages: Messages) -> str:
        if len(models.written) == 1:
            asked.set()
            answer.wait(60)
            return edit("return x * 7")
        return edit("return x * 2")

    models.write = write
    task = room.queue()

    async def meanwhile(world: Dependencies, conductor: Conductor) -> None:
        await asyncio.to_thread(asked.wait)
        # Neither waits for anything, so the session has no chance to find itself without work in between.
        await perform(world, "task.cancel", {"ids": [task]})
        await perform(world, "task.retry", {"ids": [task]})
        answer.set()

    document = room.work(meanwhile=meanwhile)
    assert (room.task(task).state, room.task(task).attempt) == (TaskState.AWAITING_APPROVAL, 1)
    (proposal,) = room.proposals()
    assert proposal.attempt == 1
    shown = Git(next(room.paths.private.iterdir())).run("cat-file", "blob", f"{proposal.tree}:app.py").text
    assert "x * 2" in shown
    assert document["calls"] == {"made": 3, "repeated": 0, "lost": 1, "running": 0}


def test_requests_running_when_a_server_dies_are_one_failure() -> None:
    memory = live.ConductorState()
    began = time.monotonic()
    in_hand = [memory.failed(Role.GENERATOR, began=began, give_up_after=3) for _ in range(8)]
    assert in_hand == [1] * 8
    # What is asked later fails for itself.
    assert memory.failed(Role.GENERATOR, began=time.monotonic() + 1, give_up_after=3) == 2
    assert memory.failed(Role.REVIEWER, began=began, give_up_after=3) == 1
    memory.answered(Role.GENERATOR)
    assert memory.failed(Role.GENERATOR, began=time.monotonic() + 2, give_up_after=3) == 1
