"""What `navigator status` reads. It answers at once: no model is imported for it, and none made."""

from __future__ import annotations

from functools import cached_property
from typing import Any, TypeVar

from navigator.model.json_text import read_json
from navigator.model.states import ProposalState, TaskState, Verdict
from navigator.store.database import translated
from navigator.store.reads.cards import CardReads
from navigator.store.reads.queries import database_of
from navigator.store.rows import DamagedRow
from navigator.store.schema import WORLD

_V = TypeVar("_V")


class GlanceReads(CardReads):
    """Counts and small values over one connection."""

    @cached_property
    def rehearsal(self) -> bool:
        """Whether everything in this store is simulated; it is so from the beginning, or never."""
        return bool(self.meta(WORLD, object))

    def counts(self) -> dict[str, Any]:
        """One glance at everything, for `navigator status`.

        Returns:
            `projects` (n), `tasks` and `proposals` ({state: n}, every state named),
            `waiting` (n tasks that wait for the developer), `oldest_wait` (UTC time or None),
            `unreviewed` (open proposals whose review could not be read),
            `advice` (open proposals whose REVISE is no more than advice),
            `resident` (what the conductor last noted, or None), `last_seq`.
        """
        tasks = self._by_state("tasks")
        proposals = self._by_state("proposals")
        waiting = self.waiting_since()
        return {
            "projects": self._one("SELECT count(*) FROM projects WHERE removed = 0"),
            "tasks": {state.value: tasks.get(state.value, 0) for state in TaskState},
            "proposals": {state.value: proposals.get(state.value, 0) for state in ProposalState},
            "waiting": len(waiting),
            "oldest_wait": waiting[0] if waiting else None,
            "unreviewed": self._open_with(f"r.verdict = '{Verdict.UNREVIEWED.value}'"),
            "advice": self._open_with("r.advice <> ''"),
            "resident": self.meta("resident", str),
            "last_seq": self.last_seq(),
        }

    def newest_event(self, kind: str) -> tuple[str, dict[str, Any]]:
        """When (UTC) the newest event of a kind was, and its data; "" and nothing if there was none.

        Raises:
            DatabaseCorrupt: its data cannot be read.
        """
        found = self._all("SELECT seq, at, data FROM events WHERE kind = ? ORDER BY seq DESC LIMIT 1", kind)
        if not found:
            return "", {}
        return found[0]["at"], self._read(found[0]["data"], dict, f"{found[0]['seq']} of events")

    def last_seq(self) -> int:
        """The newest event's number, 0 when nothing happened yet."""
        return int(self._one("SELECT coalesce(max(seq), 0) FROM events"))

    def meta(self, key: str, kind: type[_V]) -> _V | None:
        """A small stored value (JSON), or None.

        Raises:
            DatabaseCorrupt: it is no `kind`.
        """
        found = self._all("SELECT value FROM meta WHERE key = ?", key)
        return self._read(found[0]["value"], kind, f"{key!r} of meta") if found else None

    def _read(self, column: Any, kind: type[_V], which: str) -> _V:
        """A JSON column that holds a value of one type."""
        try:
            value = read_json(column)
        except (ValueError, TypeError):
            value = ...
        if isinstance(value, kind):
            return value
        raise translated(DamagedRow(f"row {which} cannot be read"), database_of(self._connection)) from None

    def _open_with(self, review: str) -> int:
        """Open proposals whose newest review meets a condition."""
        return int(
            self._one(
                "SELECT count(*) FROM proposals a JOIN reviews r ON r.id ="
                " (SELECT max(id) FROM reviews WHERE proposal_id = a.id AND role <> 'generator')"
                f" WHERE a.state = 'open' AND {review}"
            )
        )

    def _by_state(self, table: str) -> dict[str, int]:
        found = self._all(f"SELECT state, count(*) AS n FROM {table} GROUP BY state")
        return {row["state"]: row["n"] for row in found}
