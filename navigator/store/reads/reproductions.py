"""Reading the tests that were to prove findings."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from navigator.model.ids import number_of, proposal_id
from navigator.model.models import Finding, Reproduction, Review
from navigator.model.records import ReproducedDecision, ReproductionCount
from navigator.store.reads.queries import Queries
from navigator.store.rows import from_row, from_rows

_CHUNK = 500


@dataclass(frozen=True, slots=True)
class HeldTest:
    """A finding that has a row of its own, with the number of its review and the proposal it is about."""

    review_id: int
    proposal_id: str
    round: int
    finding: Finding
    reproduction: Reproduction


class ReproductionReads(Queries):
    """Reviews with the tests of their findings."""

    def reviews_from(self, rows: Sequence[sqlite3.Row]) -> list[Review]:
        """A review from each row, every finding with the test that was to prove it."""
        held = self._tests_of([row["id"] for row in rows])
        made = []
        for row in rows:
            review = from_row(Review, row)
            tests = held.get(row["id"])
            if tests:
                findings = tuple(
                    finding.model_copy(update={"reproduction": tests.get(place)})
                    for place, finding in enumerate(review.findings)
                )
                review = review.model_copy(update={"findings": findings})
            made.append(review)
        return made

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

    def reproduction_counts(self, since: str = "") -> list[ReproductionCount]:
        """Findings that a test was to prove, by severity, criterion and outcome; those still on the way are left out."""
        return from_rows(
            ReproductionCount,
            self._all(
                "SELECT severity, criterion, outcome, revised, count(*) AS n FROM reproductions"
                " WHERE at >= ? AND outcome NOT IN ('unasked', 'pending') GROUP BY 1, 2, 3, 4",
                since,
            ),
        )

    def reproduced_decisions(self, since: str = "") -> list[ReproducedDecision]:
        """Decisions on proposals with findings that a test was to prove: was one of them reproduced?"""
        return from_rows(
            ReproducedDecision,
            self._all(
                "SELECT d.kind AS decision, x.proved, count(*) AS n FROM decisions d JOIN"
                " (SELECT proposal_id, max(outcome IN ('regression', 'unmet')) AS proved"
                " FROM reproductions WHERE outcome NOT IN ('unasked', 'pending') GROUP BY proposal_id) x"
                " ON x.proposal_id = d.proposal_id WHERE d.withdrawn = 0 AND d.at >= ?"
                " AND NOT EXISTS (SELECT 1 FROM proposals WHERE parent = d.proposal_id) GROUP BY 1, 2",
                since,
            ),
        )

    def _tests_of(self, reviews: Sequence[int]) -> dict[int, dict[int, Reproduction]]:
        found: dict[int, dict[int, Reproduction]] = defaultdict(dict)
        for start in range(0, len(reviews), _CHUNK):
            chunk = reviews[start : start + _CHUNK]
            marks = ", ".join("?" * len(chunk))
            for row in self._all(f"SELECT * FROM reproductions WHERE review_id IN ({marks})", *chunk):
                found[row["review_id"]][row["finding"]] = from_row(Reproduction, row)
        return found
