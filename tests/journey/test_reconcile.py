"""What is really loaded: swaps by other hands, servers that die, and no request lost to either; through the conductor."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from navigator.actions.wire import NoConductor
from navigator.cli.session import locked_dependencies
from navigator.engine import conductor as conducting
from navigator.engine import reconcile
from navigator.engine.client import request
from navigator.engine.conductor import Conductor, RunOptions
from navigator.model.models import Swap
from navigator.model.states import TaskState
from navigator.sheet.account import account
from navigator.swap import processes
from tests.journey.scripted_models import READER, WRITER, Messages, Models, approval, speaking
from tests.journey.support import PATIENCE, Desk, hurry, make_repository
from tests.journey.test_conductor import Room, edit


@pytest.fixture
def models(tmp_path: Path) -> Iterator[Models]:
    """One server that holds the model of the role which the file `loaded` names."""
    holds = tmp_path / "loaded"
    holds.write_text("generator")
    with speaking(Models(lambda messages: edit("return x * 2"), holds=holds)) as models:
        yield models


@pytest.fixture
def room(tmp_path: Path, models: Models, monkeypatch: pytest.MonkeyPatch) -> Room:
    hurry(monkeypatch, retries=2)
    monkeypatch.setattr(conducting, "_HEARTBEAT", 0.05)
    monkeypatch.setattr(reconcile, "_SECOND_LOOK", 0.01)
    swapping(tmp_path)
    made = Room(tmp_path, models, monkeypatch)
    made.config.write_text(settings(tmp_path, models.url))
    return made


def swapping(folder: Path, text: str = 'echo "$1" > loaded') -> None:
    """The program that swaps; it writes down that it was called."""
    path = folder / "swap"
    path.write_text(f"#!/bin/sh\ncd '{folder}'\necho \"$1\" >> asked\n{text}\n")
    path.chmod(0o755)


def asked(folder: Path) -> list[str]:
    """The roles that the program was called for."""
    path = folder / "asked"
    return path.read_text().split() if path.exists() else []


def settings(folder: Path, url: str, names: tuple[str, str] = (WRITER, READER)) -> str:
    writer, reader = names
    return (
        f'[generator]\nmodel = "{writer}"\nbase_url = "{url}"\n[reviewer]\nmodel = "{reader}"\nbase_url = "{url}"\n'
        f"[batch]\nquiet_minutes = 0\n"
        f'[swap]\nstrategy = "command"\n[swap.command]\nargv = ["{folder}/swap"]\n'
    )


def made(swap: Swap) -> tuple[str, str, str, str]:
    return (swap.from_role.value if swap.from_role else "", swap.to_role.value, swap.outcome, swap.made_by)


def swaps(room: Room) -> list[tuple[str, str, str, str]]:
    return [made(swap) for swap in reversed(room.read().swaps())]


def staying(room: Room, meanwhile: Any) -> None:
    """A conductor that stays, while `meanwhile(ask)` runs beside it in a thread; then it is told to stop."""

    def ask(op: str, **args: Any) -> dict[str, Any]:
        return request(room.paths.socket, op, args, timeout=30)

    async def session() -> None:
        with locked_dependencies(room.paths) as world:
            running = asyncio.create_task(Conductor(world, RunOptions()).run())
            while not room.paths.socket.exists():
                await asyncio.sleep(0.005)
            try:
                await asyncio.to_thread(meanwhile, ask)
            finally:
                await asyncio.to_thread(ask, "conduct", do="stop")
                await running

    asyncio.run(session())


def until(condition: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def kinds(room: Room) -> list[str]:
    return [event.kind for event in room.read().events(0, limit=100_000)]


def test_a_session_by_a_command_calls_only_what_is_loaded(room: Room, models: Models, tmp_path: Path) -> None:
    tasks = [room.queue(f"Make double() multiply, {number}", files=[]) for number in range(4)]
    session = room.work()
    assert [room.task(task).state for task in tasks] == [TaskState.AWAITING_APPROVAL] * 4
    assert (models.wrong, len(models.written), len(models.read_by)) == ([], 4, 4)
    assert asked(tmp_path) == ["reviewer"]
    assert (session["swaps"], session["failed_swaps"]) == (1, 0)
    assert swaps(room) == [("generator", "reviewer", "done", "navigator")]


def test_a_swap_by_other_hands_is_noticed_kept_apart_and_lived_with(
    room: Room, models: Models, tmp_path: Path
) -> None:
    def meanwhile(ask: Any) -> None:
        until(lambda: "canary" in kinds(room), "the generator's canary")
        (tmp_path / "loaded").write_text("reviewer")
        until(lambda: ask("status")["resident"] == "reviewer", "the reviewer")
        task = room_queue(ask)
        until(lambda: room.task(task).state is TaskState.AWAITING_APPROVAL, "the task")

    staying(room, meanwhile)
    assert swaps(room)[:2] == [
        ("generator", "reviewer", "done", "outside"),
        ("reviewer", "generator", "done", "navigator"),
    ]
    assert "swap_outside" in kinds(room)
    assert models.wrong == []


def test_a_model_that_others_loaded_is_asked_before_it_is_given_work_and_loaded_anew_if_it_went_bad(
    room: Room, models: Models, tmp_path: Path
) -> None:
    models.canary = lambda model: "!" * 40 if model == READER else "1, 2, 3, 4, 5"

    def meanwhile(ask: Any) -> None:
        until(lambda: "canary" in kinds(room), "the generator's canary")
        (tmp_path / "loaded").write_text("reviewer")
        until(lambda: "generator" in asked(tmp_path), "the way back")
        until(lambda: ask("status")["resident"] == "generator", "the generator again")

    staying(room, meanwhile)
    told = [event.data for event in room.read().events(0, limit=100_000) if event.kind == "canary"]
    assert [(one["role"], one["outcome"]) for one in told[:2]] == [
        ("generator", "well"),  # loaded before this session, by whomever
        ("reviewer", "garbage"),
    ]
    assert models.read_by == []


def room_queue(ask: Any, text: str = "Make double() multiply") -> str:
    added = ask("task.add", tasks=[{"project": "code", "text": text, "files": ["app.py"]}])
    return str(added["tasks"][0]["id"])


def test_a_swap_that_was_made_while_navigator_was_away(room: Room, models: Models, tmp_path: Path) -> None:
    room.queue()
    room.work()
    assert room.read().meta("resident", str) == "reviewer"
    (tmp_path / "loaded").write_text("generator")
    room.work()
    assert swaps(room)[-1] == ("reviewer", "generator", "done", "outside")
    assert room.read().meta("resident", str) == "generator"


def test_a_server_that_dies_while_it_writes_is_started_again_and_the_task_is_written(
    room: Room, models: Models, tmp_path: Path
) -> None:
    def write(messages: Messages) -> str:
        if len(models.written) == 1:
            (tmp_path / "loaded").write_text("")
        return edit("return x * 2")

    models.write = write
    task = room.queue()
    session = room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL, room.task(task).reason
    assert session["failed_swaps"] == 0
    assert asked(tmp_path) == ["generator", "reviewer"]
    assert swaps(room)[0] == ("", "generator", "done", "navigator")
    (death,) = [event for event in room.read().events(0, limit=100_000) if event.kind == "server_died"]
    assert (death.data["role"], death.data["failure"], death.data["deaths"]) == ("generator", "crashed", 1)
    troubles = account(room.read()).troubles
    assert any(one.what.startswith("the generator's server died: crashed") for one in troubles)
    assert all(one.over for one in troubles), troubles


def test_a_reviewer_that_dies_comes_back_before_the_generator(
    room: Room, models: Models, tmp_path: Path
) -> None:
    """There is work for both; the batch is read to its end first, in one batch."""

    def read(messages: Messages) -> str:
        if len(models.read_by) == 2:
            (tmp_path / "loaded").write_text("")
        return approval()

    models.read = read
    room.config.write_text(settings(tmp_path, models.url).replace("[batch]", "max_inflight = 1\n[batch]"))
    for number in range(3):
        room.queue(f"Make double() multiply, {number}", files=[])
    room.work()
    assert asked(tmp_path) == ["reviewer", "reviewer"]
    assert len({proposal.batch for proposal in room.proposals()}) == 1
    assert {proposal.review is not None for proposal in room.proposals()} == {True}


def test_a_server_that_always_dies_is_started_twice_more_and_then_left(
    room: Room, models: Models, tmp_path: Path
) -> None:
    def write(messages: Messages) -> str:
        (tmp_path / "loaded").write_text("")
        return edit("return x * 2")

    models.write = write
    task = room.queue()
    session = room.work()
    assert asked(tmp_path) == ["generator", "generator"]
    assert room.task(task).state is TaskState.QUEUED
    assert "generator cannot be used" in session["reason"]
    assert kinds(room).count("server_died") == 3
    (given_up,) = [event for event in room.read().events(0, limit=100_000) if event.kind == "given_up"]
    assert "died 3 times" in given_up.data["reason"]
    open_ones = [one for one in account(room.read()).troubles if not one.over]
    assert "the generator is disabled after repeated failures: its server died 3 times" in open_ones[-1].what
    assert "`navigator swap to generator` tries again" in open_ones[-1].to_do


def test_a_model_that_does_not_come_up_is_tried_three_times_and_then_left_until_somebody_asks(
    room: Room, models: Models, tmp_path: Path
) -> None:
    """In a conductor that stays. The swap takes the GPU back each time; the developer mends it and asks."""
    swapping(
        tmp_path,
        '[ "$1" = generator ] && echo generator > loaded && exit 0\n: > loaded\necho "CUDA out of memory" >&2; exit 1',
    )

    def meanwhile(ask: Any) -> None:
        task = room_queue(ask)
        until(lambda: "reviewer" in ask("status")["given_up"], "that it is given up")
        assert "out of memory" in ask("status")["given_up"]["reviewer"]
        time.sleep(0.5)  # it would go on trying meanwhile, if it did
        assert asked(tmp_path).count("reviewer") == 3
        assert room.task(task).state is TaskState.AWAITING_REVIEW
        assert ask("status")["resident"] == "generator"
        swapping(tmp_path)
        answer = ask("conduct", do="swap", role="reviewer")
        assert (answer["to"], answer["already"], answer["in_hand"]) == ("reviewer", False, 0)
        until(lambda: room.task(task).state is TaskState.AWAITING_APPROVAL, "the review")
        assert ask("status")["given_up"] == {}

    staying(room, meanwhile)
    rows = [swap for swap in room.read().swaps() if swap.outcome != "done"]
    assert [(swap.outcome, swap.failure) for swap in rows] == [("went_back", "no_memory")] * 3


class Renamed(Models):
    """A server whose reviewer goes by another name than in the settings."""

    @property
    def loaded(self) -> tuple[str, ...]:
        return ("org/reader-v2",) if super().loaded == (READER,) else super().loaded


def test_a_swap_that_reports_success_with_another_model_loaded_is_a_failed_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unit runs, the script is content, and the server lists a name that the settings do not have: three tries, no more."""
    hurry(monkeypatch, retries=2)
    holds = tmp_path / "loaded"
    holds.write_text("generator")
    units = tmp_path / "bin"
    units.mkdir()
    systemctl = units / "systemctl"
    systemctl.write_text(
        f"#!/bin/sh\nread -r role < '{holds}'\n"
        'case " $* " in *"x-$role.service "*) echo ActiveState=active;; *) echo ActiveState=inactive;; esac\n'
    )
    systemctl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{units}:{os.environ['PATH']}")
    endless = '[ "$(wc -l < asked)" -gt 9 ] && exit 4'  # so that a session that swaps for ever ends as well
    swapping(tmp_path, f'{endless}\necho "$2" > loaded')
    with speaking(Renamed(lambda messages: edit("return x * 2"), holds=holds)) as models:
        room = Room(tmp_path, models, monkeypatch)
        command = f'strategy = "systemd"\nscript = "{tmp_path}/swap"'
        text = settings(tmp_path, models.url).partition("[swap]")[0] + f"[swap]\n{command}\n[swap.systemd]\n"
        room.config.write_text(
            text + 'generator_unit = "x-generator.service"\nreviewer_unit = "x-reviewer.service"\n'
        )
        task = room.queue()
        session = room.work()
    assert room.task(task).state is TaskState.AWAITING_REVIEW
    assert session["swaps"] == 0
    tries = room.read().swaps()
    assert [(swap.outcome, swap.failure) for swap in tries] == [("failed", "wrong_model")] * 3
    (given_up,) = [event for event in room.read().events(0, limit=100_000) if event.kind == "given_up"]
    for said in (tries[0].reason, given_up.data["reason"]):
        assert READER in said and "org/reader-v2" in said and models.url in said


