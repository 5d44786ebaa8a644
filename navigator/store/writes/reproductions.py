"""Writing the tests that were to prove findings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from navigator.model.ids import number_of, proposal_id, task_id
from navigator.model.models import Finding, Reproduction
from navigator.model.states import ReproductionOutcome, RevisedOutcome, Verdict
from navigator.store.rows import encoded
from navigator.store.writes.core import TransactionCore

_SHOWN = {"outcome", "reason", "path"}


class ReproductionWrites(TransactionCore):
    """Events: reproduction, reproduction_revised, review_settled."""

    def add_reproductions(
        self, proposal: str, review_id: int, findings: Sequence[Finding], made: Iterable[Reproduction]
    ) -> None:
        """One row for each finding whose test is asked for, or why none is. `findings` are the review's."""
        row = self._proposal_row(proposal)
        for reproduction in made:
            about = findings[reproduction.finding]
            columns = {"severity": about.severity.value, "criterion": about.criterion.value, "at": self.at}
            self._insert("reproductions", reproduction, proposal_id=row["id"], review_id=review_id, **columns)

    def set_reproduction(self, proposal: str, review_id: int, made: Reproduction) -> None:
        """What became of one of them since."""
        row = self._proposal_row(proposal)
        values = encoded(Reproduction, {name: getattr(made, name) for name in Reproduction.model_fields})
        del values["finding"]
        columns = ", ".join(f"{name} = ?" for name in values)
        self._run(
            f"UPDATE reproductions SET {columns} WHERE review_id = ? AND finding = ?",
            (*{**values, "at": self.at}.values(), review_id, made.finding),
        )
        if made.outcome not in (ReproductionOutcome.UNASKED, ReproductionOutcome.PENDING):
            said = {"finding": made.finding + 1, **made.model_dump(mode="json", include=_SHOWN)}
            self.event("reproduction", task_id(row["task_id"]), proposal_id(row["id"]), said)

    def set_revised(self, findings: Iterable[tuple[int, int, RevisedOutcome]], by: str) -> None:
        """What the tests of earlier findings said of a revision: (review, finding, outcome)."""
        row = self._proposal_row(by)
        for review_id, finding, outcome in findings:
            self._run(
                "UPDATE reproductions SET revised = ?, revised_by = ? WHERE review_id = ? AND finding = ?",
                (outcome.value, number_of(by, "P"), review_id, finding),
            )
            said = {"finding": finding + 1, "revised": outcome.value}
            self.event("reproduction_revised", task_id(row["task_id"]), by, said)

    def settle_review(
        self, proposal: str, review_id: int, verdict: Verdict, findings: Iterable[Finding], block_on: str
    ) -> None:
        """The verdict that the findings' tests leave by the setting `block_on`. The findings themselves are not altered."""
        row = self._proposal_row(proposal)
        # An APPROVE needs no word on why it sent nothing back.
        advice = {} if verdict is Verdict.REVISE else {"advice": ""}
        self._update("reviews", review_id, {"verdict": verdict.value, "block_on": block_on, **advice})
        counted = sum(finding.reproduction is not None for finding in findings)
        said = {"verdict": verdict.value, "tests": counted}
        self.event("review_settled", task_id(row["task_id"]), proposal_id(row["id"]), said)
