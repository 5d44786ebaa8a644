"""Every verb by name, and performing one that came over the socket or from a command."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from typing import Any, TypeVar

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.verbs.base import Verb
from navigator.domain.errors import UsageError
from navigator.domain.models import Model
from navigator.store.space import require_space

# name -> module of this package and class. Imported on first use, so that adding a task does not import git.
_VERBS = {
    "approve": "approve:Approve",
    "reject": "reject:Reject",
    "undo": "undo:Undo",
}

R = TypeVar("R", bound=Model)


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
    made = getattr(importlib.import_module(f"navigator.cascade.verbs.{module}"), title)()
    assert isinstance(made, Verb)
    return made


async def perform(deps: Dependencies, name: str, document: dict[str, Any]) -> dict[str, Any]:
    """Do one thing, from and to JSON.

    Raises:
        UsageError: no such verb, or arguments that do not fit it.
        DiskFull: there is too little room to begin anything.
        NavigatorError: what the verb itself refuses.
    """
    if name in _OPERATIONS:
        return await _operation(deps, name, document)
    found = verb(name)
    args = found.read_args(document)
    if not found.small:
        require_space(deps.paths.root)
    result = await found.perform(deps, args)
    dumped: dict[str, Any] = result.model_dump(mode="json")
    return dumped


# Not verbs yet

_OPERATIONS = {
    "project.add": ("projects", "add_project"),
    "project.check": ("checks", "check_project"),
    "project.move": ("projects", "move_project"),
    "project.remove": ("projects", "remove_projects"),
    "task.add": ("tasks", "add_tasks"),
    "task.cancel": ("tasks", "cancel_tasks"),
    "task.retry": ("tasks", "retry_tasks"),
    "task.done": ("tasks", "close_tasks"),
    "task.send-back": ("tasks", "send_back_tasks"),
    "suggestions.accept": ("suggestions", "accept_suggestions"),
    "suggestions.dismiss": ("suggestions", "dismiss_suggestions"),
    "decide": ("decisions", "decide"),
    "split": ("hunks", "split"),
    "take-back": ("decisions", "take_back"),
    "seen": ("notes", "mark_seen"),
    "draft.save": ("notes", "save_draft"),
    "comment.add": ("notes", "add_comment"),
    "comment.remove": ("notes", "remove_comment"),
}
_SMALL = frozenset({"project.remove", "task.cancel", "take-back", "seen", "draft.save", "comment.remove"})


async def _operation(deps: Dependencies, op: str, args: dict[str, Any]) -> dict[str, Any]:
    module, name = _OPERATIONS[op]
    function = getattr(importlib.import_module(f"navigator.cascade.verbs.{module}"), name)
    try:
        inspect.signature(function).bind(deps, **args)
    except TypeError as error:
        raise UsageError(f"{op}: {error}.") from error
    if op not in _SMALL:
        require_space(deps.paths.root)
    result: dict[str, Any] = await function(deps, **args)
    return result
