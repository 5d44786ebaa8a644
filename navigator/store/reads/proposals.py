"""Reading proposals and what was said of them: as models, or as light rows for `navigator diff`, which is to be there at once."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from navigator.model import states
from navigator.model.errors import Conflict
from navigator.model.ids import number_of, proposal_id, task_id
from navigator.model.json_text import read_json
from navigator.model.states import ENDED_TASK_STATES, ProposalState, Role
from navigator.store.reads.cards import GlanceReads, names_in, no_proposal
from navigator.store.reads.queries import conditions
from navigator.store.schema import damaged

if TYPE_CHECKING:
    from navigator.model.models import Project, Proposal, Review
    from navigator.model.records import AgentTurn, JudgementCount, Look

_PROPOSALS = (
    "SELECT a.*, t.project_id AS project_id, t.variant_of, t.variant, p.careful, p.name AS project FROM proposals a"
    " JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
)
_REVIEWS = {"review": Role.REVIEWER, "final_review": Role.FINAL}
"""Whose newest review each field of a proposal holds."""


# Light rows


class _Light(SimpleNamespace):
    """Stands for a model: it has the fields that a row or an object in a JSON column has, and of a model's methods only this."""

    def model_copy(self, *, update: Mapping[str, Any]) -> _Light:
        """The same with other values."""
        return _Light(**{**vars(self), **update})


def _light(kind: str, found: Mapping[str, Any], **more: Any) -> Any:
    """What stands for a model; fields that `_READ` names have to be there.

    Raises:
        ValueError, KeyError, TypeError: it is damaged.
    """
    values = dict(found)
    for name, read in _READ.get(kind, {}).items():
        if values[name] is not None:
            values[name] = read(values[name])
    return _Light(**{**values, **more})


def _each(kind: str, text: str) -> tuple[Any, ...]:
    return tuple(_light(kind, one) for one in read_json(text))


_WEIGHT = {"severity": states.Severity, "criterion": states.Criterion}
_VERDICTS = {"verdict": states.Verdict, "stated_verdict": states.Verdict}
_READ: dict[str, dict[str, Callable[[Any], Any]]] = {
    "Proposal": {
        "id": proposal_id,
        "task_id": task_id,
        "parent": proposal_id,
        "state": ProposalState,
        "written_by": Role,
        "checks": partial(_each, "CheckResult"),
    },
    "CheckResult": {"outcome": states.CheckOutcome},
    "Review": {**_VERDICTS, "role": Role, "unread": names_in, "findings": partial(_each, "Finding")},
    "Finding": {**_WEIGHT, "kind": states.FindingKind, "judged": partial(_light, "Judged")},
    "Reproduction": {
        "outcome": states.ReproductionOutcome,
        "revised": states.RevisedOutcome,
        "revised_by": proposal_id,
    },
    "Judged": {"judgement": states.Judgement},
    "JudgementCount": {**_WEIGHT, "judgement": states.Judgement},
    "Landing": {"state": states.LandingState},
    "Look": {"role": Role, "outcome": states.LookOutcome, "paths": names_in},
}
"""How fields are read whose columns hold them in another form; the others are taken as they are."""


