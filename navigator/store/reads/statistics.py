"""Counts and sums for the statistics, made by the database: no row is loaded to be counted.

Every method takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from navigator.model import models, records
from navigator.model.ids import number_of, proposal_id
from navigator.model.models import EXISTING, Finding, Reproduction
from navigator.model.records import (
    EntropyRanks,
    LandedCommit,
    LandedFinding,
    VerdictCount,
)
from navigator.model.states import Judgement
from navigator.store.reads.proposals import ProposalReads
from navigator.store.reads.queries import Queries
from navigator.store.schema import from_row

_COLUMNS = {
    "writer_model": "a.model",
    "writer_prompt": "a.prompt_version",
    "way": "a.way",
    "model": "r.model",
    "prompt_version": "r.prompt_version",
    "block_on": "r.block_on",
}
_VERSIONS = ", ".join(f"{column} AS {name}" for name, column in _COLUMNS.items())

_GROUPS = {
    "": "'all'",
    "kind": "t.kind",
    "complexity": "t.complexity",
    "project": "p.name",
    "writer-model": "a.model",
    "writer-prompt": "a.prompt_version",
    "way": "a.way",
    "reviewer-model": "r.model",
    "reviewer-prompt": "r.prompt_version",
    "block-on": "r.block_on",
    "week": "date(r.at, 'weekday 0', '-6 days')",
}
"""Properties to group verdicts by, as SQL. A week is named by its Monday, in UTC."""

GROUPINGS = tuple(name for name in _GROUPS if name)
"""Those that a user chooses from."""

VARIANT = "a.task_id IN (SELECT id FROM tasks WHERE variant_of IS NOT NULL AND variant > 1)"
"""Whether a proposal is a further one for a task that is written several times: no verdict of its own, since all are of
one task, and written in other ways than the settings say."""

_EVERY_FIRST = (
    " CROSS JOIN reviews r INDEXED BY reviews_proposal ON r.proposal_id = a.id AND r.counted = 1 AND r.role = 'reviewer'"
    f" WHERE NOT {VARIANT} AND a.attempt = 0 AND a.round = 0 AND a.parent IS NULL AND r.at >= ?"
)
_READ = "r.self_review = 0 AND r.verdict IN ('REVISE', 'APPROVE')"
FIRST = f"{_EVERY_FIRST} AND a.way <> '{EXISTING}'"


class VerdictReads(Queries):
    """Counts over one connection."""

    def verdict_counts(self, by: str = "", since: str = "", *, existing: bool = False) -> list[VerdictCount]:
        """What the revise rate is counted from: each task's first proposal as it was first reviewed.

        Args:
            by: one of `GROUPINGS`, or "" for no grouping.
            existing: the reviews of existing changes instead, which are never pooled with proposals.
        """
        tasks = " JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
        first = f"{_EVERY_FIRST} AND a.way {'=' if existing else '<>'} '{EXISTING}'"
        return self._models(
            VerdictCount,
            f'SELECT {_GROUPS[by]} AS "group", {_VERSIONS}, r.verdict, r.stated_verdict, r.self_review, count(*) AS n'
            f" FROM proposals a INDEXED BY proposals_task{tasks if by in ('kind', 'complexity', 'project') else ''}{first}"
            " GROUP BY 8, 9, 6, 3, 10, 1, 2, 4, 5, 7",  # what differs most first: less to compare
            since,
        )

    def entropy_ranks(self) -> list[EntropyRanks]:
        """First verdicts against the mean entropy of the change, by writer; self-reviews are left out."""
        return self._models(
            EntropyRanks,
            "SELECT model, sum(revise) AS revise, sum(1 - revise) AS approve,"
            " total(revise * place) AS revise_ranks, total(revise * bits) AS revise_sum,"
            " total((1 - revise) * bits) AS approve_sum FROM (SELECT *, rank() OVER (PARTITION BY model"
            " ORDER BY bits) + (count(*) OVER (PARTITION BY model, bits) - 1) / 2.0 AS place FROM ("
            f"SELECT a.model, a.entropy_mean AS bits, r.verdict = 'REVISE' AS revise"
            f" FROM proposals a{FIRST} AND {_READ} AND a.entropy_mean IS NOT NULL)) GROUP BY 1",
            "",
        )

    def sent_back_above(self, model: str, bits: float) -> tuple[int, int]:
        """Of one writer's changes with a mean entropy above `bits`: first verdicts, and those with REVISE; as `entropy_ranks`."""
        row = self._all(
            f"SELECT count(*) AS n, total(r.verdict = 'REVISE') AS revise FROM proposals a{FIRST} AND {_READ}"
            f" AND a.entropy_mean > ? AND a.model = ?",
            "",
            bits,
            model,
        )[0]
        return int(row["n"]), int(row["revise"])


# Reading the tests that were to prove findings.


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


class StatisticsReads(VerdictReads):
    """Counts over one connection."""

    def summed(self, sql: str, since: str) -> list[sqlite3.Row]:
        """The rows of a declared statistic, whose `?1` is `since`."""
        return self._all(sql, *[since] * ("?1" in sql))


# What became of landed commits and of findings in them.


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
