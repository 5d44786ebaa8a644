"""Sums of what work took, made by the database.

Every method takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.
"""

from __future__ import annotations

from navigator.model.costs import SwapTotals, WorkTotals, Yield
from navigator.store.reads.queries import Queries
from navigator.store.rows import from_row, from_rows

_WORK = (
    "CASE WHEN purpose = 'exam' THEN 'exam' WHEN purpose = 'final' THEN 'final'"
    " WHEN purpose >= 'review' AND purpose < 'reviex' THEN 'review' ELSE 'write' END"
)

_IN_TURN = (
    "SELECT *, lag(started) OVER (ORDER BY id) AS before, lead(started) OVER (ORDER BY id) AS next"
    " FROM swaps WHERE from_role IS NOT to_role"
)
_OF_A_BATCH = (
    "(to_role = 'reviewer' AND EXISTS (SELECT 1 FROM batches b WHERE b.started >= s.started"
    " AND b.started < coalesce(s.next, '9')) OR from_role = 'reviewer' AND EXISTS (SELECT 1 FROM batches b"
    " WHERE b.started >= s.before AND b.started < s.started))"
)
"""A batch began in the residency that the swap began or ended."""

_YIELD = (
    "SELECT (SELECT count(*) FROM decisions d JOIN proposals a ON a.id = d.proposal_id"
    " WHERE d.withdrawn = 0 AND d.kind = 'approve' AND d.at >= ?"
    " AND a.id NOT IN (SELECT proposal_id FROM landings WHERE state = 'undone')"
    " AND NOT EXISTS (SELECT 1 FROM proposals x WHERE x.parent = a.id)) AS accepted,"
    " (SELECT count(*) FROM proposals WHERE parent IS NULL AND way <> 'existing' AND created >= ?)"
    " AS proposals,"
    " (SELECT count(*) FROM reviews WHERE role = 'reviewer' AND at >= ?) AS reviews,"
    " (SELECT count(*) FROM reviews WHERE price > 0 AND at >= ?) AS final_reviews,"
    " (SELECT total(price) FROM reviews WHERE price > 0 AND at >= ?) AS final_price"
)


class CostReads(Queries):
    """Sums over one connection."""

    def work_totals(self, since: str = "") -> list[WorkTotals]:
        """Ended calls by role and kind of work. Those of all time are kept by triggers."""
        counted = "1", "FROM calls WHERE ended >= ? AND outcome <> 'started'"
        kept = "calls", "FROM call_sums WHERE ? = ''"
        n, rows = counted if since else kept
        return from_rows(
            WorkTotals,
            self._all(
                f"SELECT role, {_WORK} AS work, sum({n}) AS calls, sum({n} * (outcome = 'lost')) AS lost,"
                " sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,"
                " sum(cached_tokens) AS cached_tokens, sum(seconds) AS seconds"
                f" {rows} GROUP BY 1, 2 HAVING sum({n}) > 0 ORDER BY 1, 2 DESC",
                since,
            ),
        )

    def swap_totals(self, since: str = "") -> SwapTotals:
        """Swaps: how long, and how much of it for batches."""
        ours = "made_by <> 'outside'"
        return from_row(
            SwapTotals,
            *self._all(
                f"WITH s AS ({_IN_TURN}) SELECT count(*) FILTER (WHERE {ours}) AS n,"
                f" total(seconds) FILTER (WHERE {ours}) AS seconds,"
                f" count(*) FILTER (WHERE {ours} AND {_OF_A_BATCH}) AS batch_n,"
                f" total(seconds) FILTER (WHERE {ours} AND {_OF_A_BATCH}) AS batch_seconds,"
                f" count(*) FILTER (WHERE {ours} AND outcome <> 'done') AS failed,"
                f" count(*) FILTER (WHERE NOT ({ours})) AS unmeasured"
                " FROM s WHERE started >= ?",
                since,
            ),
        )

    def work_yield(self, since: str = "") -> Yield:
        """What came out of the work."""
        (found,) = self._all(_YIELD, *[since] * 5)
        return from_row(Yield, found)
