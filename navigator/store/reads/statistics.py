"""Counts and sums for the statistics, made by the database: no row is loaded to be counted.

Every method takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.
"""

from __future__ import annotations

from typing import Any

from navigator.model.outcomes import LandedCommit, LandedFinding, SwapTotals, WorkTotals, Yield
from navigator.model.records import CallTotals
from navigator.store.reads.queries import Queries
from navigator.store.reads.verdicts import ReproductionReads, VerdictReads
from navigator.store.rows import from_row, from_rows

_WRITTEN = "outcome IN ('ok', 'refused', 'tests_failed')"
_ANSWERED = "outcome IN ('ok', 'refused', 'tests_failed', 'looked')"
_REVIEWING = "(purpose >= 'review' AND purpose < 'reviex')"
_BATCH = (
    f"(CASE role WHEN 'reviewer' THEN {_REVIEWING}"
    f" ELSE NOT {_REVIEWING} AND purpose NOT IN ('scan', 'report') END)"
)
"""Whether a call is the work that a batch is made of: a change written, or a review. A look is part of the one it leads to."""

_ENDED = " FROM calls WHERE ended >= ? AND outcome NOT IN ('started', 'lost') AND purpose <> 'exam'"
_SUMS = (
    f"SELECT role, model, count(*) AS calls, sum(NOT {_ANSWERED}) AS failed,"
    " sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,"
    " sum(cached_tokens) AS cached_tokens, sum(seconds) AS seconds, max(ended) AS newest,"
    f" sum({_BATCH} AND {_WRITTEN}) AS batch_calls, sum({_BATCH} * completion_tokens) AS batch_tokens{_ENDED}"
    " GROUP BY 1, 2 ORDER BY 1, 2"
)


class StatisticsReads(VerdictReads):
    """Counts over one connection."""

    def summed(self, sql: str, since: str) -> list[tuple[Any, ...]]:
        """The rows of a declared statistic, whose `?1` is `since`."""
        return [tuple(row) for row in self._all(sql, *[since] * ("?1" in sql))]

    def call_totals(self, since: str = "") -> list[CallTotals]:
        """Sums over ended calls by role and model."""
        return [
            from_row(CallTotals, row, busy_seconds=self._busy_seconds(since, row["role"], row["model"]))
            for row in self._all(_SUMS, since)
        ]

    def _busy_seconds(self, *chosen: object) -> float:
        """The union of the calls' intervals: going back in time, each adds what no later one covers."""
        busy, reached = 0.0, float("inf")
        cursor = self._connection.cursor()
        cursor.row_factory = None  # plain tuples: there may be hundreds of thousands
        sql = f"SELECT 86400.0 * julianday(ended), seconds{_ENDED} AND role = ? AND model = ? ORDER BY ended DESC"
        for end, seconds in cursor.execute(sql, chosen):
            begin = end - seconds
            if begin < reached:
                busy += min(end, reached) - begin
                reached = begin
        return round(busy, 3)


# Sums of what work took, made by the database.
#
# Every method takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.

_WORK = (
    "CASE WHEN purpose = 'exam' THEN 'exam' WHEN purpose = 'final' THEN 'final'"
    " WHEN purpose >= 'review' AND purpose < 'reviex' THEN 'review' ELSE 'write' END"
)

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
        """Ended calls by role and kind of work."""
        return from_rows(
            WorkTotals,
            self._all(
                f"SELECT role, {_WORK} AS work, count(*) AS calls, sum(outcome = 'lost') AS lost,"
                " sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,"
                " sum(cached_tokens) AS cached_tokens, sum(seconds) AS seconds"
                " FROM calls WHERE ended >= ? AND outcome <> 'started' GROUP BY 1, 2 ORDER BY 1, 2 DESC",
                since,
            ),
        )

    def swap_totals(self, since: str = "") -> SwapTotals:
        """Swaps: how many, and how long they took."""
        ours = "made_by <> 'outside'"
        return from_row(
            SwapTotals,
            *self._all(
                f"SELECT count(*) FILTER (WHERE {ours}) AS n, total(seconds) FILTER (WHERE {ours}) AS seconds,"
                f" count(*) FILTER (WHERE {ours} AND outcome <> 'done') AS failed,"
                f" count(*) FILTER (WHERE NOT ({ours})) AS unmeasured"
                " FROM swaps WHERE from_role IS NOT to_role AND started >= ?",
                since,
            ),
        )

    def work_yield(self, since: str = "") -> Yield:
        """What came out of the work."""
        (found,) = self._all(_YIELD, *[since] * 5)
        return from_row(Yield, found)


