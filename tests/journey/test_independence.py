"""What a second model is worth: the same items asked of both, and the difference."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.figures.exam import paired
from navigator.model.errors import Conflict
from navigator.model.outcomes import ExamPair
from navigator.model.states import Role, Verdict
from navigator.sheet.exam_worth import ENOUGH, independence
from navigator.sheet.statistics.page import PageQuestion
from navigator.sheet.statistics.reviewer import EXAM
from tests.journey.exam_items import add_item
from tests.journey.room import Room, text_of
from tests.journey.scripted_models import Messages, approval, objection
from tests.journey.test_exam_run import set_exam

RUNS = 200


def pairs(rng: random.Random, n: int, first: float, second: float, shared: float) -> list[ExamPair]:
    """Verdicts of two readers of known skill on n faulty and n clean items; with `shared` the second says what the first says,
    where that leaves its rate as it is."""
    made: Counter[tuple[bool, Verdict, Verdict]] = Counter()
    for faulty in (True, False):
        right, other = (Verdict.REVISE, Verdict.APPROVE) if faulty else (Verdict.APPROVE, Verdict.REVISE)
        for _ in range(n):
            draw = rng.random()
            again = draw if rng.random() < shared else rng.random()
            made[faulty, right if draw < first else other, right if again < second else other] += 1
    return [
        ExamPair(model="r", prompt_version="v", faulty=faulty, first=one, second=two, n=count)
        for (faulty, one, two), count in made.items()
    ]


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.5), (0.85, 0.95)])
@pytest.mark.parametrize("shared", [0.0, 0.7])
def test_the_figures_cover_the_truth_in_as_many_runs_as_they_say(
    first: float, second: float, shared: float
) -> None:
    rng, hits = random.Random(7), Counter[str]()
    for _ in range(RUNS):
        found = paired(pairs(rng, 40, first, second, shared))
        for name, side in (("sensitivity", found.sensitivity), ("specificity", found.specificity)):
            assert side.gain is not None
            hits[f"{name} gain"] += side.gain.low <= second - first <= side.gain.high
            hits[f"{name} first"] += side.first.low <= first <= side.first.high
            hits[f"{name} second"] += side.second.low <= second <= side.second.high
    # 95 %: of 200 runs, fewer than 181 happen by chance once in 1,000 times.
    assert min(hits.values()) >= 181, hits


WRONG = [f"    return x * {100 + number}" for number in range(ENOUGH)]
"""The faulty lines of the items."""


def seeing(known: list[str]) -> Any:
    """A reader that sees these lines alone."""

    def read(messages: Messages) -> str:
        text = text_of(messages)
        for line in known:
            if f" + {line}\n" in text or f"+{line}\n" in text:
                return approval(findings=[objection(line)], verdict="REVISE")
        return approval()

    return read


def test_both_models_answer_the_items_and_the_difference_is_said(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    room.models.write, room.models.read = seeing(WRONG[:3]), seeing(WRONG)
    with pytest.raises(Conflict, match="no exam items"):
        room.act("exam.run", writer=True)
    before = independence(room.read()).words
    assert before.startswith("It is not known whether one model could do both") and "there are 0" in before
    assert "It is not known whether one model" in CliRunner().invoke(cli, ["doctor"]).output.replace(
        "\n", " "
    )
    with room.world() as deps:
        for number, line in enumerate(WRONG):
            text = f"def f(x):\n{line}\n"
            add_item(deps, "code", {"app.py": text}, faulty=True, origin=f"w{number}", path="app.py", line=2)
            add_item(deps, "code", {"app.py": f"# {number}\n"}, faulty=False, origin=f"r{number}")
    with pytest.raises(Conflict, match="not loaded"):
        room.act("exam.run", writer=True)
    set_exam(room, 'hours = "00:00-23:59"')
    room.work()
    room.act("exam.run", items=100, writer=True)
    answers = room.read().exam_answers()
    assert Counter(one.role for one in answers) == {Role.REVIEWER: 24, Role.GENERATOR: 24}
    room.work()
    assert len(room.read().exam_answers()) == 48, "nothing is asked twice"
    found = independence(room.read())
    side = found.models.sensitivity
    assert side.gain is not None and side.gain.low > 0
    assert (side.first.k, side.second.k, side.n) == (3, 12, 12)
    assert found.models.specificity.second.k == 12
    low, high = round(100 * side.gain.low), round(100 * side.gain.high)
    assert f"[{low} to {high}] more of 100 faults" in found.words
    page = EXAM.document(EXAM.read(room.read(), PageQuestion()))
    assert page["model"] == "scripted/reader", "the writer is no reviewer"
    assert len(page["reviewers"]) == 1
    told = " ".join(CliRunner().invoke(cli, ["exam", "show"]).output.split())
    assert "WHAT IS INDEPENDENCE WORTH?" in told
