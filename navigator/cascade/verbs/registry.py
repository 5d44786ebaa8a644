"""Names of operations, and where the functions behind them stand."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.socket.wire import Result
from navigator.domain.errors import UsageError
from navigator.store.space import require_space

# operation -> (module of this package, function `async (deps, **args) -> Result`). Imported when asked for, since each
# module brings its own imports: adding a task pays for no git.
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
    "undo": ("decisions", "undo_landings"),
    "take-back": ("decisions", "take_back"),
    "seen": ("notes", "mark_seen"),
    "draft.save": ("notes", "save_draft"),
    "comment.add": ("notes", "add_comment"),
    "comment.remove": ("notes", "remove_comment"),
}


_SMALL = frozenset({"project.remove", "task.cancel", "take-back", "seen", "draft.save", "comment.remove"})
"""Operations that end or keep something in a few bytes: done on a full disk too, as long as SQLite finds room."""


def known() -> tuple[str, ...]:
    """Every operation's name."""
    return tuple(_OPERATIONS)


async def perform(deps: Dependencies, op: str, args: dict[str, Any]) -> Result:
    """Do one thing.

    Raises:
        UsageError: no such operation, or arguments that do not fit it.
        DiskFull: there is too little room to begin anything.
        NavigatorError: what the operation itself refuses.
    """
    if op not in _OPERATIONS:
        raise UsageError(f"There is no operation {op!r}.", hint="The two sides may be of different versions.")
    module, name = _OPERATIONS[op]
    function = getattr(importlib.import_module(f"navigator.cascade.verbs.{module}"), name)
    try:
        inspect.signature(function).bind(deps, **args)
    except TypeError as error:
        raise UsageError(f"{op}: {error}.") from error
    if op not in _SMALL:
        require_space(deps.paths.root)
    result: Result = await function(deps, **args)
    return result
