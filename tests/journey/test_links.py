"""Linked tasks: when they start, what they are written on, where they land, and what happens when the first one fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.model.errors import NavigatorError, UsageError
from navigator.model.states import LandingState, TaskState
from navigator.sheet.variants import why_it_waits
from tests.journey.room import Room, block, edit, text_of
from tests.journey.scripted_models import Messages, Models
from tests.journey.support import git, make_repository

SECOND = "Then call it twice"


def write(messages: Messages) -> str:
    """The first task doubles; the second one changes what the first one made."""
    if SECOND in text_of(messages):
        return edit("return x * 4", old="return x * 2")
    return edit("return x * 2")


@pytest.fixture
def room(room: Room) -> Room:
    room.models.write = write
    return room


def test_a_task_starts_when_the_one_before_it_landed_and_lands_on_top_of_it(room: Room) -> None:
    first = room.queue()
    second = room.queue(SECOND, after=[first])
    session = room.work()
    assert room.task(second).state is TaskState.QUEUED
    assert "1 task waits for other tasks to land" in session["reason"]
    assert room.decide("approve", room.proposal(first))["landing"] == LandingState.LANDED
    room.work()
    assert room.task(second).state is TaskState.AWAITING_APPROVAL
    # The landing is on a branch of its own: the base branch does not have it, and the second one is written on it.
    assert git(room.repository, "show", "main:app.py").endswith("return x + x")
    landed = room.decide("approve", room.proposal(second))
    assert landed["landing"] == LandingState.LANDED
    assert landed["ref"] == room.proposal(first).landing.ref  # type: ignore[union-attr]
    assert git(room.repository, "show", f"{landed['ref']}:app.py").endswith("return x * 4")
    diff = git(room.repository, "diff", f"{landed['ref']}~1", landed["ref"])
    assert "-    return x * 2" in diff and "x + x" not in diff


def test_an_approved_change_that_cannot_land_is_built_upon_and_has_to_land_first(room: Room) -> None:
    first = room.queue()
    second = room.queue(SECOND, after=[first])
    room.work()
    before = room.proposal(first)
    room.act("project.set", name="code", landing="current")
    (room.repository / "app.py").write_text("mine\n")  # an uncommitted change: the landing is refused
    assert room.decide("approve", before)["landing"] == LandingState.REFUSED
    room.work()
    assert room.task(second).state is TaskState.AWAITING_APPROVAL
    refused = room.decide("approve", room.proposal(second))
    assert not refused["recorded"] and f"written on top of {before.id}" in refused["reason"]
    git(room.repository, "checkout", "app.py")
    assert room.decide("approve", before)["landing"] == LandingState.LANDED
    assert room.decide("approve", room.proposal(second))["landing"] == LandingState.LANDED
    assert (room.repository / "app.py").read_text().endswith("return x * 4\n")


def test_a_rejected_one_holds_it_up_until_it_is_freed(room: Room) -> None:
    first = room.queue()
    second = room.queue("Make double() multiply", after=[first])
    room.work()
    room.decide("reject", room.proposal(first))
    room.work()
    unmet = [(one.id, one.state) for one in room.read().predecessors(second) if not one.met]
    said = why_it_waits(second, unmet)
    assert f"{first} is rejected" in said and f"navigator task after {second}" in said
    assert room.task(second).state is TaskState.QUEUED
    room.act("task.after", ids=[second])
    room.work()
    assert room.task(second).state is TaskState.AWAITING_APPROVAL


def test_an_undone_landing_takes_what_was_built_on_it_back_to_waiting(room: Room) -> None:
    first = room.queue()
    second = room.queue(SECOND, after=[first])
    room.work()
    room.decide("approve", room.proposal(first))
    room.work()
    room.act("undo", ids=[room.proposal(first).id])
    built = room.proposal(second)
    decided = room.decide("approve", built)
    assert decided["landing"] == LandingState.REFUSED and "undone" in decided["reason"]
    room.work()
    assert (room.task(second).state, room.task(second).attempt) == (TaskState.QUEUED, 1)


def test_across_projects_it_is_told_what_was_changed(room: Room, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "caller", {"use.py": b"from app import double\n"})
    room.act("project.add", path=str(other), name="caller")
    first = room.queue()
    room.models.write = lambda messages: (
        block("use.py", "from app import double\n", "from app import double as twice\n")
        if "Rename the import" in text_of(messages)
        else edit("return x * 2")
    )
    queued = room.queue("Rename the import", project="caller", files=[], after=[first])
    room.work()
    assert room.task(queued).state is TaskState.QUEUED
    room.decide("approve", room.proposal(first))
    room.work()
    assert room.task(queued).state is TaskState.AWAITING_APPROVAL
    asked = text_of(room.models.written[-1])
    assert "[[begin change-elsewhere" in asked and '"project": "code"' in asked and "return x * 2" in asked


def test_circles_are_refused_and_queue_nothing(room: Room) -> None:
    first = room.queue()
    second = room.queue("Another", after=[first])
    third = room.queue("A third", after=[second])
    with pytest.raises(UsageError, match=f"{third} would wait for itself"):
        room.act("task.after", ids=[first], after=[third])
    with pytest.raises(UsageError, match="would wait for itself"):
        room.act("task.after", ids=[first], after=[first])
    circle = [
        {"project": "code", "text": "A", "name": "a", "after": ["b"]},
        {"project": "code", "text": "B", "name": "b", "after": ["a"]},
    ]
    with pytest.raises(UsageError, match="would wait for itself"):
        room.act("task.add", tasks=circle)
    with pytest.raises(NavigatorError, match="T99"):
        room.queue("After nothing", after=["T99"])
    assert len(room.read().tasks()) == 3
    named = [
        {"project": "code", "text": "The caller", "after": ["api"]},
        {"project": "code", "text": "The API", "name": "api"},
    ]
    caller, api = room.act("task.add", tasks=named)["tasks"]
    assert caller["after"] == [api["id"]] and api["after"] == []
    linked = room.act("task.after", ids=[third], after=[first])["tasks"][0]
    assert linked["after"] == [first]


def test_two_tasks_first_need_a_commit_that_holds_both(room: Room, models: Models) -> None:
    def readme(messages: Messages) -> str:
        if "Explain" in text_of(messages):
            return block("README.md", "# Code\n", "# Code\n\nDoubles.\n")
        return write(messages)

    models.write = readme
    first = room.queue()
    other = room.queue("Explain it", files=["README.md"])
    second = room.queue(SECOND, after=[first, other])
    room.work()
    for task in (first, other):  # both are of one batch: the second landing is on top of the first
        assert room.decide("approve", room.proposal(task))["landing"] == LandingState.LANDED
    room.work()
    assert room.task(second).state is TaskState.AWAITING_APPROVAL
    landed = room.decide("approve", room.proposal(second))
    assert git(room.repository, "show", f"{landed['ref']}:README.md").endswith("Doubles.")
    # A branch that the developer renamed and did not merge holds only what landed on it.
    git(room.repository, "branch", "-m", landed["ref"].removeprefix("refs/heads/"), "mine")
    third = room.queue("Explain it to others", files=["README.md"])
    more = block("other.md", "", "More.\n")
    models.write = lambda messages: more if "to others" in text_of(messages) else readme(messages)
    last = room.queue(SECOND, after=[second, third])
    room.work()
    assert room.decide("approve", room.proposal(third))["landing"] == LandingState.LANDED
    room.work()
    assert room.task(last).state is TaskState.FAILED
    assert "no one commit holds all their changes" in room.task(last).reason
