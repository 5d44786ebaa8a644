"""What a second model is worth: the same items asked of both, and the cases that come with Navigator."""

from __future__ import annotations

import sys
from collections import Counter
from types import ModuleType
from typing import Any

import pytest

from navigator.exam.items import cases
from navigator.figures.page import PageQuestion, document
from navigator.figures.reviewer import ENOUGH, exam_tables, independence
from navigator.model.errors import Conflict
from navigator.model.states import Role
from tests.journey.exam_items import ask_all
from tests.journey.room import Room, text_of
from tests.journey.scripted_models import Messages, approval, objection


def passes(case: dict[str, str], form: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the test of a case passes on one form of its file."""
    module = ModuleType(case["path"].removesuffix(".py"))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(case[form], vars(module))
    try:
        exec(case["test"], {"__name__": "__main__"})
    except Exception:  # noqa: BLE001
        return False
    return True


def test_each_of_the_24_cases_has_a_test_that_tells_right_from_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(cases()) == len({case["name"] for case in cases()}) == ENOUGH == 12
    for case in cases():
        told = [passes(case, form, monkeypatch) for form in ("right", "wrong")]
        assert told == [True, False], case["name"]
        assert case["text"] and case["title"] and "synthetic" not in case["text"]


WRONG = [
    next(line for line in case["wrong"].splitlines() if line not in case["right"].splitlines())
    for case in cases()
]
"""Of each faulty case the first line of its own; in `callers`, the last one, the fault is that it was not changed."""


def seeing(known: list[str]) -> Any:
    """A reader that sees these lines alone."""

    def read(messages: Messages) -> str:
        text = text_of(messages)
        for line in known:
            if f" + {line}\n" in text or f"+{line}\n" in text:
                return approval(findings=[objection(line)], verdict="REVISE")
        return approval()

    return read


def test_both_models_answer_and_the_difference_is_said(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.models.write, room.models.read = seeing(WRONG[:3]), seeing(WRONG)
    with pytest.raises(Conflict, match="no exam items"):
        room.act("exam.run", writer=True)
    before = independence(room.read()).words
    assert before.startswith("It is not known whether one model could do both") and "there are 0" in before
    for _ in range(2):
        made = room.act("exam.prepare", synthetic=True)["projects"][0]
    assert (made["faulty"], made["clean"], made["sources"]["synthetic"]["known"]) == (12, 12, 24)
    with pytest.raises(Conflict, match="not loaded"):
        room.act("exam.run", writer=True)
    room.work()
    ask_all(room)
    room.act("exam.run", items=100, writer=True)
    answers = room.read().exam_answers()
    assert Counter(one.role for one in answers) == {Role.REVIEWER: 24, Role.GENERATOR: 24}
    ask_all(room)
    assert len(room.read().exam_answers()) == 48, "nothing is asked twice"
    found = independence(room.read())
    side = found.models.sensitivity
    assert side.gain is not None and side.gain.low > 0
    assert (side.first.k, side.second.k, side.n) == (3, 11, 12)
    assert found.models.specificity.second.k == 12 and found.synthetic
    low, high = round(100 * side.gain.low), round(100 * side.gain.high)
    assert f"[{low} to {high}] more of 100 faults of our synthetic cases, which flatter" in found.words
    page = document(exam_tables(room.read(), PageQuestion()))["exam"]
    assert page["model"] == "scripted/reader", "the writer is no reviewer"
    assert len(page["reviewers"]) == 1
    told = " ".join(room.desk.read("exam", "show").split())
    assert "WHAT IS INDEPENDENCE WORTH?" in told and "synthetic cases: they flatter every model" in told
