"""The reviewer's exam: what each reviewer caught and let pass, and what a REVISE of it is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from navigator.cascade.exam.worth import scores
from navigator.cascade.views.statistics.aftermath import exam_repeat_table
from navigator.cascade.views.statistics.page import (
    Column,
    Question,
    Row,
    StatisticsPage,
    Table,
    bounds,
    number,
    percent,
)
from navigator.figures.agreement import retest
from navigator.figures.exam import CANNOT_TELL, Estimate, ExamScore, SizeScore, SourceScore, worth_words
from navigator.figures.intervals import ANECDOTAL_BELOW, Share, share
from navigator.store.reads.reader import Reader

_COLUMNS = (Column("share", 6), Column("95 %", 15), Column("of", 14))


@dataclass(frozen=True, slots=True)
class Exam:
    """Every reviewer that was examined, the newest first, and how many items there are: faulty, clean."""

    scores: tuple[ExamScore, ...]
    faulty: int
    clean: int


def _read(reader: Reader, question: Question) -> Exam:
    items = reader.exam_items()
    faulty = sum(item.faulty for item in items)
    return Exam(scores(reader, question.since), faulty, len(items) - faulty)


def _tables(found: Exam) -> Sequence[Table]:
    return tuple(table for score in found.scores for table in _score_tables(score))


def _score_tables(score: ExamScore) -> Sequence[Table]:
    version = f"{score.model}, {score.prompt_version}"
    cost = f"{score.tokens:,} tokens, {number(score.seconds)} s of the reviewer"
    unread = f", {score.unreviewed} could not be read" if score.unreviewed else ""
    which = "first answers" if score.retest.agreed.n or score.retest.unread else "answers"
    verdict = Table(
        "WHAT IS ITS REVISE WORTH?",
        _COLUMNS,
        (
            _shown("sensitivity: faulty, caught", score.sensitivity),
            _shown("specificity: clean, passed", score.specificity),
            _shown("caught at the right place", score.named),
            _estimate("Youden's J", score.youden),
            _estimate("proposals that are faulty", score.faulty_share, score.reason),
            _estimate("REVISE that is right", score.genuine_share, score.reason),
        ),
        answer=worth_words(score),
        headline=score.verdict,
        facts=(
            ("reviewer", version),
            ("verdict", f"{score.verdict}. {score.why}"),
            ("basis", score.basis),
        ),
        notes=(f"{score.answers} {which}{unread}: {cost}",),
    )
    sources = Table("BY SOURCE", _COLUMNS, tuple(map(_source_row, score.by_source)), about=version)
    sizes = tuple(row for size in score.by_size for row in _size_rows(size))
    return (
        verdict,
        sources,
        Table("BY CHANGED LINES", _COLUMNS, sizes, about=version),
        *exam_repeat_table(score.retest),
    )


def _estimate(name: str, found: Estimate | None, why: str = "") -> Row:
    if found is None:
        return Row(name, note=f"refused: {why}" if why else "none yet")
    if name == "Youden's J":
        return Row(name, (f"{found.value:.2f}", f"[{found.low:.2f} to {found.high:.2f}]", ""))
    return Row(name, (percent(found.value), f"[{100 * found.low:.0f}–{100 * found.high:.0f}]", ""))


def _shown(label: str, found: Share) -> Row:
    if not found.n:
        return Row(label, note="none yet")
    few = "anecdotal" if found.n < ANECDOTAL_BELOW else ""
    return Row(label, (percent(found.rate), bounds(found), f"{found.k} of {found.n}"), share=found, note=few)


def _source_row(row: SourceScore) -> Row:
    kind = "caught" if row.faulty else "passed"
    name = row.source.replace("_", " ")
    return _shown(name if row.source == "clean" else f"{name}, {kind}", row.right)


def _size_rows(row: SizeScore) -> Sequence[Row]:
    pairs = ((f"{row.size}, caught", row.sensitivity), (f"{row.size}, passed", row.specificity))
    return [_shown(label, found) for label, found in pairs if found.n]


# The document


def _document(found: Exam) -> dict[str, Any]:
    """The newest reviewer's exam; `reviewers` has all of them."""
    every = [score_document(score) for score in found.scores]
    first = every[0] if every else score_document(_NOBODY)
    return {**first, "prepared": {"faulty": found.faulty, "clean": found.clean}, "reviewers": every}


_NOBODY = ExamScore(
    model="",
    prompt_version="",
    answers=0,
    unreviewed=0,
    basis="",
    sensitivity=share(0, 0),
    specificity=share(0, 0),
    named=share(0, 0),
    by_source=(),
    by_size=(),
    youden=None,
    revise=share(0, 0),
    faulty_share=None,
    genuine_share=None,
    reason="no item has been answered",
    small_better=None,
    verdict=CANNOT_TELL,
    why="No item has been answered.",
    tokens=0,
    seconds=0.0,
    newest="",
    retest=retest(()),
)


def score_document(score: ExamScore) -> dict[str, Any]:
    """One reviewer's exam as JSON."""
    return {
        "model": score.model,
        "prompt_version": score.prompt_version,
        "items": score.answers,
        "unreviewed": score.unreviewed,
        "counted_from": score.basis,
        "faulty": {"n": score.sensitivity.n, "caught": score.sensitivity.k},
        "clean": {"n": score.specificity.n, "passed": score.specificity.k},
        "sensitivity": _share(score.sensitivity),
        "specificity": _share(score.specificity),
        "named": _share(score.named),
        "by_source": [
            {"source": row.source, "faulty": row.faulty, **_share(row.right), "named": _share(row.named)}
            for row in score.by_source
        ],
        "by_size": [
            {
                "changed_lines": row.size,
                "sensitivity": _share(row.sensitivity),
                "specificity": _share(row.specificity),
            }
            for row in score.by_size
        ],
        "youden": _interval(score.youden),
        "revise_rate": _share(score.revise),
        "faulty_share": _interval(score.faulty_share),
        "genuine_share": _interval(score.genuine_share),
        "reason": score.reason,
        "verdict": score.verdict,
        "why": score.why,
        "sentence": worth_words(score),
        "retest": {
            "n": score.retest.agreed.n,
            "agreed": _share(score.retest.agreed),
            "kappa": asdict(score.retest.kappa),
            "unread": score.retest.unread,
        },
        "cost": {"tokens": score.tokens, "seconds": round(score.seconds, 1)},
    }


def _share(found: Share) -> dict[str, Any]:
    return {
        "value": found.rate,
        "low": found.low,
        "high": found.high,
        "n": found.n,
        "note": "anecdotal" if found.n < ANECDOTAL_BELOW else "",
    }


def _interval(found: Estimate | None) -> dict[str, float] | None:
    return asdict(found) if found is not None else None


PAGE: StatisticsPage[Exam] = StatisticsPage(
    name="exam",
    title="Exam",
    help="What the reviewer catches and lets pass of changes whose right verdict is known, and what its REVISE is worth.",
    missing="No exam item answered yet. `navigator exam prepare` makes items.",
    read=_read,
    tables=_tables,
    document=_document,
)
