"""Writing proposals, and what is said and done about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from navigator.model.errors import Conflict, NotFound
from navigator.model.ids import number_of, proposal_id
from navigator.model.models import (
    EXISTING,
    TESTS,
    CheckResult,
    Decision,
    Finding,
    Judged,
    Landing,
    Proposal,
    Reproduction,
    Review,
    utc_now,
)
from navigator.model.states import (
    LandingState,
    ProposalState,
    ReproductionOutcome,
    RevisedOutcome,
    Role,
    Verdict,
)
from navigator.store.errors import IllegalTransition
from navigator.store.reads.exam import Precedent
from navigator.store.schema import dumped, encoded, require_transition
from navigator.store.writes.core import TransactionCore


class ProposalWrites(TransactionCore):
    """Events: proposal_added, proposal_replaced, proposal_state, proposal_seen, proposal_checks, proposal_batch,
    review_added, decision_added, landing_set."""

    def add_proposal(self, proposal: Proposal) -> Proposal:
        """Store one round's answer; open proposals of the same task are superseded.

        Where the round has one already that was not reviewed or decided (a repair after a failed check, or
        work done again after a crash), its content is replaced and its id kept.

        Args:
            proposal: its `id`, `state`, `project`, `review`, `decision` and `landing` are not looked at.

        Raises:
            Conflict: the task is in another attempt by now, or the round's proposal was reviewed or decided.
        """
        task = self._task_row(proposal.task_id)
        if task["attempt"] != proposal.attempt:
            raise Conflict(
                f"{proposal.task_id} is in attempt {task['attempt'] + 1}; this answer belongs to attempt {proposal.attempt + 1}.",
                hint="It came too late and was left out.",
            )
        place = (task["id"], proposal.attempt, proposal.round)
        present = self._run(
            "SELECT id, state, tree FROM proposals WHERE task_id = ? AND attempt = ? AND round = ?", place
        ).fetchone()
        self._supersede_others(task["id"], keep=present["id"] if present else 0)
        if present is not None:
            return self._replace(present["id"], present["state"], present["tree"], proposal)
        fresh = {"state": ProposalState.OPEN, "created": proposal.created or utc_now()}
        number = self._insert("proposals", proposal.model_copy(update=fresh), tests=_tests(proposal.checks))
        made = self.read.proposal(proposal_id(number))
        stat = {"tree": made.tree, "added": made.added, "removed": made.removed}
        where = {"attempt": made.attempt, "round": made.round}
        self.event("proposal_added", made.task_id, made.id, {**where, **stat})
        return made

    def set_proposal_state(self, proposal_id: str, to: ProposalState) -> None:
        """Move a proposal along the transition table; asking for the state it has does nothing.

        Going back to open withdraws the developer's decision.

        Raises:
            IllegalTransition: the table does not know the change.
        """
        row = self._proposal_row(proposal_id)
        current = ProposalState(row["state"])
        if current is to:
            return
        require_transition(current, to, of=proposal_id)
        if to is ProposalState.OPEN:
            self._run(
                "UPDATE decisions SET withdrawn = 1 WHERE proposal_id = ? AND withdrawn = 0", (row["id"],)
            )
        self._update("proposals", row["id"], {"state": to.value})
        self._told("proposal_state", proposal_id, {"from": current.value, "to": to.value})

    def set_proposal_seen(self, proposal_id: str, seen: bool = True) -> None:
        """Note that the developer looked at it."""
        row = self._proposal_row(proposal_id)
        if bool(row["seen"]) == seen:
            return
        self._update("proposals", row["id"], {"seen": int(seen)})
        self._told("proposal_seen", proposal_id, {"seen": seen})

    def set_checks(self, proposal_id: str, checks: Sequence[CheckResult]) -> None:
        """Store what the deterministic gates said, in place of what stood there."""
        row = self._proposal_row(proposal_id)
        self._update("proposals", row["id"], {"checks": dumped(tuple(checks)), "tests": _tests(checks)})
        shown = [{"name": check.name, "outcome": check.outcome.value} for check in checks]
        self._told("proposal_checks", proposal_id, {"checks": shown})

    def set_batch(self, proposal_ids: Iterable[str], batch: str) -> None:
        """Name the batch in which these proposals are reviewed."""
        for identifier in proposal_ids:
            row = self._proposal_row(identifier)
            self._update("proposals", row["id"], {"batch": batch})
            self._told("proposal_batch", identifier, {"batch": batch})

    def add_review(self, proposal_id: str, review: Review) -> int:
        """Keep a review. The first one of each role is the one that counts in the statistics, whatever it says.

        Returns:
            Its number.
        """
        row = self._proposal_row(proposal_id)
        counted = self._run(
            "SELECT 1 FROM reviews WHERE proposal_id = ? AND role = ? AND counted = 1",
            (row["id"], review.role.value),
        ).fetchone()
        number = self._insert(
            "reviews",
            review,
            proposal_id=row["id"],
            counted=int(counted is None),
            **_answer_columns(review),
            at=review.at or utc_now(),
        )
        said = {"verdict": review.verdict.value, "findings": len(review.findings)}
        self._told(
            "review_added", proposal_id, {"role": review.role.value, "counted": counted is None, **said}
        )
        return number

    def add_decision(self, proposal_id: str, decision: Decision) -> None:
        """Record the developer's decision; the proposal becomes decided. The task's state is the caller's to move.

        Raises:
            Conflict: the decision is about another tree than the proposal has now.
            IllegalTransition: the proposal is not open.
        """
        row = self._proposal_row(proposal_id)
        if row["way"] == EXISTING:
            raise Conflict(
                f"{proposal_id} is a change that was there before: there is nothing to decide.",
                hint="Put it away, or have its findings fixed.",
            )
        if decision.tree and decision.tree != row["tree"]:
            raise Conflict(
                f"{proposal_id} changed: it is tree {row['tree'][:12]} now, not {decision.tree[:12]}.",
                hint=f"Look at it again: `navigator diff {proposal_id}`.",
            )
        if row["state"] != ProposalState.OPEN:
            # The table alone would let a landed proposal, whose undoing makes it decided, be decided a second time.
            raise IllegalTransition(
                f"{proposal_id} is {row['state']}: only an open proposal can be decided.",
                hint="`navigator proposals` lists what is open.",
            )
        columns = {"proposal_id": row["id"], "tree": row["tree"], "at": decision.at or utc_now()}
        self._insert("decisions", decision, **columns)
        self._told("decision_added", proposal_id, {"decision": decision.kind.value, "tree": row["tree"]})
        self.set_proposal_state(proposal_id, ProposalState.DECIDED)

    def set_landing(self, proposal_id: str, landing: Landing) -> None:
        """Record how far an approval got; the proposal becomes landed with LANDED and decided again with UNDONE.

        Raises:
            Conflict: there is no decision.
            IllegalTransition: landed without a decision, or undone without a landing.
        """
        row = self._proposal_row(proposal_id)
        standing = self._run(
            "SELECT 1 FROM decisions WHERE proposal_id = ? AND withdrawn = 0", (row["id"],)
        ).fetchone()
        if standing is None:
            raise Conflict(
                f"{proposal_id} has no decision.", hint=f"`navigator approve {proposal_id}` makes one."
            )
        self._insert("landings", landing, proposal_id=row["id"], at=landing.at or utc_now())
        said = landing.model_dump(mode="json", include={"state", "ref", "commit", "reason"})
        self._told("landing_set", proposal_id, said)
        if landing.state is LandingState.LANDED:
            self.set_proposal_state(proposal_id, ProposalState.LANDED)
        if landing.state is LandingState.UNDONE:
            self.set_proposal_state(proposal_id, ProposalState.DECIDED)

    def journal_open(self, proposal_id: str, plan: Mapping[str, Any]) -> int:
        """Write down what a landing is about to do, before it does it.

        Returns:
            The entry's number, for `journal_close`.
        """
        row = self._proposal_row(proposal_id)
        return self._insert("journal", proposal_id=row["id"], plan=dumped(dict(plan)), opened=utc_now())

    def journal_close(self, journal_id: int, outcome: str) -> None:
        """Close an entry with what became of it ("done", "not_done", "diverged").

        Raises:
            NotFound: no such open entry.
        """
        closed = self._run(
            "UPDATE journal SET closed = ?, outcome = ? WHERE id = ? AND closed IS NULL",
            (utc_now(), outcome, journal_id),
        )
        if not closed.rowcount:
            raise NotFound(f"There is no open journal entry {journal_id}.", hint="It was closed before.")

    def _supersede_others(self, task: int, *, keep: int) -> None:
        others = self._run(
            "SELECT id FROM proposals WHERE task_id = ? AND state = ? AND id <> ? ORDER BY id",
            (task, ProposalState.OPEN, keep),
        ).fetchall()
        for row in others:
            self.set_proposal_state(proposal_id(row["id"]), ProposalState.SUPERSEDED)

    def _replace(self, number: int, state: str, old_tree: str, proposal: Proposal) -> Proposal:
        identifier = proposal_id(number)
        read_by = self._run(
            "SELECT EXISTS (SELECT 1 FROM reviews WHERE proposal_id = ?1)"
            " OR EXISTS (SELECT 1 FROM decisions WHERE proposal_id = ?1)",
            (number,),
        ).fetchone()[0]
        if read_by or state in (ProposalState.DECIDED, ProposalState.LANDED):
            raise Conflict(
                f"{identifier} was read already: its round cannot be written again.",
                hint="Begin another round or attempt.",
            )
        columns = self._columns("proposals", proposal) | {"tests": _tests(proposal.checks)}
        for name in ("task_id", "attempt", "round", "state", "parent", "hunks"):
            del columns[name]
        self._update("proposals", number, {**columns, "seen": 0, "created": proposal.created or utc_now()})
        if state != ProposalState.OPEN:
            self.set_proposal_state(identifier, ProposalState.OPEN)
        self._told("proposal_replaced", identifier, {"old_tree": old_tree, "tree": proposal.tree})
        return self.read.proposal(identifier)


def _answer_columns(review: Review) -> dict[str, int]:
    """How many findings a revision has to answer (`asked`), and what the reading says of those of the round before.

    Where several parts of a large diff speak of the same finding, it is met if all of them say so. `withdrawn` are those that
    are met although the code that they are about is as it was.
    """
    met: dict[Any, bool] = {}
    for entry in review.addressed:
        number = entry.get("finding")
        met[number] = met.get(number, True) and bool(entry.get("met"))
    withdrawn = {entry.get("finding") for entry in review.addressed if entry.get("withdrawn")}
    return {
        "asked": sum(finding.asked_for for finding in review.findings),
        "met": sum(met.values()),
        "unmet": len(met) - sum(met.values()),
        "withdrawn": sum(met[number] for number in withdrawn),
    }


def _tests(checks: Iterable[CheckResult]) -> str:
    """The column that statistics read in place of the JSON of all checks; "" where the tests were not run yet."""
    return next((check.outcome.value for check in checks if check.name == TESTS), "")


# Writing the tests that were to prove findings.

_SHOWN = {"outcome", "reason", "path"}


class ReproductionWrites(TransactionCore):
    """Events: reproduction, reproduction_revised, finding_judged, review_settled."""

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
        values = encoded(Reproduction, {name: getattr(made, name) for name in Reproduction.model_fields})
        del values["finding"]
        columns = ", ".join(f"{name} = ?" for name in values)
        self._run(
            f"UPDATE reproductions SET {columns} WHERE review_id = ? AND finding = ?",
            (*{**values, "at": self.at}.values(), review_id, made.finding),
        )
        if made.outcome not in (ReproductionOutcome.UNASKED, ReproductionOutcome.PENDING):
            said = {"finding": made.finding + 1, **made.model_dump(mode="json", include=_SHOWN)}
            self._told("reproduction", proposal, said)

    def set_revised(self, findings: Iterable[tuple[int, int, RevisedOutcome]], by: str) -> None:
        """What the tests of earlier findings said of a revision: (review, finding, outcome)."""
        for review_id, finding, outcome in findings:
            self._run(
                "UPDATE reproductions SET revised = ?, revised_by = ? WHERE review_id = ? AND finding = ?",
                (outcome.value, number_of(by, "P"), review_id, finding),
            )
            said = {"finding": finding + 1, "revised": outcome.value}
            self._told("reproduction_revised", by, said)

    def judge_finding(
        self, proposal: str, at: tuple[Role, int, Finding], judged: Judged | None, precedent: Precedent | None
    ) -> None:
        """Keep what the developer says of a finding of the newest reading by `role`, and the precedent that comes of it in
        place of an earlier one; None takes it back."""
        role, place, finding = at
        row = self._proposal_row(proposal)
        review = self._run(
            "SELECT max(id) FROM reviews WHERE proposal_id = ? AND role = ?", (row["id"], role.value)
        ).fetchone()[0]
        self._run("DELETE FROM judgements WHERE review_id = ? AND finding = ?", (review, place))
        self._run(
            "UPDATE precedents SET ended = ? WHERE review_id = ? AND finding = ? AND ended = ''",
            (self.at, review, place),
        )
        if precedent is not None:
            self.add_precedent(precedent.model_copy(update={"review_id": review, "finding": place}))
        if judged is not None:
            columns = {
                "severity": finding.severity.value,
                "criterion": finding.criterion.value,
                "at": self.at,
            }
            self._insert("judgements", judged, review_id=review, finding=place, **columns)
        word = judged.judgement.value if judged else ""
        said = {"role": role.value, "finding": place + 1, "judgement": word}
        self._told("finding_judged", proposal, said)

    def add_precedent(self, precedent: Precedent) -> int:
        """A new precedent's number."""
        return self._insert("precedents", precedent)

    def end_precedent(self, number: int) -> None:
        """Have it hold no more.

        Raises:
            NotFound: there is none of that number.
        """
        self._row("precedents", number, f"precedent {number}")
        self._update("precedents", number, {"ended": self.at})

    def pin_precedents(self, proposal: str, numbers: Iterable[int]) -> None:
        """Keep which precedents a proposal's review is shown, so that a restart shows the same."""
        self._update("proposals", number_of(proposal, "P"), {"precedents": dumped(tuple(numbers))})

    def settle_review(
        self, proposal: str, review_id: int, verdict: Verdict, findings: Iterable[Finding], block_on: str
    ) -> None:
        """The verdict that the findings' tests leave by the setting `block_on`. The findings themselves are not altered."""
        # An APPROVE needs no word on why it sent nothing back.
        advice = {} if verdict is Verdict.REVISE else {"advice": ""}
        self._update("reviews", review_id, {"verdict": verdict.value, "block_on": block_on, **advice})
        counted = sum(finding.reproduction is not None for finding in findings)
        said = {"verdict": verdict.value, "tests": counted}
        self._told("review_settled", proposal, said)
