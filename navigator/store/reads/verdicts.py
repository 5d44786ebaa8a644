"""First verdicts on first proposals, counted by the database: what the revise rate is made from.

Every `since` is a UTC time as the store writes it ("" for all): only what happened from then on counts.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from navigator.model.ids import number_of, proposal_id
from navigator.model.models import Finding, Judged, Reproduction, Review
from navigator.model.records import (
    EntropyRanks,
    JudgementCount,
    VerdictCount,
)
from navigator.model.states import Judgement
from navigator.store.reads.queries import Queries
from navigator.store.rows import from_row, from_rows

_COLUMNS = {
    "writer_model": "a.model",
    "writer_prompt": "a.prompt_version",
    "way": "a.way",
    "model": "r.model",
    "prompt_version": "r.prompt_version",
    "block_on": "r.block_on",
}
REVIEWERS = ("model", "prompt_version", "block_on")
"""Those that are the reviewer's."""

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

ALIASES = {"model": "reviewer-model", "prompt": "reviewer-prompt"}
"""Short names of groupings."""

VARIANT = "(SELECT variant FROM tasks WHERE id = a.task_id) > 1"
"""Whether a proposal is a further one for a task that is written several times: no verdict of its own, since all are of
one task, and written in other ways than the settings say."""

FIRST = (
    " JOIN reviews r ON r.proposal_id = a.id AND r.counted = 1 AND r.role = 'reviewer'"
    f" WHERE NOT {VARIANT} AND a.attempt = 0 AND a.round = 0 AND a.parent IS NULL AND a.way <> 'existing' AND r.at >= ?"
)
_READ = "r.self_review = 0 AND r.verdict IN ('REVISE', 'APPROVE')"
_OF_EXISTING = FIRST.replace("a.way <> 'existing'", "a.way = 'existing'")


@dataclass(frozen=True, slots=True)
class FirstUse:
    """The first verdict (UTC time) under another prompt or model than the first of its sort; `field` is one of `_COLUMNS`."""

    at: str
    field: str
    value: str


class VerdictReads(Queries):
    """Counts over one connection."""

    def verdict_counts(self, by: str = "", since: str = "", *, existing: bool = False) -> list[VerdictCount]:
        """What the revise rate is counted from: each task's first proposal as it was first reviewed.

        Args:
            by: one of `GROUPINGS` or `ALIASES`, or "" for no grouping.
            existing: count the reviews of existing changes instead, which are never pooled with proposals.
        """
        tasks = " JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
        return from_rows(
            VerdictCount,
            self._all(
                f'SELECT {_GROUPS[ALIASES.get(by, by)]} AS "group",'
                f" {_VERSIONS}, r.verdict, r.stated_verdict,"
                f" r.self_review, count(*) AS n FROM proposals a"
                f"{tasks if by in ('kind', 'complexity', 'project') else ''}"
                f"{_OF_EXISTING if existing else FIRST}"
                " GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10",
                since,
            ),
        )

    def again_counts(self) -> tuple[int, int]:
        """First revisions that were reviewed: how many, and how many were sent back again."""
        again = FIRST.replace("a.round = 0", "a.round = 1")
        (row,) = self._all(
            f"SELECT count(*) AS n, total(r.verdict = 'REVISE') AS revise FROM proposals a"
            f"{again} AND {_READ}",
            "",
        )
        return int(row["n"]), int(row["revise"])

    def variant_verdicts(self, since: str = "") -> int:
        """First verdicts on further variants of a task, which no rate counts."""
        return int(
            self._one(
                "SELECT count(*) FROM proposals a JOIN reviews r ON r.proposal_id = a.id AND r.counted = 1"
                f" AND r.role = 'reviewer' WHERE {VARIANT} AND a.attempt = 0 AND a.round = 0 AND a.parent IS NULL"
                f" AND r.at >= ?",
                since,
            )
        )

    def first_uses(self) -> list[FirstUse]:
        """When each prompt version, model, way of writing and rule was first used, oldest first, without the oldest of each."""
        rows = self._all(
            f"SELECT {_VERSIONS}, min(r.at) AS first FROM proposals a{FIRST} AND {_READ} GROUP BY 1, 2, 3, 4, 5, 6",
            "",
        )
        found: list[FirstUse] = []
        for name in _COLUMNS:
            seen: dict[str, str] = {}
            for row in sorted(rows, key=lambda row: str(row["first"])):
                seen.setdefault(row[name], row["first"])
            found += [FirstUse(at, name, value) for value, at in list(seen.items())[1:]]
        return sorted(found, key=lambda use: use.at)

    def revise_counts(self, since: str = "", until: str = "~") -> tuple[int, int]:
        """Of the first verdicts in a time how many were REVISE, and how many there are."""
        sql = f"SELECT total(r.verdict = 'REVISE'), count(*) FROM proposals a{FIRST} AND {_READ} AND r.at < ?"
        revise, n = self._all(sql, since, until)[0]
        return int(revise), n

    def entropy_ranks(self, since: str = "") -> list[EntropyRanks]:
        """First verdicts against the mean entropy of the change, by writer; self-reviews are left out."""
        return from_rows(
            EntropyRanks,
            self._all(
                "SELECT model, sum(revise) AS revise, sum(1 - revise) AS approve,"
                " total(revise * place) AS revise_ranks, total(revise * bits) AS revise_sum,"
                " total((1 - revise) * bits) AS approve_sum FROM (SELECT *, rank() OVER (PARTITION BY model"
                " ORDER BY bits) + (count(*) OVER (PARTITION BY model, bits) - 1) / 2.0 AS place FROM ("
                f"SELECT a.model, a.entropy_mean AS bits, r.verdict = 'REVISE' AS revise"
                f" FROM proposals a{FIRST} AND {_READ} AND a.entropy_mean IS NOT NULL)) GROUP BY 1",
                since,
            ),
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

_CHUNK = 500
_Row = TypeVar("_Row", Reproduction, Judged)


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
        ids = [row["id"] for row in rows]
        held = self._beside_findings("reproductions", Reproduction, ids)
        judged = self._beside_findings("judgements", Judged, ids)
        made = []
        for row in rows:
            review = from_row(Review, row)
            tests, words = held.get(row["id"], {}), judged.get(row["id"], {})
            if tests or words:
                findings = tuple(
                    finding.model_copy(
                        update={"reproduction": tests.get(place), "judged": words.get(place, finding.judged)}
                    )
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

    def judgement_counts(self, since: str = "") -> list[JudgementCount]:
        """Findings that the developer judged, by project, severity, criterion and the review's prompt."""
        return from_rows(
            JudgementCount,
            self._all(
                "SELECT p.name AS project, j.severity, j.criterion, r.prompt_version, j.judgement, count(*) AS n"
                " FROM judgements j JOIN reviews r ON r.id = j.review_id JOIN proposals a ON a.id = r.proposal_id"
                " JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
                " WHERE j.at >= ? GROUP BY 1, 2, 3, 4, 5",
                since,
            ),
        )

    def _beside_findings(
        self, table: str, model: type[_Row], reviews: Sequence[int]
    ) -> dict[int, dict[int, _Row]]:
        """The rows of a table about findings, by review and by the finding's place in it."""
        found: dict[int, dict[int, _Row]] = defaultdict(dict)
        for start in range(0, len(reviews), _CHUNK):
            chunk = reviews[start : start + _CHUNK]
            marks = ", ".join("?" * len(chunk))
            for row in self._all(f"SELECT * FROM {table} WHERE review_id IN ({marks})", *chunk):
                found[row["review_id"]][row["finding"]] = from_row(model, row)
        return found
