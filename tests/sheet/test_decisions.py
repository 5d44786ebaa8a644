"""What each way of approving does with each kind of proposal: one table, which docs/approving.md shows."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from navigator.actions.approve import Approve
from navigator.actions.deciding import Pinned
from navigator.journey.land import TestsDue, land
from navigator.model.models import CheckResult, Review
from navigator.model.states import CheckOutcome, DecisionKind, LandingState, Role, Verdict
from navigator.sheet.marks import Kind, batch_choice, facts_of, head, labels, marks
from navigator.sheet.waiting import tips
from navigator.tui.review.batch import candidates
from tests.cli.conftest import at
from tests.journey.splitting import CHANGED, FIVE, SplitBench, git

PAGE = Path(__file__).resolve().parents[2] / "docs/approving.md"
ASKS, BY_NAME, LANDS, TAKES, LEAVES, REFUSES = (
    "asks",
    "asks, by name",
    "lands",
    "takes",
    "leaves out",
    "refuses",
)


def seen(bench: SplitBench, proposal: str) -> None:
    bench.act("seen", ids=[proposal])


def reviewed(
    role: Role, verdict: Verdict, stated: Verdict | None = None, **more: Any
) -> Callable[[SplitBench, str], None]:
    def read(bench: SplitBench, proposal: str) -> None:
        seen(bench, proposal)
        with bench.world() as world, world.store.transaction() as tx:
            tx.add_review(
                proposal,
                Review(role=role, verdict=verdict, stated_verdict=stated or verdict, model="m", **more),
            )

    return read


def failing(bench: SplitBench, proposal: str) -> None:
    seen(bench, proposal)
    with bench.world() as world, world.store.transaction() as tx:
        tx.set_checks(proposal, [CheckResult(name="tests", outcome=CheckOutcome.FAILED)])


def overlapped(bench: SplitBench, proposal: str) -> None:
    seen(bench, proposal)
    bench.waiting(verdict=Verdict.APPROVE)


def moved(bench: SplitBench, proposal: str) -> None:
    seen(bench, proposal)
    (bench.repository / "README.md").write_text("# Other\n")
    git(bench.repository, "commit", "-qam", "Say more")


def careful(bench: SplitBench, proposal: str) -> None:
    seen(bench, proposal)
    with bench.world() as world, world.store.transaction() as tx:
        tx.update_project(tx.read.project("code").id, careful=("*.py",))


def unlooked(bench: SplitBench, proposal: str) -> None:
    """Nobody looked at it."""


class Case(NamedTuple):
    """A kind of proposal, and what becomes of it: asked at a terminal, by `--yes` without one, by a batch."""

    name: str
    make: Callable[[SplitBench, str], None]
    kind: Kind | None
    ways: tuple[str, str, str]
    confirm: str = ""
    pin: str = ""


NAMED = BY_NAME, REFUSES, LEAVES
ALONE = ASKS, LANDS, LEAVES
FREE = ASKS, LANDS, TAKES
APPROVES, REVISES = Verdict.APPROVE, Verdict.REVISE
UNREAD = reviewed(Role.REVIEWER, Verdict.UNREVIEWED)
SAID = reviewed(Role.REVIEWER, APPROVES, REVISES)
PARTLY = reviewed(Role.REVIEWER, APPROVES, hunks=7, unread=("H6", "H7"))
CASES = (
    Case("clean and seen", seen, None, FREE),
    Case("not seen", unlooked, Kind.UNSEEN, (ASKS, REFUSES, LEAVES), "unseen"),
    Case("a check failed", failing, Kind.FAILED, NAMED, "failed:tests"),
    Case("UNREVIEWED", UNREAD, Kind.UNREVIEWED, NAMED, "unreviewed:review"),
    Case("overruled (said REVISE)", SAID, Kind.OVERRULED, NAMED, "overruled:review"),
    Case("final REVISE", reviewed(Role.FINAL, REVISES), Kind.FINAL, NAMED, "final:review"),
    Case("touches a careful path", careful, Kind.CAREFUL, NAMED, "careful:paths"),
    Case("read 5 of 7 hunks", PARTLY, Kind.UNREAD, ALONE),
    Case("REVISE", reviewed(Role.REVIEWER, REVISES), Kind.REVISE, ALONE),
    Case("overlaps another", overlapped, Kind.OVERLAP, ALONE),
    Case("base moved", moved, Kind.MOVED, FREE),
    Case("another tree than the one seen", seen, None, (REFUSES, REFUSES, LEAVES), pin="0" * 40),
)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_each_way_of_approving_does(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    proposal = bench.waiting(verdict=Verdict.APPROVE)
    case.make(bench, proposal)
    terminal, yes, batch = case.ways
    tree = case.pin or bench.proposal(proposal).tree
    verb = Approve(proposals=(Pinned(id=proposal, tree=tree),))
    with bench.desk.reading() as store:
        (known,) = facts_of(store, [proposal], tips(store))
        assert {mark.kind for mark in marks(known)} >= ({case.kind} if case.kind else set())
        items = verb.question(store).items
        named = [f"{proposal}:{case.confirm}"] if case.confirm else []
        assert [item.key for item in items] == (named if terminal == BY_NAME else [])
        if not case.pin:
            taken = proposal in {one.id for one in batch_choice(store).taken}
            assert taken is (batch == TAKES)
        (candidate,), _ = candidates(store, DecisionKind.APPROVE, [(proposal, tree)])
        assert (candidate.left_out == "") is (batch == TAKES)
    command = ("approve", proposal, "--tree", tree, "--yes", "--json")
    row = json.loads(bench.desk.read(*command, codes=(0, 1)))["decisions"][0]
    assert row["recorded"] is (yes == LANDS)
    if case.confirm:
        assert f"--confirm '{proposal}:{case.confirm}'" in row["reason"]
        row = json.loads(bench.desk.read(*command, "--confirm", case.confirm))["decisions"][0]
    assert row["landing"] == (None if case.pin else LandingState.LANDED)


def test_nothing_is_decided_where_nobody_can_be_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    landed, waits = (
        bench.waiting(changes, verdict=Verdict.APPROVE) for changes in ({"n.txt": FIVE}, CHANGED)
    )
    for proposal in (landed, waits):
        seen(bench, proposal)
    assert bench.approve(landed)["landing"] == LandingState.LANDED
    before = bench.proposal(waits), bench.proposal(landed), git(bench.repository, "for-each-ref")
    for verb, proposal in (("approve", waits), ("reject", waits), ("undo", landed)):
        assert "nothing was done" in at(bench).run(verb, proposal, code=2).stderr
    assert (bench.proposal(waits), bench.proposal(landed), git(bench.repository, "for-each-ref")) == before


def table() -> str:
    """The table of docs/approving.md."""
    lines = [
        "| proposal | `approve P…` at a terminal, `a` in Review | `approve P… --yes` without one |"
        " `--all-reviewed`, `A` and `a` on the Deck | MCP |",
        "|---|---|---|---|---|",
    ]
    for case in CASES:
        terminal, yes, batch = case.ways
        named = f"; lands with `--confirm P…:{case.confirm}`" if case.confirm else ""
        lines.append(f"| {case.name} | {terminal} | {yes}{named} | {batch} | – |")
    return "\n".join(lines)


def test_the_page_shows_this_table() -> None:
    assert table() in PAGE.read_text(encoding="utf-8")


def test_a_landing_does_not_wait_for_the_tests_of_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a batch land one after the other: one whose turn comes later says so, and nothing has failed."""
    bench = SplitBench(tmp_path, monkeypatch)
    proposal = bench.waiting(verdict=Verdict.APPROVE)
    with bench.world(alone=False) as world:
        task = world.reader.task(world.reader.proposal(proposal).task_id)

        async def behind() -> None:
            async with world.repositories.landing_locks[task.project_id]:
                world.repositories.landing_tests[task.project_id].set()
                with pytest.raises(TestsDue, match="lands after another one in code, whose tests run now"):
                    await land(world, task.id, patience=3600)
            world.repositories.landing_tests[task.project_id].clear()
            await asyncio.wait_for(world.repositories.landing_locks[task.project_id].acquire(), 60)

        asyncio.run(behind())


