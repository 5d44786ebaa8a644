"""`kill -9` at every step of a split, and at system calls inside it: afterwards nothing happened, or everything is there."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from navigator.model.states import DecisionKind, ProposalState, TaskState
from navigator.sheet.parts import part_at_base
from tests.journey.splitting import THIRTY, SplitBench
from tests.journey.support import PATIENCE, git
from tests.journey.test_kill_matrix import KILLED_AT, TRACED

pytestmark = pytest.mark.slow

SPLIT = "navigator.actions.split"
HUNKS = "navigator.git.hunks"
DERIVE = "navigator.journey.check_dispatch"
STEPS = (
    ("before", f"{HUNKS}:build_part"),
    ("after", f"{HUNKS}:build_part"),
    ("before", f"{HUNKS}:commit_part"),
    ("after", f"{HUNKS}:commit_part"),
    ("before", f"{SPLIT}:add_part"),
    ("after", f"{SPLIT}:add_part"),
    ("before", f"{SPLIT}:_go_on_with_rest"),
    ("before", f"{SPLIT}:remember_part_base"),
    ("after", f"{SPLIT}:_go_on_with_rest"),
    ("event", "proposal_split"),
    ("before", f"{DERIVE}:gates"),
    ("after", f"{DERIVE}:gates"),
    ("event", "proposal_checks"),
)
DROPPING = (("before", f"{SPLIT}:_drop_rest"), ("after", f"{SPLIT}:_drop_rest"), ("event", "decision_added"))
STRACE = shutil.which("strace")
CALLS = [("fdatasync", n) for n in range(1, 8)] + [("pwrite64", n) for n in range(1, 40, 4)]


def died(bench: SplitBench, *words: str, tracing: tuple[str, int] | None = None) -> bool:
    """Run the command and have it die; False where it came to its end before that."""
    command = [KILLED_AT, *words]
    if tracing is not None:
        call, number = tracing
        injected = f"inject={call}:signal=SIGKILL:when={number}"
        traced = ["-f", "-qq", "-o", os.devnull, "-e", f"trace={call}", "-e", injected]
        command = ["-c", TRACED, STRACE or "strace", *traced, *command]
    child = bench.desk.python(*command)
    out, err = child.communicate(timeout=PATIENCE)
    if child.returncode == -signal.SIGKILL:
        return True
    assert child.returncode in (0, 1), f"{words}: {child.returncode}\n{out.decode()}\n{err.decode()}"
    return False


def all_or_nothing(bench: SplitBench, parent: str, *, drop: bool) -> bool:
    """Look at what a kill left, as the next conductor does; says whether the split is there."""
    bench.recover()
    held = bench.proposal(parent)
    task = bench.task(held.task_id)
    with bench.desk.reading() as store:
        parts = [one for one in store.proposals() if one.parent == parent and one.attempt == 0]
        others = [one for one in store.tasks() if one.origin == task.id]
        ground = part_at_base(store, task.base_commit)
    if held.state is ProposalState.OPEN:
        assert (task.state, task.attempt) == (TaskState.AWAITING_APPROVAL, 0)
        assert (parts, others) == ([], [])
        return False
    (part,), (other,) = parts, others
    assert (other.id, other.state) == (part.task_id, TaskState.AWAITING_APPROVAL)
    assert part.checks, "the gates ran"
    assert bench.content(part.tree, "n.txt") == THIRTY
    if drop:
        assert held.decision is not None and held.decision.kind is DecisionKind.REJECT
        assert task.state is TaskState.REJECTED
    else:
        assert (task.state, task.attempt) == (TaskState.AWAITING_APPROVAL, 1)
        assert ground is not None and ground.id == part.id
        assert bench.content(task.base_commit, "n.txt") == THIRTY
    return True


def ends_well(bench: SplitBench, parent: str, *, drop: bool) -> None:
    there = all_or_nothing(bench, parent, drop=drop)
    if not there:
        bench.split(parent, "H4", drop_rest=drop, note="")
        assert all_or_nothing(bench, parent, drop=drop)
    with bench.desk.reading() as store:
        (part,) = (one.id for one in store.proposals() if one.parent == parent and one.attempt == 0)
    bench.decide("reject", part)
    git(bench.repository, "fsck", "--strict", "--no-dangling")
    assert git(bench.repository, "status", "--porcelain") == ""


@pytest.mark.timeout(900)
def test_killed_at_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    seen: dict[str, bool] = {}
    for drop, steps in ((False, STEPS), (True, DROPPING)):
        for how, what in steps:
            parent = bench.waiting()
            flags = ["--drop-rest"] if drop else []
            assert died(bench, how, what, "1", "split", parent, "H4", *flags), what
            seen[f"{how} {what}"] = bench.proposal(parent).state is not ProposalState.OPEN
            ends_well(bench, parent, drop=drop)
    assert not seen[f"after {SPLIT}:_go_on_with_rest"], "the transaction was not yet committed"
    assert seen["event proposal_split"]


@pytest.mark.timeout(900)
@pytest.mark.skipif(STRACE is None, reason="strace: apt install strace")
def test_killed_at_system_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    kills = 0
    for call in CALLS:
        parent = bench.waiting()
        kills += died(bench, "never", "-", "1", "split", parent, "H4", tracing=call)
        ends_well(bench, parent, drop=False)
    assert kills >= len(CALLS) // 2
