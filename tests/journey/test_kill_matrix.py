"""`kill -9` at every named step of a landing, an undo and a split, and at system calls of git: nothing lost or done twice.

A bounded sample runs by default; `NAVIGATOR_KILLS=200` runs as many moments as that.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
import tomllib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

import navigator
from navigator.engine.acting import request
from navigator.engine.wire import NoConductor
from navigator.landing import land as landing
from navigator.landing.plan import LandingRefused
from navigator.model.states import LandingState, ProposalState, TaskState
from navigator.sheet.parts import part_at_base
from tests.journey.killed_at import KILLED_AT
from tests.journey.landing_bench import BEFORE, LandingBench, ready_proposal
from tests.journey.room import Bench
from tests.journey.splitting import THIRTY, SplitBench
from tests.journey.support import PATIENCE, git, make_repository

STRACE = shutil.which("strace")
KILLS = int(os.environ.get("NAVIGATOR_KILLS", "6"))

MOMENTS = tomllib.loads(Path(__file__).with_name("kill_moments.toml").read_text("utf-8"))


def test_every_event_at_which_a_command_is_killed_exists() -> None:
    steps = [
        step.split()[1]
        for kind in ("both", "landing", "undo", "split")
        for step in MOMENTS[kind]
        if step.startswith("event ")
    ]
    source = "".join(path.read_text("utf-8") for path in Path(navigator.__file__).parent.rglob("*.py"))
    assert steps and [kind for kind in steps if f'"{kind.partition("=")[0]}"' not in source] == []


@dataclass(frozen=True)
class Moment:
    """Where one command dies."""

    undo: bool
    how: str
    what: str
    count: int


def moments(landing: str, undo: bool, chance: random.Random) -> list[Moment]:
    """Every moment that is known: the named steps and the others, mixed alike."""
    kinds = ["both", "undo" if undo else "landing", *(["checkout"] if landing == "current" else ())]
    named = [Moment(undo, *step.split(), 1) for kind in kinds for step in MOMENTS[kind]]
    others = [
        Moment(undo, how, str(delay), 1 + delay % 5) for how in ("soon", "whole") for delay in range(0, 60, 6)
    ]
    if STRACE:
        for word, calls in MOMENTS["git"].items():
            for call in calls:
                deep = 24 if call == "openat" else 6
                others += [
                    Moment(undo, how, f"{word} {call} {number}", 1)
                    for how in ("git", "only-git")
                    for number in range(1, deep + 1)
                ]
    chance.shuffle(named)
    chance.shuffle(others)
    mixed = [one for pair in zip(named, others, strict=False) for one in pair]
    return [*mixed, *others[len(named) :]]


def died(bench: Bench, moment: Moment, *words: str) -> bool:
    """Run `navigator WORDS` and have it die at the moment; False where the command never came to it."""
    return bench.desk.killed_at(moment.how, moment.what, moment.count, *words)[0]


def end_landing(bench: LandingBench, identifier: str) -> None:
    """What the developer does next: the same word again. Then the next conductor looks the state over."""
    bench.approve(identifier)
    bench.recover()
    assert (bench.landing_of(identifier), bench.landed(identifier)) == (LandingState.LANDED, 1)


def end_undo(bench: LandingBench, identifier: str, refs: str) -> None:
    bench.undo(identifier)
    assert (bench.landing_of(identifier), bench.landed(identifier)) == (LandingState.UNDONE, 0)
    assert git(bench.repository, "for-each-ref", "refs/heads") == refs


def kill_often(bench: LandingBench, seed: int, wanted: int) -> int:
    """Land, and land and undo, until `wanted` commands died: as many at named steps as elsewhere, while there are any."""
    chance = random.Random(seed)
    landings, undoings = (moments(bench.landing, undo, chance) for undo in (False, True))
    kills = 0
    for moment in (one for pair in zip(landings, undoings, strict=False) for one in pair):
        if not bench.waiting or kills >= wanted:
            break
        identifier = bench.waiting.pop()
        if moment.undo:
            refs = git(bench.repository, "for-each-ref", "refs/heads")
            assert bench.approve(identifier)["landing"] == "landed"
            killed = died(bench, moment, "undo", "--yes", identifier)
            check_at_once(bench)
            end_undo(bench, identifier, refs)
        else:
            killed = died(bench, moment, *APPROVE, identifier)
            check_at_once(bench)
            end_landing(bench, identifier)
        kills += killed
        bench.assert_sound()
    return kills


def check_at_once(bench: LandingBench) -> None:
    """Before anything of Navigator's has run again: the developer's repository reads, and is whole."""
    git(bench.repository, "fsck", "--strict", "--no-dangling")
    if bench.landing == "branch":
        assert git(bench.repository, "status", "--porcelain") == ""


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("landing", ["branch", "current"])
def test_killed_in_a_landing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, landing: str) -> None:
    wanted = KILLS // 2
    bench = LandingBench(tmp_path, monkeypatch, landing=landing, proposals=2 * wanted + 6)
    assert kill_often(bench, 7, wanted) >= wanted


def test_a_landing_that_was_cut_off_is_finished_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="current", proposals=2)
    first, second = bench.waiting
    cut = Moment(undo=False, how="before", what="navigator.landing.checkout:_require_either", count=1)
    assert died(bench, cut, *APPROVE, first)

    def full(*_: object) -> None:
        raise LandingRefused("No space left on device.")

    with monkeypatch.context() as disk:
        disk.setattr(landing, "_copy_objects", full)
        bench.recover()
        assert bench.approve(second)["landing"] == "refused"
    end_landing(bench, first)
    end_landing(bench, second)
    bench.assert_sound()


APPROVE = ("approve", "--yes", "--confirm", "unseen")


def in_execution(how: str) -> Moment:
    return Moment(undo=False, how=how, what="navigator.journey.land:execute_landing", count=1)


@pytest.mark.slow
def test_a_killed_conductor_lands_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="current", proposals=3)
    first, *others = bench.waiting
    # Its own landing, due since an approval that was killed before it moved anything.
    assert died(bench, in_execution("before"), *APPROVE, first)
    assert died(bench, in_execution("after"), "run", "--until", "idle")
    bench.recover()
    assert bench.landed(first) == 1
    # One at a client's word; the client finds it gone, and does what is left by itself.
    killed = in_execution("after")
    words = (KILLED_AT, killed.how, killed.what, str(killed.count), "run")
    conductor = bench.desk.python(*words, stdout=subprocess.DEVNULL)
    while True:
        assert conductor.poll() is None, "the conductor ended"
        with suppress(NoConductor):
            request(bench.paths.socket, "status", {}, timeout=PATIENCE)
            break
        time.sleep(0.05)
    bench.desk.read(*APPROVE[:2], *[word for one in others for word in (one, "--confirm", f"{one}:unseen")])
    assert conductor.wait(timeout=PATIENCE) == -signal.SIGKILL
    bench.recover()
    assert [bench.landed(one) for one in bench.waiting] == [1, 1, 1]
    bench.assert_sound()


@pytest.mark.slow
def test_a_repository_that_went_away_holds_up_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = LandingBench(tmp_path, monkeypatch, landing="branch", proposals=1)
    (cut,) = bench.waiting
    other = make_repository(tmp_path / "other", {"d0/f.txt": BEFORE})
    bench.act("project.add", path=str(other), name="other", check="", landing="branch")
    with bench.world() as world:
        fine = ready_proposal(world, world.reader.project("other"), 0)
    assert died(bench, in_execution("after"), *APPROVE, cut)
    here = bench.repository
    away = here.rename(here.with_name("elsewhere"))
    bench.recover()
    assert bench.approve(fine)["landing"] == "landed"
    refused = bench.approve(cut)
    assert refused["landing"] == "refused"
    assert "cut off" in refused["reason"] or "repository" in refused["reason"]
    away.rename(here)
    end_landing(bench, cut)


# Splits: afterwards nothing happened, or everything is there


def all_or_nothing(bench: SplitBench, parent: str) -> bool:
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
    assert (task.state, task.attempt) == (TaskState.AWAITING_APPROVAL, 1)
    assert ground is not None and ground.id == part.id
    assert bench.content(task.base_commit, "n.txt") == THIRTY
    return True


def ends_well(bench: SplitBench, parent: str) -> None:
    there = all_or_nothing(bench, parent)
    if not there:
        bench.split(parent, "H4")
        assert all_or_nothing(bench, parent)
    with bench.desk.reading() as store:
        (part,) = (one.id for one in store.proposals() if one.parent == parent and one.attempt == 0)
    bench.decide("reject", part)
    git(bench.repository, "fsck", "--strict", "--no-dangling")
    assert git(bench.repository, "status", "--porcelain") == ""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_in_the_middle_of_a_split(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = SplitBench(tmp_path, monkeypatch)
    for moment in (Moment(True, *step.split(), 1) for step in MOMENTS["split"]):
        parent = bench.waiting()
        assert died(bench, moment, "split", parent, "H4"), moment
        split = bench.proposal(parent).state is not ProposalState.OPEN
        if moment.what.endswith(":_add_part"):
            assert not split, "the transaction was not yet committed"
        if moment.what == "proposal_split":
            assert split
        ends_well(bench, parent)
