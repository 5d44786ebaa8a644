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
    CallTotals,
    EntropyRanks,
    LandedCommit,
    LandedFinding,
    SwapTotals,
    VerdictCount,
    WorkTotals,
    Yield,
)
from navigator.model.states import Judgement
from navigator.store.reads.proposals import ProposalReads
from navigator.store.reads.queries import COUNTED, Queries
from navigator.store.schema import from_row, from_rows

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

ALIASES = {"model": "reviewer-model", "prompt": "reviewer-prompt"}
"""Short names of groupings."""

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

    def verdict_counts(self, by: str = "", since: str = "") -> list[VerdictCount]:
        """What the revise rate is counted from: each task's first proposal as it was first reviewed.

        Args:
            by: one of `GROUPINGS` or `ALIASES`, or "" for no grouping.
        """
        return [row for row in self.every_verdict_count(by, since) if row.way != EXISTING]

    def every_verdict_count(self, by: str = "", since: str = "") -> list[VerdictCount]:
        """The same with the reviews of existing changes, which are told by their `way` and never pooled with proposals."""
        tasks = " JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
        return self._models(
            VerdictCount,
            f'SELECT {_GROUPS[ALIASES.get(by, by)]} AS "group",'
            f" {_VERSIONS}, r.verdict, r.stated_verdict, r.self_review, count(*) AS n FROM proposals a INDEXED BY proposals_task"
            f"{tasks if by in ('kind', 'complexity', 'project') else ''}{_EVERY_FIRST}"
            " GROUP BY 8, 9, 6, 3, 10, 1, 2, 4, 5, 7",  # what differs most first: less to compare
            since,
        )

    def entropy_ranks(self, since: str = "") -> list[EntropyRanks]:
        """First verdicts against the mean entropy of the change, by writer; self-reviews are left out."""
        return self._models(
            EntropyRanks,
            "SELECT model, sum(revise) AS revise, sum(1 - revise) AS approve,"
            " total(revise * place) AS revise_ranks, total(revise * bits) AS revise_sum,"
            " total((1 - revise) * bits) AS approve_sum FROM (SELECT *, rank() OVER (PARTITION BY model"
            " ORDER BY bits) + (count(*) OVER (PARTITION BY model, bits) - 1) / 2.0 AS place FROM ("
            f"SELECT a.model, a.entropy_mean AS bits, r.verdict = 'REVISE' AS revise"
            f" FROM proposals a{FIRST} AND {_READ} AND a.entropy_mean IS NOT NULL)) GROUP BY 1",
            since,
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


# Calls.

_WRITTEN = "outcome IN ('ok', 'refused', 'tests_failed')"
_ANSWERED = "outcome IN ('ok', 'refused', 'tests_failed', 'looked')"
_REVIEWING = "(purpose >= 'review' AND purpose < 'reviex')"
_BATCH = (
    f"(CASE role WHEN 'reviewer' THEN {_REVIEWING}"
    f" ELSE NOT {_REVIEWING} AND purpose NOT IN ('scan', 'report') END)"
)
"""Whether a call is the work that a batch is made of: a change written, or a review. A look is part of the one it leads to."""

_TOKENS = ", ".join(f"sum({kind}_tokens) AS {kind}_tokens" for kind in ("prompt", "completion", "cached"))
_CALLS = (
    f"SELECT role, model, purpose, outcome, count(*) AS calls, {_TOKENS}, sum(seconds) AS seconds,"
    " sum(busy) AS busy_seconds, max(ended) AS newest FROM calls WHERE ended >= ? GROUP BY 1, 2, 3, 4"
)
"""Ended calls, summed in the order of an index; the few rows of it are then summed as a statistic wants them."""

_SPENT = (
    f"sum(calls) AS calls, {_TOKENS}, sum(seconds) AS seconds, round(sum(busy_seconds), 3) AS busy_seconds"
)


class StatisticsReads(VerdictReads):
    """Counts over one connection."""

    def summed(self, sql: str, since: str) -> list[tuple[Any, ...]]:
        """The rows of a declared statistic, whose `?1` is `since`."""
        return [tuple(row) for row in self._all(sql, *[since] * ("?1" in sql))]


# Sums of what work took, made by the database.
#
# Every method takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.

_WORK = (
    "CASE WHEN purpose = 'exam' THEN 'exam' WHEN purpose = 'final' THEN 'final'"
    " WHEN purpose >= 'review' AND purpose < 'reviex' THEN 'review' ELSE 'write' END"
)

_TOTALS = (
    f"WITH c AS MATERIALIZED ({_CALLS})"
    f" SELECT role, {_WORK} AS work, '' AS model, {_SPENT}, sum(calls * (outcome = 'lost')) AS lost, 0 AS failed,"
    " '' AS newest, 0 AS batch_calls, 0 AS batch_tokens FROM c GROUP BY 1, 2"
    f" UNION ALL SELECT role, '', model, {_SPENT}, 0, sum(calls * NOT {_ANSWERED}), max(newest),"
    f" sum(calls * ({_BATCH} AND {_WRITTEN})), sum({_BATCH} * completion_tokens) FROM c WHERE {COUNTED} GROUP BY 1, 3"
    " ORDER BY 1, 2 DESC, 3"
)

_PAID = "sum(prompt_tokens) AS prompt_tokens, sum(completion_tokens) AS completion_tokens"
_PRICED = (
    f"SELECT role, {_WORK} AS work, sum(calls) AS calls, {_PAID}, round(sum(busy), 3) AS busy_seconds FROM"
    f" (SELECT role, model, purpose, outcome, count(*) AS calls, {_PAID}, sum(busy) AS busy FROM calls WHERE ended >= ?"
    " GROUP BY 1, 2, 3, 4) GROUP BY 1, 2 ORDER BY 1, 2 DESC"
)
"""As the first of `_TOTALS`, without what a price is not made of: each sum takes as long as a tenth of the whole."""

_YIELD = (
    "SELECT (SELECT count(*) FROM decisions NOT INDEXED WHERE withdrawn = 0 AND kind = 'approve' AND at >= ?"
    " AND proposal_id NOT IN (SELECT proposal_id FROM landings WHERE state = 'undone')"
    " AND proposal_id NOT IN (SELECT parent FROM proposals WHERE parent IS NOT NULL)) AS accepted,"
    " (SELECT count(*) FROM proposals WHERE parent IS NULL AND way <> 'existing' AND created >= ?) AS proposals,"
    " (SELECT count(*) FROM reviews WHERE role = 'reviewer' AND at >= ?) AS reviews"
)


class CostReads(Queries):
    """Sums over one connection."""

    def totals(self, since: str = "") -> tuple[list[WorkTotals], list[CallTotals]]:
        """Sums over ended calls by role and kind of work, and by role and model."""
        found = self._all(_TOTALS, since)
        by_work, by_model = ([row for row in found if bool(row["work"]) is one] for one in (True, False))
        return from_rows(WorkTotals, by_work), from_rows(CallTotals, by_model)

    def work_totals(self, since: str = "") -> list[WorkTotals]:
        """Ended calls by role and kind of work."""
        return self.totals(since)[0]

    def call_totals(self, since: str = "") -> list[CallTotals]:
        """Sums over ended calls by role and model."""
        return self.totals(since)[1]

    def priced(self, since: str = "") -> list[WorkTotals]:
        """What `work_totals` has for a price: tokens read and written, and the seconds in which a model worked."""
        return self._models(WorkTotals, _PRICED, since)

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
        (found,) = self._all(_YIELD, *[since] * 3)
        return from_row(Yield, found)


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
        return [
            ((row["role"], kind), float(row[f"{kind}_tokens"]))
            for row in self._all(f"SELECT role, {_TOKENS} FROM ({_CALLS}) GROUP BY 1", "")
            for kind in ("prompt", "completion", "cached")
        ]

    def _counts(self, sql: str) -> list[Count]:
        return [(tuple(map(str, words)), float(n)) for *words, n in self._all(sql)]
