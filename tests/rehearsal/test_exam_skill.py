"""A rehearsal reviewer whose sensitivity and specificity are set: the exam finds them again, from its answers alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import pytest

from navigator.figures.exam import CANNOT_TELL, CHANCE, WORTH_IT, ExamScore, exam_scores
from navigator.journey.reviewing.grounding import Shown, derive_verdict, ground, read_review
from navigator.model.diff import FileDiff
from navigator.model.exam import ExamCount
from navigator.model.records import VerdictCount
from navigator.model.states import ExamSource, Verdict
from tests.rehearsal.conversation import reviewing
from tests.scripted.reviewer.reviewer import Reviewer

SEEDS = range(100)
ITEMS = 40
"""Faulty ones, and as many clean ones."""

PROPOSALS = 120
FAULTY = 0.3
"""Share of the proposals that are faulty."""

TASK = "Return the absolute value"


@dataclass(frozen=True)
class Change:
    """A change and its prompt; with a fault the comparison is another one, too."""

    messages: list[dict[str, str]]
    schema: dict[str, Any]
    files: list[FileDiff]


@cache
def change(number: int, fault: bool) -> Change:
    old = f"def check_{number}(count):\n    if count > LIMIT:\n        raise ValueError(count)\n    return count\n"
    new = old.replace("return count", "return abs(count)")
    if fault:
        new = new.replace("count >", "count >=")
    messages, schema, files = reviewing({"a.py": old.encode()}, {"a.py": new.encode()}, TASK)
    return Change(messages, schema, files)


@lru_cache(maxsize=10_000)
def judged(number: int, fault: bool, text: str) -> Verdict:
    raw = read_review(text)
    return derive_verdict(ground(raw, Shown(change(number, fault).files, TASK, {})))


def verdict(reviewer: Reviewer, number: int, *, fault: bool) -> Verdict:
    """As the product finds it: asked twice at most, read, grounded, derived."""
    asked = change(number, fault)
    for repeat in range(2):
        answer = reviewer.answer(asked.messages, asked.schema, repeat)
        if answer.finish_reason == "stop":
            return judged(number, fault, answer.text)
    return Verdict.UNREVIEWED


def examined(seed: int, se: float, sp: float, items: int = ITEMS, proposals: int = PROPOSALS) -> ExamScore:
    reviewer = Reviewer(seed=seed, skill=(se, sp))
    counts = [
        ExamCount(
            model="rehearsal/r",
            prompt_version="v",
            source=ExamSource.MUTANT if fault else ExamSource.CLEAN,
            faulty=fault,
            verdict=verdict(reviewer, number, fault=fault),
            n=1,
        )
        for number in range(items)
        for fault in (True, False)
    ]
    real = [
        VerdictCount(
            model="rehearsal/r",
            prompt_version="v",
            verdict=verdict(reviewer, 1_000 + number, fault=number < FAULTY * proposals),
        )
        for number in range(proposals)
    ]
    (score,) = exam_scores(counts, real)
    return score


def test_the_skill_is_found_again_in_at_least_90_of_100_seeds() -> None:
    se, sp = 0.7, 0.8
    right = se * FAULTY / (se * FAULTY + (1 - sp) * (1 - FAULTY))
    held = dict.fromkeys(("Se", "Sp", "J", "faulty", "genuine"), 0)
    worth = 0
    for seed in SEEDS:
        score = examined(seed, se, sp)
        assert score.youden is not None
        worth += score.verdict == WORTH_IT
        held["Se"] += score.sensitivity.low <= se <= score.sensitivity.high
        held["Sp"] += score.specificity.low <= sp <= score.specificity.high
        held["J"] += score.youden.low <= se + sp - 1 <= score.youden.high
        assert score.faulty_share is not None, seed
        assert score.genuine_share is not None, seed
        held["faulty"] += score.faulty_share.low <= FAULTY <= score.faulty_share.high
        held["genuine"] += score.genuine_share.low <= right <= score.genuine_share.high
    assert min(held.values()) >= 90, held
    assert worth >= 97, worth


@pytest.mark.parametrize(("items", "wanted"), [(8, CANNOT_TELL), (60, CHANCE)])
def test_a_coin_is_not_called_worth_it(items: int, wanted: str) -> None:
    """With few items it cannot be told; with enough it is no better than chance. J's interval is wrong in 5 % of cases."""
    found = [examined(seed, 0.5, 0.5, items, 20).verdict for seed in SEEDS]
    assert found.count(WORTH_IT) <= 7
    assert found.count(wanted) >= 85, {name: found.count(name) for name in set(found)}


def test_one_that_never_objects_is_no_better_than_chance() -> None:
    found = {examined(seed, 0.0, 1.0, 30, 5).verdict for seed in range(5)}
    assert found == {CHANCE}


def test_the_answer_says_what_the_verdict_follows_from() -> None:
    reviewer = Reviewer(seed=3, skill=(1.0, 0.0))
    for fault in (True, False):
        answer = reviewer.answer(change(1, fault).messages, change(1, fault).schema, 1)
        findings = json.loads(answer.text)["findings"]
        assert findings
        assert all(finding["severity"] in ("blocker", "major") for finding in findings)
