"""The reviewer's exam: changes whose right verdict is known, and what the reviewer said of them."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from navigator.domain.models import Finding, Model, Usage
from navigator.domain.states import Complexity, ExamSource, TaskKind, Verdict


class ExamItem(Model):
    """One change to be reviewed blindly. Everything that the prompt of a normal review needs, and the known answer.

    Attributes:
        id: of the row; 0 before it is stored.
        project_id: the project whose private repository holds `base_commit` and `tree`; None for an imported item, whose files
            lie in the exam's own repository.
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
        rehearsal: made from a change of the embedded stand-in.
        retired: why it is asked no more; "" while it is.
    """

    id: int = 0
    project_id: int | None = None
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
    rehearsal: bool = False
    created: str
    retired: str = ""


class ExamAnswer(Model):
    """One review of an item, by one model under one prompt version.

    `named` says that an anchored finding is at the place of the fault.
    """

    id: int = 0
    item_id: int
    verdict: Verdict
    stated_verdict: Verdict | None = None
    findings: tuple[Finding, ...] = ()
    named: bool = False
    parts: int = 1
    prompt_version: str = ""
    model: str = ""
    rehearsal: bool = False
    usage: Usage = Usage()
    at: str
