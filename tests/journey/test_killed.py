"""A session that is killed and stopped again and again, amid swaps and calls: nothing is lost, nothing is done twice unseen."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from navigator.model.states import TaskState
from navigator.rehearsal.samples import sample_projects
from navigator.store.lock import StateLock
from navigator.swap.strategies.rehearsal import COMMAND
from tests.client.machines import stand_ins
from tests.git.world import fingerprint
from tests.journey.support import PATIENCE, Desk, make_repository, toml_of
from tests.records import reviews_of
from tests.scripted.tasks import notes

RUN = ("run", "--until", "idle", "--json")
TASKS = 4
MOMENTS = (
    ("event", "call_started=generator", 4),  # the model answers nobody
    ("swap", "stop.done", 1),  # no model at all
    ("event", "call_started=reviewer", 1),
)


class Scene:
    """Sample projects in repositories of a developer, with tasks queued."""

    def __init__(self, folder: Path) -> None:
        self.desk = Desk.make(folder / "desk")
        samples = sample_projects()[3:5]
        self.repositories = [
            make_repository(folder / "code" / sample.name, sample.files) for sample in samples
        ]
        for repository in self.repositories:
            self.desk.read("project", "add", str(repository), "--name", repository.name)
        queue = folder / "tasks.toml"
        queue.write_text(toml_of(notes(TASKS, samples)), encoding="utf-8")
        self.desk.read("task", "add", "--from", str(queue))

    def servers(self) -> list[int]:
        return list(stand_ins(self.desk.paths.rehearsal, COMMAND))

    def states(self) -> Counter[TaskState]:
        with self.desk.reading() as store:
            return Counter(task.state for task in store.tasks())

    def assert_nothing_twice(self) -> None:
        """Of every round one proposal, of every proposal one review a role, each written down once."""
        with self.desk.reading() as store:
            proposals = store.proposals()
            events = store.events(0, limit=1_000_000)
            reviews = {proposal.id: reviews_of(store, proposal.id) for proposal in proposals}
        rounds = Counter((proposal.task_id, proposal.attempt, proposal.round) for proposal in proposals)
        assert [place for place, count in rounds.items() if count > 1] == []
        added = Counter(event.proposal_id for event in events if event.kind == "proposal_added")
        assert added == Counter(proposal.id for proposal in proposals)
        for identifier, found in reviews.items():
            assert len({review.role for review in found}) == len(found), identifier

    def assert_all_let_go(self) -> None:
        """No server, no socket, no lock is left."""
        assert self.servers() == []
        assert not self.desk.paths.socket.exists()
        lock = StateLock(self.desk.paths)
        assert lock.acquire()
        lock.release()


def told_to_stop(scene: Scene) -> None:
    """A session that gets a signal while most is still to be read ends in order."""
    child = scene.desk.start(*RUN)
    with scene.desk.reading() as store:
        while not store.proposals() and child.poll() is None:
            time.sleep(0.002)
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 0, err.decode()
    session = json.loads(out)
    assert "SIGTERM" in session["reason"] and session["calls"]["running"] == 0
    assert scene.states()[TaskState.GENERATING] == scene.states()[TaskState.REVIEWING] == 0
    scene.assert_all_let_go()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_session_stopped_and_killed_amid_swaps_and_calls_is_accounted_for(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    before = [fingerprint(folder) for folder in scene.repositories]
    for number, (moment, what, count) in enumerate(MOMENTS):
        assert scene.desk.killed_at(moment, what, count, *RUN)[0], (moment, what)
        while scene.servers():  # they end with their session
            time.sleep(0.02)
        scene.assert_nothing_twice()
        if not number:
            told_to_stop(scene)
    calls = scene.desk.json(*RUN[:-1], codes=(0, 1))["calls"]
    assert set(scene.states()) <= {TaskState.AWAITING_APPROVAL, TaskState.FAILED}
    assert scene.states().total() == TASKS
    scene.assert_nothing_twice()
    assert [fingerprint(folder) for folder in scene.repositories] == before
    with scene.desk.reading() as store:
        made = store.calls_after(0)
    # The calls that were killed in flight are told, and so is that they were made again.
    assert calls["lost"] == sum(call.outcome == "lost" for call in made) >= 2
    assert calls["repeated"] == sum(call.repeat for call in made) >= 2
    assert (calls["made"], calls["running"]) == (len(made), 0)
    scene.assert_all_let_go()
