"""Reading the reviewer's exam."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, StringConstraints

from navigator.model.errors import NotFound
from navigator.model.ids import number_of, proposal_id
from navigator.model.json_text import read_json
from navigator.model.models import CheckResult, Model
from navigator.model.records import ExamAnswer, ExamItem, ExamTrial
from navigator.model.states import Criterion
from navigator.store.reads.queries import OWN_FAULT, Queries
from navigator.store.schema import from_row

_RECENT = 5_000
"""Newest calls in which a residency's reviews are looked for: bounds a query that is made at every step."""


@dataclass(frozen=True, slots=True)
class ReviewerTokens:
    """Prompt and completion tokens of the reviewer's calls: of reviews, how many calls those were, and of the exam's items.

    `before`: of reviews before the calls that were asked for, as far back as the exam's last call.
    """

    reviews: int = 0
    calls: int = 0
    exam: int = 0
    before: int = 0


class ExamReads(Queries):
    """Items and answers."""

    def exam_items(self, *, retired: bool = False) -> list[ExamItem]:
        """The items that are asked, oldest first; with `retired` all of them."""
        where = "" if retired else " WHERE retired = ''"
        return self._models(ExamItem, f"SELECT * FROM exam_items{where} ORDER BY id")

    def exam_answers(self) -> list[ExamAnswer]:
        """Every answer, oldest first."""
        return self._models(ExamAnswer, "SELECT * FROM exam_answers ORDER BY id")

    def exam_trials(self, project_id: int) -> list[ExamTrial]:
        """What was tried to make items of a project's changes, oldest first."""
        return self._models(
            ExamTrial, "SELECT * FROM exam_trials WHERE project_id = ? ORDER BY id", project_id
        )

    def exam_item(self, item_id: int) -> ExamItem:
        """One item.

        Raises:
            NotFound: there is none of that number.
        """
        found = self._all("SELECT * FROM exam_items WHERE id = ?", item_id)
        if not found:
            raise NotFound(f"There is no exam item {item_id}.", hint="`navigator exam show` counts them.")
        return from_row(ExamItem, found[0])

    def exam_marker(self) -> tuple[int, ...]:
        """Changes when an item, an answer or a precedent is added, or an item or a precedent is retired."""
        row = self._all(
            "SELECT coalesce((SELECT max(id) FROM exam_items), 0),"
            " (SELECT count(*) FROM exam_items WHERE retired <> ''),"
            " coalesce((SELECT max(id) FROM exam_answers), 0), (SELECT count(*) + count(nullif(ended, '')) FROM precedents)"
        )[0]
        return tuple(row)

    def exam_given(self, prompt_version: str) -> list[ExamAnswer]:
        """The answers under this version of the prompt, without their findings, oldest first."""
        columns = "id, item_id, verdict, precedents, role, model, at"
        rows = f"SELECT {columns} FROM exam_answers WHERE prompt_version = ? ORDER BY id"
        return self._models(ExamAnswer, rows, prompt_version)

    def exam_failed_calls(self, item_id: int, prompt_version: str) -> int:
        """Calls for an item under a version of the prompt that ended without an answer for a reason of their own."""
        return int(
            self._one(
                "SELECT count(*) FROM calls WHERE exam_item = ? AND prompt_version = ? AND outcome = 'failed'"
                f" AND {OWN_FAULT}",
                item_id,
                prompt_version,
            )
        )

    def reviewer_tokens(self, after: int) -> ReviewerTokens:
        """What the reviewer's calls numbered above `after` took; a call of a server that counts no tokens took one."""
        total = "max(1, prompt_tokens + completion_tokens)"
        newest = int(self._one("SELECT coalesce(max(id), 0) FROM calls"))
        oldest = newest - _RECENT
        row = self._all(
            f"SELECT coalesce(sum((purpose = 'review') * ({total})), 0) AS reviews,"
            " coalesce(sum(purpose = 'review' AND outcome = 'ok'), 0) AS calls,"
            f" coalesce(sum((purpose = 'exam') * ({total})), 0) AS exam"
            " FROM calls WHERE id > ? AND role = 'reviewer'",
            max(after, oldest),
        )[0]
        before = self._one(
            f"SELECT coalesce(sum({total}), 0) FROM calls WHERE id <= ? AND role = 'reviewer'"
            " AND purpose = 'review' AND id > max(?, coalesce((SELECT max(id) FROM calls"
            " WHERE exam_item IS NOT NULL), 0))",
            after,
            oldest,
        )
        return ReviewerTokens(int(row["reviews"]), int(row["calls"]), int(row["exam"]), int(before))

    def usual_checks(self, project_id: int) -> tuple[CheckResult, ...]:
        """The checks of a project's newest reviewed first proposal in which nothing failed; () before there is one."""
        found = self._all(
            "SELECT a.checks FROM proposals a JOIN tasks t ON t.id = a.task_id WHERE t.project_id = ?"
            " AND a.parent IS NULL AND a.round = 0 AND a.checks LIKE '%\"tests\"%'"
            ' AND a.checks NOT LIKE \'%"outcome":"failed%\''
            " AND EXISTS (SELECT 1 FROM reviews WHERE proposal_id = a.id AND role = 'reviewer')"
            " ORDER BY a.id DESC LIMIT 1",
            project_id,
        )
        return tuple(CheckResult.model_validate(check) for row in found for check in read_json(row["checks"]))

    def passed_baseline(self, project_id: int) -> str:
        """The first line of what a project's tests said when they last passed on a base; "" where they never did."""
        found = self._all(
            "SELECT detail FROM baselines WHERE project_id = ? AND outcome = 'passed' ORDER BY rowid DESC LIMIT 1",
            project_id,
        )
        return str(found[0]["detail"]).partition("\n")[0] if found else ""

    def accepted_changes(self, project_id: int, *, most_lines: int, limit: int) -> list[str]:
        """The newest approved proposals of a project that were neither undone nor reverted since, newest first.

        Args:
            most_lines: changed lines of one.
        """
        found = self._all(
            "SELECT a.id FROM proposals a JOIN tasks t ON t.id = a.task_id"
            " JOIN decisions d ON d.proposal_id = a.id AND d.withdrawn = 0 AND d.kind = 'approve'"
            " LEFT JOIN fates f ON f.proposal_id = a.id"
            " WHERE t.project_id = ? AND a.added > 0 AND a.added + a.removed <= ?"
            " AND coalesce(f.fate, '') <> 'reverted'"
            " AND NOT EXISTS (SELECT 1 FROM landings l WHERE l.proposal_id = a.id AND l.state = 'undone')"
            " GROUP BY a.id ORDER BY a.id DESC LIMIT ?",
            project_id,
            most_lines,
            limit,
        )
        return [proposal_id(row["id"]) for row in found]


