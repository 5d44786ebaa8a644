"""A conductor that is killed, again and again, wherever it hurts: nothing is lost, nothing is done twice unseen."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from navigator.actions.wire import NoConductor
from navigator.engine.acting import request
from navigator.model.states import LandingState, TaskState
from navigator.process.runner import send
from navigator.rehearsal.samples import sample_projects
from navigator.sheet.marks import batch_choice
from navigator.store.lock import StateLock
from navigator.swap.strategies.rehearsal import COMMAND
from tests.client.machines import stand_ins
from tests.git.world import fingerprint
from tests.journey.killed_at import KILLED_AT
from tests.journey.support import (
    PATIENCE,
    Desk,
    commits_of_proposals,
    differences,
    git,
    make_repository,
    toml_of,
)
from tests.scripted.tasks import notes

RUN = ("run", "--until", "idle", "--json")

ENDED = {TaskState.AWAITING_APPROVAL, TaskState.LANDED, TaskState.FAILED, TaskState.DONE}


class Scene:
    """Sample projects in repositories of a developer, with tasks queued."""

    def __init__(
        self, folder: Path, *, projects: int, tasks: int, seed: int, landing: str = "branch"
    ) -> None:
        self.desk = Desk.make(folder / "desk")
        samples = sample_projects()[seed % 20 :][:projects]
        self.repositories = {
            sample.name: make_repository(folder / "code" / sample.name, sample.files) for sample in samples
        }
        for name, repository in self.repositories.items():
            self.desk.run("project", "add", str(repository), "--name", name, "--landing", landing)
        queue = folder / "tasks.toml"
        queue.write_text(
            toml_of(notes(tasks, samples)),
            encoding="utf-8",
        )
        self.desk.run("task", "add", "--from", str(queue))

    def killed(self, moment: str, what: str, count: int, *words: str) -> None:
        """Run `navigator WORDS` until it kills itself at the moment; that it did is asserted."""
        child = self.desk.python(KILLED_AT, moment, what, str(count), *words)
        out, err = child.communicate(timeout=PATIENCE)
        said = f"{moment} {what} {count}: {child.returncode}\n{out.decode()[-2000:]}\n{err.decode()[-2000:]}"
        assert child.returncode == -signal.SIGKILL, said

    def servers(self, role: str = "") -> list[int]:
        return list(stand_ins(self.desk.paths.rehearsal, COMMAND, role))

    def states(self) -> Counter[TaskState]:
        with self.desk.reading() as store:
            return Counter(task.state for task in store.tasks())

    def assert_nothing_twice(self) -> None:
        """Of every round one proposal, of every proposal one review a role, each written down once."""
        with self.desk.reading() as store:
            proposals = store.proposals()
            events = store.events(0, limit=1_000_000)
            reviews = {proposal.id: store.reviews(proposal.id) for proposal in proposals}
        rounds = Counter((proposal.task_id, proposal.attempt, proposal.round) for proposal in proposals)
        assert [place for place, count in rounds.items() if count > 1] == []
        added = Counter(event.proposal_id for event in events if event.kind == "proposal_added")
        assert added == Counter(proposal.id for proposal in proposals)
        for identifier, found in reviews.items():
            assert len({review.role for review in found}) == len(found), identifier

    def assert_landed_once(self) -> int:
        """Commits on the developer's branches and landings in the store are the same, one to one; returns how many."""
        commits = Counter(
            trailer
            for repository in self.repositories.values()
            for trailer in commits_of_proposals(repository)
        )
        with self.desk.reading() as store:
            landed = {
                proposal.id
                for proposal in store.proposals()
                if proposal.landing is not None and proposal.landing.state is LandingState.LANDED
            }
            assert store.journal_pending() == []
        assert commits == Counter(landed)
        return len(landed)

    def assert_all_let_go(self) -> None:
        """No server, no socket, no lock is left."""
        assert self.servers() == []
        assert not self.desk.paths.socket.exists()
        lock = StateLock(self.desk.paths)
        assert lock.acquire()
        lock.release()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_session_killed_amid_swaps_and_calls_is_accounted_for(tmp_path: Path) -> None:
    scene = Scene(tmp_path, projects=2, tasks=10, seed=3)
    before = {name: fingerprint(folder) for name, folder in scene.repositories.items()}
    for moment, what, count in (
        ("event", "call_started=generator", 4),  # the model answers nobody
        ("swap", "stop.done", 1),  # no model at all
        ("swap", "load.begin", 1),  # a server that nobody waits for
        ("event", "call_started=reviewer", 4),
    ):
        scene.killed(moment, what, count, *RUN)
        while scene.servers():  # they end with their session
            time.sleep(0.02)
        scene.assert_nothing_twice()
    calls = scene.desk.json(*RUN[:-1], codes=(0, 1))["calls"]
    assert set(scene.states()) <= ENDED and scene.states().total() == 10, scene.states()
    scene.assert_nothing_twice()
    for name, folder in scene.repositories.items():
        assert differences(before[name], fingerprint(folder)) == []
    with scene.desk.reading() as store:
        made = store.calls()
    # The calls that were killed in flight are told, and so is that they were made again.
    assert calls["lost"] == sum(call.outcome == "lost" for call in made) >= 2
    assert calls["repeated"] == sum(call.repeat for call in made) >= 2
    assert (calls["made"], calls["running"]) == (len(made), 0)
    scene.assert_all_let_go()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_model_servers_that_die_are_started_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path, projects=2, tasks=10, seed=17)
    child = scene.desk.start(*RUN)
    killed: set[int] = set()
    with scene.desk.reading() as store:
        # One generator and one reviewer, each once it has answered something.
        for role in ("generator", "reviewer"):
            while (
                not any(call.role == role and call.outcome == "ok" for call in store.calls())
                and child.poll() is None
            ):
                time.sleep(0.002)
            for server in scene.servers(role):
                if send(server, signal.SIGKILL):
                    killed.add(server)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode in (0, 1), err.decode()
    session = json.loads(out)
    assert killed
    assert set(scene.states()) <= ENDED - {TaskState.FAILED}, session
    assert session["calls"]["running"] == 0
    scene.assert_nothing_twice()
    scene.assert_all_let_go()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_sessions_told_to_stop_end_and_the_next_continues(tmp_path: Path) -> None:
    scene = Scene(tmp_path, projects=2, tasks=12, seed=21)
    stopped = 0
    for number in (signal.SIGTERM, signal.SIGINT):
        with scene.desk.reading() as store:
            known = len(store.proposals())
            child = scene.desk.start(*RUN)
            while len(store.proposals()) == known and child.poll() is None:
                time.sleep(0.002)
        child.send_signal(number)
        out, err = child.communicate(timeout=PATIENCE)
        assert child.returncode == 0, err.decode()
        session = json.loads(out)
        # A session so quick that it was done already says so; any other says who stopped it.
        stopped += number.name in session["reason"]
        assert number.name in session["reason"] or session["reason"].endswith("for you.")
        assert session["calls"]["running"] == 0
        assert scene.states()[TaskState.GENERATING] == scene.states()[TaskState.REVIEWING] == 0
        scene.assert_nothing_twice()
        scene.assert_all_let_go()
    assert stopped
    scene.desk.json(*RUN[:-1], codes=(0, 1))
    assert set(scene.states()) <= ENDED
    scene.assert_nothing_twice()
    scene.assert_all_let_go()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_killed_while_landing_nothing_lands_twice(tmp_path: Path) -> None:
    scene = Scene(tmp_path, projects=3, tasks=10, seed=5, landing="current")
    desk = scene.desk
    desk.json(*RUN[:-1], codes=(0, 1))
    with desk.reading() as store:
        taken = batch_choice(store, unseen=True).taken
    assert len(taken) >= 4
    # The first two are of one project: what a kill left of the first one's landing is seen to before the second's.
    of = Counter(proposal.project for proposal in taken)
    ready = [one.id for one in sorted(taken, key=lambda one: (-of[one.project], one.project))]
    approve = ("approve", "--yes", "--confirm", "unseen")

    # The conductor's own landing, due since an approval that was killed before it moved anything.
    scene.killed("before", "execute_landing", 1, *approve, ready[0])
    scene.killed("after", "execute_landing", 1, *RUN)
    desk.run(*approve, ready[1])
    assert scene.assert_landed_once() == 2

    # A conductor that lands at a client's word; the client finds it gone, and does what is left by itself.
    conductor = desk.python(
        KILLED_AT,
        "after",
        "execute_landing",
        "1",
        "run",
        stdout=subprocess.DEVNULL,
    )
    wait_for_conductor(desk, conductor)
    named = [word for one in ready[2:] for word in (one, "--confirm", f"{one}:unseen")]
    desk.run("approve", "--yes", *named, codes=(0, 1))
    assert conductor.wait(timeout=PATIENCE) == -signal.SIGKILL
    session = desk.json(*RUN[:-1], codes=(0, 1))
    assert scene.assert_landed_once() == len(ready)
    assert session["states"]["landed"] == len(ready)
    for repository in scene.repositories.values():
        git(repository, "fsck", "--strict", "--no-dangling")
        assert git(repository, "status", "--porcelain") == ""
    scene.assert_all_let_go()


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_repository_that_went_away_in_the_middle_of_a_landing_holds_up_nothing_else(tmp_path: Path) -> None:
    scene = Scene(tmp_path, projects=2, tasks=6, seed=9)
    desk = scene.desk
    desk.json(*RUN[:-1], codes=(0, 1))
    with desk.reading() as store:
        ready = batch_choice(store, unseen=True).taken
    first = ready[0]
    other = next(proposal for proposal in ready if proposal.project_id != first.project_id)
    approve = ("approve", "--yes", "--confirm", "unseen")
    scene.killed("after", "execute_landing", 1, *approve, first.id)
    here = scene.repositories[first.project]
    away = here.rename(here.with_name("elsewhere"))

    desk.run(*RUN, codes=(0, 1))
    desk.run(*approve, other.id)
    refused = desk.json(*approve, first.id, codes=(1,))["decisions"][0]
    assert refused["landing"] == "refused"
    assert "cut off" in refused["reason"] or "repository" in refused["reason"]

    away.rename(here)
    desk.run(*RUN, codes=(0, 1))
    assert scene.assert_landed_once() == 2
    scene.assert_all_let_go()


def wait_for_conductor(desk: Desk, child: subprocess.Popen[bytes]) -> None:
    """Until it answers on its socket."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert child.poll() is None, "the conductor ended"
        try:
            request(desk.paths.socket, "status", {}, timeout=PATIENCE)
        except NoConductor:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the conductor never answered")
