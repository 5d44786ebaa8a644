"""Counts and sums for the statistics, made by the database: no row is loaded to be counted.

Every method takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.
"""

from __future__ import annotations

from navigator.model.records import (
    CallTotals,
    DecisionCount,
    EditTotals,
    ReviewTotals,
    TaskCount,
    VariantCount,
    VerdictPair,
)
from navigator.store.reads.verdicts import FIRST, VerdictReads
from navigator.store.rows import from_row, from_rows

_NEWEST = "(SELECT max(id) FROM reviews WHERE proposal_id = a.id AND role = 'reviewer')"
_FINDINGS = (
    "CASE WHEN r.findings = '[]' THEN 0 ELSE (SELECT count(*) FROM json_each(r.findings) WHERE {}) END"
)
_UNANCHORED = _FINDINGS.format("coalesce(json_extract(value, '$.anchored'), 0) = 0")
_REMARKS = _FINDINGS.format("json_extract(value, '$.remark') = 1")
_READ = f"(r.verdict <> 'UNREVIEWED' AND r.id = {_NEWEST})"
_WRITTEN = "outcome IN ('ok', 'refused', 'tests_failed')"
_ANSWERED = "outcome IN ('ok', 'refused', 'tests_failed', 'looked', 'too_large')"
_REVIEWING = "(purpose >= 'review' AND purpose < 'reviex')"
_BATCH = (
    f"(CASE role WHEN 'reviewer' THEN {_REVIEWING}"
    f" ELSE NOT {_REVIEWING} AND purpose NOT IN ('scan', 'report') END)"
)
"""Whether a call is the work that a batch is made of: a change written, or a review. A look is part of the one it leads to."""

_ENDED = (
    " FROM calls WHERE role = ? AND model = ? AND ended >= ?"
    " AND outcome NOT IN ('started', 'lost') AND purpose <> 'exam'"
)
_SUMS = (
    f"SELECT role, model, count(*) AS calls, sum(NOT {_ANSWERED}) AS failed,"
    " sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens,"
    " sum(cached_tokens) AS cached_tokens, sum(seconds) AS seconds, max(ended) AS newest,"
    f" sum({_BATCH} AND {_WRITTEN}) AS batch_calls, sum({_BATCH} * completion_tokens) AS batch_tokens{_ENDED}"
)
_KEPT_SUMS = (
    "SELECT s.role, s.model, sum(s.calls) AS calls,"
    f" sum(s.calls * NOT {_ANSWERED}) AS failed, sum(s.prompt_tokens) AS prompt_tokens,"
    " sum(s.completion_tokens) AS completion_tokens, sum(s.cached_tokens) AS cached_tokens,"
    " total(s.seconds) AS seconds, round(max(coalesce(b.seconds, 0)), 3) AS busy_seconds,"
    " (SELECT c.ended FROM calls c WHERE c.role = s.role AND c.model = s.model"
    " AND c.outcome NOT IN ('started', 'lost') AND c.purpose <> 'exam' ORDER BY c.ended DESC LIMIT 1) AS newest,"
    f" sum(s.calls * ({_BATCH} AND {_WRITTEN})) AS batch_calls, sum({_BATCH} * s.completion_tokens) AS batch_tokens"
    " FROM call_sums s LEFT JOIN call_busy b USING (role, model)"
    " WHERE s.outcome <> 'lost' AND s.purpose <> 'exam' GROUP BY 1, 2 HAVING sum(s.calls) > 0 ORDER BY 1, 2"
)
_ROUND = "task_id = {0}.task_id AND attempt = {0}.attempt AND round = {0}.round"
_MADE = f"SELECT 1 FROM proposals WHERE {_ROUND.format('f')} AND parent IS NULL AND way <> 'existing'"
_LAST = f"(SELECT max(at) FROM edit_failures WHERE {_ROUND.format('f')})"


