"""The backtest's figures cover the truth: reviewers whose rates are known, asked 200 times."""

from __future__ import annotations

import random

import pytest

from navigator.figures import exam
from navigator.figures.caught import backtest_document, by_chance, by_size, worth_reading
from navigator.figures.exam import alarms_each, backtest
from navigator.figures.intervals import share
from navigator.figures.reviewer import backtest_words
from navigator.model.models import Finding
from navigator.model.records import ExamAnswer, ExamItem
from navigator.model.states import ExamSource, TaskKind, Verdict
from tests.records import finding

RUNS = 200


def case(
    faulty: bool,
    *,
    caught: bool = False,
    findings: tuple[Finding, ...] = (),
    lines: int = 20,
    verdict: Verdict = Verdict.REVISE,
    proof: str = "",
    number: int = 0,
    whole: float = 1.0,
) -> tuple[ExamItem, ExamAnswer]:
    evidence = {
        "places": [["app.py", 1, 1]],
        "share": whole,
        "proof": proof,
        "fix": "f" * 40,
        "fix_subject": "Fix",
    }
    item = ExamItem(
        project_id=1,
        source=ExamSource.SHIPPED if faulty else ExamSource.INNOCENT,
        faulty=faulty,
        origin=f"1:past:{number}",
        text="Add it",
        kind=TaskKind.IMPLEMENT,
        base_commit="b",
        tree="t",
        changed_lines=lines,
        evidence=evidence | {"lines": 1} if faulty else {},
        created="2026-01-01T00:00:00.000Z",
    )
    answer = ExamAnswer(
        item_id=1, verdict=verdict, named=caught, findings=findings, at="2026-01-02T00:00:00.000Z"
    )
    return item, answer


@pytest.mark.parametrize(
    ("caught", "alarms", "clumped", "n"),
    [
        (0.2, 0.3, False, 40),
        (0.35, 2.0, True, 20),
    ],
)
def test_every_figure_covers_the_truth_at_its_level(
    monkeypatch: pytest.MonkeyPatch, caught: float, alarms: float, clumped: bool, n: int
) -> None:
    """95 % intervals over 200 runs: 180 or fewer hits would happen to one honest interval in 500."""
    monkeypatch.setattr(exam, "DRAWS", 800)
    rng = random.Random(f"{caught} {alarms} {n}")

    def findings() -> tuple[Finding, ...]:
        mean = rng.gammavariate(1.0, alarms) if clumped else alarms
        count, left = 0, rng.expovariate(1.0)
        while left < mean:
            count, left = count + 1, left + rng.expovariate(1.0)
        return (finding(),) * count

    flagged = 1 / (1 + alarms) if clumped else 2.718281828459045**-alarms
    hits = {"caught": 0, "flagged": 0, "each": 0}
    for _ in range(RUNS):
        bugs = [case(True, caught=rng.random() < caught) for _ in range(n)]
        found = backtest([*bugs, *(case(False, findings=findings()) for _ in range(n))])
        hits["caught"] += found.caught.low <= caught <= found.caught.high
        hits["flagged"] += found.flagged.low <= 1 - flagged <= found.flagged.high
        each = found.alarms_each
        # Nothing caught says nothing about the ratio: no interval is shown, and none can be wrong.
        hits["each"] += each is None or each.low <= alarms / caught <= each.high
    assert min(hits.values()) > 180, hits


def test_what_asks_for_nothing_is_no_false_alarm_and_what_could_not_be_read_is_left_out() -> None:
    quiet = (finding(severity="nit"), finding(anchored=False))
    found = backtest(
        [
            case(True, caught=True, findings=(finding(),)),
            case(True, verdict=Verdict.UNREVIEWED),
            case(False, findings=quiet),
            case(False, findings=(finding(), finding())),
        ]
    )
    assert (found.caught.k, found.caught.n, found.flagged.k, found.flagged.n, found.unread) == (1, 1, 1, 2, 1)
    assert found.alarms_each is not None and found.alarms_each.value == 1.0
    assert backtest_words(found).startswith(
        "It would have caught 1 of 1 bug you shipped (100% [21–100]), with 1.0 false alarms"
    )


def test_without_a_catch_there_is_no_ratio() -> None:
    assert alarms_each([0, 3], share(0, 5)) is None
    assert alarms_each([], share(2, 5)) is None
    found = backtest([case(True), case(False, findings=(finding(),))])
    assert backtest_words(found) == (
        "It would have caught 0 of 1 bug you shipped (0% [0–79]); 1 false alarm on 1 innocent commit."
    )
    assert backtest_words(backtest(())) == "No bug of your history was asked about yet."


def test_cases_by_size_by_chance_and_worth_reading() -> None:
    asked = [
        case(True, caught=True, lines=9, number=1, findings=(finding(),)),
        case(True, caught=True, lines=200, number=2),
        case(True, lines=30, number=3, whole=0.6),
        case(True, lines=40, number=4),
        case(True, lines=90, number=5, proof="failing"),
    ]
    found = backtest(asked)
    assert [(name, one.k, one.n) for name, one in by_size(found)] == [
        ("<10", 1, 1),
        ("10–49", 0, 2),
        ("50–149", 0, 1),
        ("≥150", 1, 1),
    ]
    assert by_chance(found) == pytest.approx(1 / 9)
    best, worst = worth_reading(found)
    assert [one.item.origin[-1] for one in best] == ["2", "1"]
    assert [one.item.origin[-1] for one in worst] == ["5", "4", "3"]
    told = backtest_document(found, "reader")
    assert (told["caught"]["n"], told["false_alarms_each"], len(told["bugs"])) == (5, None, 5)
