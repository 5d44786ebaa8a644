"""The nouns of Navigator as frozen models. Field names are those of the JSON that others script against.

Times are UTC, ISO 8601, as strings made by `utc_now`; durations are seconds; token counts are the server's own.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from navigator.model.ids import ProposalId, TaskId
from navigator.model.states import (
    REPRODUCED,
    CheckOutcome,
    Complexity,
    Criterion,
    DecisionKind,
    Escalation,
    FindingKind,
    Judgement,
    LandingState,
    PolicyAction,
    ProposalState,
    ReproductionOutcome,
    RevisedOutcome,
    Role,
    Rung,
    Severity,
    SuggestionState,
    TaskKind,
    TaskState,
    Verdict,
)


def utc_now() -> str:
    """Now in UTC, to the millisecond, as stored: `2026-11-20T19:05:00.123Z`."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def wall_seconds() -> float:
    """Now by the wall clock, in seconds, as `TaskView.since` has stored moments."""
    return datetime.now(UTC).timestamp()


class Model(BaseModel):
    """Frozen, and closed to words it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Usage(Model):
    """What one model call cost: tokens as the server counted them, wall seconds as the client measured them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class Project(Model):
    """A git repository in Navigator's care.

    `root_commit` identifies the history whatever the path; `source` is "store" or "config";
    `demo` is true only for sample repositories that `navigator demo` made. `escalate`: its proposals may be sent to the final
    model when the developer asks for that. `careful`: patterns of paths that are never approved in a
    batch. `review_branches`: patterns of branches whose new commits are reviewed.
    """

    id: int
    name: str
    path: str
    base: str = ""
    landing: str = "branch"
    check: str = ""
    check_mounts: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    conventions: str = "AGENTS.md"
    escalate: bool = False
    careful: tuple[str, ...] = ()
    review_branches: tuple[str, ...] = ()
    root_commit: str = ""
    source: str = "store"
    removed: bool = False


class Variation(Model):
    """How one of several variants of a task is written: the temperature of its calls, where the settings' is not used."""

    temperature: float | None = None

    @property
    def words(self) -> str:
        """`temperature 0.6`, `as the settings say`."""
        return "as the settings say" if self.temperature is None else f"temperature {self.temperature:g}"


class Task(Model):
    """One instruction for one project. `attempt` counts from 0, `round` within the attempt from 0.

    `base_commit` is pinned when the attempt is first written, and cleared by the next attempt. `origin` is the id of the
    task this one came from: the scan that proposed it, or the task whose proposal was split; "" for one that was asked for.
    `escalated` is the reading that the developer asked for and that is still to come. `after` are the ids of the tasks, of any
    project, that have to land, to be approved or to be done before an attempt of this one is written. A task that is written
    several times is as many tasks: `variant_of` is the first of them, for each, and `variant` counts from 1; 0 for a task that
    is written once.
    `ref` names the existing change that the task reviews, such as `main..topic`; "" for a task that is written. `head` is the
    commit that holds that change. `base` is the branch or the commit that it is written on in place of the project's base.
    """

    id: TaskId
    project_id: int
    project: str
    text: str
    kind: TaskKind = TaskKind.IMPLEMENT
    complexity: Complexity = Complexity.MEDIUM
    priority: int = 0
    files: tuple[str, ...] = ()
    state: TaskState = TaskState.QUEUED
    attempt: int = 0
    round: int = 0
    note: str = ""
    reason: str = ""
    report: str = ""
    base_commit: str = ""
    origin: TaskId = ""
    after: tuple[str, ...] = ()
    variant_of: TaskId = ""
    variant: int = 0
    variation: Variation = Field(default_factory=Variation)
    escalated: Escalation = Escalation.NONE
    ref: str = ""
    head: str = ""
    base: str = ""
    created: str
    updated: str

    def based(self, project: Project) -> Project:
        """The project as this task sees it: with the task's own base, if it has one."""
        return project.model_copy(update={"base": self.base}) if self.base else project


class Suggestion(Model):
    """A task that a scan proposes; the developer accepts it (`made_task` is what it became) or dismisses it.

    `rank` counts from 1, the most worthwhile first; `new_files` are those of
    `files` that the project does not hold yet. `quote` is the line that the model gives as its reason; it was found at
    `quote_path` and `quote_line` (from 1), or, where `quote_path` is "", nowhere in what the model was shown.
    """

    id: int = 0
    task_id: TaskId
    attempt: int = 0
    rank: int
    text: str
    kind: TaskKind = TaskKind.IMPLEMENT
    complexity: Complexity = Complexity.MEDIUM
    files: tuple[str, ...] = ()
    new_files: tuple[str, ...] = ()
    why: str = ""
    quote: str = ""
    quote_path: str = ""
    quote_line: int = 0
    state: SuggestionState = SuggestionState.OPEN
    made_task: TaskId = ""
    at: str = ""

    @property
    def grounded(self) -> bool:
        """Whether the line it quotes was found in what the model was shown."""
        return self.quote_path != ""