def test_list_diff_and_deck_show_what_every_reader_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reviewer's dropped REVISE, the final model's REVISE, and what left a hunk out: the strictest first."""
    bench = SplitBench(tmp_path, monkeypatch)
    proposal = bench.waiting(verdict=Verdict.APPROVE)
    for role, verdict, more in (
        (Role.REVIEWER, Verdict.APPROVE, {"hunks": 7, "unread": ("H6", "H7")}),
        (Role.FINAL, Verdict.REVISE, {"summary": "It rounds twice."}),
    ):
        reviewed(role, verdict, Verdict.REVISE, **more)(bench, proposal)
    expected = ["final REVISE", "overruled", "read 5 of 7 hunks"]
    listed = bench.desk.read("proposals")
    places = [listed.index(words) for words in expected]
    assert places == sorted(places)
    diff = bench.desk.read("diff", proposal)
    assert all(words in diff for words in ("said REVISE", "read 5 of 7 hunks", "It rounds twice."))
    assert diff.index("the final model said REVISE") < diff.index("the reviewer said REVISE, overruled")
    with bench.desk.reading() as store:
        (card,) = store.cards_of([store.proposal(proposal).task_id])
        assert head(card).word == "final REVISE"
        assert [words for words, _ in labels(card)][:3] == expected
