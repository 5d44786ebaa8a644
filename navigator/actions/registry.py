"""Every verb by name, and performing one that came over the socket or from a command."""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any

from pydantic_core import to_jsonable_python

from navigator.actions.base import Verb
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import UsageError
from navigator.store.database import require_space

# name -> module of this package and class. Imported on first use, so that adding a task does not import git.
_VERBS = {
    "approve": "approve:Approve",
    "reject": "deciding:Reject",
    "send-back": "deciding:SendBack",
    "split": "split:Split",
    "undo": "deciding:Undo",
    "escalate": "escalate:Escalate",
    "conduct": "conducting:Conduct",
    "seen": "notes:MarkSeen",
    "draft.save": "notes:SaveDraft",
    "hook": "projects:Hook",
    "review.fix": "reviews:RequestFix",
    "finding.judge": "notes:JudgeFinding",
    "review.add": "reviews:AddReview",
    "comment": "notes:KeepComment",
    "task.add": "tasks:AddTasks",
    "task.after": "tasks:After",
    "task.cancel": "tasks:Cancel",
    "task.retry": "tasks:Retry",
    "task.done": "tasks:PutAway",
    "suggestions": "tasks:Settle",
    "project.add": "projects:AddProject",
    "project.set": "projects:SetProject",
    "project.remove": "projects:RemoveProjects",
    "exam.run": "conducting:RunExam",
    "exam.prepare": "conducting:PrepareExam",
    "project.check": "projects:CheckProject",
    "reverts.look": "deciding:LookForReverts",
}


def known() -> tuple[str, ...]:
    """Every verb's name."""
    return tuple(_VERBS)


@cache
def verb(name: str) -> type[Verb]:
    """The verb of a name.

    Raises:
        UsageError: there is none.
    """
    if name not in _VERBS:
        raise UsageError(f"There is no operation {name!r}.", hint="Are the two sides of the same version?")
    module, _, title = _VERBS[name].partition(":")
    found: type[Verb] = getattr(importlib.import_module(f"navigator.actions.{module}"), title)
    return found


async def perform(deps: Dependencies, name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Perform a verb. Returns the document that `--json` prints, with `told`: its lines for people.

    Raises:
        UsageError: no such verb, or arguments that do not fit it.
        DiskFull: there is too little space to start anything.
        NavigatorError: what the verb itself refuses.
    """
    asked = verb(name).read(document)
    if not asked.works_on_full_disk:
        require_space(deps.paths.root)
    found = await asked.perform(deps)
    made: dict[str, Any] = to_jsonable_python({**found.data, "told": found.told})
    return made
