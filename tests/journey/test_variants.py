"""Several proposals for one task: how they differ, what is read together, which is best, and what is put away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from navigator.figures.page import PageQuestion, declared, document
from navigator.figures.queries import verdict_counts
from navigator.figures.rates import revise_rate
from navigator.journey.variants import variations
from navigator.model.errors import UsageError
from navigator.model.states import LandingState, TaskState
from navigator.sheet.marks import Kind, batch_choice
from navigator.sheet.variants import standings
from tests.journey.room import Room, edit, text_of
from tests.journey.scripted_models import Messages, Models, approval, objection, speaking

USUAL = edit("return x * 2")
LINES = {0.2: "return x * 2", 0.6: "return 2 * x", 1.0: "return x << 1"}


class ByTemperature(Models):
    """A generator that writes what the temperature of the call says."""

    def answer(self, body: dict[str, Any]) -> Any:
        said = super().answer(body)
        return edit(LINES[body["temperature"]]) if said == USUAL else said


@pytest.fixture
def models() -> Iterator[Models]:
    with speaking(ByTemperature(lambda messages: USUAL)) as models:
        yield models


def queue(room: Room, variants: int = 3, **more: Any) -> list[str]:
    task = {"project": "code", "text": "Make double() multiply", "files": ["app.py"], "variants": variants}
    return [made["id"] for made in room.act("task.add", tasks=[task | more])["tasks"]]


def reject_shifts(messages: Messages) -> str:
    if "<< 1" in text_of(messages):
        return approval(verdict="REVISE", findings=[objection("return x << 1")])
    return approval()


def test_three_are_written_and_read_in_one_residency_and_one_is_approved(room: Room, models: Models) -> None:
    written: list[int] = []

    def read(messages: Messages) -> str:
        written.append(len(models.written))
        return reject_shifts(messages)

    models.read = read
    first, second, third = queue(room)
    follower = room.queue("After it", after=[first])
    room.work()
    assert written[:3] == [3] * 3, "both models are there, and no variant is read before all are written"
    proposals = {one.task_id: one for one in room.proposals()}
    assert [proposals[task].variant for task in (first, second, third)] == [1, 2, 3]
    assert len({(one.batch, one.base_commit) for one in proposals.values()}) == 1
    found = standings(room.read(), first)
    # The one with findings comes last.
    assert [one.task.id for one in found] == [first, second, third]
    assert room.task(third).state is TaskState.AWAITING_APPROVAL
    # A batch leaves them out: only one may be approved.
    choice = batch_choice(room.read(), unseen=True)
    kinds = [mark.kind for _, mark in choice.left_out]
    assert choice.taken == () and sorted(kinds) == [Kind.REVISE, Kind.VARIANT, Kind.VARIANT]
    assert room.decide("approve", proposals[second])["landing"] == LandingState.LANDED
    for task in (first, third):
        assert room.task(task).state is TaskState.CANCELLED
        assert f"{proposals[second].id}, another variant" in room.task(task).reason
    assert room.task(follower).after == (second,)
    assert not room.approve(proposals[first])["recorded"]
    # Only the first variant counts in the revise rate; each way is counted apart.
    (row,) = revise_rate(verdict_counts(room.read()), whole=True).rows
    assert (row.n, row.revise) == (1, 0)
    rows = document(declared("writing")(room.read(), PageQuestion()))["variants"]["rows"]
    ways = {row["variation"]: (row["chosen"]["k"], row["chosen"]["n"], row["approved"]["k"]) for row in rows}
    assert ways["as the settings say"] == (0, 1, 1)
    assert (ways["temperature 0.6"], ways["temperature 1"]) == ((1, 1, 1), (0, 1, 0))


def test_a_second_one_is_not_approved_beside_the_first(room: Room) -> None:
    first, second = queue(room, 2)
    room.work()
    proposals = {one.task_id: one for one in room.proposals()}
    room.decide("approve", proposals[first])
    room.act("task.retry", ids=[second])
    room.work()
    refused = room.approve(room.proposal(second))
    assert not refused["recorded"] and f"{proposals[first].id} is approved" in refused["reason"]


def test_variants_of_a_removed_project_are_still_shown(room: Room) -> None:
    tasks = queue(room, 2)
    room.work()
    room.act("project.remove", names=["code"])
    assert {one.task.id for one in standings(room.read(), tasks[0])} == set(tasks)


def test_temperatures_are_spread_from_the_settings_and_the_first_is_theirs() -> None:
    def spread(number: int, temperature: float) -> list[float | None]:
        return [one.temperature for one in variations(number, temperature)]

    assert spread(3, 0.2) == [None, 0.6, 1.0]
    assert spread(2, 0.9) == [None, 0.2]


def test_what_ends_without_a_change_has_no_variants(room: Room) -> None:
    with pytest.raises(UsageError, match="variants"):
        queue(room, 2, kind="scan")
