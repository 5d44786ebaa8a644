"""Reading what was measured, what happened, and small things the screens keep."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from navigator.domain.ids import number_of
from navigator.domain.models import Event, Swap
from navigator.domain.records import ModelCall
from navigator.domain.states import Role
from navigator.store import rows
from navigator.store.reads.queries import WRITTEN, Queries, limited


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What a model answered in one call, kept so that a repair or a revision can quote it after a restart.

    `outcome` is the call's, as `judge_call` left it.
    """

    call_id: int
    purpose: str
    text: str
    prompt_hash: str
    model: str
    outcome: str


class LedgerReads(Queries):
    """Queries over calls, swaps, landings' journal, events, drafts, comments and meta values."""

    # Events, meta, drafts, comments

    def events(self, after_seq: int = 0, limit: int = 1000) -> list[Event]:
        """Events after a sequence number, in order, at most `limit`."""
        found = self._all("SELECT * FROM events WHERE seq > ? ORDER BY seq LIMIT ?", after_seq, limit)
        return [rows.event_from(row) for row in found]

    def last_seq(self) -> int:
        """The newest event's number, 0 when nothing happened yet."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM events"))

    def meta(self, key: str) -> Any:
        """A small stored value (JSON), or None."""
        found = self._all("SELECT value FROM meta WHERE key = ?", key)
        return json.loads(found[0]["value"]) if found else None

    def metas(self, prefix: str) -> dict[str, Any]:
        """Every stored value whose key begins with `prefix`."""
        return {key: json.loads(value) for key, value in self._prefixed("meta", "value", prefix)}

    def drafts(self, prefix: str = "") -> dict[str, str]:
        """Unfinished texts by key, of the keys that begin with `prefix`."""
        return dict(self._prefixed("drafts", "text", prefix))

    def comments(
        self, task_id: str | None = None, *, proposal_id: str | None = None, sent: bool | None = None
    ) -> list[dict[str, Any]]:
        """Comments on proposals' lines, oldest first; None asks for all.

        Returns:
            Rows of id, task_id, proposal_id, path, side, line, quote, text, created, sent.
        """
        tests: list[tuple[str, Any]] = []
        if task_id is not None:
            tests.append(("task_id = ?", number_of(task_id, "T")))
        if proposal_id is not None:
            tests.append(("proposal_id = ?", number_of(proposal_id, "P")))
        if sent is not None:
            tests.append(("sent = ?", int(sent)))
        return [rows.flat(row, flags=("sent",)) for row in self._where("comments", tests)]

    # Swaps, batches, failures, the landing journal

    def swaps(self, limit: int | None = None) -> list[Swap]:
        """Swaps, newest first."""
        found = self._all(f"SELECT * FROM swaps ORDER BY id DESC{limited(limit)}")
        return [rows.swap_from(row) for row in found]

    def batches(self) -> list[dict[str, Any]]:
        """Batches in the order they began: name, started, ended (None while it lasts), swaps (their numbers)."""
        found = self._all("SELECT * FROM batches ORDER BY started, name")
        return [rows.flat(row, json_columns=("swaps",)) for row in found]

    def edit_failures(self) -> list[dict[str, Any]]:
        """Answers that did not apply: task_id, attempt, round, code, path, model, rehearsal, at."""
        found = self._all("SELECT * FROM edit_failures ORDER BY id")
        return [rows.flat(row, flags=("rehearsal",)) for row in found]

    def journal_pending(self) -> list[dict[str, Any]]:
        """Landings begun and not closed: id, proposal_id, plan, opened."""
        found = self._all("SELECT * FROM journal WHERE closed IS NULL ORDER BY id")
        return [rows.flat(row, json_columns=("plan",)) for row in found]

    # Model calls

    def calls(
        self,
        *,
        task_id: str | None = None,
        role: Role | None = None,
        since: str | None = None,
        limit: int | None = None,
    ) -> list[ModelCall]:
        """Model calls without their answers, oldest first.

        Args:
            since: only those started at or after this UTC time.
        """
        tests: list[tuple[str, Any]] = []
        if task_id is not None:
            tests.append(("task_id = ?", number_of(task_id, "T")))
        if role is not None:
            tests.append(("role = ?", role.value))
        if since is not None:
            tests.append(("started >= ?", since))
        return [rows.call_from(row) for row in self._where("calls", tests, limited(limit))]

    def call_counts(self) -> dict[str, int]:
        """`{"made", "repeated", "lost", "running"}`: begun, begun again for the same step, never ended, open."""
        row = self._all(
            "SELECT count(*) AS made, coalesce(sum(repeat), 0) AS repeated,"
            " coalesce(sum(outcome = 'lost'), 0) AS lost, coalesce(sum(outcome = 'started'), 0) AS running"
            " FROM calls"
        )[0]
        return {name: int(row[name]) for name in ("made", "repeated", "lost", "running")}

    def last_answer(
        self, task_id: str, attempt: int, round: int, *, role: Role = Role.GENERATOR
    ) -> StoredAnswer | None:
        """The newest text that `role` wrote in a task's round, or None where none was kept. Readings are none."""
        tests = [
            ("task_id = ?", number_of(task_id, "T")),
            ("attempt = ?", attempt),
            ("round = ?", round),
            (f"{WRITTEN} AND role = ? AND answer IS NOT NULL", role.value),
        ]
        found = self._where("calls", tests, " DESC LIMIT 1")
        if not found:
            return None
        row = found[0]
        return StoredAnswer(
            call_id=row["id"],
            purpose=row["purpose"],
            text=rows.unpacked(row["answer"]),
            prompt_hash=row["prompt_hash"],
            model=row["model"],
            outcome=row["outcome"],
        )

    def _prefixed(self, table: str, column: str, prefix: str) -> list[tuple[str, str]]:
        sql = f"SELECT key, {column} FROM {table} WHERE substr(key, 1, ?) = ? ORDER BY key"
        return [(row["key"], row[column]) for row in self._all(sql, len(prefix), prefix)]