class AppliedEdit(Model):
    """One edit of an answer that applied, and the rung of the ladder it applied on."""

    path: str
    rung: Rung


class PolicyItem(Model):
    """One path that a policy rule speaks about; `detail` says in words what is special about it."""

    rule: str
    path: str
    action: PolicyAction
    detail: str = ""


class CheckResult(Model):
    """What one deterministic gate said, in how many seconds; `detail` is shown to people and models.

    `before` is what the same gate said of the base, None where it was not asked or the gate is about the change itself.
    """

    name: str
    outcome: CheckOutcome
    seconds: float = 0.0
    detail: str = ""
    before: CheckOutcome | None = None


TESTS = "tests"
"""The name of the check that is the project's own test command."""


class Baseline(Model):
    """What a project's own test command says of an unchanged tree.

    `environment` is a digest of what else decides the answer (mounts, limits, sandbox); `failures` are the names of tests
    that failed, where the runner's output names them.
    """

    project_id: int
    tree: str
    command: str
    environment: str = ""
    outcome: CheckOutcome
    failures: tuple[str, ...] = ()
    detail: str = ""
    seconds: float = 0.0
    at: str = ""


class Reproduction(Model):
    """The test that was to prove a finding, and what became of it.

    Attributes:
        finding: the index of the finding in its review.
        reason: why the outcome is what it is, in words.
        path: of the test file, which neither the base nor the proposal has; `text` is all of it. "" where there is none.
        failure: what the test says when it fails on the proposal.
        seconds: all its runs together.
        revised: what it says of the next revision, whose proposal is `revised_by`; "" while there is none.
    """

    finding: int = 0
    outcome: ReproductionOutcome = ReproductionOutcome.UNASKED
    reason: str = ""
    path: str = ""
    text: str = ""
    failure: str = ""
    seconds: float = 0.0
    revised: RevisedOutcome = RevisedOutcome.NONE
    revised_by: ProposalId = ""
    prompt_version: str = ""
    model: str = ""
    at: str = ""


class Judged(Model):
    """What the developer said of a finding, and why."""

    judgement: Judgement
    note: str = ""
    at: str = ""


class Finding(Model):
    """One remark of a review.

    `hunk` is the label in the diff the reviewer saw ("H1" …); `line` is the new-file line of the quote (old-file for a quote
    on the removed side), None when unanchored, and then `unanchored` says why; `side` is "new", "old", "task" or "context". A
    `remark` is something new that a later reading noticed and that is no blocker: it was not asked for, and decides nothing.
    `reproduction` is the test that was to prove it; None where none was asked for. `judged` is what the developer said of it.
    `precedent` is the number of the one that it follows; 0 for none.
    """

    kind: FindingKind
    hunk: str = ""
    path: str = ""
    line: int | None = None
    quote: str = ""
    severity: Severity
    criterion: Criterion
    trigger: str = ""
    message: str
    anchored: bool = False
    unanchored: str = ""
    side: str = "new"
    remark: bool = False
    reproduction: Reproduction | None = None
    judged: Judged | None = None
    precedent: int = 0

    @property
    def dismissed(self) -> bool:
        """Whether the developer found it wrong, or not worth a change."""
        return self.judged is not None and self.judged.judgement is not Judgement.RIGHT

    @property
    def set_aside(self) -> bool:
        """Whether it follows a precedent and no test has proved it all the same: then it decides nothing."""
        return bool(self.precedent) and not (self.reproduction and self.reproduction.outcome in REPRODUCED)

    @property
    def asked_for(self) -> bool:
        """Whether a revision answers it: its quote is anchored, and it is more than taste or a later remark."""
        return not (self.remark or self.set_aside) and self.anchored and self.severity is not Severity.NIT


class Review(Model):
    """One reading of one proposal. `verdict` is derived; `stated_verdict` is what the model itself said.

    `role` is the generator's for its optional reading of its own change. `parts` is in how many prompts a large diff was
    read. `advice` says why its REVISE did not send the change back; "" where it did, and for every other verdict. `block_on`
    is the setting by which the verdict was derived. `hunks` is how many it was shown and `unread` the labels of those that it
    does not say it read; 0 where it did not say.
    """

    role: Role = Role.REVIEWER
    verdict: Verdict
    stated_verdict: Verdict | None = None
    self_review: bool = False
    summary: str = ""
    findings: tuple[Finding, ...] = ()
    addressed: tuple[dict[str, Any], ...] = ()
    parts: int = 1
    hunks: int = 0
    unread: tuple[str, ...] = ()
    advice: str = ""
    block_on: str = "grounded"
    prompt_version: str = ""
    model: str = ""
    usage: Usage = Field(default_factory=Usage)
    at: str = ""