MOST_TEXT = 500
"""Characters of each text of a precedent."""

_Text = Annotated[str, StringConstraints(max_length=MOST_TEXT)]


class Precedent(Model):
    """A finding that was judged wrong in a project, and why; the texts are a model's and a person's, in 500 characters each.

    `review_id` and `finding` say where it was made. `ended` is when it was dropped or
    changed, "" while it is shown to the reviewer.
    """

    id: int = 0
    project_id: int = 0
    review_id: int | None = None
    finding: int = 0
    criterion: Criterion
    path: _Text = ""
    quote: _Text = ""
    message: Annotated[_Text, Field(min_length=1)]
    note: Annotated[_Text, Field(min_length=1)]
    ended: str = ""


class PrecedentReads(Queries):
    """Precedents, oldest first."""

    def precedents(self, project_id: int) -> list[Precedent]:
        """Those of a project that hold."""
        where = "project_id = ? AND ended = ''"
        return self._models(Precedent, f"SELECT * FROM precedents WHERE {where} ORDER BY id", project_id)

    def precedents_of(self, proposal: str) -> list[Precedent] | None:
        """Those that a proposal's review is shown, whatever became of them since; None where it was not asked for yet."""
        held = self._one("SELECT precedents FROM proposals WHERE id = ?", number_of(proposal, "P"))
        if held is None:
            return None
        rows = "SELECT * FROM precedents WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
        return self._models(Precedent, rows, held)