class ProposalReads(GlanceReads):
    """Queries over one connection. Their rows only stand for the models that are annotated; `Reader` makes the models."""

    def _made(self, kind: str, row: sqlite3.Row, **more: Any) -> Any:
        """A row of the model of that name; `more` are fields that the row does not hold."""
        try:
            return _light(kind, dict(row), **more)
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(kind, row) from error

    def proposals(
        self,
        states: Collection[ProposalState] | None = None,
        project: str | int | None = None,
        task_id: str | None = None,
    ) -> list[Proposal]:
        """Proposals with their newest reviews, decision and newest landing, in the order they were made."""
        tests, values = conditions("a", states, project)
        if task_id is not None:
            tests += f"{' AND' if tests else ' WHERE'} a.task_id = ?"
            values.append(number_of(task_id, "T"))
        with self.snapshot():
            return self._with_parts(self._all(f"{_PROPOSALS}{tests} ORDER BY a.id", *values))

    def proposal(self, identifier: str) -> Proposal:
        """One proposal.

        Raises:
            NotFound: there is none.
        """
        with self.snapshot():
            found = self._with_parts(self._all(f"{_PROPOSALS} WHERE a.id = ?", number_of(identifier, "P")))
        if not found:
            raise no_proposal(identifier)
        return found[0]

    def finished_proposals(self, before: str) -> list[Proposal]:
        """Proposals of tasks that neither the loop nor the developer will touch again, settled before a UTC time."""
        marks = ", ".join("?" * len(ENDED_TASK_STATES))
        with self.snapshot():
            found = self._all(
                f"{_PROPOSALS} WHERE t.state IN ({marks}) AND t.updated < ? ORDER BY a.id",
                *(state.value for state in sorted(ENDED_TASK_STATES)),
                before,
            )
            return self._with_parts(found)

    def _with_parts(self, found: list[sqlite3.Row]) -> list[Proposal]:
        ids = [row["id"] for row in found]
        read = list(self._among("SELECT * FROM reviews WHERE proposal_id", ids, " ORDER BY id"))
        newest = {(row["proposal_id"], row["role"]): row for row in read}
        reviews = dict(zip(newest, self.reviews_from(list(newest.values())), strict=True))
        first = {row["proposal_id"]: row for row in read if row["counted"] and row["role"] == Role.REVIEWER}
        again = {key: row for key, row in first.items() if newest[key, Role.REVIEWER]["id"] != row["id"]}
        firsts = dict(zip(again, self.reviews_from(list(again.values())), strict=True))
        decisions = self._newest("decisions", ids, " AND withdrawn = 0")
        landings = self._newest("landings", ids)
        made = []
        for row in found:
            number = row["id"]
            parts = {name: reviews.get((number, role)) for name, role in _REVIEWS.items()}
            decision, landing = decisions.get(number), landings.get(number)
            made.append(
                self._made(
                    "Proposal",
                    row,
                    **parts,
                    first_review=firsts.get(number),
                    decision=self._made("Decision", decision) if decision else None,
                    # Without a decision there is nothing to land: an old landing is history.
                    landing=self._made("Landing", landing) if landing and decision else None,
                )
            )
        return made

    def _newest(self, table: str, ids: list[int], extra: str = "") -> dict[int, sqlite3.Row]:
        found = self._among(f"SELECT * FROM {table} WHERE proposal_id", ids, f"{extra} ORDER BY id")
        return {row["proposal_id"]: row for row in found}

    def open_proposal(self, task_id: str) -> Proposal:
        """The one open proposal of a task.

        Raises:
            Conflict: it has none.
        """
        found = self.proposals({ProposalState.OPEN}, task_id=task_id)
        if not found:
            raise Conflict(
                f"{task_id} has no open proposal.", hint=f"`navigator task show {task_id}` shows its history."
            )
        return found[-1]

    def replaced_by(self, proposal: Proposal) -> str:
        """The open proposal of the same task, or ""."""
        found = self.proposals({ProposalState.OPEN}, task_id=proposal.task_id)
        return found[-1].id if found else ""

    def project_of(self, proposal: Proposal) -> Project:
        """A proposal's project, also one that was removed."""
        (row,) = self._all("SELECT * FROM projects WHERE id = ?", proposal.project_id)
        made: Project = self._made("Project", row)
        return made

    def is_examined(self, model: str) -> bool:
        """Whether a model has answered an item of the reviewer's exam."""
        return bool(self._one("SELECT EXISTS (SELECT 1 FROM exam_answers WHERE model = ?)", model))

    # What was said of findings, and how a proposal came about

    def reviews_from(self, rows: Sequence[sqlite3.Row]) -> list[Review]:
        """A review from each row, every finding with the test that was to prove it."""
        ids = [row["id"] for row in rows]
        held = self._beside_findings("reproductions", "Reproduction", ids)
        judged = self._beside_findings("judgements", "Judged", ids)
        made = []
        for row in rows:
            review = self._made("Review", row)
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

    def _beside_findings(self, table: str, kind: str, reviews: Sequence[int]) -> dict[int, dict[int, Any]]:
        """The rows of a table about findings, by review and by the finding's place in it."""
        found: dict[int, dict[int, Any]] = defaultdict(dict)
        for row in self._among(f"SELECT * FROM {table} WHERE review_id", reviews):
            found[row["review_id"]][row["finding"]] = self._made(kind, row)
        return found

    def judgement_counts(self) -> list[JudgementCount]:
        """Findings that the developer judged, by project, severity, criterion and the review's prompt."""
        found = self._all(
            "SELECT p.name AS project, j.severity, j.criterion, r.prompt_version, j.judgement, count(*) AS n"
            " FROM judgements j JOIN reviews r ON r.id = j.review_id JOIN proposals a ON a.id = r.proposal_id"
            " JOIN tasks t ON t.id = a.task_id JOIN projects p ON p.id = t.project_id"
            " GROUP BY 1, 2, 3, 4, 5"
        )
        return [self._made("JudgementCount", row) for row in found]

    def looks(self, task_id: str, attempt: int | None = None) -> list[Look]:
        """What models asked to be shown for a task, oldest first; of one attempt, or of all."""
        found = self._where("looks", task_id=number_of(task_id, "T"), attempt=attempt)
        return [self._made("Look", row) for row in found]

    def agent_turns(
        self, task_id: str, attempt: int | None = None, round: int | None = None
    ) -> list[AgentTurn]:
        """The turns of a task, oldest first; None asks for all."""
        found = self._where("agent_turns", task_id=number_of(task_id, "T"), attempt=attempt, round=round)
        return [self._made("AgentTurn", row) for row in found]
