"""The reviewer's exam: changes whose right verdict is known, and what the reviewer said of them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from navigator.model.models import Finding, Model, Usage
from navigator.model.states import Complexity, ExamSource, Role, TaskKind, Verdict


class ExamItem(Model):
    """One change to be reviewed blindly. Everything that the prompt of a normal review needs, and the known answer.

    Attributes:
        id: of the row; 0 before it is stored.
        project_id: the project whose private repository holds `base_commit` and `tree`.
        source: how it was made.
        faulty: whether REVISE is the right verdict.
        origin: what it was made from, the same text for the same item: an item is made once.
        text: the instruction, as a task would give it; kind and complexity likewise.
        title: of the change, as a writer would give it; summary likewise.
        path: the file of the seeded fault; "" for a clean item and where the place is unknown.
        line: 1-based first line of the fault in the tree's file; `end_line` the last one. 0 where there is none.
        changed_lines: added and removed lines of the diff from base to tree.
        control_of: the faulty item that this clean one is the control of.
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
    complexity: Complexity
    base_commit: str
    tree: str
    title: str = ""
    summary: str = ""
    path: str = ""
    line: int = 0
    end_line: int = 0
    changed_lines: int = 0
    control_of: int | None = None
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
        runs: of the project's tests, those for its control included; `seconds` is what they took.
    """

    id: int = 0
    project_id: int
    source: ExamSource
    change: str
    against: str
    kept: bool
    reason: str = ""
    runs: int = 0
    seconds: float = 0.0
    at: str


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
    stated_verdict: Verdict | None = None
    findings: tuple[Finding, ...] = ()
    named: bool = False
    precedents: tuple[int, ...] = ()
    role: Role = Role.REVIEWER
    parts: int = 1
    prompt_version: str = ""
    model: str = ""
    usage: Usage = Field(default_factory=Usage)
    at: str


class ExamCount(Model):
    """How many answers are alike, and what they cost together.

    Attributes:
        size: changed lines of the items, as the lower end of a bucket: 0, 10, 50 or 150.
        placed: whether it is known where the fault is.
        named: whether an anchored finding is there.
        tokens: prompt and completion of these answers; `seconds` is how long the model took.
        newest: when the last of them was stored.
    """

    model: str
    prompt_version: str
    source: ExamSource
    faulty: bool
    size: int = 0
    placed: bool = False
    verdict: Verdict
    named: bool = False
    n: int
    tokens: int = 0
    seconds: float = 0.0
    newest: str = ""
