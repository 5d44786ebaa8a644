"""What the exam says of a reviewer: its scores, and a sentence beside a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.figures.exam import ExamScore, exam_scores, worth_words
from navigator.model.models import Review

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader


def scores(reader: Reader, since: str = "") -> tuple[ExamScore, ...]:
    """Every reviewer that was examined, from a UTC time on; see `exam_scores`."""
    counts = reader.exam_counts(since)
    reviewers = {(row.model, row.prompt_version) for row in counts}
    verdicts = [row for reviewer in reviewers for row in reader.newest_verdicts(*reviewer, since)]
    return exam_scores(counts, verdicts, reader.exam_pairs("again", since))


def worth_of(reader: Reader, review: Review) -> str:
    """What this reviewer's REVISE is worth, in one sentence; "" where it was not examined at all.

    A later round's review has another version of the prompt: then the newest exam of the same model is meant.
    """
    mine = [one for one in scores(reader) if one.model == review.model]
    if not mine:
        return ""
    exact = [one for one in mine if one.prompt_version == review.prompt_version]
    return worth_words((exact or mine)[0])
