"""What is kept beside the work itself: model calls, failed edits, comments, batches, the landing journal."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from navigator.model.ids import ProposalId, TaskId
from navigator.model.models import Model, Usage, Variation
from navigator.model.states import (
    Criterion,
    DecisionKind,
    EditCode,
    Judgement,
    LookOutcome,
    ReproductionOutcome,
    RevisedOutcome,
    Role,
    Severity,
    TaskState,
    Verdict,
)


class ModelCall(Model):
    """One request to a model server, recorded before it is sent and again when it ended.

    A step is (task_id, attempt, round, purpose, seq). `repeat` says that the same step was asked before; `outcome` is
    "started" while it runs, "lost" when its process died first, else the caller's word. `task_id` is "" for a call that
    belongs to no task, such as one for an item of the exam; `ended` is "" until then.
    """

    id: int
    role: Role
    task_id: TaskId = ""
    attempt: int = 0
    round: int = 0
    purpose: str = ""
    exam_item: int | None = None
    seq: int = 0
    prompt_version: str = ""
    prompt_hash: str = ""
    model: str = ""
    outcome: str
    error_code: str = ""
    usage: Usage = Field(default_factory=Usage)
    entropy_mean: float | None = None
    entropy_peak: float | None = None
    retries: int = 0
    repeat: bool = False
    started: str
    ended: str = ""


class AgentTurn(Model):
    """One prompt to a coding agent, recorded before it is sent and again when it ended.

    `agent` is its name and version as it told them. `outcome` is "started" while it works, "lost" when the conductor died
    first, else "ok" (its change became `tree`), "no_change", "report", "refused" (the change is not taken: `reason`), "failed"
    or "tests_failed". `tools` are calls of its tools by kind; `requests` what it asked of the model, `replayed` those of them
    that were answered from the ledger after an interruption, `refused` attempts to reach anything else.
    """

    id: int
    task_id: TaskId
    attempt: int
    round: int
    seq: int
    purpose: str
    agent: str = ""
    session: str = ""
    loaded: bool = False
    prompt_version: str = ""
    outcome: str
    stopped: str = ""
    reason: str = ""
    tree: str = ""
    summary: str = ""
    tools: dict[str, int] = Field(default_factory=dict)
    files_read: int = 0
    requests: int = 0
    replayed: int = 0
    refused: int = 0
    seconds: float = 0.0
    started: str
    ended: str = ""


class EditFailure(Model):
    """One reason why an answer's edits did not apply. All failures of one answer have the same `at`."""

    task_id: TaskId
    attempt: int
    round: int
    code: EditCode
    path: str = ""
    model: str = ""
    at: str


class Look(Model):
    """One request of a model to be shown something before it answers.

    Attributes:
        turn: which turn of looking in the round, from 1; all requests of one answer have the same.
        kind: its first word; "" where it was none.
        target: the request as it was read.
        paths: the files whose lines it was shown, at most 20.
        tokens: of what it was shown.
    """

    task_id: TaskId
    attempt: int
    round: int
    role: Role = Role.GENERATOR
    turn: int
    kind: str = ""
    target: str = ""
    outcome: LookOutcome
    paths: tuple[str, ...] = ()
    tokens: int = 0
    at: str = ""


class Comment(Model):
    """A comment of the developer on one line of a proposal; `side` is "new" or "old", `sent` that a model was shown it."""

    id: int
    task_id: TaskId
    proposal_id: ProposalId
    path: str
    side: str = "new"
    line: int
    quote: str = ""
    text: str
    created: str
    sent: bool = False


class Batch(Model):
    """What is reviewed in one residency; `swaps` are the numbers of the swaps made for it, `ended` "" while it lasts."""

    name: str
    started: str
    ended: str = ""
    swaps: tuple[int, ...] = ()


class JournalEntry(Model):
    """What a landing is about to do, written before it does it; `closed` is "" until its outcome is known."""

    id: int
    proposal_id: ProposalId
    plan: dict[str, Any]
    opened: str
    closed: str = ""
    outcome: str = ""


# What statistics are made from: rows that agree in everything that matters, counted by the database.


class Versions(Model):
    """What a first verdict depends on: who wrote the proposal and who reviewed it, by which prompts.

    `model` and `prompt_version` are the reviewer's; `way` is how the writer worked (`Proposal.way`), `block_on` which
    findings make a REVISE (`Review.block_on`).
    """

    writer_model: str = ""
    writer_prompt: str = ""
    way: str = "blocks"
    model: str = ""
    prompt_version: str = ""
    block_on: str = "grounded"


