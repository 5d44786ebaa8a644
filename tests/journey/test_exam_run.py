"""The reviewer's exam in a session: what it is asked, when, and that nothing of it is taken for work."""

from __future__ import annotations

import asyncio
import json
import re
from itertools import pairwise
from typing import Any

import pytest

from navigator.exam.queue import ExamQueue, in_order
from navigator.figures.cost import call_totals
from navigator.figures.queries import verdict_counts
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import Conflict
from navigator.model.models import utc_now
from navigator.model.records import ExamAnswer
from navigator.model.states import Role, TaskState, Verdict
from tests.journey.exam_items import add_item, ask_all
from tests.journey.room import CODE, Room, edit, saying, text_of
from tests.journey.scripted_models import READER, Models, Refusal, approval, objection

RIGHT = CODE.replace("x + x", "x * 2")
WRONG = CODE.replace("x + x", "x * 3")


@pytest.fixture
def room(room: Room) -> Room:
    """The reviewer objects to `x * 3`."""
    room.models.read = lambda messages: (
        approval(findings=[objection("    return x * 3")], verdict="REVISE")
        if re.search(r"\+.*return x \* 3", text_of(messages))
        else approval()
    )
    return room


def prepare(room: Room, pairs: int) -> None:
    """So many faulty items with a clean one each."""
    with room.world() as deps:
        for number in range(pairs):
            wrong, right = (f"# {number}\n{text}" for text in (WRONG, RIGHT))
            place: dict[str, Any] = {"path": "app.py", "line": 3}
            add_item(deps, "code", {"app.py": wrong}, faulty=True, origin=f"w{number}", **place)
            add_item(deps, "code", {"app.py": right}, faulty=False, origin=f"r{number}")


def answers(room: Room) -> list[ExamAnswer]:
    return room.read().exam_answers()


def test_items_are_asked_within_their_share_and_leave_no_trace_of_work(room: Room, models: Models) -> None:
    prepare(room, 4)
    room.settle(exam="share = 0.5")
    for _ in range(3):
        room.queue()
    session = room.work()
    given = answers(room)
    assert 1 <= len(given) <= 3
    reader = room.read()
    asked = [call for call in reader.calls_after(0) if call.purpose == "exam"]
    reviews = [call for call in reader.calls_after(0) if call.purpose == "review"]
    assert {call.exam_item for call in asked} == {answer.item_id for answer in given}
    assert not any(call.task_id for call in asked)
    assert len(asked) <= len(reviews) == 3  # half of the tokens, and all calls cost the same here
    # Nothing that is counted or shown as work knows of it.
    assert session["calls"]["made"] == 6
    assert len(reader.proposals()) == len(reader.tasks()) == 3
    totals = {row.role: row.calls for row in call_totals(reader)}
    assert totals[Role.REVIEWER] == 3
    assert sum(count.n for count in verdict_counts(reader)) == 3
    assert not [event for event in reader.events(0) if event.kind == "review_unreadable"]
    for answer in given:
        item = reader.exam_item(answer.item_id)
        assert answer.verdict is (Verdict.REVISE if item.faulty else Verdict.APPROVE)
        assert (answer.named, answer.model) == (item.faulty, READER) and answer.usage.seconds > 0


def test_what_one_batch_is_too_small_for_is_saved_for_the_next(room: Room) -> None:
    prepare(room, 2)
    room.settle(exam="share = 0.25")  # an item for three reviews
    for number in range(2):
        for _ in range(2):
            room.queue()
        room.work()
        assert len(answers(room)) == number
    room.settle(exam="share = 0")
    room.queue()
    room.work()
    assert len(answers(room)) == 1


def test_an_item_that_was_not_answered_is_asked_again_and_counted_once(room: Room, models: Models) -> None:
    prepare(room, 1)
    with room.world() as deps, deps.store.transaction() as tx:  # as a crash amid an item leaves it
        tx.begin_call(Role.REVIEWER, purpose="exam", exam_item=1, prompt_version="v")
        gone = deps.reader.exam_item(1).model_copy(update={"id": 0, "origin": "gone", "tree": "0" * 40})
        assert tx.add_exam_item(gone)
    script, models.read = models.read, lambda messages: Refusal(503)
    ask_all(room)
    assert not answers(room)
    models.read = script
    ask_all(room)
    models.read = lambda messages: "I would rather not."
    task = room.queue()
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL, "an item without commits holds up nothing"
    assert sorted(answer.item_id for answer in answers(room)) == [1, 2]
    outcomes = [call.outcome for call in room.read().calls_after(0) if call.exam_item == 1]
    assert (outcomes[0], outcomes[-1]) == ("lost", "ok")
    first = answers(room)[0].model_copy(update={"id": 0})
    with room.world() as deps, pytest.raises(Conflict), deps.store.transaction() as tx:
        tx.add_exam_answer(first)
    with room.world() as deps:
        add_item(deps, "code", {"app.py": f"# more\n{RIGHT}"}, faulty=False, origin="more")
    ask_all(room)
    assert [answer.verdict for answer in answers(room)][2:] == [Verdict.UNREVIEWED]


