"""Every verb: its parts, its result across the socket, its words; and the rules that screens and commands share."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from navigator.actions import registry, wire
from navigator.actions.approve import Approve, ApproveArgs, merge_hint
from navigator.actions.base import Level, Question, Subject, SubjectVerb, Verb
from navigator.actions.conducting import (
    Conduct,
    ConductArgs,
    Conducted,
)
from navigator.actions.deciding import DecideArgs, Decided, DecisionRow, Pinned, Reject
from navigator.actions.escalate import Escalated, EscalatedRow
from navigator.actions.exam import ExamAsked, ExamPrepared
from navigator.actions.fix_findings import FixRequested
from navigator.actions.hook import HookDone
from navigator.actions.judging import JudgeArgs
from navigator.actions.keep_tests import TestsKept
from navigator.actions.notes import Commented, DraftSaved, SeenArgs
from navigator.actions.project_check import CheckLimits, ProjectChecked, SandboxFound
from navigator.actions.projects import ProjectDone, RemovedProject, RemovedProjects
from navigator.actions.review_change import NotReviewed, ReviewsQueued
from navigator.actions.send_back import SendBack, SendBackArgs, SentBack
from navigator.actions.split import Rest, Split, SplitArgs, SplitDone
from navigator.actions.suggestions import Settled
from navigator.actions.task_add import AddedTasks, UnknownFile
from navigator.actions.tasks import Cancel, PutAway, Retry, Tasks, TasksArgs
from navigator.actions.undo import LookedProject, LookedProjects, Undo, UndoArgs, Undone, UndoneRow
from navigator.actions.wire import NoConductor
from navigator.landing.plan import unknown_person
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.exam import PreparedProject
from navigator.model.models import (
    Baseline,
    CheckResult,
    Decision,
    Landing,
    Model,
    Project,
    Proposal,
    Suggestion,
    Task,
)
from navigator.model.states import (
    CheckOutcome,
    DecisionKind,
    Judgement,
    LandingState,
    Role,
    TaskKind,
    TaskState,
)
from navigator.sheet.marks import batch_choice
from navigator.store.database import open_reader
from navigator.store.reads.cards import CardReads
from tests.journey.landing_bench import LandingBench
from tests.journey.splitting import THIRTY, SplitBench
from tests.journey.support import git, without_identity

PROJECT = Project(id=1, name="code", path="/somewhere/code")
TASK = Task(id="T3", project_id=1, project="code", text="Do it\n\nWell.", created="", updated="")
PROPOSAL = Proposal(
    id="P7",
    task_id="T3",
    project_id=1,
    project="code",
    attempt=0,
    round=0,
    base_commit="a" * 40,
    tree="b" * 40,
    parent="P3",
    hunks=("H1",),
)
LANDED = DecisionRow(
    id="P7",
    kind=DecisionKind.APPROVE,
    recorded=True,
    landing=LandingState.LANDED,
    ref="refs/heads/navigator/2026-01-01-a",
    commit="c" * 40,
)
SUGGESTION = Suggestion(task_id="T3", rank=1, text="Test it", state="accepted", made_task="T8")

RESULTS: dict[str, list[Model]] = {
    "task.after": [Tasks(tasks=(TASK.model_copy(update={"after": ("T1", "T2")}),)), Tasks(tasks=(TASK,))],
    "reverts.look": [LookedProjects(projects=(LookedProject(project="web", commits=3, reverted=1),))],
    "exam.run": [ExamAsked(items=4, left=9, loaded=False), ExamAsked(items=1, left=1, loaded=True)],
    "exam.prepare": [
        ExamPrepared(projects=(PreparedProject(project="web", faulty=2, clean=2, ended="enough items"),)),
        ExamPrepared(projects=(PreparedProject(project="web", problem="It has no test command."),)),
    ],
    "escalate": [
        Escalated(proposals=(EscalatedRow(id="P7", again=True), EscalatedRow(id="P8"))),
        Escalated(proposals=(EscalatedRow(id="P7", tokens=900),), final=True, running=True),
        Escalated(proposals=(EscalatedRow(id="P7"),), withdrawn=True),
    ],
    "approve": [
        Decided(decisions=(LANDED, LANDED.model_copy(update={"recorded": False, "reason": "P7 is gone."}))),
        Decided(decisions=(LANDED.model_copy(update={"landing": LandingState.REFUSED, "reason": "Dirty."}),)),
    ],
    "reject": [Decided(decisions=(DecisionRow(id="P7", kind=DecisionKind.REJECT, recorded=True),))],
    "send-back": [
        SentBack(decisions=(DecisionRow(id="P7", kind=DecisionKind.SEND_BACK, recorded=True),), tasks=(TASK,))
    ],
    "split": [
        SplitDone(part=PROPOSAL, task=TASK, rest=Rest(task="T3", state=TaskState.QUEUED, hunks=("H2",))),
        SplitDone(part=PROPOSAL, task=TASK, rest=Rest(task="T3", state=TaskState.REJECTED, hunks=("H2",))),
    ],
    "tests.keep": [
        TestsKept(part=PROPOSAL, task=TASK, tests=("tests/test_a.py",)),
        TestsKept(
            part=PROPOSAL.model_copy(
                update={"checks": (CheckResult(name="tests", outcome=CheckOutcome.FAILED),)}
            ),
            task=TASK.model_copy(update={"state": TaskState.AWAITING_APPROVAL}),
            tests=("tests/test_a.py",),
        ),
    ],
    "undo": [Undone(undone=(UndoneRow(id="P7", undone=True, reason="x"), UndoneRow(id="P8", undone=False)))],
    "conduct": [
        Conducted(do="review", waiting=3),
        Conducted(do="swap", to=Role.REVIEWER, in_hand=2),
        Conducted(do="swap", to=Role.GENERATOR, already=True),
        Conducted(do="stop"),
    ],
    "seen": [SeenArgs(ids=("P7",))],
    "draft.save": [DraftSaved(key="note:T3:reject")],
    "comment": [Commented(comment=4), Commented(comment=4, removed=True)],
    "task.add": [AddedTasks(tasks=(TASK,), unknown_files=(UnknownFile(project="code", path="no.py"),))],
    "hook": [
        HookDone(project="web", path="/web/.git/hooks/post-commit", kept=True),
        HookDone(project="web", path="/web/.git/hooks/post-commit", installed=False),
    ],
    "finding.judge": [
        JudgeArgs(proposal="P7", number=2, judgement=Judgement.WRONG),
        JudgeArgs(proposal="P7", number=2),
    ],
    "review.fix": [FixRequested(proposal="P7", task=TASK, on="topic")],
    "review.add": [
        ReviewsQueued(tasks=(TASK,), proposals=("P7",), new=(TASK.id,), merges=2),
        ReviewsQueued(
            tasks=(TASK,), proposals=("P7",), left_out=(NotReviewed(ref="a1b2", reason="it changes nothing"),)
        ),
    ],
    "task.cancel": [Tasks(tasks=(TASK,))],
    "task.retry": [Tasks(tasks=(TASK,))],
    "task.done": [Tasks(tasks=(TASK,))],
    "suggestions": [
        Settled(scan=TASK, suggestions=(SUGGESTION,), tasks=(TASK,)),
        Settled(scan=TASK, suggestions=(SUGGESTION,)),
    ],
    "project.add": [ProjectDone(project=PROJECT)],
    "project.set": [ProjectDone(project=PROJECT), ProjectDone(project=PROJECT, changed=("path",))],
    "project.remove": [RemovedProjects(removed=("code",), projects=(RemovedProject(name="code"),))],
    "project.check": [
        ProjectChecked(
            project="code",
            command="make",
            base="a" * 40,
            tree="b" * 40,
            sandbox=SandboxFound(works=True, unsandboxed=False),
            limits=CheckLimits(seconds=3, memory_mb=4),
            baseline=Baseline(project_id=1, tree="b" * 40, command="make", outcome=CheckOutcome.PASSED),
        )
    ],
}
"""For each verb what it may answer with."""


def names_of(result: Model) -> set[str]:
    """Every string of a result that could be what it is about."""

    def walk(value: Any) -> set[str]:
        if isinstance(value, dict):
            return set().union(*map(walk, value.values()), set())
        if isinstance(value, list | tuple):
            return set().union(*map(walk, value), set())
        return {str(value)}

    return walk(result.model_dump(mode="json"))


def test_each_verb_has_a_sample_here() -> None:
    assert sorted(RESULTS) == sorted(registry.known())


@pytest.mark.parametrize("name", registry.known())
def test_a_verb_has_all_its_parts(name: str) -> None:
    verb = registry.verb(name)
    assert issubclass(verb.args, Model) and issubclass(verb.result, Model)
    assert asyncio.iscoroutinefunction(verb.perform)
    assert callable(verb.refuse) and callable(verb.question)
    with pytest.raises(UsageError, match="shell"):
        verb.read_args({"shell": "x"})


@pytest.mark.parametrize("name", registry.known())
def test_a_result_crosses_the_socket_and_is_told(name: str) -> None:
    verb: Verb[Any, Any] = registry.verb(name)
    for result in RESULTS[name]:
        line = wire.encode({"id": 1, "ok": True, "result": result.model_dump(mode="json")})
        assert verb.read_result(wire.decode(line)["result"]) == result
        told = verb.tell(result)
        assert told
        for one in told:
            known = (
                names_of(result)
                | {f"comment {number}" for number in names_of(result)}
                | {"reviewer", "conductor"}
            )
            assert one.id in known and one.id in str(one)
            assert str(one).endswith(".") and not str(one).endswith("..")


def test_a_landing_says_how_to_merge_it() -> None:
    (told,) = Approve().tell(Decided(decisions=(LANDED,)))
    assert told.hint.startswith("`navigator merge`") and told.level == "information"
    assert merge_hint("main") == ""


@pytest.mark.parametrize(
    ("landing", "level"),
    [
        (LandingState.LANDED, "information"),
        (LandingState.PENDING, "warning"),
        (LandingState.REFUSED, "error"),
    ],
)
def test_how_serious_an_approval_ends(landing: LandingState, level: Level) -> None:
    row = LANDED.model_copy(update={"landing": landing, "reason": "The tip moved."})
    assert Approve().tell(Decided(decisions=(row,)))[0].level == level


@pytest.mark.parametrize("tree", ["abc", "z" * 40, "a" * 11])
def test_a_pin_is_a_long_hash(tree: str) -> None:
    with pytest.raises(UsageError, match="at least 12"):
        Approve().read_args({"proposals": [{"id": "P1", "tree": tree}]})
    with pytest.raises(UsageError, match="at least 12"):
        Split().read_args({"proposal": "P1", "hunks": ["H1"], "tree": tree})


# The rules, asked with a row of the deck and with the store

STATES = {
    "waiting": Subject("T1", TaskState.AWAITING_APPROVAL, "P1", open=True),
    "due": Subject(
        "T1",
        TaskState.APPROVED,
        "P1",
        decision=DecisionKind.APPROVE,
        landing=LandingState.PENDING,
    ),
    "refused": Subject(
        "T1", TaskState.APPROVED, "P1", decision=DecisionKind.APPROVE, landing=LandingState.REFUSED
    ),
    "landed": Subject(
        "T1",
        TaskState.LANDED,
        "P1",
        decision=DecisionKind.APPROVE,
        landing=LandingState.LANDED,
        landed_on="main",
    ),
    "undone": Subject(
        "T1", TaskState.UNDONE, "P1", decision=DecisionKind.APPROVE, landing=LandingState.UNDONE
    ),
    "rejected": Subject("T1", TaskState.REJECTED, "P1", decision=DecisionKind.REJECT),
    "report": Subject("T1", TaskState.AWAITING_APPROVAL),
    "queued": Subject("T1", TaskState.QUEUED),
    "done": Subject("T1", TaskState.DONE),
    "earlier": Subject("T1", TaskState.AWAITING_APPROVAL, "P1", newer="P2"),
}
ALLOWED: dict[type[SubjectVerb[Any, Any]], set[str]] = {
    Approve: {"waiting", "due", "refused"},
    Reject: {"waiting", "refused"},
    SendBack: {"waiting", "report"},
    Split: {"waiting"},
    Undo: {"due", "refused", "landed"},
    Cancel: {"waiting", "report", "queued", "earlier"},
    Retry: {"undone", "rejected"},
    PutAway: {"report", "earlier"},
}


@pytest.mark.parametrize("made", ALLOWED)
@pytest.mark.parametrize("name", STATES)
def test_what_is_allowed_when(made: type[SubjectVerb[Any, Any]], name: str) -> None:
    refusal = made().refuse_one(STATES[name])
    assert (refusal is None) == (name in ALLOWED[made])
    if refusal is not None:
        assert "T1" in str(refusal) or "P1" in str(refusal)
        assert refusal.message.endswith(".")


def test_what_cannot_be_decided_says_what_became_of_it() -> None:
    said = {name: str(Reject().refuse_one(subject)) for name, subject in STATES.items()}
    assert "already landed on main" in said["landed"] and "navigator undo P1" in said["landed"]
    assert "already approved" in said["due"] and "navigator approve P1" in said["due"]
    assert "already rejected" in said["rejected"]
    assert "P2 replaced it" in said["earlier"]
    assert "already been undone" in str(Undo().refuse_one(STATES["undone"]))
    assert "nothing to undo" in str(Undo().refuse_one(STATES["waiting"]))


def test_a_row_of_the_deck_and_the_store_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=5)
    waits, landed, undone, rejected, refused = bench.waiting
    bench.approve(landed)
    bench.approve(undone)
    bench.undo(undone)
    bench.act("reject", proposals=[{"id": rejected}])
    with bench.world() as world, world.store.transaction() as tx:
        task = tx.read.proposal(refused).task_id
        made = Decision(kind=DecisionKind.APPROVE, tree=tx.read.proposal(refused).tree)
        tx.add_decision(refused, made)
        tx.set_task_state(task, TaskState.APPROVED)
        tx.set_landing(refused, Landing(state=LandingState.REFUSED, reason="Busy."))
    with bench.desk.reading() as store:
        with closing(open_reader(bench.desk.paths.database)) as connection:
            cards = {card.proposal: card for card in CardReads(connection).cards("")}
        assert set(cards) == set(bench.waiting)
        for identifier in bench.waiting:
            row, read = Subject.of_card(cards[identifier]), Subject.read(store, identifier)
            for made_verb in ALLOWED:
                by_row, by_store = made_verb().refuse_one(row), made_verb().refuse_one(read)
                assert str(by_row) == str(by_store), (identifier, made_verb)
        assert Approve().refuse(store, ApproveArgs(proposals=(Pinned(id=refused),))) is None
        assert Undo().refuse(store, UndoArgs(ids=(waits,))) is not None


# Undo: one verb for a landing and for an approval that has not landed


def test_undo_asks_about_a_landing_and_says_so_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=1)
    (identifier,) = bench.waiting
    row = bench.approve(identifier)
    with bench.desk.reading() as store:
        question = Undo().question(store, UndoArgs(ids=(identifier,)))
    assert isinstance(question, Question)
    assert question.title == f"Undo the landing of {identifier}?"
    assert f"{row['commit'][:12]} on navigator/2026-01-01" in question.lines
    assert question.lines[-1].startswith("What is undone does not wait for you again")
    assert bench.undo(identifier)["undone"]
    again = bench.undo(identifier)
    assert (again["undone"], "already been undone" in again["reason"]) == (False, True)
    told = Undo().tell(Undone(undone=(UndoneRow(**again),)))[0]
    assert str(told).startswith(f"{identifier} has already been undone") and told.level == "error"


def test_undo_withdraws_an_approval_without_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=1)
    (identifier,) = bench.waiting
    with bench.world() as world, world.store.transaction() as tx:
        proposal = tx.read.proposal(identifier)
        tx.add_decision(identifier, Decision(kind=DecisionKind.APPROVE, tree=proposal.tree))
        tx.set_task_state(proposal.task_id, TaskState.APPROVED)
    with bench.desk.reading() as store:
        assert Undo().question(store, UndoArgs(ids=(identifier,))) is None
    assert bench.undo(identifier)["undone"]
    assert bench.proposal(identifier).decision is None
    assert bench.undo(identifier)["undone"] is False
    assert bench.approve(identifier)["landing"] == "landed"


# Approve: what is asked, and policy items by name


def test_what_is_asked_before_an_approval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    identifier = bench.waiting({"Makefile": b"all:\n", "n.txt": THIRTY}, policed=True)
    other = bench.waiting({"n.txt": THIRTY})
    with bench.desk.reading() as store:
        question = Approve().question(store, ApproveArgs(proposals=(Pinned(id=identifier),)))
        both = Approve().question(store, ApproveArgs(proposals=(Pinned(id=identifier), Pinned(id=other))))
    said = "\n".join(question.lines)
    assert question.title.startswith(f"Approve {identifier}") and "→ navigator/" in said
    assert "the reviewer says REVISE" in said and f"overlaps {other}" in said
    (item,) = question.items
    assert item.key == f"{identifier}:build:Makefile" and "Makefile" in item.title
    assert both.title == "Approve 2 proposals?" and both.items == question.items
    args = Approve().answered(ApproveArgs(proposals=(Pinned(id=identifier),)), confirm=[item.key])
    with bench.desk.reading() as store:
        assert Approve().question(store, args).items == ()


def test_an_item_that_several_share_is_confirmed_by_proposal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    first, second = (bench.waiting({"Makefile": text}, policed=True) for text in (b"all:\n", b"all: x\n"))
    proposals = [{"id": first}, {"id": second}]
    rows = bench.act("approve", proposals=proposals, confirm=["build:Makefile"])["decisions"]
    assert [row["recorded"] for row in rows] == [False, False]
    assert f"--confirm '{first}:build:Makefile'" in rows[0]["reason"]
    rows = bench.act("approve", proposals=proposals, confirm=[f"{second}:build:Makefile"])["decisions"]
    assert [row["recorded"] for row in rows] == [False, True]
    decision = bench.proposal(second).decision
    assert decision is not None and decision.confirmed == ("build:Makefile",)
    assert bench.approve(first, confirm=["build:Makefile"])["recorded"]


def test_a_batch_takes_a_shared_item_only_by_proposal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    first, second = (bench.waiting({"Makefile": text}, policed=True) for text in (b"all:\n", b"all: x\n"))
    with bench.desk.reading() as store:
        short = batch_choice(store, {"build:Makefile"}, unseen=True)
    assert {proposal.id for proposal, _ in short.left_out} == {first, second}


def test_sending_back_needs_a_note_unless_there_are_comments(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    identifier = bench.waiting()
    args = SendBackArgs(proposals=(Pinned(id=identifier),))
    with bench.desk.reading() as store:
        before = SendBack().question(store, args)
    line = {"proposal": identifier, "path": "n.txt", "line": 5, "quote": "five"}
    unsent = bench.act("comment", **line, text="numbers")["comment"]
    bench.act("comment", **line, text="digits", number=unsent)
    with bench.desk.reading() as store:
        after = SendBack().question(store, args)
    assert before.note is not None and after.note is not None
    assert before.note.needed and not after.note.needed
    assert "n.txt:5  digits" in after.lines and "n.txt:5  numbers" not in after.lines
    assert bench.decide("send_back", identifier)["recorded"]
    with pytest.raises(Conflict, match="already decided"):
        bench.act("comment", proposal=identifier, path="n.txt", line=5, text="late")


def test_putting_a_scan_away_asks_about_what_it_suggests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    with bench.world() as world, world.store.transaction() as tx:
        project = tx.read.project("code")
        scan = tx.add_task(project.id, "Look for bugs", kind=TaskKind.SCAN)
        tx.set_task_state(scan.id, TaskState.GENERATING)
        tx.add_suggestions(scan.id, 0, [Suggestion(task_id=scan.id, rank=1, text="Test it")])
        tx.set_task_state(scan.id, TaskState.AWAITING_APPROVAL)
    with bench.desk.reading() as store:
        question = PutAway().question(store, TasksArgs(ids=(scan.id,)))
    assert question is not None and question.lines == ("1 open suggestion will be dismissed.",)
    assert bench.act("task.done", ids=[scan.id])["tasks"][0]["state"] == "done"


def test_settings_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    git(bench.repository, "branch", "other")
    made = bench.act("project.set", name="code", landing="current", base="other", check=" make ")["project"]
    assert (made["landing"], made["base"], made["check"]) == ("current", "other", "make")
    assert bench.act("project.set", name="code", base="")["project"]["landing"] == "current"
    with pytest.raises(NavigatorError, match="no branch"):
        bench.act("project.set", name="code", base="nowhere")
    with pytest.raises(UsageError, match="Name a setting"):
        bench.act("project.set", name="code")
    with pytest.raises(UsageError, match="landing"):
        bench.act("project.set", name="code", landing="elsewhere")


def test_review_now_needs_something_that_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    with bench.desk.reading() as store:
        assert "Nothing is waiting" in str(Conduct().refuse(store, ConductArgs(do="review")))
    for do in ("review", "swap", "stop"):
        with pytest.raises(NoConductor, match="No conductor is running"):
            bench.act("conduct", do=do)


def test_a_reason_is_not_said_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=1)
    (identifier,) = bench.waiting
    bench.act("reject", proposals=[{"id": identifier}])
    again = bench.act("reject", proposals=[{"id": identifier}])
    told = Reject().tell(Decided.model_validate(json.loads(json.dumps(again))))
    assert [str(one) for one in told] == [
        f"{identifier} is already rejected. To have it written again: `navigator task retry T1`."
    ]


def test_a_split_is_refused_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    identifier = bench.waiting()
    with bench.desk.reading() as store:
        args = SplitArgs(proposal=identifier, hunks=("H1",), tree="0" * 40)
        assert "changed since" in str(Split().refuse(store, args))
        assert Split().refuse(store, args.model_copy(update={"tree": ""})) is None
        assert Reject().question(store, DecideArgs(proposals=(Pinned(id=identifier),))).note is not None


def test_that_nobody_can_commit_is_asked_about_before_and_never_where_the_repository_names_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=2)
    without_identity(monkeypatch, tmp_path)
    said = f"⚠ {unknown_person(str(bench.repository))}"
    assert "`git config --global user.name" in said and "`git config --global user.email" in said

    def asked(*ids: str) -> list[bool]:
        with bench.desk.reading() as store:
            chosen = tuple(Pinned(id=one, tree=store.proposal(one).tree) for one in ids)
            question = Approve().question(store, ApproveArgs(proposals=chosen))
        return [line == said for line in question.lines]

    first, second = bench.waiting
    assert not any(asked(first)) and not any(asked(first, second))
    git(bench.repository, "config", "--unset", "user.email")
    assert sum(asked(first)) == sum(asked(first, second)) == 1
    assert said.removeprefix("⚠ ") in bench.approve(first)["reason"]
    git(bench.repository, "config", "user.email", "dev@example.invalid")
    assert bench.approve(first)["landing"] == "landed"