class VerdictCount(Versions):
    """First verdicts on first proposals; `group` is the property they are grouped by, `week` the Monday of their week."""

    group: str = "all"
    week: str = "all"
    verdict: Verdict
    stated_verdict: Verdict | None = None
    self_review: bool = False
    n: int = 1


class VersionCount(Versions):
    """First verdicts of one combination of versions, self-reviews left out: how many, and when the first and the last were.

    `written` is the number of the newest proposal among them.
    """

    revise: int = 0
    approve: int = 0
    first: str
    last: str
    written: int = 0


class EntropyRanks(Model):
    """First verdicts on one writer's changes with a known entropy: how many, the ranks of those with REVISE added up (1 is the
    lowest entropy; ties have their mean rank), and the entropies added up."""

    model: str
    measure: str
    revise: int
    approve: int
    revise_ranks: float
    revise_sum: float
    approve_sum: float


class VerdictPair(Model):
    """First proposals that their writer and an independent reviewer have both reviewed."""

    own: Verdict
    reviewer: Verdict
    n: int = 1


class TaskCount(Model):
    """Tasks in one state."""

    state: TaskState
    n: int = 1


class DecisionCount(Model):
    """The developer's decisions; `verdict` is what the newest review said, None where there is none."""

    verdict: Verdict | None = None
    decision: DecisionKind
    self_review: bool = False
    n: int = 1


class ReviewTotals(Model):
    """The reviewer's reviews of every round; what they found is that of the newest of each proposal.

    Attributes:
        reviews: all of them; `in_parts` of them, and `unreviewed` that could not be read, also where another one followed.
        stated: could be read and name a verdict of their own; `disagreed` of them another than the derived one.
        findings: all of them; `unanchored` quote nothing that was shown, `remarks` were not asked for.
    """

    reviews: int = 0
    in_parts: int = 0
    unreviewed: int = 0
    stated: int = 0
    disagreed: int = 0
    findings: int = 0
    unanchored: int = 0
    remarks: int = 0


class EditTotals(Model):
    """Rounds that asked for edits: applied at the first answer, after a repair, or never.

    `rungs` counts the edits that applied by rung, `codes` the problems met on the way.
    """

    clean: int = 0
    repaired: int = 0
    lost: int = 0
    rungs: dict[str, int] = Field(default_factory=dict)
    codes: dict[str, int] = Field(default_factory=dict)


class LookCount(Model):
    """Requests of writers to be shown something, by what they asked for and what became of them."""

    kind: str = ""
    outcome: LookOutcome
    n: int = 0
    tokens: int = 0


class LookRounds(Model):
    """Rounds in which a writer looked: how many, and the looks, requests and tokens that were shown in them."""

    rounds: int = 0
    looks: int = 0
    requests: int = 0
    tokens: int = 0


class WayTotals(Model):
    """Proposals by the way they were written, and what their rounds took; `accepted` were approved and not undone."""

    way: str
    proposals: int = 0
    accepted: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


class CallTotals(Model):
    """Ended calls of one role and model.

    Attributes:
        failed: without a usable answer.
        seconds: the calls' durations added up; `busy_seconds` the time in which at least one was under way.
        newest: when the last one ended.
        batch_calls: usable answers of the work a batch is made of (a change written, a review); `batch_tokens` the
            tokens that all calls of that work wrote.
    """

    role: Role
    model: str
    calls: int
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0
    busy_seconds: float = 0.0
    newest: str = ""
    batch_calls: int = 0
    batch_tokens: int = 0


class ReproductionCount(Model):
    """Findings that a test was to prove, by what became of it; `revised` is what the next revision made of the test."""

    severity: Severity
    criterion: Criterion
    outcome: ReproductionOutcome
    revised: RevisedOutcome = RevisedOutcome.NONE
    n: int = 1


class JudgementCount(Model):
    """Findings that the developer judged, of one sort."""

    project: str
    severity: Severity
    criterion: Criterion
    prompt_version: str
    judgement: Judgement
    n: int = 1


class VariantCount(Model):
    """First proposals of tasks that were written several times, by how they were written.

    `decided` are those of tasks of which one variant is approved, `chosen` those that are; `tested` had tests that passed or
    failed, `read` a verdict that could be read.
    """

    variation: Variation
    n: int = 0
    decided: int = 0
    chosen: int = 0
    tested: int = 0
    passed: int = 0
    read: int = 0
    approved: int = 0


class ReproducedDecision(Model):
    """Decisions on proposals whose newest review had findings with a test; `proved`: at least one was reproduced."""

    decision: DecisionKind
    proved: bool
    n: int = 1
