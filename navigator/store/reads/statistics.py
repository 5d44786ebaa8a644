"""Counts and sums for the statistics, made by the database: no row is loaded to be counted.

Every method takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.
"""

from __future__ import annotations

from navigator.model.outcomes import (
    AfterlifeCount,
    FateCount,
    FindingTotals,
    LandedCommit,
    LandedFinding,
    RepeatCount,
    RevisionCount,
    SwapTotals,
    WorkTotals,
    Yield,
)
from navigator.model.records import (
    CallTotals,
    DecisionCount,
    EditTotals,
    ReviewTotals,
    TaskCount,
    VariantCount,
    VerdictPair,
)
from navigator.store.reads.queries import Queries
from navigator.store.reads.verdicts import FIRST, ReproductionReads, VerdictReads
from navigator.store.rows import from_row, from_rows

_NEWEST = "(SELECT max(id) FROM reviews WHERE proposal_id = a.id AND role = 'reviewer')"
_FINDINGS = (
    "CASE WHEN r.findings = '[]' THEN 0 ELSE (SELECT count(*) FROM json_each(r.findings) WHERE {}) END"
)
_UNANCHORED = _FINDINGS.format("coalesce(json_extract(value, '$.anchored'), 0) = 0")
_REMARKS = _FINDINGS.format("json_extract(value, '$.remark') = 1")
_WHOLE = "a.parent IS NULL AND a.way <> 'existing'"
_WRITTEN = "outcome IN ('ok', 'refused', 'tests_failed')"
_ANSWERED = "outcome IN ('ok', 'refused', 'tests_failed', 'looked')"
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
        (every,) = self._all(
            "SELECT count(*) AS reviews, total(r.parts > 1) AS in_parts, total(r.verdict = 'UNREVIEWED') AS unreviewed"
            f" FROM proposals a JOIN reviews r ON r.proposal_id = a.id AND r.role = 'reviewer' WHERE {_WHOLE} AND r.at >= ?",
            since,
        )
        (newest,) = self._all(
            "SELECT total(r.verdict <> 'UNREVIEWED' AND r.stated_verdict IS NOT NULL) AS stated,"
            " total(r.verdict <> 'UNREVIEWED' AND coalesce(r.stated_verdict, r.verdict) <> r.verdict) AS disagreed,"
            f" total(json_array_length(r.findings)) AS findings, total({_UNANCHORED}) AS unanchored, total({_REMARKS}) AS remarks"
            f" FROM proposals a JOIN reviews r ON r.id = {_NEWEST} WHERE {_WHOLE} AND r.at >= ?",
            since,
        )
        return from_row(ReviewTotals, every, **dict(newest))

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


# Sums of what work took, made by the database.
#
# Every method takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.

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


# Counts of what became of revisions, findings, repeated reviews and landed commits.
#
# Every method takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.

_BEFORE = "JOIN proposals b ON b.task_id = a.task_id AND b.attempt = a.attempt AND b.round = a.round - 1"
_COUNTED = "ON {0}.proposal_id = {1}.id AND {0}.counted = 1 AND {0}.role = 'reviewer'"

_SAME = (
    "a1.task_id = a2.task_id AND a1.base_commit = a2.base_commit AND a1.tree = a2.tree AND r1.model = r2.model"
    " AND r1.prompt_version = r2.prompt_version AND r1.role = 'reviewer' AND r1.self_review = 0 AND r1.id < r2.id"
    " AND (a1.id = a2.id OR (a1.round = 0 AND a2.round = 0))"
)
"""What r1 and r2 have in common if they are reviews of one diff in the same words. A later round is asked other questions
than the first, so there only the reviews of one proposal are compared."""

_REPEATS = (
    "WITH later(id) AS (SELECT id FROM reviews INDEXED BY reviews_again WHERE counted = 0"
    " UNION SELECT r.id FROM proposals a INDEXED BY proposals_again JOIN reviews r ON r.proposal_id = a.id"
    " AND r.role = 'reviewer' WHERE a.attempt > 0 AND a.round = 0),"
    " pairs AS (SELECT r2.id, min(r1.id) AS one, count(*) AS earlier"
    " FROM later CROSS JOIN reviews r2 ON r2.id = later.id AND r2.role = 'reviewer' AND r2.self_review = 0 AND r2.at >= ?"
    " JOIN proposals a2 ON a2.id = r2.proposal_id JOIN proposals a1 ON a1.task_id = a2.task_id"
    f" JOIN reviews r1 ON r1.proposal_id = a1.id WHERE {_SAME} GROUP BY r2.id HAVING earlier = 1)"
    " SELECT r1.verdict AS first, r2.verdict AS second, count(*) AS n FROM pairs p"
    " JOIN reviews r1 ON r1.id = p.one JOIN reviews r2 ON r2.id = p.id GROUP BY 1, 2"
)

