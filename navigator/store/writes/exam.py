"""Writing the reviewer's exam."""

from __future__ import annotations

from navigator.model.exam import ExamAnswer, ExamItem, ExamTrial
from navigator.store.writes.core import TransactionCore


class ExamWrites(TransactionCore):
    """Items and answers."""

    def add_exam_item(self, item: ExamItem) -> int | None:
        """A new item's id; None where one of the same origin is there already."""
        if self._run("SELECT 1 FROM exam_items WHERE origin = ?", (item.origin,)).fetchone():
            return None
        return self._insert("exam_items", item)

    def set_exam_trial(self, trial: ExamTrial) -> None:
        """Keep what became of a trial, in place of an earlier one of the same change."""
        self._run(
            "DELETE FROM exam_trials WHERE project_id = ? AND source = ? AND change = ?",
            (trial.project_id, trial.source.value, trial.change),
        )
        self._insert("exam_trials", trial)

    def add_exam_answer(self, answer: ExamAnswer) -> int:
        """What the reviewer said of an item."""
        self._row("exam_items", answer.item_id, f"exam item {answer.item_id}")
        return self._insert("exam_answers", answer)
