"""What became of work, as the database counts it: revisions, findings, repeated reviews, landed commits."""

from __future__ import annotations

from typing import Literal

from navigator.model.ids import ProposalId
from navigator.model.models import Finding, Model
from navigator.model.states import Criterion, Role, Severity, Verdict


class ExamPair(Model):
    """Pairs of answers to one item of the exam under one version of the prompt, the second by `model`: both by it, asked again
    or with precedents where the first had none; or the first by another model."""

    model: str
    prompt_version: str
    faulty: bool
    first: Verdict
    second: Verdict
    n: int = 1


class Fate(Model):
    """What became of a landed commit, as the project's repository said when it was last looked at.

    Attributes:
        fate: "kept" (on the branch, and no revert of it was found), "reverted", or "unknown".
        branch: the branch that was looked at.
        found_as: the commit of the same change on that branch, where it is another one (a rebase, a cherry-pick).
        reverted_by: the commit that took it back.
        how: "named" (its message names the commit), "" where it was not reverted.
        reason: why it is unknown.
    """

    proposal_id: ProposalId
    commit: str
    fate: Literal["kept", "reverted", "unknown"]
    branch: str = ""
    found_as: str = ""
    reverted_by: str = ""
    how: Literal["", "named"] = ""
    reason: str = ""
    at: str = ""


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


class Afterlife(Model):
    """What became of the line of a finding that landed unrepaired.

    `fate`: "fixed" (a commit that says it mends a bug changed the line), "changed" (another one did), "kept", or "unknown".
    """

    review_id: int
    finding: int
    severity: Severity
    criterion: Criterion
    fate: Literal["fixed", "changed", "kept", "unknown"]
    changed_by: str = ""
    at: str


# What work took, as the database sums it up: calls by kind of work, swaps.

Work = Literal["write", "review", "final", "exam"]


class WorkTotals(Model):
    """Calls of one role for one kind of work.

    Attributes:
        seconds: durations of the calls added up: calls at the same time count each.
        lost: calls that a crash cut off; their tokens are unknown and not in the sums.
    """

    role: Role
    work: Work
    calls: int = 0
    lost: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0


class SwapTotals(Model):
    """Swaps and loads: `n` measured ones, `failed` of them, and the seconds of all of these; `unmeasured` were made by others."""

    n: int = 0
    seconds: float = 0.0
    failed: int = 0
    unmeasured: int = 0


class Yield(Model):
    """What came out of the work: changes you approved (and did not undo), proposals, and reviews by the reviewer.

    `final_reviews` are the readings by the final model that have a price, and `final_price` their sum.
    """

    accepted: int = 0
    proposals: int = 0
    reviews: int = 0
    final_reviews: int = 0
    final_price: float = 0.0
