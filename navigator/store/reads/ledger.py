"""Reading what was measured, what happened, and small things the screens keep."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from navigator.model.ids import number_of
from navigator.model.models import Event, Swap, Usage
from navigator.model.records import Comment, JournalEntry, ModelCall
from navigator.model.states import Role
from navigator.store.reads.queries import WRITTEN, Queries, limited
from navigator.store.schema import from_row, from_rows, unpacked

_V = TypeVar("_V")


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What a model answered in one call of a round, kept so that it can be used and quoted after a restart.

    `outcome` is the call's, as `judge_call` left it.
    """

    call_id: int
    round: int
    text: str
    model: str
    outcome: str = "ok"
    usage: Usage = field(default_factory=Usage)


class LedgerReads(Queries):
    """Queries over calls, swaps, landings' journal, events, drafts, comments and meta values."""

    # Events, meta, drafts, comments

    def events(self, after_seq: int = 0, limit: int = 1000) -> list[Event]:
        """Events after a sequence number, in order, at most `limit`."""
        return self._models(
            Event, "SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?", after_seq, limit
        )

    def drafts(self, prefix: str = "") -> dict[str, str]:
        """Unfinished texts by key, of the keys that begin with `prefix`."""
        sql = "SELECT key, text FROM drafts WHERE substr(key, 1, ?) = ? ORDER BY key"
        return {row["key"]: row["text"] for row in self._all(sql, len(prefix), prefix)}

    def comments(self, task_id: str | None = None, *, sent: bool | None = None) -> list[Comment]:
        """Comments on proposals' lines, oldest first; None asks for all."""
        found = self._where("comments", task_id=task_id and number_of(task_id, "T"), sent=sent)
        return from_rows(Comment, found)

    # Swaps, the landing journal

    def swaps(self, limit: int | None = None, *, since: str = "") -> list[Swap]:
        """Swaps, newest first; with `since` (a UTC time) only those that began from then on."""
        return self._models(
            Swap, f"SELECT * FROM swaps WHERE started >= ? ORDER BY id DESC{limited(limit)}", since
        )

    def journal_pending(self) -> list[JournalEntry]:
        """Landings begun and not closed."""
        return self._models(JournalEntry, "SELECT * FROM journal WHERE closed IS NULL ORDER BY id")

    # Model calls

    def calls_after(self, number: int) -> list[ModelCall]:
        """Model calls of a higher number, without their answers, oldest first."""
        rows = self._all("SELECT * FROM calls WHERE id > ? ORDER BY id", number)
        return [from_row(ModelCall, row, usage=from_row(Usage, row)) for row in rows]

    def call_counts(self) -> dict[str, int]:
        """`{"made", "repeated", "lost", "running"}`: begun, begun again for the same step, never ended, open.

        Those of the reviewer's exam are only among those that are open.
        """
        row = self._all(
            "SELECT coalesce(sum(purpose <> 'exam'), 0) AS made, coalesce(sum(repeat), 0) AS repeated,"
            " coalesce(sum(outcome = 'lost' AND purpose <> 'exam'), 0) AS lost,"
            " coalesce(sum(outcome = 'started'), 0) AS running FROM calls"
        )[0]
        return {name: int(row[name]) for name in ("made", "repeated", "lost", "running")}

    def last_answer(
        self, task_id: str, attempt: int, round: int, *, role: Role = Role.GENERATOR
    ) -> StoredAnswer | None:
        """The newest text that `role` wrote in a task's round, or None where none was kept. Readings and looks are none."""
        where = f"{WRITTEN} AND answer IS NOT NULL AND outcome <> 'looked' ORDER BY id DESC LIMIT 1"
        found = _answers(self._of_round(task_id, attempt, round, role, "*", where))
        return found[0] if found else None

    def kept_answer(
        self, task_id: str, attempt: int, round: int, purpose: str, seq: int, version: str, prompt_hash: str
    ) -> StoredAnswer | None:
        """What a step was answered, the newest, if it was asked with the same prompt; None where nothing was kept."""
        place: dict[str, Any] = {"task_id": number_of(task_id, "T"), "attempt": attempt, "round": round}
        asked: dict[str, Any] = {
            "purpose": purpose,
            "seq": seq,
            "prompt_version": version,
            "prompt_hash": prompt_hash,
        }
        found = _answers(self._where("calls", **place, **asked))
        return found[-1] if found else None

    def looks_asked(self, task_id: str, attempt: int, *, role: Role) -> list[StoredAnswer]:
        """The answers of a task's attempt that asked to be shown more, oldest first."""
        place: dict[str, Any] = {"task_id": number_of(task_id, "T"), "attempt": attempt}
        return _answers(self._where("calls", **place, role=role.value, outcome="looked"))


def _answers(rows: Sequence[sqlite3.Row]) -> list[StoredAnswer]:
    """The calls whose answers are kept."""
    return [
        StoredAnswer(
            call_id=row["id"],
            round=row["round"],
            text=unpacked(row["answer"]),
            model=row["model"],
            outcome=row["outcome"],
            usage=from_row(Usage, row),
        )
        for row in rows
        if row["answer"] is not None
    ]
