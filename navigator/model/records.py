"""What is kept beside the work itself: model calls, failed edits, comments, the landing journal."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from navigator.model.ids import ProposalId, TaskId
from navigator.model.models import Finding, Model, Usage
from navigator.model.states import (
    Criterion,
    EditCode,
    ExamSource,
    Judgement,
    LookOutcome,
    Role,
    Severity,
    TaskKind,
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
    retries: int = 0
    repeat: bool = False
    started: str
    ended: str = ""


class AgentTurn(Model):
    """One prompt to a coding agent, recorded before it is sent and again when it ended.

    `agent` is its name and version as it told them. `outcome` is "started" while it works, "lost" when the conductor died
    first, else "ok" (its change became `tree`), "no_change", "report", "refused" (the change is not taken: `reason`), "failed"
    or "tests_failed". `requests` are what it asked of the model, `replayed` those of them
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


class JournalEntry(Model):
    """What a landing is about to do, written before it does it; `closed` is "" until its outcome is known."""

    id: int
    proposal_id: ProposalId
    plan: dict[str, Any]
    opened: str
    closed: str = ""
    outcome: str = ""


class JudgementCount(Model):
    """Findings that the developer judged, of one sort."""

    project: str
    severity: Severity
    criterion: Criterion
    prompt_version: str
    judgement: Judgement
    n: int = 1


# What became of work: landed commits, and findings in them.


class Fate(Model):
    """What became of a landed commit, as the project's repository said when it was last looked at.

    `fate`: "kept" (on the branch, and no revert of it was found), "reverted", or "unknown". `found_as` is the commit of the same
    change on that branch, where it is another one (a rebase, a cherry-pick).
    """

    proposal_id: ProposalId
    commit: str
    fate: Literal["kept", "reverted", "unknown"]
    found_as: str = ""
    at: str = ""


class Afterlife(Model):
    """What became of the line of a finding that landed unrepaired.

    `fate`: "fixed" (a commit that says it mends a bug changed the line), "changed" (another one did), "kept", or "unknown".
    """

    review_id: int
    finding: int
    fate: Literal["fixed", "changed", "kept", "unknown"]
    at: str


# The reviewer's exam: changes whose right verdict is known, and what the reviewer said of them.


class ExamItem(Model):
    """One change to be reviewed blindly. Everything that the prompt of a normal review needs, and the known answer.

    Attributes:
        id: of the row; 0 before it is stored.
        project_id: the project whose private repository holds `base_commit` and `tree`.
        source: how it was made.
        faulty: whether REVISE is the right verdict.
        origin: what it was made from, the same text for the same item: an item is made once.
        text: the instruction, as a task would give it; kind likewise.
        title: of the change, as a writer would give it.
        path: the file of the seeded fault; "" for a clean item and where the place is unknown.
        line: 1-based first line of the fault in the tree's file; `end_line` the last one. 0 where there is none.
        changed_lines: added and removed lines of the diff from base to tree.
        evidence: why the answer is known, e.g. {"command": "pytest -q", "failing": ["t::a"], "seconds": 4.1}. Never in a prompt.
        retired: why it is asked no more; "" while it is.
    """

    id: int = 0
    project_id: int
    source: ExamSource
    faulty: bool
    origin: str
    text: str
    kind: TaskKind
    base_commit: str
    tree: str
    title: str = ""
    path: str = ""
    line: int = 0
    end_line: int = 0
    changed_lines: int = 0
    evidence: dict[str, Any] = Field(default_factory=dict)
    created: str
    retired: str = ""


class ExamTrial(Model):
    """One attempt to make an item from one change, so that it is not made again for nothing.

    Attributes:
        source: what was to be made of the change.
        change: a commit of the project, or a proposal's id.
        against: digest of what the result depends on: test command, sandbox, and today's tree where the item is made on it.
        kept: whether an item came of it; `reason` says why not.
    """

    id: int = 0
    project_id: int
    source: ExamSource
    change: str
    against: str
    kept: bool
    reason: str = ""


class SourceCount(Model):
    """Candidates of one source.

    Of those `found`, `known` are items or were tried before with a result that still holds, `tried` were tried in this run;
    `kept` of these became items. `rejected` counts the others by the reason in words.
    """

    found: int = 0
    known: int = 0
    tried: int = 0
    kept: int = 0
    rejected: dict[str, int] = Field(default_factory=dict)


class PreparedProject(Model):
    """What preparing one project's items came to.

    Attributes:
        problem: why nothing could be prepared, "" where it could; `hint` says what to do about it.
        sources: counts by `ExamSource` value.
        faulty: items of the project that are asked, after this run; `clean` likewise.
        runs: of the project's tests; `seconds` is the time of the whole run.
        ended: why it ended, in words.
    """

    project: str
    problem: str = ""
    hint: str = ""
    sources: dict[str, SourceCount] = Field(default_factory=dict)
    faulty: int = 0
    clean: int = 0
    runs: int = 0
    seconds: float = 0.0
    ended: str = ""


class ExamAnswer(Model):
    """One review of an item, by one model under one prompt version.

    `named` says that an anchored finding is at the place of the fault. `precedents` are the numbers of those that its prompt
    showed. `role` is the generator's where the writer's model was asked, to compare.
    """

    id: int = 0
    item_id: int
    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    named: bool = False
    precedents: tuple[int, ...] = ()
    role: Role = Role.REVIEWER
    prompt_version: str = ""
    model: str = ""
    usage: Usage = Field(default_factory=Usage)
    at: str
