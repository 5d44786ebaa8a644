"""Servers that are healthy and answer garbage: found after a load and in mid-residency, through the conductor."""

from __future__ import annotations

from pathlib import Path

from navigator.model.states import TaskState
from navigator.store.reads.reader import Reader
from tests.journey.room import Room
from tests.journey.scripted_models import READER
from tests.journey.swaps import asked, settings

GARBAGE = "!" * 40


def outcomes(reader: Reader) -> list[tuple[str, str]]:
    events = reader.events(0, limit=100_000)
    return [(event.data["role"], event.data["outcome"]) for event in events if event.kind == "canary"]


def test_a_load_that_answers_garbage_is_a_failed_load(swapped: Room, tmp_path: Path) -> None:
    """Its health and its model's name are right: three loads, each undone, and no task is given to it."""
    room, models = swapped, swapped.models
    models.canary = lambda model: GARBAGE if model == READER else "1, 2, 3, 4, 5"
    task = room.queue()
    session = room.work()
    assert asked(tmp_path) == ["reviewer", "generator"] * 3
    assert (models.read_by, session["swaps"]) == ([], 0)
    assert "garbage" in session["problems"]["reviewer"]
    assert room.task(task).state is TaskState.AWAITING_REVIEW
    tries = room.read().swaps()
    assert [(swap.outcome, swap.failure) for swap in tries] == [("went_back", "garbage")] * 3
    first = ("generator", "well")  # it was loaded before the session
    assert outcomes(room.read()) == [first, *[("reviewer", "garbage")] * 3]
    assert "repeats one or two tokens" in tries[-1].reason
    # Off, it asks nothing, and what the model writes is judged by its form alone.
    room.config.write_text(settings(tmp_path, models.url) + "[canary]\nenabled = false\n")
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert len(outcomes(room.read())) == 4
    # Well again, it gets work.
    room.config.write_text(settings(tmp_path, models.url))
    models.canary = lambda model: "1, 2, 3, 4, 5"
    assert room.done().review is not None
    (swap,) = room.read().swaps(1)
    assert (outcomes(room.read())[-1][1], swap.outcome) == ("well", "done")
    assert swap.phases[-1].name == "canary", "a swap lasts until the first answer"
    assert swap.seconds >= sum(phase.seconds for phase in swap.phases) - 0.01
