"""What became of work, as the database counts it: revisions, findings, repeated reviews, landed commits."""

from __future__ import annotations

from typing import Literal

from navigator.model.ids import ProposalId
from navigator.model.models import Finding, Model
from navigator.model.states import CheckOutcome, Criterion, Judgement, Role, Severity, Verdict


class RevisionCount(Model):
    """Revisions by what the project's tests said of the round before and of theirs; None where they were not run."""

    before: CheckOutcome | None = None
    after: CheckOutcome | None = None
    n: int = 1


class FindingTotals(Model):
    """Findings that the reviews before one round asked for, and what that round's reviews said of them.

    Attributes:
        round: of the revisions, from 1.
        revisions: those whose review is in the sums.
        asked: findings that they had to answer; `met` and `unmet` as the next review says; of the met
            ones, `withdrawn` are about code that is as it was.
        unread: revisions whose review could not be read; what was asked of them may be in neither sum.
    """

    round: int = 1
    revisions: int = 0
    asked: int = 0
    met: int = 0
    unmet: int = 0
    withdrawn: int = 0
    unread: int = 0


class RepeatCount(Model):
    """Pairs of reviews of one diff, by the same model and prompt version."""

    first: Verdict
    second: Verdict
    n: int = 1


class ExamPair(RepeatCount):
    """Pairs of answers to one item of the exam under one version of the prompt, the second by `model`: both by it, asked again
    or with precedents where the first had none; or the first by another model."""

    model: str
    prompt_version: str
    faulty: bool


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


class AfterlifeCount(Model):
    """Findings that landed unrepaired, of one sort; `judgement` is what the developer said of them."""

    project: str = ""
    severity: Severity
    criterion: Criterion
    prompt_version: str = ""
    judgement: Judgement | None = None
    fate: str
    n: int = 1


class FateCount(Model):
    """Landed proposals by the newest verdict on them and by what became of them.

    `fate` is that of `Fate`, "undone" for a landing that was undone with Navigator, or "" where nobody has looked yet,
    for an undone one (`how` is "undone") at those it is counted with.
    `verdict` is None where no independent reviewer had reviewed it. `looked` is when the oldest look was.
    """

    verdict: Verdict | None = None
    fate: str = ""
    how: Literal["", "named", "undone"] = ""
    reason: str = ""
    looked: str = ""
    n: int = 1


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
    """Swaps between the two models, and loads.

    Attributes:
        n: measured ones, failed ones included: they took their time too.
        seconds: of all of them; `batch_seconds` of those to and from the reviewer between which a batch was reviewed.
        failed: how many did not do what was asked.
        unmeasured: made by others.
    """

    n: int = 0
    seconds: float = 0.0
    batch_n: int = 0
    batch_seconds: float = 0.0
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
