"""Reading the reviewer's exam."""

from __future__ import annotations

from navigator.domain.exam import ExamAnswer, ExamItem, ExamTrial
from navigator.store.reads.queries import Queries
from navigator.store.rows import from_rows


class ExamReads(Queries):
    """Items and answers."""

    def exam_items(self, *, retired: bool = False) -> list[ExamItem]:
        """The items that are asked, oldest first; with `retired` all of them."""
        where = "" if retired else " WHERE retired = ''"
        return from_rows(ExamItem, self._all(f"SELECT * FROM exam_items{where} ORDER BY id"))

    def exam_answers(self) -> list[ExamAnswer]:
        """Every answer, oldest first."""
        return from_rows(ExamAnswer, self._all("SELECT * FROM exam_answers ORDER BY id"))

    def exam_trials(self, project_id: int) -> list[ExamTrial]:
        """What was tried to make items of a project's changes, oldest first."""
        return from_rows(
            ExamTrial, self._all("SELECT * FROM exam_trials WHERE project_id = ? ORDER BY id", project_id)
        )
