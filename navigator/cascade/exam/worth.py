"""What the exam says of a reviewer, and what follows: a REVISE that is advice, a sentence beside a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.domain.models import Review
from navigator.evidence.exam import ExamScore, advice_words, exam_scores, worth_words

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


def scores(reader: Reader) -> tuple[ExamScore, ...]:
    """Every reviewer that was examined; see `exam_scores`."""
    counts = reader.exam_counts()
    return exam_scores(counts, reader.verdict_counts() if counts else ())


def score_of(reader: Reader, model: str, prompt_version: str) -> ExamScore | None:
    """The exam of one model under one version of the prompt for first reviews; None where it has no answers."""
    found = scores(reader)
    return next((one for one in found if (one.model, one.prompt_version) == (model, prompt_version)), None)


def why_advice(deps: Dependencies, review: Review) -> str:
    """Why a REVISE sends nothing back; "" where it does.

    A later round has a prompt of its own; the reviewer is examined under that of the first.
    """
    if not deps.settings.exam.demote:
        return ""
    score = score_of(deps.reader, review.model, deps.prompts.get("review").version)
    return advice_words(score) if score is not None and score.no_better_than_chance else ""


def worth_of(reader: Reader, review: Review) -> str:
    """What this reviewer's REVISE is worth, in one sentence; "" where it was not examined at all.

    A later round's review has another version of the prompt: then the newest exam of the same model is meant.
    """
    mine = [one for one in scores(reader) if one.model == review.model and one.rehearsal is review.rehearsal]
    if not mine:
        return ""
    exact = [one for one in mine if one.prompt_version == review.prompt_version]
    return worth_words((exact or mine)[0])
