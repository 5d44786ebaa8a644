"""What a second model is worth: the same items asked of both, and the cases that come with Navigator."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from navigator.cli.main import cli
from navigator.exam.items import cases
from navigator.figures.exam import exam_scores, paired, worth_words
from navigator.model.errors import Conflict
from navigator.model.records import ExamCount, ExamPair
from navigator.model.states import ExamSource, Role, Verdict
from navigator.sheet.statistics.page import PageQuestion, document
from navigator.sheet.statistics.reviewer import ENOUGH, exam_tables, independence
from tests.journey.room import Room, text_of
from tests.journey.scripted_models import Messages, approval, objection
from tests.journey.test_exam_run import set_exam

RUNS = 200


@pytest.mark.parametrize("case", cases(), ids=lambda case: str(case["name"]))
def test_each_case_has_a_test_that_tells_right_from_wrong(case: dict[str, str], tmp_path: Path) -> None:
    def passes(form: str) -> bool:
        folder = tmp_path / form
        folder.mkdir()
        (folder / case["path"]).write_text(case[form], encoding="utf-8")
        (folder / "check.py").write_text(case["test"], encoding="utf-8")
        words = [sys.executable, "check.py"]
        return subprocess.run(words, cwd=folder, capture_output=True, check=False).returncode == 0

    assert (passes("right"), passes("wrong")) == (True, False)
    assert case["text"] and case["title"] and "synthetic" not in case["text"]


def test_there_are_24_changes_and_that_is_enough() -> None:
    assert len(cases()) == len({case["name"] for case in cases()}) == ENOUGH == 12


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


def test_synthetic_cases_count_only_while_there_is_nothing_else() -> None:
    def count(source: ExamSource, n: int, faulty: bool = True) -> ExamCount:
        told = Verdict.REVISE if faulty else Verdict.APPROVE
        return ExamCount(model="m", prompt_version="v", source=source, faulty=faulty, verdict=told, n=n)

    alone = [count(ExamSource.SYNTHETIC, 12), count(ExamSource.SYNTHETIC, 12, faulty=False)]
    (score,) = exam_scores(alone)
    assert "24 synthetic cases, which flatter every model" in worth_words(score)
    assert score.sensitivity.n == 12 and score.basis == "synthetic cases, which flatter every model"
    (score,) = exam_scores([*alone, count(ExamSource.REVERSED_FIX, 3)])
    assert score.sensitivity.n == 3 and "synthetic" not in score.basis


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


def test_both_models_answer_the_cases_and_the_difference_is_said(
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
    for _ in range(2):
        made = room.act("exam.prepare", sources=["synthetic"])["projects"][0]
    assert (made["faulty"], made["clean"], made["sources"]["synthetic"]["known"]) == (12, 12, 24)
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
    assert (side.first.k, side.second.k, side.n) == (3, 11, 12)
    assert found.models.specificity.second.k == 12 and found.synthetic
    low, high = round(100 * side.gain.low), round(100 * side.gain.high)
    assert f"[{low} to {high}] more of 100 faults of our synthetic cases, which flatter" in found.words
    page = document(exam_tables(room.read(), PageQuestion()))["exam"]
    assert page["model"] == "scripted/reader", "the writer is no reviewer"
    assert len(page["reviewers"]) == 1
    told = " ".join(CliRunner().invoke(cli, ["exam", "show"]).output.split())
    assert "WHAT IS INDEPENDENCE WORTH?" in told and "synthetic cases: they flatter every model" in told
    assert "synthetic, caught" in told and "synthetic cases, which flatter" in told
