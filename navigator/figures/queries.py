"""The questions of the statistics that are made up as they are asked; those that never differ are in `figures.toml`.

Every function takes `since`, a UTC time as the store writes it ("" for all): only what happened from then on counts.
"""

from __future__ import annotations

from navigator.figures.exam import ExamCount, ExamPair
from navigator.figures.page import summed, sums
from navigator.figures.rates import EntropyRanks, VerdictCount
from navigator.model.models import EXISTING
from navigator.store.reads.reader import Reader
from navigator.store.schema import from_rows

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


def verdict_counts(
    reader: Reader, by: str = "", since: str = "", *, existing: bool = False
) -> list[VerdictCount]:
    """What the revise rate is counted from: each task's first proposal as it was first reviewed.

    Args:
        by: one of `GROUPINGS`, or "" for no grouping.
        existing: the reviews of existing changes instead, which are never pooled with proposals.
    """
    tasks = "JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
    sql = (
        f'SELECT {_GROUPS[by]} AS "group", {_VERSIONS}, r.verdict, r.stated_verdict, r.self_review, count(*) AS n'
        f" FROM proposals a INDEXED BY proposals_task {tasks if by in ('kind', 'complexity', 'project') else ''} {{first}}"
        f" AND a.way {'=' if existing else '<>'} '{EXISTING}'"
        " GROUP BY 8, 9, 6, 3, 10, 1, 2, 4, 5, 7"  # what differs most first: less to compare
    )
    return from_rows(VerdictCount, summed(reader, sql, since))


def entropy_ranks(reader: Reader) -> list[EntropyRanks]:
    """First verdicts against the mean entropy of the change, by writer; self-reviews are left out."""
    return from_rows(EntropyRanks, sums(reader, "entropy", ""))


def sent_back_above(reader: Reader, model: str, bits: float) -> tuple[int, int]:
    """Of one writer's changes with a mean entropy above `bits`: first verdicts, and those with REVISE; as `entropy_ranks`."""
    sql = (
        f"SELECT count(*), total(r.verdict = 'REVISE') FROM proposals a {{first}} AND a.way <> '{EXISTING}' AND r.self_review = 0"
        " AND r.verdict IN ('REVISE', 'APPROVE') AND a.entropy_mean > ?2 AND a.model = ?3"
    )
    ((n, revised),) = summed(reader, sql, "", bits, model)
    return int(n), int(revised)


def exam_counts(reader: Reader, since: str = "") -> list[ExamCount]:
    """Answers from a UTC time on, by model, version of the prompt, and all that they are scored by."""
    return from_rows(ExamCount, sums(reader, "exam", since))


def exam_pairs(reader: Reader, which: str, since: str = "") -> list[ExamPair]:
    """Pairs of answers, the second from a UTC time on: "precedents" (without any, and with those that hold now) or "models"
    (the writer's and the reviewer's), the last also on "synthetic" cases."""
    return from_rows(ExamPair, sums(reader, f"pairs_{which}", since))
