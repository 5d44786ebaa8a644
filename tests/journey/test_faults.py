"""Every fault ends in a state a person can read, with words they can act on: servers, disk, database, clock, repository."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from navigator.client import client as serving_client
from navigator.client.body import Timeouts
from navigator.engine import acting
from navigator.engine import conductor as conducting
from navigator.engine.acting import request
from navigator.engine.conductor import Conductor, RunOptions
from navigator.journey.dependencies import Dependencies
from navigator.model import models as domain_models
from navigator.model.errors import NavigatorError
from navigator.model.models import Proposal
from navigator.model.states import TaskState
from navigator.sheet.account import account
from navigator.store import database
from navigator.store.errors import DatabaseCorrupt, DatabaseLocked
from navigator.store.writes.proposals import ProposalWrites
from tests.client.scripted import DONE, Request, Script, Wire, answer, delta, refuse, routes, serving
from tests.journey.room import CODE, Room, edit
from tests.journey.scripted_models import Models, approval, settings
from tests.journey.support import Desk, commits_of_proposals, git, make_repository

GOOD = edit("return x * 2")
MODEL = "org/model"


@pytest.fixture
def room(room: Room, monkeypatch: pytest.MonkeyPatch) -> Room:
    monkeypatch.setattr(conducting, "_HEARTBEAT", 0.02)
    quick = Timeouts(first_token=0.3, between_tokens=0.3)
    monkeypatch.setattr(serving_client, "ModelClient", partial(serving_client.ModelClient, timeouts=quick))
    return room


# A server


async def dies(request: Request, wire: Wire) -> None:
    await wire.head()
    await wire.send(delta("app.py\n<<<<<<< SEARCH\n"))
    wire.reset()


async def another_model(request: Request, wire: Wire) -> None:
    await wire.head()
    await wire.send(delta(GOOD, model="somebody/else"), delta(model="somebody/else", finish="stop"), DONE)


FAULTS = (
    (dies, TaskState.FAILED, "check the server's log"),
    (answer(GOOD, finish="length"), TaskState.FAILED, "max_tokens"),
    (refuse(503, {"error": {"message": "loading"}}), TaskState.QUEUED, "max_inflight"),
    (another_model, TaskState.QUEUED, "Set `model`"),
)
"""How a server of the generator always fails, where the task ends, and what its reason says."""


def session(room: Room, generator: Script, reviewer: Script) -> dict[str, Any]:
    """One session whose two servers stand on the loop that it runs on."""

    async def run() -> dict[str, Any]:
        async with serving(routes(generator)) as one, serving(routes(reviewer)) as other:
            room.config.write_text(settings(one.url, other.url, (MODEL, MODEL)))
            with room.world() as world:
                return (await Conductor(world, RunOptions(until="idle")).run()).document()

    return asyncio.run(run())


@pytest.mark.parametrize(("script", "ends", "says"), FAULTS, ids=["dies", "cut", "storm", "other model"])
def test_a_generator_that_always_fails(room: Room, script: Script, ends: TaskState, says: str) -> None:
    task = room.queue()
    document = session(room, script, answer(approval()))
    found = room.task(task)
    assert found.state is ends, found.reason
    assert says in found.reason
    assert room.proposals() == []
    assert document["calls"]["running"] == 0
    if ends is TaskState.QUEUED:
        assert "generator cannot be used" in document["reason"]
        # The fault mended, the task goes on by itself.
        session(room, answer(GOOD), answer(approval()))
        assert room.task(task).state is TaskState.AWAITING_APPROVAL


# The disk


def test_a_full_disk_holds_up_new_work(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    task = room.queue()
    free = 10 * 1024 * 1024
    monkeypatch.setattr(database, "free_bytes", lambda folder: free)

    async def meanwhile(world: Dependencies, conductor: Conductor) -> None:
        nonlocal free
        status: dict[str, Any] = {}
        while not status.get("disk_full"):
            await asyncio.sleep(0.01)
            if room.paths.socket.exists():
                status = await asyncio.to_thread(request, room.paths.socket, "status", {})
        with pytest.raises(NavigatorError, match="is full") as refused:
            wanted = {"tasks": [{"project": "code", "text": "More"}]}
            await asyncio.to_thread(request, room.paths.socket, "task.add", wanted)
        assert "resumes automatically" in refused.value.hint
        assert room.models.written == []
        free = 10 * database.RESERVE_BYTES

    assert room.work(meanwhile=meanwhile)["states"] == {"awaiting_approval": 1}
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    kinds = [event.kind for event in room.read().events(0)]
    assert [kind for kind in kinds if kind.startswith("disk")] == ["disk_low", "disk_free"]
    (trouble,) = account(room.read()).troubles
    assert trouble.what.startswith("disk full (") and trouble.over


def test_what_could_not_be_stored_is_stored_later(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    errors: list[Exception] = [DatabaseLocked("It is in use.")] * 2
    real = ProposalWrites.add_proposal

    def add_proposal(self: ProposalWrites, made: Proposal) -> Proposal:
        if errors:
            raise errors.pop()
        return real(self, made)

    monkeypatch.setattr(ProposalWrites, "add_proposal", add_proposal)
    assert room.task(room.done().task_id).state is TaskState.AWAITING_APPROVAL
    assert (errors, len(room.proposals())) == ([], 1)
    assert len(room.models.written) == 1  # the answer was stored: it is judged again, not asked for again
    errors += [DatabaseCorrupt("The database is damaged.", hint="The newest backup is here.")] * 99
    room.queue()
    with pytest.raises(DatabaseCorrupt, match="damaged"):
        room.work()
    assert not room.paths.socket.exists()


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of its own at `folder`; skips where this user may not mount one."""
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m", "navigator-test", str(folder)]
    if os.geteuid() != 0 or subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("root: only root can run them")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.mark.slow
