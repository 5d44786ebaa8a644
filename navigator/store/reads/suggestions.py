"""What scans propose, read. A suggestion is open until the developer accepts or dismisses it."""

from __future__ import annotations

import json
import sqlite3

from navigator.domain.ids import number_of, task_id
from navigator.domain.models import Suggestion
from navigator.store.reads.queries import Queries

OPEN, ACCEPTED, DISMISSED = "open", "accepted", "dismissed"


class SuggestionReads(Queries):
    """Queries over suggestions."""

    def suggestions(self, scan: str, *, attempt: int | None = None) -> list[Suggestion]:
        """A scan's suggestions by rank.

        Args:
            scan: the task's id.
            attempt: of which attempt; None for the newest that has any.
        """
        number = number_of(scan, "T")
        if attempt is None:
            attempt = self._one("SELECT max(attempt) FROM suggestions WHERE task_id = ?", number)
        found = self._all(
            "SELECT * FROM suggestions WHERE task_id = ? AND attempt = ? ORDER BY rank", number, attempt or 0
        )
        return [_suggestion(row) for row in found]

    def earlier_suggestions(self, project_id: int, scan: str) -> list[Suggestion]:
        """What was proposed for a project before and is not to be proposed again by `scan`.

        All suggestions of other scans that were not cancelled, and of this one's earlier attempts those that were accepted.
        """
        found = self._all(
            "SELECT s.* FROM suggestions s JOIN tasks t ON t.id = s.task_id WHERE t.project_id = ?"
            " AND ((s.task_id <> ? AND t.state <> 'cancelled') OR s.state = ?) ORDER BY s.id",
            project_id,
            number_of(scan, "T"),
            ACCEPTED,
        )
        return [_suggestion(row) for row in found]


def _suggestion(row: sqlite3.Row) -> Suggestion:
    return Suggestion(
        id=row["id"],
        task_id=task_id(row["task_id"]),
        attempt=row["attempt"],
        rank=row["rank"],
        text=row["text"],
        kind=row["kind"],
        complexity=row["complexity"],
        files=tuple(json.loads(row["files"])),
        new_files=tuple(json.loads(row["new_files"])),
        why=row["why"],
        quote=row["quote"],
        quote_path=row["quote_path"],
        quote_line=row["quote_line"],
        state=row["state"],
        made_task=task_id(row["made_task"]) if row["made_task"] else "",
        at=row["at"],
    )
