"""What the exam says of a reviewer, and what follows: a REVISE that is advice, a sentence beside a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.figures.exam import ExamScore, advice_words, exam_scores, worth_words
from navigator.model.models import Review

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


def scores(reader: Reader, since: str = "") -> tuple[ExamScore, ...]:
    """Every reviewer that was examined, from a UTC time on; see `exam_scores`."""
    counts = reader.exam_counts(since)
    reviewers = {(row.model, row.prompt_version) for row in counts}
    verdicts = [row for reviewer in reviewers for row in reader.newest_verdicts(*reviewer, since)]
    return exam_scores(counts, verdicts, reader.exam_repeats(since))


def why_advice(deps: Dependencies, review: Review) -> str:
    """Why a REVISE sends nothing back; "" where it does.

    A later round has a prompt of its own; the reviewer is examined under that of the first.
    """
    if not deps.settings.exam.demote:
        return ""
    examined = review.model, deps.prompts.get("review").version
    counts = [row for row in deps.reader.exam_counts() if (row.model, row.prompt_version) == examined]
    return next((advice_words(score) for score in exam_scores(counts) if score.no_better_than_chance), "")


def worth_of(reader: Reader, review: Review) -> str:
    """What this reviewer's REVISE is worth, in one sentence; "" where it was not examined at all.

    A later round's review has another version of the prompt: then the newest exam of the same model is meant.
    """
    mine = [one for one in scores(reader) if one.model == review.model]
    if not mine:
        return ""
    exact = [one for one in mine if one.prompt_version == review.prompt_version]
    return worth_words((exact or mine)[0])