def test_on_a_full_disk_one_can_read_and_is_told(tmp_path: Path, models: Models) -> None:
    with small_disk(tmp_path / "disk", 96) as disk:
        desk = Desk.make(disk / "desk", models.settings)
        repository = make_repository(tmp_path / "code", {"app.py": CODE.encode()})
        desk.read("project", "add", str(repository), "--name", "code")
        desk.read("task", "add", "code", "Make double() multiply", "--file", "app.py")
        desk.read("run", "--until", "idle")
        ballast = disk / "ballast"
        with ballast.open("wb") as file, pytest.raises(OSError, match="No space left"):
            while True:
                file.write(bytes(65_536))
                file.flush()
        for words in (("proposals",), ("diff", "P1"), ("task", "show", "T1"), ("stats", "outcomes")):
            assert desk.read(*words)
        assert "disk is full" in desk.read("status")
        assert "the disk is full" in desk.read("doctor", codes=(3,))
        for words in (("approve", "P1", "--yes", "--confirm", "unseen"), ("task", "add", "code", "More")):
            with pytest.raises(NavigatorError, match="is full") as refused:
                desk.read(*words)
            assert "Free some space" in refused.value.hint
        assert git(repository, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
        ballast.unlink()
        desk.read("approve", "P1", "--yes", "--confirm", "unseen")
        assert commits_of_proposals(repository) == ["P1"]


# The clock


class Clock(datetime):
    """The wall clock, as far off as a test has put it."""

    off = timedelta()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:
        return datetime.now(tz) + cls.off


def test_a_clock_that_jumps_disorders_nothing(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    jump = timedelta(days=-400)
    for place in (domain_models, acting):
        monkeypatch.setattr(place, "datetime", Clock)
    monkeypatch.setattr(Clock, "off", timedelta())
    proposal = room.done()
    monkeypatch.setattr(Clock, "off", jump)
    assert room.decide("approve", proposal)["landing"] == "landed"
    second = room.queue("Another", files=["README.md"])
    room.work()
    events = room.read().events(0, limit=10_000)
    assert [event.seq for event in events] == sorted({event.seq for event in events})
    times = [datetime.fromisoformat(event.at) for event in events]
    assert times != sorted(times)  # it did jump: the numbers keep the order
    assert room.task(proposal.task_id).state is TaskState.LANDED
    assert room.task(second).state is TaskState.AWAITING_APPROVAL
    assert all(acting._age(at) >= 0 for at in (events[-1].at, events[0].at, "2999-01-01T00:00:00Z"))


# The repository


def test_a_repository_that_moved_is_followed_and_another_at_its_path_left_alone(room: Room) -> None:
    proposal = room.done()
    away = room.repository.rename(room.repository.with_name("elsewhere"))

    def refused(words: str) -> None:
        row = room.decide("approve", proposal)
        assert row["landing"] == "refused" and words in row["reason"]
        queued = room.queue("Another")
        room.work()
        task = room.task(queued)
        assert task.state is TaskState.FAILED and words in task.reason

    refused("navigator project set code --path PATH")
    impostor = make_repository(room.repository, {"app.py": CODE.encode(), "secret.txt": b"not yours\n"})
    before = git(impostor, "for-each-ref")
    refused("holds a different repository than")
    assert git(impostor, "for-each-ref") == before and len(room.models.written) == 1
    with pytest.raises(NavigatorError, match="holds a different repository than"):
        room.act("project.set", name="code", path=str(impostor.rename(impostor.with_name("other"))))
    assert room.act("project.set", name="code", path=str(away))["project"]["path"] == str(away)
    assert room.decide("approve", proposal)["landing"] == "landed"
    assert commits_of_proposals(away) == [proposal.id]
    assert room.task(proposal.task_id).state is TaskState.LANDED
