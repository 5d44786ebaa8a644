"""Experiments at swaps: what was drawn for each residency, what it came to, and whether the arms differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from navigator.cascade.views.statistics.page import (
    Column,
    Question,
    Row,
    StatisticsPage,
    Table,
    bounds,
    percent,
)
from navigator.cascade.views.statistics.rate_changes import odds
from navigator.domain.experiment import SHARES, Experiment, Residency
from navigator.domain.text import safe_line
from navigator.evidence.exam import ExamScore, exam_scores
from navigator.evidence.experiment import ArmFigures, Comparison, compare
from navigator.evidence.intervals import ANECDOTAL_BELOW
from navigator.evidence.monitor import SHOWN_FROM
from navigator.store.reads.reader import Reader

OUTCOMES = {
    "revise-rate": "revise rate",
    "exam": "right answers in the exam",
    "tokens-per-second": "tokens per second",
    "accept-length": "accept length",
}
_WHAT = {
    "generator-prompt": "the generator's prompt",
    "reviewer-prompt": "the reviewer's prompt",
    "generator-profile": "the launch profile of the generator",
    "reviewer-profile": "the launch profile of the reviewer",
}
_COLUMNS = (Column("residencies", 12), Column("figure", 8), Column("95 %", 10), Column("of", 12))


@dataclass(frozen=True, slots=True)
class Found:
    """One experiment, what it says, its newest residency, and the reviewer's exam by arm."""

    experiment: Experiment
    comparison: Comparison
    newest: Residency | None
    exams: tuple[tuple[str, ExamScore], ...]


def _read(reader: Reader, question: Question) -> tuple[Found, ...]:
    found = []
    for one in reversed(reader.experiments(question.since)):
        compared = compare(one, reader.residency_outcomes(one))
        exams = tuple(
            (arm, score)
            for arm, counts in reader.exam_counts_by_arm(one.id).items()
            for score in exam_scores(counts)
        )
        found.append(Found(one, compared, reader.newest_residency(one.id), exams))
    return tuple(found)


def _tables(found: tuple[Found, ...]) -> Sequence[Table]:
    return tuple(_table(one) for one in found)


def _table(found: Found) -> Table:
    one, compared = found.experiment, found.comparison
    figure = OUTCOMES[one.outcome]
    rows = [_arm_row(arm) for arm in compared.arms]
    for arm, score in found.exams:
        if score.sensitivity.n:
            rows.append(_exam_row(f"  {arm}: faulty exam items caught", score.sensitivity))
        if score.specificity.n:
            rows.append(_exam_row(f"  {arm}: clean exam items passed", score.specificity))
    facts = [
        (
            "compares",
            f"{_WHAT[one.what]}, by {figure}; {percent(one.share)} of residencies get {one.arms[1]}",
        ),
        ("difference", _difference(found)),
    ]
    if not one.ended and found.newest is not None:
        state = "over" if found.newest.ended else "not over yet" if found.newest.began else "drawn, not begun"
        facts.append(("newest", f"residency {found.newest.number}: {found.newest.arm}, {state}"))
    notes = ["a residency is the unit; its arm is drawn before its model is loaded"]
    if compared.waiting:
        notes.append(f"{compared.waiting} more are over, and wait for verdicts on earlier proposals")
    if one.outcome in SHARES:
        notes.append("the arms' intervals take reviews as independent, the difference's does not")
    return Table(
        f"EXPERIMENT {safe_line(one.name).upper()}",
        _COLUMNS,
        tuple(rows),
        answer=sentence(one, compared),
        headline=state_words(one, compared),
        facts=tuple((name, safe_line(text)) for name, text in facts),
        notes=tuple(notes),
    )


def _arm_row(arm: ArmFigures) -> Row:
    name = safe_line(arm.arm)
    if arm.rate is not None:
        few = "anecdotal" if 0 < arm.rate.n < ANECDOTAL_BELOW else ""
        cells = (
            f"{arm.residencies}",
            percent(arm.rate.rate),
            bounds(arm.rate),
            f"{arm.rate.k} of {arm.rate.n}",
        )
        return Row(name, cells, share=arm.rate if arm.rate.n else None, note=few)
    speed = "–" if arm.speed is None else f"{arm.speed:.2f}" if arm.speed < 10 else f"{arm.speed:.0f}"
    return Row(name, (f"{arm.residencies}", speed, "", f"{arm.n} calls"))


def _exam_row(label: str, found: Any) -> Row:
    few = "anecdotal" if found.n < ANECDOTAL_BELOW else ""
    return Row(
        safe_line(label), ("", percent(found.rate), bounds(found), f"{found.k} of {found.n}"), note=few
    )


def sentence(one: Experiment, compared: Comparison) -> str:
    """What the experiment says, in one sentence."""
    first, second = (safe_line(arm) for arm in one.arms)
    figure = OUTCOMES[one.outcome]
    if one.ending == "changed":
        return (
            f"Ended because the settings changed, after {residencies(compared.counted)}: nothing is decided."
        )
    shown = f"evidence {odds(compared.strongest)} of the {SHOWN_FROM:.0f}:1 it takes"
    if compared.decided_at is not None:
        moved = "higher" if (compared.difference or 0) > 0 else "lower"
        return (
            f"Decided after {residencies(compared.decided_at)}: the {figure} is {moved} with {second} than with {first}"
            f" ({odds(compared.strongest)}). Every residency gets {first} again; to keep {second}, change the settings."
        )
    if one.ending == "undecided":
        return f"Ended undecided after {residencies(compared.counted)} ({shown}). Every residency gets {first} again."
    return f"Not decided after {residencies(compared.counted)} with a figure: {shown}."


def residencies(count: int) -> str:
    """`1 residency`, `3 residencies`."""
    return f"{count} {'residency' if count == 1 else 'residencies'}"


def state_words(one: Experiment, compared: Comparison) -> str:
    """One or two words: where it stands."""
    if one.ended:
        return one.ending
    return f"{compared.counted} of {one.residencies} residencies"


def _difference(found: Found) -> str:
    compared = found.comparison
    if compared.difference is None:
        return "not known yet: it takes a residency of each arm"
    unit = " points" if found.experiment.outcome in SHARES else "%"
    words = f"{100 * compared.difference:+.0f}{unit}"
    if compared.low is not None and compared.high is not None:
        words += f" [{100 * compared.low:+.0f} to {100 * compared.high:+.0f}], 95 % at all times together"
    return words


def document(found: tuple[Found, ...]) -> dict[str, Any]:
    """The figures as JSON."""
    return {
        "experiments": [
            one.experiment.model_dump(mode="json")
            | {"comparison": asdict(one.comparison), "sentence": sentence(one.experiment, one.comparison)}
            | {"newest": one.newest.model_dump(mode="json") if one.newest else None}
            | {
                "exam": [
                    {
                        "arm": arm,
                        "sensitivity": asdict(score.sensitivity),
                        "specificity": asdict(score.specificity),
                    }
                    for arm, score in one.exams
                ]
            }
            for one in found
        ]
    }


PAGE: StatisticsPage[tuple[Found, ...]] = StatisticsPage(
    name="experiments",
    title="Experiments",
    help="Prompts and launch profiles compared at random, one drawn for each residency of a model.",
    missing="No experiment yet. `[experiment]` in the settings describes one.",
    read=_read,
    tables=_tables,
    document=document,
)