def test_another_s_swap_in_the_way_is_waited_out(room: Room, models: Models, tmp_path: Path) -> None:
    held = 'n=$(wc -l < asked)\nif [ "$n" -le 6 ]; then echo "swap outcome=failed t=0 detail=lock_held by 7"; exit 5; fi'
    swapping(tmp_path, f'{held}\necho "$1" > loaded')
    task = room.queue()
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert "given_up" not in kinds(room)
    assert [swap.failure for swap in room.read().swaps()].count("lock_held") == 6


def test_a_manual_swap_waits_for_what_is_running(room: Room, models: Models, tmp_path: Path) -> None:
    writing, written = threading.Event(), threading.Event()

    def write(messages: Messages) -> str:
        writing.set()
        assert written.wait(PATIENCE)
        return edit("return x * 2")

    models.write = write

    def meanwhile(ask: Any) -> None:
        task = room_queue(ask)
        assert writing.wait(PATIENCE)
        assert ask("conduct", do="swap", role="reviewer")["in_hand"] == 1
        time.sleep(0.2)
        assert asked(tmp_path) == []  # the stream is not cut
        written.set()
        until(lambda: room.task(task).state is TaskState.AWAITING_APPROVAL, "the task")
        assert ask("conduct", do="swap", role="reviewer")["already"]

    staying(room, meanwhile)
    assert len(models.written) == 1
    assert models.wrong == []


