"""Every verb: its parts, its result across the socket, its words; and the rules that screens and commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from navigator.actions import registry
from navigator.actions.approve import Approve, merge_hint
from navigator.actions.base import Question, SubjectVerb
from navigator.actions.conducting import Conduct
from navigator.actions.deciding import DecisionRow, Pinned, Reject, SendBack, Undo
from navigator.actions.split import Split
from navigator.actions.tasks import Cancel, PutAway, Retry
from navigator.engine.acting import act
from navigator.engine.wire import NoConductor
from navigator.landing.plan import unknown_person
from navigator.model.errors import UsageError
from navigator.model.models import Decision, Landing
from navigator.model.states import DecisionKind, LandingState, TaskState
from navigator.sheet.marks import batch_choice, read_card
from tests.journey.landing_bench import LandingBench
from tests.journey.splitting import THIRTY, SplitBench
from tests.journey.support import git, without_identity
from tests.sheet.cards import CARD

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies


async def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(UsageError, match="no operation"):
        await registry.perform(cast("Dependencies", None), "os.system", {})


def test_an_approval_says_how_serious_it_ends_and_how_to_merge_what_landed() -> None:
    ends = {
        LandingState.LANDED: "information",
        LandingState.PENDING: "warning",
        LandingState.REFUSED: "error",
    }
    for landing, level in ends.items():
        said = {"landing": landing, "ref": "refs/heads/navigator/2026-01-01-a", "commit": "c" * 40}
        row = DecisionRow(id="P7", kind=DecisionKind.APPROVE, recorded=True, **said)
        (told,) = Approve.outcome([row]).told
        assert told.level == level
        assert told.hint.startswith("`navigator merge`") is (landing is LandingState.LANDED)
    assert merge_hint("main") == ""


@pytest.mark.parametrize("name", registry.known())
def test_each_name_leads_to_its_verb_which_refuses_what_it_does_not_know(name: str) -> None:
    verb = registry.verb(name)
    assert verb.op == name
    with pytest.raises(UsageError, match="shell"):
        verb.read({"shell": "x"})


# The rules, asked with a row of the deck and with the store

NONE = CARD._replace(proposal="", open=False)
DECIDED = CARD._replace(open=False, decision=DecisionKind.APPROVE)
STATES = {
    "waiting": CARD,
    "due": DECIDED._replace(state=TaskState.APPROVED, landing="pending"),
    "refused": DECIDED._replace(state=TaskState.APPROVED, landing="refused"),
    "landed": DECIDED._replace(state=TaskState.LANDED, landing="landed", landing_ref="refs/heads/main"),
    "undone": DECIDED._replace(state=TaskState.UNDONE, landing="undone"),
    "rejected": DECIDED._replace(state=TaskState.REJECTED, decision=DecisionKind.REJECT),
    "report": NONE,
    "queued": NONE._replace(state=TaskState.QUEUED),
    "done": NONE._replace(state=TaskState.DONE),
    "earlier": CARD._replace(open=False, newer="P2"),
}
ALLOWED: dict[type[SubjectVerb], set[str]] = {
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
def test_what_is_allowed_when(made: type[SubjectVerb], name: str) -> None:
    refusal = made.refuse_one(STATES[name])
    assert (refusal is None) == (name in ALLOWED[made])
    if refusal is not None:
        assert "T1" in str(refusal) or "P1" in str(refusal)
        assert refusal.message.endswith(".")
        said = {"landed": "navigator undo P1", "due": "already approved", "earlier": "P2 replaced it"}
        assert made is not Reject or said.get(name, "") in str(refusal)


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
        cards = {card.proposal: card for card in store.cards("")}
        assert set(cards) == set(bench.waiting)
        for identifier in bench.waiting:
            row, read = cards[identifier], read_card(store, identifier)
            for made_verb in ALLOWED:
                by_row, by_store = made_verb.refuse_one(row), made_verb.refuse_one(read)
                assert str(by_row) == str(by_store), (identifier, made_verb)
        assert Approve(proposals=(Pinned(id=refused),)).refuse(store) is None
        assert Undo(ids=(waits,)).refuse(store) is not None


# Undo: one verb for a landing and for an approval that has not landed


def test_undo_asks_about_a_landing_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=2)
    identifier, approved = bench.waiting
    row = bench.approve(identifier)
    with bench.world() as world, world.store.transaction() as tx:
        proposal = tx.read.proposal(approved)
        tx.add_decision(approved, Decision(kind=DecisionKind.APPROVE, tree=proposal.tree))
        tx.set_task_state(proposal.task_id, TaskState.APPROVED)
    with bench.desk.reading() as store:
        question = Undo(ids=(identifier,)).question(store)
        assert Undo(ids=(approved,)).question(store) is None
    assert isinstance(question, Question)
    assert question.title == f"Undo the landing of {identifier}?"
    assert f"{row['commit'][:12]} on navigator/2026-01-01" in question.lines
    assert question.lines[-1].startswith("What is undone does not wait for you again")
    assert bench.undo(identifier)["undone"]
    again = bench.undo(identifier)
    assert (again["undone"], "already been undone" in again["reason"]) == (False, True)
    assert bench.undo(approved)["undone"]
    assert bench.proposal(approved).decision is None
    assert bench.undo(approved)["undone"] is False
    assert bench.approve(approved)["landing"] == "landed"


# Approve: what is asked, and policy items by name


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SplitBench:
    return SplitBench(tmp_path, monkeypatch)


def test_what_is_asked_before_an_approval(bench: SplitBench) -> None:
    identifier = bench.waiting({"Makefile": b"all:\n", "n.txt": THIRTY}, policed=True)
    other = bench.waiting({"n.txt": THIRTY})
    with bench.desk.reading() as store:
        question = Approve(proposals=(Pinned(id=identifier),)).question(store)
        both = Approve(proposals=(Pinned(id=identifier), Pinned(id=other))).question(store)
    said = "\n".join(question.lines)
    assert question.title.startswith(f"Approve {identifier}") and "→ navigator/" in said
    assert "the reviewer says REVISE" in said and f"overlaps {other}" in said
    (item,) = question.items
    assert item.key == f"{identifier}:build:Makefile" and "Makefile" in item.title
    assert both.title == "Approve 2 proposals?" and both.items == question.items
    answered = Approve(proposals=(Pinned(id=identifier),)).answered(confirm=[item.key])
    with bench.desk.reading() as store:
        assert answered.question(store).items == ()


def test_an_item_that_several_share_is_confirmed_by_proposal(bench: SplitBench) -> None:
    first, second = (bench.waiting({"Makefile": text}, policed=True) for text in (b"all:\n", b"all: x\n"))
    with bench.desk.reading() as store:
        short = batch_choice(store, {"build:Makefile"}, unseen=True)
    assert {proposal.id for proposal, _ in short.left_out} == {first, second}
    proposals = [{"id": first}, {"id": second}]
    rows = bench.act("approve", proposals=proposals, confirm=["build:Makefile"])["decisions"]
    assert [row["recorded"] for row in rows] == [False, False]
    assert f"--confirm '{first}:build:Makefile'" in rows[0]["reason"]
    rows = bench.act("approve", proposals=proposals, confirm=[f"{second}:build:Makefile"])["decisions"]
    assert [row["recorded"] for row in rows] == [False, True]
    decision = bench.proposal(second).decision
    assert decision is not None and decision.confirmed == ("build:Makefile",)
    assert bench.approve(first, confirm=["build:Makefile"])["recorded"]


def test_settings_of_a_project(bench: SplitBench) -> None:
    git(bench.repository, "branch", "other")
    made = bench.act("project.set", name="code", landing="current", base="other", check=" make ")["project"]
    assert (made["landing"], made["base"], made["check"]) == ("current", "other", "make")
    assert bench.act("project.set", name="code", base="")["project"]["landing"] == "current"
    with pytest.raises(UsageError, match="landing"):
        bench.act("project.set", name="code", landing="elsewhere")
    # Commands for a conductor need one, and something to do.
    with bench.desk.reading() as store:
        assert "Nothing is waiting" in str(Conduct(do="review").refuse(store))
    with pytest.raises(NoConductor, match="No conductor answers"):
        act(bench.paths, Conduct(do="stop"))


def test_that_nobody_can_commit_is_said_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=2)
    without_identity(monkeypatch, tmp_path)
    said = f"⚠ {unknown_person(str(bench.repository))}"
    assert "`git config --global user.name" in said and "`git config --global user.email" in said

    def asked(*ids: str) -> list[bool]:
        with bench.desk.reading() as store:
            chosen = tuple(Pinned(id=one, tree=store.proposal(one).tree) for one in ids)
            question = Approve(proposals=chosen).question(store)
        return [line == said for line in question.lines]

    first, second = bench.waiting
    assert not any(asked(first)) and not any(asked(first, second))
    git(bench.repository, "config", "--unset", "user.email")
    assert sum(asked(first)) == sum(asked(first, second)) == 1
    assert said.removeprefix("⚠ ") in bench.approve(first)["reason"]
    git(bench.repository, "config", "user.email", "dev@example.invalid")
    assert bench.approve(first)["landing"] == "landed"
