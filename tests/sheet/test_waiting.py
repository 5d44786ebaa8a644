"""What waits for the developer: one list and one count for every face, and what goes with a project that is removed."""

from __future__ import annotations

import asyncio
import json
import re
from html import escape as text
from pathlib import Path

import pytest

from navigator.engine.acting import status_document
from navigator.journey.drafting import title_of
from navigator.journey.prompts.assemble import elsewhere_blocks
from navigator.journey.prompts.material import settle
from navigator.mcp.tools import Tools
from navigator.model.errors import NavigatorError
from navigator.model.models import Decision, Landing
from navigator.model.states import DecisionKind, LandingState, TaskState, Verdict
from navigator.sheet.waiting import waiting
from navigator.tui.deck_rows import together
from navigator.tui.feed import Follower
from tests.journey.splitting import FIVE, SplitBench, git


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SplitBench:
    return SplitBench(tmp_path, monkeypatch)


def everything(bench: SplitBench) -> dict[str, str]:
    """One of each kind that waits, by id, and one that waits for nobody."""
    proposal, refused, lands = (bench.waiting(verdict=Verdict.APPROVE) for _ in range(3))
    with bench.world() as world, world.store.transaction() as tx:
        project = tx.read.project("code")
        for held, state in ((refused, LandingState.REFUSED), (lands, LandingState.PENDING)):
            tree = tx.read.proposal(held).tree
            tx.add_decision(held, Decision(kind=DecisionKind.APPROVE, tree=tree))
            tx.set_task_state(tx.read.proposal(held).task_id, TaskState.APPROVED)
            tx.set_landing(held, Landing(state=state, reason="it is locked"))
        failed, nothing = (tx.add_task(project.id, text).id for text in ("Fail", "Change nothing"))
        for task in (failed, nothing):
            tx.set_task_state(task, TaskState.GENERATING)
        tx.set_task_state(failed, TaskState.FAILED, reason="no answer")
        tx.set_task_state(nothing, TaskState.AWAITING_APPROVAL, reason="No change is needed: it is there")
        stale = tx.read.proposal(lands).task_id
        tx.set_task_state(stale, TaskState.STALE, reason="n.txt changed")
    return {
        proposal: "APPROVE",
        refused: "NOT LANDED",
        stale: "STALE",
        failed: "FAILED",
        nothing: "NO CHANGE",
    }


def test_every_face_has_the_same_list(bench: SplitBench) -> None:
    expected = everything(bench)
    document = json.loads(bench.desk.read("proposals", "--json"))["waiting"]
    assert {row["id"]: row["says"] for row in document} == expected
    assert all(row["to_do"] for row in document)
    said = bench.desk.read("proposals")
    assert all(name in said for name in expected) and "it is locked. `navigator approve" in said
    with bench.desk.reading() as store:
        assert store.counts()["waiting"] == len(waiting(store)) == len(expected)
    assert status_document(bench.desk.paths)["waiting"] == len(expected)
    told = Tools(bench.desk.paths).call("list_proposals", {})["waiting"]
    assert [row["id"] for row in told] == [row["id"] for row in document]
    page = bench.desk.root.parent / "report.html"
    bench.desk.read("report", str(page))
    listed = re.findall(r"<dt>([PT]\d+)</dt>", page.read_text())
    assert listed == [row["id"] for row in document]
    assert all(text(row["says"]) in page.read_text() for row in document)
    with bench.desk.reading() as store:
        deck = Follower(store._connection).look()
        assert deck is not None and {card.task for card in deck.inbox} == {row["task"] for row in document}


def test_what_touches_careful_paths_comes_first_everywhere(bench: SplitBench) -> None:
    first = bench.waiting(verdict=Verdict.APPROVE)
    second = bench.waiting({"n.txt": FIVE}, verdict=Verdict.APPROVE)
    with bench.world() as world, world.store.transaction() as tx:
        tx.update_project(tx.read.project("code").id, careful=("*.py",))
    third = bench.waiting({"code.py": None}, verdict=Verdict.APPROVE)
    expected = [first, third, second]
    with bench.desk.reading() as store:
        assert [one.id for one in waiting(store)] == expected
        deck = Follower(store._connection).look()
        assert deck is not None and [card.proposal for card in deck.inbox] == expected
        for rows in (deck.inbox, deck.quickest):
            assert together(rows, {})[-1].proposal == second
    told = json.loads(bench.desk.read("proposals", "--json"))["waiting"]
    assert told[-1]["id"] == second and "careful: it touches code.py" in str(told[0]["marks"])
    assert Tools(bench.desk.paths).call("list_proposals", {})["waiting"][-1]["id"] == second


def test_removing_a_project_takes_its_hook_and_cancels_what_waits(bench: SplitBench) -> None:
    expected = everything(bench)
    hook = Path(bench.act("hook", project="code")["path"])
    kept = hook.read_bytes()
    (removed,) = bench.act("project.remove", names=["code"])["projects"]
    assert not hook.exists() and removed["hook"] == str(hook)
    assert len(removed["cancelled"]) == len(expected)
    with bench.desk.reading() as store:
        assert waiting(store) == [] and store.counts()["waiting"] == 0
        assert {store.task(task).state for task in removed["cancelled"]} == {TaskState.CANCELLED}
    hook.write_bytes(kept)  # one that is still there is removed by the name of a project that is gone
    hook.chmod(0o755)
    bench.act("hook", project="code", install=False)
    assert not hook.exists() and git(bench.repository, "status", "--porcelain") == ""
    with pytest.raises(NavigatorError, match="There is no project"):
        bench.act("hook", project="code")


def test_a_new_attempt_is_shown_what_was_sent_back(bench: SplitBench) -> None:
    proposal = bench.proposal(bench.waiting())
    bench.act("send-back", proposals=[{"id": proposal.id}], note="Keep the signature, add a test.")
    with bench.world() as world:
        task = world.reader.task(proposal.task_id)
        _, (sent,) = asyncio.run(settle(world, task))
    assert (sent.sent_back, sent.proposal) == (True, proposal.id)
    assert "+thirty" in sent.text and "+    return helper()" in sent.text
    (block,) = elsewhere_blocks([sent], "key")
    assert block.startswith("[[begin sent-back key")


def test_a_title_is_one_line() -> None:
    assert title_of("\n  Retry\n\nAnd more") == "Retry" and title_of("") == ""