def test_a_model_that_was_unloaded_by_other_hands_in_mid_stream_costs_no_task(
    room: Room, models: Models, tmp_path: Path
) -> None:
    """The reviewer is loaded by hand while the generator writes: the stream fails, the task is written later."""

    def write(messages: Messages) -> str:
        if len(models.written) == 1:
            (tmp_path / "loaded").write_text("")
            time.sleep(0.05)
            (tmp_path / "loaded").write_text("reviewer")
            raise ConnectionAbortedError
        return edit("return x * 2")

    models.write = write
    task = room.queue()
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL, room.task(task).reason
    assert len(room.proposals()) == 1
    assert room.read().call_counts()["running"] == 0


# One batch a session


def test_where_both_are_resident_a_session_is_one_batch_and_they_work_side_by_side(
    room: Room, models: Models, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.holds = None
    models.guard = threading.RLock()  # type: ignore[assignment]
    reading = threading.Event()
    beside: list[bool] = []

    def answer(body: dict[str, Any]) -> str:
        if body["model"] == READER:
            reading.set()
            return approval()
        models.written.append(body["messages"])
        if len(models.written) == 2:
            beside.append(reading.wait(PATIENCE))  # the first one is read while the second is written
        return edit("return x * 2")

    monkeypatch.setattr(models, "answer", answer)
    room.config.write_text(
        models.settings.replace("[reviewer]", "max_inflight = 1\n[reviewer]") + "[batch]\nquiet_minutes = 0\n"
    )
    for number in range(4):
        room.queue(f"Make double() multiply, {number}", files=[])
    room.work()
    assert beside == [True]
    assert {proposal.batch for proposal in room.proposals()} == {room.read().batches()[0].name}
    assert len(room.read().batches()) == 1


def test_a_conductor_that_stays_ends_its_batch_when_all_has_been_quiet(
    room: Room, models: Models, tmp_path: Path
) -> None:
    models.holds = None
    room.config.write_text(models.settings + "[batch]\nquiet_minutes = 0\n")

    def meanwhile(ask: Any) -> None:
        for number in range(2):
            task = room_queue(ask, f"Make double() multiply, {number}")
            until(lambda task=task: room.task(task).state is TaskState.AWAITING_APPROVAL, "the review")
            until(lambda: ask("status")["batch"] == "", "the batch's end")

    staying(room, meanwhile)
    assert [bool(batch.ended) for batch in room.read().batches()] == [True, True]


# The rehearsal's processes, killed


def test_a_rehearsal_s_server_that_is_killed_in_mid_stream(tmp_path: Path) -> None:
    desk = Desk.make(tmp_path)
    code = make_repository(tmp_path / "code", {"app.py": b"def double(x):\n    return x + x\n"})
    desk.run("project", "add", str(code), "--name", "code")
    for number in range(4):
        desk.run("task", "add", "code", f"Document double(), {number}", "--file", "app.py")
    run = desk.start("run", "--until", "idle", "--json", "--time-scale", "0.15")
    killed = 0
    try:
        deadline = time.monotonic() + PATIENCE
        while run.poll() is None and not killed:
            assert time.monotonic() < deadline
            try:
                busy = request(desk.paths.socket, "status", {}, timeout=5)["busy"]
            except NoConductor:
                busy = {}
            record = processes.load(desk.paths.rehearsal / "server.json")
            if record is not None and record.role == "generator" and "generator" in busy.values():
                with desk.reading() as store:
                    open_calls = store.call_counts()["running"]
                if open_calls:
                    os.kill(record.pid, signal.SIGKILL)
                    killed += 1
            time.sleep(0.005)
        out, err = run.communicate(timeout=PATIENCE)
    finally:
        if run.poll() is None:
            run.kill()
    assert killed == 1, err.decode()[-2000:]
    with desk.reading() as store:
        states = {task.state for task in store.tasks()}
        events = [event for event in store.events(0, limit=100_000) if event.kind == "server_died"]
        loads = [made(swap) for swap in reversed(store.swaps())]
        assert store.call_counts()["running"] == 0
    assert states <= {TaskState.AWAITING_APPROVAL, TaskState.DONE, TaskState.FAILED}, states
    assert [(event.data["role"], event.data["deaths"]) for event in events] == [("generator", 1)]
    assert loads[:2] == [("", "generator", "done", "navigator")] * 2
    assert run.returncode in (0, 1), out.decode()[-1000:]
