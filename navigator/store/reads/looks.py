"""Counts of what writers asked to be shown, and of what changes took by the way they were written."""

from __future__ import annotations

from navigator.model.records import LookCount, LookRounds, WayTotals
from navigator.store.reads.queries import Queries
from navigator.store.rows import from_row, from_rows

_APPROVED = (
    "EXISTS (SELECT 1 FROM decisions d WHERE d.proposal_id = a.id AND d.withdrawn = 0 AND d.kind = 'approve')"
    " AND NOT EXISTS (SELECT 1 FROM landings l WHERE l.proposal_id = a.id AND l.state = 'undone')"
)


class LookReads(Queries):
    """Counts over one connection. `since` is a UTC time as the store writes it, "" for all."""

    def look_counts(self, since: str = "") -> list[LookCount]:
        """Requests by kind and outcome."""
        return from_rows(
            LookCount,
            self._all(
                "SELECT kind, outcome, count(*) AS n, sum(tokens) AS tokens FROM looks"
                " WHERE role <> '' AND at >= ? GROUP BY 1, 2 ORDER BY 1, 2",
                since,
            ),
        )

    def look_rounds(self, since: str = "") -> LookRounds:
        """Rounds with looks, and what was asked and shown in them."""
        return from_row(
            LookRounds,
            *self._all(
                "SELECT count(*) AS rounds, total(turns) AS looks, total(n) AS requests, total(tokens) AS tokens"
                " FROM (SELECT max(turn) AS turns, count(*) AS n, sum(tokens) AS tokens FROM looks"
                " WHERE at >= ? GROUP BY task_id, attempt, round, role)",
                since,
            ),
        )

    def way_totals(self, since: str = "") -> list[WayTotals]:
        """Written proposals by their way; parts and reviews of existing work left out."""
        sums = ", ".join(
            f"total(json_extract(a.usage, '$.{name}')) AS {name}"
            for name in ("prompt_tokens", "cached_tokens", "completion_tokens", "seconds")
        )
        return from_rows(
            WayTotals,
            self._all(
                f"SELECT a.way, count(*) AS proposals, sum({_APPROVED}) AS accepted, {sums}"
                " FROM proposals a WHERE a.parent IS NULL AND a.way <> 'existing' AND a.created >= ?"
                " GROUP BY 1 ORDER BY 1",
                since,
            ),
        )