def test_real_work_cuts_items_off(room: Room) -> None:
    with room.world() as deps:

        async def held() -> tuple[list[bool], int]:
            queue = ExamQueue(deps)
            tasks = [asyncio.create_task(asyncio.sleep(60)) for _ in range(3)]
            for number, task in enumerate(tasks):
                queue.begin(number, task)
            queue.make_room(1)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            left = queue.running
            queue.make_room(-1)
            await asyncio.gather(*tasks, return_exceptions=True)
            return [task.cancelled() for task in tasks], left

        assert asyncio.run(held()) == ([True, True, True], 1)


def test_the_server_is_sent_the_same_for_an_item_as_for_a_proposal(room: Room, models: Models) -> None:
    """Not the messages alone: everything in the request but its random id and the delimiters' key."""
    bodies: list[dict[str, Any]] = []
    answer = models.answer

    def keep(body: dict[str, Any]) -> Any:
        if body["model"] == "scripted/reader":
            bodies.append({name: value for name, value in body.items() if name != "rid"})
        return answer(body)

    models.answer = keep  # type: ignore[method-assign]
    task = room.queue(files=[])
    room.work()
    with room.world() as deps:
        text = deps.reader.task(task).text
        add_item(deps, "code", {"app.py": RIGHT}, faulty=False, origin="r", text=text)
    ask_all(room)
    of_work, of_item = (
        re.sub(r"\b[0-9a-f]{12}\b", "KEY", json.dumps(body, sort_keys=True)) for body in bodies
    )
    assert of_work == of_item


def give(deps: Dependencies, of: int) -> None:
    """Answers of the scripted reviewer to `of` faulty and `of` clean items, right in half of them."""
    version = deps.prompts.get("review").version
    for faulty in (True, False):
        made = add_item(deps, "code", {"app.py": f"# {faulty}\n{RIGHT}"}, faulty=faulty, origin=f"{faulty}")
        like = deps.reader.exam_item(made)
        with deps.store.transaction() as tx:
            for number in range(of):
                item = tx.add_exam_item(like.model_copy(update={"id": 0, "origin": f"{faulty} {number}"}))
                assert item is not None
                verdict = Verdict.REVISE if number % 2 else Verdict.APPROVE
                said = {"item_id": item, "verdict": verdict, "model": READER, "prompt_version": version}
                tx.add_exam_answer(ExamAnswer(**said, at=utc_now()))


CHANCE = "the exam found this reviewer no better than chance, J = 0.00"


@pytest.mark.parametrize(("of", "advice"), [(16, CHANCE), (10, "")], ids=["chance", "too few items"])
def test_the_revise_of_a_reviewer_no_better_than_chance_is_advice(room: Room, of: int, advice: str) -> None:
    room.models.write = saying(edit("return x * 3"), edit("return x * 4"))
    room.settle(exam="")
    with room.world() as deps:
        give(deps, of)
    room.queue()
    room.work()
    first, *later = room.proposals()
    assert first.review is not None and len(first.review.findings) == 1
    assert (first.review.verdict, first.review.advice) == (Verdict.REVISE, advice)
    assert bool(later) is not bool(advice), "it is sent back unless it is advice"
    assert sum(count.n for count in verdict_counts(room.read()) if count.verdict is Verdict.REVISE) == 1


def test_items_come_by_turns_in_an_order_that_the_seed_gives() -> None:
    items = [(number, number <= 6) for number in range(1, 13)]
    order = in_order(items, "a")
    assert sorted(order) == list(range(1, 13))
    kinds = [number <= 6 for number in order]
    assert all(one != other for one, other in pairwise(kinds))
    assert order == in_order(items, "a")
    assert order != in_order(items, "b")
    assert len({in_order(items, str(seed))[0] <= 6 for seed in range(20)}) == 2