class StatisticsReads(VerdictReads):
    """Counts over one connection."""

    def verdict_pairs(self, since: str = "") -> list[VerdictPair]:
        """First proposals with a self-review and an independent review, by what both said."""
        return from_rows(
            VerdictPair,
            self._all(
                "SELECT o.verdict AS own, r.verdict AS reviewer, count(*) AS n FROM proposals a"
                " JOIN reviews o ON o.proposal_id = a.id"
                f" AND o.counted = 1 AND o.role = 'generator'{FIRST} AND r.self_review = 0 GROUP BY 1, 2",
                since,
            ),
        )

    def task_counts(self, since: str = "") -> list[TaskCount]:
        """Tasks by state."""
        return from_rows(
            TaskCount,
            self._all("SELECT state, count(*) AS n FROM tasks WHERE updated >= ? GROUP BY 1", since),
        )

    def variant_counts(self, since: str = "") -> list[VariantCount]:
        """First proposals of tasks that were written several times, by how each was written; the usual way first."""
        kept = "('approved', 'landed')"
        return from_rows(
            VariantCount,
            self._all(
                "SELECT t.variation, count(*) AS n,"
                f" sum(EXISTS (SELECT 1 FROM tasks x WHERE x.variant_of = t.variant_of AND x.state IN {kept})) AS decided,"
                f" sum(t.state IN {kept}) AS chosen,"
                " sum(a.tests IN ('passed', 'failed')) AS tested, sum(a.tests = 'passed') AS passed,"
                " sum(coalesce(r.verdict, '') IN ('APPROVE', 'REVISE')) AS read,"
                " sum(coalesce(r.verdict, '') = 'APPROVE') AS approved"
                " FROM tasks t JOIN proposals a ON a.task_id = t.id AND a.attempt = 0 AND a.round = 0"
                " AND a.parent IS NULL LEFT JOIN reviews r ON r.proposal_id = a.id AND r.counted = 1"
                " AND r.role = 'reviewer' WHERE t.variant_of IS NOT NULL AND a.created >= ?"
                " GROUP BY 1 ORDER BY min(t.variant), 1",
                since,
            ),
        )

    def decision_counts(self, since: str = "") -> list[DecisionCount]:
        """Decisions by what the reviewer had said. A proposal that was taken in part was neither approved nor rejected."""
        return from_rows(
            DecisionCount,
            self._all(
                "SELECT r.verdict, d.kind AS decision, coalesce(r.self_review, 0) AS self_review,"
                " count(*) AS n FROM decisions d JOIN proposals a ON a.id = d.proposal_id"
                f" LEFT JOIN reviews r ON r.id = {_NEWEST} WHERE d.withdrawn = 0 AND d.at >= ?"
                " AND NOT EXISTS (SELECT 1 FROM proposals x WHERE x.parent = a.id) GROUP BY 1, 2, 3",
                since,
            ),
        )

    def review_totals(self, since: str = "") -> ReviewTotals:
        """Sums over the reviewer's reviews, parts of proposals left out; findings and verdicts of the newest of each proposal."""
        return from_row(
            ReviewTotals,
            *self._all(
                "SELECT count(*) AS reviews, total(r.parts > 1) AS in_parts, total(r.verdict = 'UNREVIEWED') AS unreviewed,"
                f" total({_READ} AND r.stated_verdict IS NOT NULL) AS stated,"
                f" total({_READ} AND coalesce(r.stated_verdict, r.verdict) <> r.verdict) AS disagreed,"
                f" total({_READ} AND a.round > 0) AS later,"
                f" total({_READ} AND a.round > 0 AND r.reversals <> '[]') AS reversed,"
                f" total(iif(r.id = {_NEWEST}, json_array_length(r.findings), 0)) AS findings,"
                f" total(iif(r.id = {_NEWEST}, {_UNANCHORED}, 0)) AS unanchored,"
                f" total(iif(r.id = {_NEWEST}, {_REMARKS}, 0)) AS remarks"
                " FROM proposals a JOIN reviews r ON r.proposal_id = a.id AND r.role = 'reviewer'"
                " WHERE a.parent IS NULL AND a.way <> 'existing' AND r.at >= ?",
                since,
            ),
        )

    def edit_totals(self, since: str = "") -> EditTotals:
        """How edits applied. A round's time is its proposal's, else that of its last failed edit."""
        (rounds,) = self._all(
            "SELECT total(applied AND NOT failed) AS clean, total(applied AND failed) AS repaired,"
            " total(failed AND NOT applied) + (SELECT count(*) FROM (SELECT 1"
            f" FROM edit_failures f WHERE NOT EXISTS ({_MADE}) GROUP BY task_id, attempt, round HAVING max(at) >= ?))"
            " AS lost FROM (SELECT edits <> '[]' AS applied,"
            f" EXISTS (SELECT 1 FROM edit_failures WHERE {_ROUND.format('a')}) AS failed"
            " FROM proposals a WHERE parent IS NULL AND way <> 'existing' AND created >= ?)",
            since,
            since,
        )
        rungs = self._all(
            "SELECT json_extract(e.value, '$.rung'), count(*)"
            " FROM proposals a JOIN json_each(a.edits) e WHERE a.parent IS NULL AND a.way <> 'existing'"
            " AND a.created >= ? GROUP BY 1",
            since,
        )
        codes = self._all(
            "SELECT f.code, count(*)"
            " FROM edit_failures f LEFT JOIN proposals a ON a.task_id = f.task_id AND a.attempt = f.attempt"
            " AND a.round = f.round AND a.parent IS NULL"
            f" WHERE coalesce(a.created, {_LAST}) >= ? GROUP BY 1",
            since,
        )
        return from_row(EditTotals, rounds, rungs=dict(map(tuple, rungs)), codes=dict(map(tuple, codes)))

    def call_totals(self, since: str = "") -> list[CallTotals]:
        """Sums over ended calls by role and model. Those of all time are kept by triggers."""
        if not since:
            return from_rows(CallTotals, self._all(_KEPT_SUMS))
        keys = self._all("SELECT DISTINCT role, model FROM calls ORDER BY role, model")
        found = []
        for key in keys:
            row = self._all(_SUMS, *key, since)[0]
            if row["calls"]:
                found.append(from_row(CallTotals, row, busy_seconds=self._busy_seconds(*key, since)))
        return found

    def _busy_seconds(self, *chosen: object) -> float:
        """The union of the calls' intervals: going back in time, each adds what no later one covers."""
        busy, reached = 0.0, float("inf")
        cursor = self._connection.cursor()
        cursor.row_factory = None  # plain tuples: there may be hundreds of thousands
        sql = f"SELECT 86400.0 * julianday(ended), seconds{_ENDED} ORDER BY ended DESC"
        for end, seconds in cursor.execute(sql, chosen):
            begin = end - seconds
            if begin < reached:
                busy += min(end, reached) - begin
                reached = begin
        return round(busy, 3)
