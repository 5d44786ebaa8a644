"""Reading what became of findings and of landed commits, and the rows of the statistics."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from navigator.model import models, records
from navigator.model.ids import ProposalId, number_of, proposal_id
from navigator.model.models import Finding, Model, Reproduction
from navigator.model.states import Judgement
from navigator.store.reads.proposals import ProposalReads
from navigator.store.reads.queries import Queries
from navigator.store.schema import from_row


@dataclass(frozen=True, slots=True)
class HeldTest:
    """A finding that has a row of its own, with the number of its review and the proposal it is about."""

    review_id: int
    proposal_id: str
    round: int
    finding: Finding
    reproduction: Reproduction


class ReproductionReads(ProposalReads):
    """Reviews with the tests of their findings."""

    def _made(self, kind: str, row: sqlite3.Row, **more: Any) -> Any:
        return from_row(getattr(models, kind, None) or getattr(records, kind), row, **more)

    def held_tests(self, task: str, attempt: int) -> list[HeldTest]:
        """Every finding of a task's attempt for which a test was to be written, oldest first."""
        rows = self._all(
            "SELECT r.*, a.round AS of_round FROM reviews r JOIN proposals a ON a.id = r.proposal_id"
            " WHERE a.task_id = ? AND a.attempt = ?"
            " AND EXISTS (SELECT 1 FROM reproductions WHERE review_id = r.id) ORDER BY r.id",
            number_of(task, "T"),
            attempt,
        )
        return [
            HeldTest(
                row["id"], proposal_id(row["proposal_id"]), row["of_round"], finding, finding.reproduction
            )
            for row, review in zip(rows, self.reviews_from(rows), strict=True)
            for finding in review.findings
            if finding.reproduction is not None
        ]

    def judged_wrong(self, task: str) -> list[Finding]:
        """The findings of a task that the developer found wrong, of all its attempts."""
        rows = self._all(
            "SELECT * FROM reviews WHERE id IN (SELECT j.review_id FROM judgements j JOIN reviews r ON r.id = j.review_id"
            " JOIN proposals a ON a.id = r.proposal_id WHERE a.task_id = ? AND j.judgement = 'wrong')",
            number_of(task, "T"),
        )
        return [
            finding
            for review in self.reviews_from(rows)
            for finding in review.findings
            if finding.judged is not None and finding.judged.judgement is Judgement.WRONG
        ]


class StatisticsReads(Queries):
    """Counts over one connection."""

    def summed(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """The rows of a statistic, whose query is with the figures."""
        return self._all(sql, *values)


# What became of landed commits and of findings in them.


class LandedCommit(Model):
    """A commit that landed and was not undone, with what is known of its fate.

    `ref` is what it landed on and `landed` when; the rest as in `Fate`, "" before the first look.
    """

    proposal_id: ProposalId
    commit: str
    ref: str
    landed: str
    fate: str = ""
    found_as: str = ""
    at: str = ""


class LandedFinding(Model):
    """A finding that asked for a change and is in a commit: number `place` of a review; `landed` is when its proposal landed,
    or the existing commit was reviewed."""

    review_id: int
    place: int
    commit: str
    landed: str
    finding: Finding


class OutcomeReads(ReproductionReads):
    """Queries over one connection."""

    def landed_since_looked(self, project_id: int) -> list[LandedCommit]:
        """A project's landed commits that were neither undone nor found reverted, oldest first."""
        return self._models(
            LandedCommit,
            'SELECT l.proposal_id, l."commit", l.ref, l.at AS landed, f.fate, f.found_as, f.at'
            " FROM tasks t JOIN proposals a ON a.task_id = t.id AND a.state = 'landed'"
            " JOIN landings l ON l.proposal_id = a.id AND l.state = 'landed'"
            " LEFT JOIN fates f ON f.proposal_id = a.id"
            " WHERE t.project_id = ? AND coalesce(f.fate, '') <> 'reverted' ORDER BY l.id",
            project_id,
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
