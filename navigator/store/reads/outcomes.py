"""Counts of what became of revisions, findings, repeated reviews and landed commits.

Every method takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.
"""

from __future__ import annotations

from navigator.model.outcomes import FateCount, FindingTotals, LandedCommit, RepeatCount, RevisionCount
from navigator.store.reads.queries import Queries
from navigator.store.rows import from_rows

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


class OutcomeReads(Queries):
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
                " sum(o.asked) AS asked, sum(r.met) AS met, sum(r.unmet) AS unmet,"
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
