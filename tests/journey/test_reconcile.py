"""What is really loaded: swaps by other hands, servers that die, and no request lost to either; through the conductor."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from navigator.model.states import TaskState
from navigator.sheet.account import account
from tests.journey.room import Room, edit
from tests.journey.scripted_models import READER, Messages, approval
from tests.journey.support import PATIENCE
from tests.journey.swaps import asked, room_queue, staying, swapping, until


@pytest.fixture
def room(swapped: Room) -> Room:
    return swapped


def swaps(room: Room) -> list[tuple[str, str, str, str]]:
    return [
        (swap.from_role.value if swap.from_role else "", swap.to_role.value, swap.outcome, swap.made_by)
        for swap in reversed(room.read().swaps())
    ]


def events(room: Room, kind: str) -> list[dict[str, Any]]:
    """What is said of each event of a kind."""
    return [event.data for event in room.read().events(0, limit=100_000) if event.kind == kind]


def test_a_swap_by_other_hands_is_noticed_and_kept_apart(room: Room, tmp_path: Path) -> None:
    def meanwhile(ask: Any) -> None:
        until(lambda: events(room, "canary"), "the generator's canary")
        (tmp_path / "loaded").write_text("reviewer")
        until(lambda: ask("status")["resident"] == "reviewer", "the reviewer")
        task = room_queue(ask)
        until(lambda: room.task(task).state is TaskState.AWAITING_APPROVAL, "the task")

    staying(room, meanwhile)
    # And one that was made while Navigator was away.
    (tmp_path / "loaded").write_text("reviewer" if swaps(room)[-1][1] == "generator" else "generator")
    room.work()
    assert swaps(room)[-1][2:] == ("done", "outside")
    assert swaps(room)[:2] == [
        ("generator", "reviewer", "done", "outside"),
        ("reviewer", "generator", "done", "navigator"),
    ]
    assert events(room, "swap_outside") and room.models.wrong == []


def test_a_model_that_others_loaded_is_asked_before_it_is_given_work(room: Room, tmp_path: Path) -> None:
    room.models.canary = lambda model: "!" * 40 if model == READER else "1, 2, 3, 4, 5"

    def meanwhile(ask: Any) -> None:
        until(lambda: events(room, "canary"), "the generator's canary")
        (tmp_path / "loaded").write_text("reviewer")
        until(lambda: "generator" in asked(tmp_path), "the way back")
        until(lambda: ask("status")["resident"] == "generator", "the generator again")

    staying(room, meanwhile)
    assert [(one["role"], one["outcome"]) for one in events(room, "canary")[:2]] == [
        ("generator", "well"),  # loaded before this session, by whomever
        ("reviewer", "garbage"),
    ]
    assert room.models.read_by == []


def test_a_server_that_dies_while_it_writes_is_started_again(room: Room, tmp_path: Path) -> None:
    def write(messages: Messages) -> str:
        if len(room.models.written) == 1:
            (tmp_path / "loaded").write_text("")
        return edit("return x * 2")

    room.models.write = write
    task = room.queue()
    session = room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL, room.task(task).reason
    assert session["failed_swaps"] == 0
    assert asked(tmp_path) == ["generator", "reviewer"]
    assert swaps(room)[0] == ("", "generator", "done", "navigator")
    (death,) = events(room, "server_died")
    assert (death["role"], death["failure"], death["deaths"]) == ("generator", "crashed", 1)
    troubles = account(room.read()).troubles
    assert any(one.what.startswith("the generator's server died: crashed") for one in troubles)
    assert all(one.over for one in troubles), troubles


def test_a_server_that_always_dies_is_started_twice_more_and_then_left(room: Room, tmp_path: Path) -> None:
    def write(messages: Messages) -> str:
        (tmp_path / "loaded").write_text("")
        return edit("return x * 2")

    room.models.write = write
    task = room.queue()
    session = room.work()
    assert asked(tmp_path) == ["generator", "generator"]
    assert room.task(task).state is TaskState.QUEUED
    assert "generator cannot be used" in session["reason"]
    assert len(events(room, "server_died")) == 3
    (given_up,) = events(room, "given_up")
    assert "died 3 times" in given_up["reason"]
    open_ones = [one for one in account(room.read()).troubles if not one.over]
    assert "the generator is disabled after repeated failures: its server died 3 times" in open_ones[-1].what
    assert "`navigator swap to generator` tries again" in open_ones[-1].to_do


def test_a_model_that_does_not_come_up_is_left_until_somebody_asks(room: Room, tmp_path: Path) -> None:
    """In a conductor that stays. The swap takes the GPU back each time; the developer mends it and asks."""
    swapping(
        tmp_path,
        '[ "$1" = generator ] && echo generator > loaded && exit 0\n: > loaded\necho "CUDA out of memory" >&2; exit 1',
    )

    def meanwhile(ask: Any) -> None:
        task = room_queue(ask)
        until(lambda: "reviewer" in ask("status")["given_up"], "that it is given up")
        assert "out of memory" in ask("status")["given_up"]["reviewer"]
        time.sleep(0.2)  # it would go on trying meanwhile, if it did
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


def test_another_s_swap_in_the_way_is_waited_out(room: Room, tmp_path: Path) -> None:
    held = 'n=$(wc -l < asked)\nif [ "$n" -le 6 ]; then echo "swap outcome=failed t=0 detail=lock_held by 7"; exit 5; fi'
    swapping(tmp_path, f'{held}\necho "$1" > loaded')
    task = room.queue()
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert not events(room, "given_up")
    assert [swap.failure for swap in room.read().swaps()].count("lock_held") == 6


# One batch a session


def test_where_both_are_resident_they_work_side_by_side_in_one_batch(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.models.holds = None
    room.models.guard = threading.RLock()  # type: ignore[assignment]
    reading = threading.Event()
    beside: list[bool] = []

    def answer(body: dict[str, Any]) -> str:
        if body["model"] == READER:
            reading.set()
            return approval()
        room.models.written.append(body["messages"])
        if len(room.models.written) == 2:
            beside.append(reading.wait(PATIENCE))  # the first one is read while the second is written
        return edit("return x * 2")

    monkeypatch.setattr(room.models, "answer", answer)
    room.config.write_text(
        room.models.settings.replace("[reviewer]", "max_inflight = 1\n[reviewer]")
        + "[batch]\nquiet_minutes = 0\n"
    )
    for number in range(4):
        room.queue(f"Make double() multiply, {number}", files=[])
    room.work()
    assert beside == [True]
    (batch,) = {proposal.batch for proposal in room.proposals()}
    assert batch.endswith("-a")


def test_a_conductor_that_stays_ends_its_batch_when_all_is_quiet(room: Room) -> None:
    room.models.holds = None
    room.config.write_text(room.models.settings + "[batch]\nquiet_minutes = 0\n")

    def meanwhile(ask: Any) -> None:
        for number in range(2):
            task = room_queue(ask, f"Make double() multiply, {number}")
            until(lambda task=task: room.task(task).state is TaskState.AWAITING_APPROVAL, "the review")
            until(lambda: ask("status")["batch"] == "", "the batch's end")

    staying(room, meanwhile)
    ended = [event.data["batch"] for event in room.read().events_of(("batch_ended",), 0)]
    assert [name[-2:] for name in ended] == ["-a", "-b"]
