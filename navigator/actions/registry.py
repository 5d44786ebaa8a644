"""Every verb by name, and performing one that came over the socket or from a command."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from navigator.actions.base import Verb
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import UsageError
from navigator.store.database import require_space

# name -> module of this package and class. Imported on first use, so that adding a task does not import git.
_VERBS = {
    "approve": "approve:Approve",
    "reject": "deciding:Reject",
    "send-back": "send_back:SendBack",
    "split": "split:Split",
    "tests.keep": "keep_tests:KeepTests",
    "undo": "undo:Undo",
    "escalate": "escalate:Escalate",
    "conduct": "conducting:Conduct",
    "seen": "notes:MarkSeen",
    "draft.save": "notes:SaveDraft",
    "hook": "hook:Hook",
    "review.fix": "fix_findings:RequestFix",
    "finding.judge": "judging:JudgeFinding",
    "review.add": "review_change:AddReview",
    "comment": "notes:KeepComment",
    "task.add": "task_add:AddTasks",
    "task.after": "tasks:After",
    "task.cancel": "tasks:Cancel",
    "task.retry": "tasks:Retry",
    "task.done": "tasks:PutAway",
    "suggestions": "suggestions:Settle",
    "project.add": "projects:AddProject",
    "project.set": "projects:SetProject",
    "project.remove": "projects:RemoveProjects",
    "exam.run": "exam:RunExam",
    "exam.prepare": "exam:PrepareExam",
    "project.check": "project_check:CheckProject",
    "reverts.look": "undo:LookForReverts",
}


def known() -> tuple[str, ...]:
    """Every verb's name."""
    return tuple(_VERBS)


@cache
def verb(name: str) -> Verb[Any, Any]:
    """The verb of a name.

    Raises:
        UsageError: there is none.
    """
    if name not in _VERBS:
        raise UsageError(f"There is no operation {name!r}.", hint="Are the two sides of the same version?")
    module, _, title = _VERBS[name].partition(":")
    made = getattr(importlib.import_module(f"navigator.actions.{module}"), title)()
    assert isinstance(made, Verb)
    return made


async def perform(deps: Dependencies, name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Do one thing, from and to JSON.

    Raises:
        UsageError: no such verb, or arguments that do not fit it.
        DiskFull: there is too little space to start anything.
        NavigatorError: what the verb itself refuses.
    """
    found = verb(name)
    args = found.read_args(document)
    if not found.small:
        require_space(deps.paths.root)
    result = await found.perform(deps, args)
    dumped: dict[str, Any] = result.model_dump(mode="json")
    return dumped