_VERDICT = (
    "(SELECT CASE WHEN r.self_review THEN NULL ELSE r.verdict END FROM reviews r WHERE r.proposal_id = l.proposal_id"
    " AND r.role = 'reviewer' ORDER BY r.id DESC LIMIT 1)"
)


class OutcomeReads(ReproductionReads):
    """Counts over one connection."""

    def revision_counts(self, since: str = "") -> list[RevisionCount]:
        """Revisions by what the tests said before and after. A part of a proposal is no revision."""
        return from_rows(
            RevisionCount,
            self._all(
                "SELECT nullif(b.tests, '') AS before, nullif(a.tests, '') AS after, count(*) AS n"
                f" FROM proposals a INDEXED BY proposals_revisions {_BEFORE}"
                " WHERE a.round > 0 AND a.parent IS NULL AND a.created >= ? GROUP BY 1, 2",
                since,
            ),
        )

    def finding_totals(self, since: str = "") -> list[FindingTotals]:
        """Findings asked for in one round, and met or not by the next: as its first independent review says."""
        return from_rows(
            FindingTotals,
            self._all(
                "SELECT a.round, count(*) AS revisions,"
                " sum(o.asked) AS asked, sum(r.met) AS met, sum(r.unmet) AS unmet, sum(r.withdrawn) AS withdrawn,"
                " sum(r.verdict = 'UNREVIEWED') AS unread"
                f" FROM proposals a INDEXED BY proposals_revisions {_BEFORE}"
                f" JOIN reviews o {_COUNTED.format('o', 'b')} JOIN reviews r {_COUNTED.format('r', 'a')}"
                " WHERE a.round > 0 AND a.parent IS NULL AND r.self_review = 0 AND r.at >= ? GROUP BY 1",
                since,
            ),
        )

    def repeat_counts(self, since: str = "") -> list[RepeatCount]:
        """The first two reviews of each diff that was reviewed more than once by one model under one prompt version."""
        return from_rows(RepeatCount, self._all(_REPEATS, since))

    def fate_counts(self, since: str = "") -> list[FateCount]:
        """Landed proposals by verdict and by what became of them; a landing's time is that of the first.

        One that was undone is known to be so at once, and the others only when somebody looks. So it counts once its project was
        looked at after it landed, or where nothing else stands that could be looked at: else the rate would begin at 100 %.
        """
        return from_rows(
            FateCount,
            self._all(
                "WITH l AS (SELECT proposal_id, max(state = 'undone') AS undone, min(at) AS at FROM landings"
                " WHERE state IN ('landed', 'undone') GROUP BY proposal_id HAVING min(at) >= ?),"
                " looks AS (SELECT t.project_id, coalesce(max(f.at), '') AS at, sum(NOT l.undone) AS standing"
                " FROM l JOIN proposals a ON a.id = l.proposal_id JOIN tasks t ON t.id = a.task_id"
                " LEFT JOIN fates f ON f.proposal_id = l.proposal_id GROUP BY 1)"
                f" SELECT {_VERDICT} AS verdict, CASE WHEN NOT l.undone THEN coalesce(f.fate, '')"
                " WHEN looks.at >= l.at OR looks.standing = 0 THEN 'undone' ELSE '' END AS fate,"
                " CASE WHEN l.undone THEN 'undone' ELSE coalesce(f.how, '') END AS how,"
                " CASE WHEN l.undone THEN '' ELSE coalesce(f.reason, '') END AS reason,"
                " coalesce(min(f.at), '') AS looked, count(*) AS n"
                " FROM l JOIN proposals a ON a.id = l.proposal_id JOIN tasks t ON t.id = a.task_id"
                " JOIN looks ON looks.project_id = t.project_id"
                " LEFT JOIN fates f ON f.proposal_id = l.proposal_id GROUP BY 1, 2, 3, 4",
                since,
            ),
        )

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

    def afterlife_counts(self, since: str = "") -> list[AfterlifeCount]:
        """Findings that landed unrepaired: by project and so on, by what you said of them and what became of their lines."""
        return from_rows(
            AfterlifeCount,
            self._all(
                "SELECT p.name AS project, v.severity, v.criterion, r.prompt_version, j.judgement, v.fate, count(*) AS n"
                " FROM afterlives v JOIN reviews r ON r.id = v.review_id JOIN proposals a ON a.id = r.proposal_id"
                " JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
                " LEFT JOIN judgements j ON j.review_id = v.review_id AND j.finding = v.finding"
                " WHERE r.at >= ? GROUP BY 1, 2, 3, 4, 5, 6",
                since,
            ),
        )


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
        kinds = {"prompt": "prompt_tokens", "completion": "completion_tokens", "cached": "cached_tokens"}
        each = " UNION ALL ".join(
            f"SELECT role, '{kind}', total({column}) FROM call_sums GROUP BY 1"
            for kind, column in kinds.items()
        )
        return self._counts(each)

    def _counts(self, sql: str) -> list[Count]:
        return [(tuple(map(str, words)), float(n)) for *words, n in self._all(sql)]
