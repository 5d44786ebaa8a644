"""What is kept beside the work itself: model calls, failed edits, comments, batches, the landing journal."""

from __future__ import annotations

from typing import Any

from pydantic import Field, computed_field

from navigator.model.ids import ProposalId, TaskId
from navigator.model.models import Model, Usage
from navigator.model.states import (
    Criterion,
    EditCode,
    Judgement,
    LookOutcome,
    Role,
    Severity,
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


class EntropyRanks(Model):
    """First verdicts on one writer's changes with a known entropy: how many, the ranks of those with REVISE added up (1 is the
    lowest entropy; ties have their mean rank), and the entropies added up."""

    model: str
    revise: int
    approve: int
    revise_ranks: float
    revise_sum: float
    approve_sum: float


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

    @computed_field  # type: ignore[prop-decorator]
    @property
    def tokens_per_second(self) -> float | None:
        """Written per second of busy wall time, over all streams; None when no time passed."""
        return self.completion_tokens / self.busy_seconds if self.busy_seconds else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def stream_tokens_per_second(self) -> float | None:
        """Written per second of call, waiting for the first token included: sum over sum, not a mean of rates."""
        return self.completion_tokens / self.seconds if self.seconds else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def streams(self) -> float | None:
        """Calls under way at once, on average over the busy time."""
        return self.seconds / self.busy_seconds if self.busy_seconds else None

    @computed_field  # type: ignore[prop-decorator]
    @property
    def cached_share(self) -> float | None:
        """Of the prompt tokens, what the server's cache had; None when there were none."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else None


class JudgementCount(Model):
    """Findings that the developer judged, of one sort."""

    project: str
    severity: Severity
    criterion: Criterion
    prompt_version: str
    judgement: Judgement
    n: int = 1