# What became of landed commits and of findings in them.


class OutcomeReads(ReproductionReads):
    """Queries over one connection."""

    def landed_since_looked(self, project_id: int) -> list[LandedCommit]:
        """A project's landed commits that were neither undone nor found reverted, oldest first."""
        return from_rows(
            LandedCommit,
            self._all(
                'SELECT l.proposal_id, l."commit", l.ref, l.at AS landed, f.fate, f.found_as, f.at'
                " FROM tasks t JOIN proposals a ON a.task_id = t.id AND a.state = 'landed'"
                " JOIN landings l ON l.proposal_id = a.id AND l.state = 'landed'"
                " LEFT JOIN fates f ON f.proposal_id = a.id"
                " WHERE t.project_id = ? AND coalesce(f.fate, '') <> 'reverted' ORDER BY l.id",
                project_id,
            ),
        )

    def landed_findings(self, project_id: int, since: str) -> list[LandedFinding]:
        """Findings on lines of proposals that landed from `since` on and were not undone, and of existing commits that were
        reviewed since then, as their newest independent review has them; without those whose lines were found changed."""
        rows = self._all(
            "SELECT r.*, coalesce(nullif(f.found_as, ''), l.\"commit\", t.head) AS landed_as, coalesce(l.at, r.at) AS landed"
            " FROM tasks t JOIN proposals a ON a.task_id = t.id"
            " LEFT JOIN landings l ON l.proposal_id = a.id AND l.state = 'landed' AND a.state = 'landed'"
            " LEFT JOIN fates f ON f.proposal_id = l.proposal_id"
            " JOIN reviews r ON r.id = (SELECT max(id) FROM reviews"
            " WHERE proposal_id = a.id AND role = 'reviewer' AND self_review = 0)"
            " WHERE t.project_id = ? AND landed_as <> '' AND landed >= ? ORDER BY r.id",
            project_id,
            since,
        )
        changed = self._all("SELECT review_id, finding FROM afterlives WHERE fate IN ('fixed', 'changed')")
        settled = {(row["review_id"], row["finding"]) for row in changed}
        return [
            LandedFinding(
                review_id=row["id"],
                place=place,
                commit=row["landed_as"],
                landed=row["landed"],
                finding=finding,
            )
            for row, review in zip(rows, self.reviews_from(rows), strict=True)
            for place, finding in enumerate(review.findings)
            if finding.asked_for and finding.side == "new" and finding.line is not None
            if (row["id"], place) not in settled
        ]


# Counts for monitoring, over everything that was recorded.

Count = tuple[tuple[str, ...], float]
"""Values of the labels, and how many."""


class MetricReads(Queries):
    """Counts over one connection."""

    def verdicts(self) -> list[Count]:
        """Reviews by role and verdict."""
        return self._counts("SELECT role, lower(verdict), count(*) FROM reviews GROUP BY 1, 2")

    def swaps(self) -> list[Count]:
        """Swaps by the role that was to be loaded and the outcome; one made outside counts as such."""
        how = "CASE made_by WHEN 'outside' THEN 'outside' ELSE outcome END"
        return self._counts(f"SELECT to_role, {how}, count(*) FROM swaps GROUP BY 1, 2")

    def swap_seconds(self) -> list[Count]:
        """Seconds of swaps, by the role that was to be loaded."""
        return self._counts("SELECT to_role, total(seconds) FROM swaps GROUP BY 1")

    def tokens(self) -> list[Count]:
        """Tokens by role and kind. Cached ones are among those of the prompts."""
        each = " UNION ALL ".join(
            f"SELECT role, '{kind}', total({kind}_tokens) FROM calls GROUP BY 1"
            for kind in ("prompt", "completion", "cached")
        )
        return self._counts(each)

    def _counts(self, sql: str) -> list[Count]:
        return [(tuple(map(str, words)), float(n)) for *words, n in self._all(sql)]
