"""The reviewer's exam in a session: what it is asked, when, and that nothing of it is taken for work."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import subprocess
import sys
from datetime import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from navigator.exam.queue import ExamQueue, in_order, within
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import Conflict
from navigator.model.models import utc_now
from navigator.model.records import ExamAnswer
from navigator.model.states import ExamSource, Role, TaskState, Verdict
from navigator.sheet.statistics.page import PageQuestion, document
from navigator.sheet.statistics.reviewer import exam_tables
from navigator.store.reads.reader import Reader
from tests.journey.exam_items import add_item
from tests.journey.room import CODE, Room, edit, text_of
from tests.journey.scripted_models import Models, Refusal, approval, objection, settings
from tests.journey.support import hurry

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


def examined(reader: Reader) -> dict[str, Any]:
    return document(exam_tables(reader, PageQuestion()))["exam"]  # type: ignore[no-any-return]


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


def set_exam(room: Room, text: str) -> None:
    room.settle(exam=text)


def test_items_are_asked_within_their_share_and_leave_no_trace_of_work(room: Room, models: Models) -> None:
    prepare(room, 4)
    set_exam(room, "share = 0.5")
    for _ in range(3):
        room.queue()
    session = room.work()
    given = answers(room)
    assert 1 <= len(given) <= 3
    reader = room.read()
    asked = [call for call in reader.calls() if call.purpose == "exam"]
    reviews = [call for call in reader.calls() if call.purpose == "review"]
    assert {call.exam_item for call in asked} == {answer.item_id for answer in given}
    assert not any(call.task_id for call in asked)
    assert len(asked) <= len(reviews) == 3  # half of the tokens, and all calls cost the same here
    # Nothing that is counted or shown as work knows of it.
    assert session["calls"]["made"] == 6
    assert len(reader.proposals()) == len(reader.tasks()) == 3
    totals = {row.role: row.calls for row in reader.call_totals()}
    assert totals[Role.REVIEWER] == 3
    assert sum(count.n for count in reader.verdict_counts()) == 3
    assert not [event for event in reader.events(0) if event.kind == "review_unreadable"]
    for answer in given:
        item = reader.exam_item(answer.item_id)
        assert answer.verdict is (Verdict.REVISE if item.faulty else Verdict.APPROVE)
        assert answer.named is item.faulty
        assert answer.usage.seconds > 0
        assert answer.model == "scripted/reader"


def test_what_one_batch_is_too_small_for_is_saved_for_the_next(room: Room) -> None:
    prepare(room, 2)
    set_exam(room, "share = 0.25")  # an item for three reviews
    for _ in range(2):
        room.queue()
    room.work()
    assert not answers(room)
    for _ in range(2):
        room.queue()
    room.work()
    assert len(answers(room)) == 1


def test_at_night_an_idle_reviewer_answers_them_all(room: Room) -> None:
    prepare(room, 3)
    set_exam(room, 'share = 0\nhours = "00:00-00:00"')
    room.queue()
    room.work()
    assert not answers(room)  # no share, and an empty stretch of the day
    set_exam(room, 'hours = "00:00-23:59"')
    room.work()
    assert len(answers(room)) == 6


def test_an_item_that_was_not_answered_is_asked_again_and_counted_once(room: Room, models: Models) -> None:
    prepare(room, 1)
    set_exam(room, 'hours = "00:00-23:59"')
    script, models.read = models.read, lambda messages: Refusal(503)
    room.work()
    assert not answers(room)
    models.read = script
    room.work()
    models.read = lambda messages: "I would rather not."
    room.work()
    assert sorted(answer.item_id for answer in answers(room)) == [1, 2]
    with room.world() as deps:
        add_item(deps, "code", {"app.py": f"# more\n{RIGHT}"}, faulty=False, origin="more")
    room.work()
    assert [answer.verdict for answer in answers(room)][2:] == [Verdict.UNREVIEWED]


def test_a_crash_amid_an_item_means_that_it_is_asked_again(room: Room) -> None:
    prepare(room, 1)
    with room.world() as deps, deps.store.transaction() as tx:
        tx.begin_call(Role.REVIEWER, purpose="exam", exam_item=1, prompt_version="v")
    set_exam(room, 'hours = "00:00-23:59"')
    room.work()
    assert sorted(answer.item_id for answer in answers(room)) == [1, 2]
    outcomes = [call.outcome for call in room.read().calls() if call.exam_item == 1]
    assert outcomes == ["lost", "ok"]
    (first, *_) = answers(room)
    with (
        room.world() as deps,
        pytest.raises(Conflict),
        deps.store.transaction() as tx,
    ):
        tx.add_exam_answer(first.model_copy(update={"id": 0}))


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


def test_an_item_whose_commits_are_gone_holds_nothing_up(room: Room) -> None:
    prepare(room, 1)
    with room.world() as deps:
        item = deps.reader.exam_item(1)
        with deps.store.transaction() as tx:
            lost = item.model_copy(update={"id": 0, "origin": "gone", "tree": "0" * 40})
            assert tx.add_exam_item(lost)
    set_exam(room, 'hours = "00:00-23:59"')
    task = room.queue()
    room.work()
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    assert sorted(answer.item_id for answer in answers(room)) == [1, 2]


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
    set_exam(room, 'hours = "00:00-23:59"')
    room.work()
    of_work, of_item = (
        re.sub(r"\b[0-9a-f]{12}\b", "KEY", json.dumps(body, sort_keys=True)) for body in bodies
    )
    assert of_work == of_item


def give(deps: Dependencies, *, caught: int, passed: int, of: int) -> None:
    """Store answers of the scripted reviewer to `of` faulty and `of` clean items."""
    version = deps.prompts.get("review").version
    for faulty, right in ((True, caught), (False, passed)):
        for number in range(of):
            item = add_item(
                deps,
                "code",
                {"app.py": f"# {faulty} {number}\n{RIGHT}"},
                faulty=faulty,
                origin=f"given {faulty} {number}",
                source=ExamSource.MUTANT,
            )
            revise = (number < right) is faulty
            with deps.store.transaction() as tx:
                tx.add_exam_answer(
                    ExamAnswer(
                        item_id=item,
                        verdict=Verdict.REVISE if revise else Verdict.APPROVE,
                        model="scripted/reader",
                        prompt_version=version,
                        at=utc_now(),
                    )
                )


def test_the_revise_of_a_reviewer_no_better_than_chance_is_advice(room: Room, models: Models) -> None:
    models.write = lambda messages: edit("return x * 3")
    with room.world() as deps:
        give(deps, caught=8, passed=8, of=16)
    task = room.queue()
    room.work()
    assert room.task(task).state is TaskState.AWAITING_APPROVAL
    (proposal,) = room.proposals()
    assert proposal.review is not None
    assert proposal.review.verdict is Verdict.REVISE
    assert proposal.review.advice == "the exam found this reviewer no better than chance, J = 0.00"
    assert len(proposal.review.findings) == 1
    (count,) = room.read().verdict_counts()
    assert (count.verdict, count.n) == (Verdict.REVISE, 1)


@pytest.mark.parametrize(
    ("caught", "passed", "of", "more"),
    [(5, 5, 10, ""), (8, 8, 16, "demote = false")],
    ids=["too few items", "switched off"],
)
def test_a_revise_keeps_its_power(
    room: Room, models: Models, caught: int, passed: int, of: int, more: str
) -> None:
    answers = itertools.chain(["return x * 3"], itertools.repeat("return x * 4"))
    models.write = lambda messages: edit(next(answers))
    set_exam(room, more)
    with room.world() as deps:
        give(deps, caught=caught, passed=passed, of=of)
    room.queue()
    room.work()
    first, *later = room.proposals()
    assert first.review is not None
    assert (first.review.verdict, first.review.advice) == (Verdict.REVISE, "")
    assert later, "it was sent back"


def test_hours_may_go_over_midnight() -> None:
    assert within("01:00-06:00", time(1, 0)) and not within("01:00-06:00", time(6, 0))
    assert within("22:00-06:00", time(5, 59)) and not within("22:00-06:00", time(12, 0))


def test_items_come_by_turns_in_an_order_that_the_seed_gives() -> None:
    items = [(number, number <= 6) for number in range(1, 13)]
    order = in_order(items, "a")
    assert sorted(order) == list(range(1, 13))
    kinds = [number <= 6 for number in order]
    assert all(one != other for one, other in pairwise(kinds))
    assert order == in_order(items, "a")
    assert order != in_order(items, "b")
    assert len({in_order(items, str(seed))[0] <= 6 for seed in range(20)}) == 2


def test_a_rehearsal_reviewer_over_http_is_examined_by_the_conductor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry(monkeypatch)
    # Its state is a rehearsal's from the start.
    names = ("rehearsal/Qwen3.5-35B-A3B", "rehearsal/Qwen3.5-122B-A10B")
    room = Room(tmp_path, Models(str, url="http://127.0.0.1:9", names=names), monkeypatch)
    pairs, old = (
        18,
        "def check{0}(count):\n    if count > LIMIT:\n        raise ValueError(count)\n    return count\n",
    )
    room.commit({f"c{number}.py": old.format(number) for number in range(pairs)}, "Add checks")
    with room.world() as deps:
        for number in range(pairs):
            name, text = f"c{number}.py", "Return the absolute value"
            right = old.format(number).replace("return count", "return abs(count)")
            wrong = right.replace("count >", "count >=")
            place: dict[str, Any] = {"path": name, "line": 2}
            add_item(deps, "code", {name: right}, faulty=False, origin=f"r{number}", text=text)
            add_item(deps, "code", {name: wrong}, faulty=True, origin=f"w{number}", text=text, **place)
    command = [sys.executable, "-m", "tests.scripted", "--role", "reviewer", "--time-scale", "0"]
    command += ["--skill", "0.95", "0.95", "--faulty", ">="]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            url = f"http://127.0.0.1:{json.loads(server.stdout.readline())['port']}"
            text = settings("http://127.0.0.1:9", url, names)
            room.config.write_text(f'{text}[exam]\nhours = "00:00-23:59"\n', encoding="utf-8")
            room.work()
        finally:
            server.terminate()
    reader = room.read()
    found = examined(reader)
    assert reader.rehearsal and not reader.tasks()
    assert found["items"] == 2 * pairs
    assert found["faulty"]["n"] + found["clean"]["n"] + found["unreviewed"] == 2 * pairs
    for share in ("sensitivity", "specificity"):
        assert found[share]["low"] <= 0.95 <= found[share]["high"]
    assert found["verdict"] == "worth it" and found["reason"]
    keys = "items faulty clean sensitivity specificity by_source by_size youden genuine_share reason verdict cost"
    assert set(keys.split()) <= found.keys()
    assert found["genuine_share"] is None
    assert found["cost"]["tokens"] > 0
    assert found["named"]["value"] == 1.0
