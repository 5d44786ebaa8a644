"""What is made under a swap is what the stage would have made, is used once, and is left when anything about it changed.

And one whole session of the rehearsal, looked at from all sides.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from navigator.cli.session import locked_dependencies
from navigator.engine.conductor import Conductor, RunOptions
from navigator.engine.swapping import Ahead
from navigator.journey import review
from navigator.journey.prompts import material
from navigator.journey.prompts.material import gather
from navigator.journey.recovery import Storage
from navigator.model.snapshot import SchedulerSnapshot, TaskView
from navigator.model.states import Role, TaskState
from navigator.schedule.batch_time import PUBLISHED
from tests.journey.support import PATIENCE, REHEARSAL, Desk, git, make_repository

FILES = {"app.py": b"def load(path, found=[]):\n    return found\n"}


SETTINGS = (
    REHEARSAL.replace("[reviewer]", "logprobs = true\n[reviewer]")
    + "[batch]\nquiet_minutes = 10\nrevisions = 0\n"
)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    desk = Desk.make(tmp_path, SETTINGS)
    monkeypatch.setenv("NAVIGATOR_CONFIG", str(desk.config))
    desk.read("project", "add", str(make_repository(tmp_path / "code", FILES)), "--check", "true")
    for number in range(2):
        desk.read("task", "add", "code", f"Remove mutable default arguments from app.py ({number})")
    return desk


QUEUED = SchedulerSnapshot(
    tasks=tuple(TaskView(f"T{n}", 1, TaskState.QUEUED, 0, n, 0, 0.0) for n in (1, 2)),
    capacity={Role.GENERATOR: 1},
)


@pytest.mark.parametrize("change", ["nothing", "the note", "the base"])
def test_a_prompt_is_used_for_what_it_was_made_of_and_for_nothing_else(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    made: Counter[str] = Counter()
    plain = material.prompt_for

    def counted(deps: Any, source: Any, task: Any, *rest: Any, **named: Any) -> Any:
        made[task.id] += 1
        return plain(deps, source, task, *rest, **named)

    monkeypatch.setattr(material, "prompt_for", counted)
    with locked_dependencies(desk.paths, time_scale=0.0) as deps:
        ahead = Ahead(deps, Storage(deps, lambda reason: None))
        asyncio.run(ahead.fill(Role.GENERATOR, QUEUED, time.monotonic()))
        assert (ahead.prompts, ahead.baselines) == (2, 1)
        assert made == {"T1": 1, "T2": 1}
        assert deps.reader.task("T1").base_commit == "", "nothing is pinned ahead"
        assert deps.reader.newest_baseline(1) is not None
        task = deps.reader.task("T1")
        if change == "the note":
            task = task.model_copy(update={"note": "Mind the tests."})
        elif change == "the base":
            (tmp_path / "code" / "app.py").write_text("def load(path):\n    return path\n")
            git(tmp_path / "code", "commit", "-qam", "Change")
        gathered = asyncio.run(gather(deps, task))
        assert made["T1"] == (1 if change == "nothing" else 2)
        again = asyncio.run(gather(deps, deps.reader.task("T1").model_copy(update={"note": task.note})))
        assert made["T1"] == (2 if change == "nothing" else 3), "it is taken once"
        assert again.prompted.messages == gathered.prompted.messages


def test_a_session_says_when_it_reviews_and_prepares_it_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned: list[str] = []
    plain = review.plan_review

    def plan_review(subject: Any, deps: Any) -> Any:
        planned.append(subject.proposal.id)
        return plain(subject, deps)

    monkeypatch.setattr(review, "plan_review", plan_review)

    async def run(deps: Any) -> tuple[Any, Any, float]:
        conductor = Conductor(deps, RunOptions())
        running = asyncio.create_task(conductor.run())

        async def until(condition: Any) -> None:
            while not condition():
                assert not running.done()
                await asyncio.sleep(0.01)

        try:
            await until(lambda: len(deps.reader.tasks({TaskState.AWAITING_REVIEW})) == 2)
            await until(lambda: conductor._status()["next_review"])
            told = conductor._status()["next_review"]
            assert conductor._live.figures.swap_in == PUBLISHED.swap_in  # nothing was swapped yet
            conductor.review_now()
            conductor._wake.set()
            await until(lambda: len(deps.reader.tasks({TaskState.AWAITING_APPROVAL})) == 2)
            await until(lambda: conductor._live.figures.swap_in != PUBLISHED.swap_in)
            return told, conductor._status()["ahead"], conductor._live.figures.swap_in
        finally:
            conductor.stop("the test is over")
            await running

    with locked_dependencies(desk.paths, time_scale=0.0) as deps:
        told, ahead, swap_in = asyncio.run(asyncio.wait_for(run(deps), PATIENCE))
        reviews = [one.id for one in deps.reader.proposals() if one.review is not None]
        (back, *_) = [swap for swap in deps.reader.swaps(9) if swap.to_role is Role.REVIEWER]
        made = deps.reader.calls_after(0)
        written, read = (
            [one for one in made if one.role is role] for role in (Role.GENERATOR, Role.REVIEWER)
        )
    assert told["why"] == "when no task came for 10 min" and 0 < told["seconds"] <= 600
    assert swap_in < PUBLISHED.swap_in, "swaps are known as they were measured"
    assert sorted(planned) == sorted(reviews) and len(reviews) == 2
    assert ahead["prompts"] == len(reviews) and back.filled_with["prompts"] > 0
    # Entropy is asked for only where the settings say so, kept with call and change, shown and counted.
    assert all(call.entropy_mean for call in written)
    assert {call.entropy_mean for call in read} == {None}
    (first, *_) = json.loads(desk.read("proposals", "--json"))["proposals"]
    assert first["entropy_mean"] == {call.task_id: call.entropy_mean for call in written}[first["task_id"]]