class Decision(Model):
    """The developer's word on one proposal, and the tree it was about."""

    kind: DecisionKind
    note: str = ""
    tree: str = ""
    confirmed: tuple[str, ...] = ()
    at: str = ""


class Landing(Model):
    """What became of an approval. `commit` is on `ref`; `transplanted` when the tip was no longer the base."""

    state: LandingState
    ref: str = ""
    commit: str = ""
    transplanted: bool = False
    reason: str = ""
    at: str = ""


EXISTING = "existing"
"""The `way` of a proposal that nobody wrote for its task: a change of the repository, to be reviewed and never landed."""


class Proposal(Model):
    """One round's answer, immutable once made: edits, turned into a tree on a pinned base.

    `review` is the reviewer's newest reading, `first_review` its first where it was asked to read again; `final_review`
    that of the optional cloud model, which reads last. A derived proposal holds only the `hunks` of its
    `parent` that the developer chose (labels of the parent's diff): it was reviewed as a part of that whole. `way` says how
    the writer worked: "blocks" is one answer of edit blocks, "existing" a change that was there before. `variant_of` and
    `variant` are the task's, `careful` the project's patterns.
    `entropy_mean` is how unsure its writer was of a token, in bits; None where the server did not tell.
    """

    id: ProposalId
    task_id: TaskId
    project_id: int
    project: str
    attempt: int
    round: int
    state: ProposalState = ProposalState.OPEN
    base_commit: str
    tree: str
    batch: str = ""
    written_by: Role = Role.GENERATOR
    way: str = "blocks"
    title: str = ""
    summary: str = ""
    edits: tuple[AppliedEdit, ...] = ()
    policy: tuple[PolicyItem, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    overlaps: tuple[str, ...] = ()
    added: int = 0
    removed: int = 0
    review: Review | None = None
    first_review: Review | None = None
    final_review: Review | None = None
    parent: ProposalId = ""
    hunks: tuple[str, ...] = ()
    variant_of: TaskId = ""
    variant: int = 0
    careful: tuple[str, ...] = ()
    decision: Decision | None = None
    landing: Landing | None = None
    seen: bool = False
    prompt_version: str = ""
    model: str = ""
    usage: Usage = Field(default_factory=Usage)
    entropy_mean: float | None = None
    created: str = ""

    @property
    def existing(self) -> bool:
        """Whether it is a change that was there before: reviewed, never landed."""
        return self.way == EXISTING

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path the proposal touches, once, in order."""
        return tuple(dict.fromkeys(edit.path for edit in self.edits))

    @property
    def failed_checks(self) -> tuple[CheckResult, ...]:
        """The checks that said no, where the base does not fail the same way."""
        return tuple(check for check in self.checks if check.outcome is CheckOutcome.FAILED)


class SwapPhase(Model):
    """One phase of a swap: drain, stop, release, start, load, health, verify or canary."""

    name: str
    seconds: float


class Swap(Model):
    """One change of residency. `from_role` is None when nothing was loaded. JSON names are `from` and `to`.

    `failure` is the class of what went wrong ("no_memory", "port_taken", "unit_failed", "timeout", "wrong_model" …).
    `weight_bytes` are the target's weight files and `warm_bytes` how much of them stood in the page cache when the swap
    began; 0 and 0 where nobody looked. `made_by` is "outside" for a swap that was noticed, not made. `filled_with` is the work
    meanwhile that needs no GPU, in seconds, added up by its kind. `seconds` are those between the last answer of one model and
    the first answer of the other, which the canary asks for where it is on; `phases` are parts of them.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, populate_by_name=True)

    id: int = 0
    from_role: Role | None = Field(default=None, alias="from")
    to_role: Role = Field(alias="to")
    strategy: str
    started: str
    phases: tuple[SwapPhase, ...] = ()
    seconds: float = 0.0
    outcome: str = "done"
    reason: str = ""
    failure: str = ""
    weight_bytes: int = 0
    warm_bytes: int = 0
    made_by: str = "navigator"
    filled_with: dict[str, float] = {}


class Event(Model):
    """Something that happened, in the order of `seq`; written in the transaction that made it true."""

    seq: int
    at: str
    kind: str
    task_id: str = ""
    proposal_id: str = ""
    data: dict[str, Any] = {}
