"""What scans propose, written."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from navigator.domain.errors import NotFound
from navigator.domain.ids import number_of
from navigator.domain.models import Suggestion
from navigator.store.reads.suggestions import ACCEPTED, DISMISSED, OPEN
from navigator.store.rows import dumped
from navigator.store.writes.core import TransactionCore


class SuggestionWrites(TransactionCore):
    """Events: suggestions_added, suggestion_accepted, suggestions_dismissed."""

    def add_suggestions(self, scan: str, attempt: int, found: Iterable[Suggestion]) -> list[Suggestion]:
        """Keep what a scan proposes; what its earlier attempts left open is dismissed."""
        number = number_of(scan, "T")
        self._run(
            "UPDATE suggestions SET state = ? WHERE task_id = ? AND attempt < ? AND state = ?",
            (DISMISSED, number, attempt, OPEN),
        )
        count = 0
        for suggestion in found:
            count += 1
            self._insert(
                "suggestions",
                {
                    "task_id": number,
                    "attempt": attempt,
                    "rank": suggestion.rank,
                    "text": suggestion.text,
                    "kind": suggestion.kind.value,
                    "complexity": suggestion.complexity.value,
                    "files": dumped(suggestion.files),
                    "new_files": dumped(suggestion.new_files),
                    "why": suggestion.why,
                    "quote": suggestion.quote,
                    "quote_path": suggestion.quote_path,
                    "quote_line": suggestion.quote_line,
                    "at": self.at,
                },
            )
        self.event("suggestions_added", scan, data={"count": count})
        return self.read.suggestions(scan, attempt=attempt)

    def accept_suggestion(self, suggestion: Suggestion, made_task: str) -> None:
        """It became the task `made_task`."""
        self._settle(suggestion, {"state": ACCEPTED, "made_task": number_of(made_task, "T")})
        data = {"rank": suggestion.rank, "made_task": made_task}
        self.event("suggestion_accepted", suggestion.task_id, data=data)

    def dismiss_suggestions(self, scan: str, attempt: int, ranks: Collection[int] | None = None) -> int:
        """Put away open ones: those with these ranks, or all. Returns how many."""
        chosen = [
            suggestion
            for suggestion in self.read.suggestions(scan, attempt=attempt)
            if suggestion.state == OPEN and (ranks is None or suggestion.rank in ranks)
        ]
        for suggestion in chosen:
            self._settle(suggestion, {"state": DISMISSED})
        if chosen:
            self.event("suggestions_dismissed", scan, data={"ranks": [one.rank for one in chosen]})
        return len(chosen)

    def _settle(self, suggestion: Suggestion, values: dict[str, object]) -> None:
        if not self._run("SELECT 1 FROM suggestions WHERE id = ?", (suggestion.id,)).fetchone():
            raise NotFound(
                f"{suggestion.task_id} has no suggestion {suggestion.rank}.",
                hint=f"`navigator task suggestions {suggestion.task_id}` lists them.",
            )
        self._update("suggestions", suggestion.id, values)
