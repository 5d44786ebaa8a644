"""Names of operations, and the functions behind them."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from navigator.cascade.world import World
from navigator.domain.errors import UsageError

Result = dict[str, Any]
Command = Callable[..., Awaitable[Result]]

_COMMANDS: dict[str, Command] = {}


def command(name: str) -> Callable[[Command], Command]:
    """Make a function `async (world, **args) -> dict` known under `name`."""

    def register(function: Command) -> Command:
        _COMMANDS[name] = function
        return function

    return register


def known() -> tuple[str, ...]:
    """Every operation's name."""
    _load()
    return tuple(_COMMANDS)


async def perform(world: World, op: str, args: dict[str, Any]) -> Result:
    """Do one thing.

    Raises:
        UsageError: no such operation, or arguments that do not fit it.
        NavigatorError: what the operation itself refuses.
    """
    _load()
    function = _COMMANDS.get(op)
    if function is None:
        raise UsageError(f"There is no operation {op!r}.", hint="The two sides may be of different versions.")
    try:
        inspect.signature(function).bind(world, **args)
    except TypeError as error:
        raise UsageError(f"{op}: {error}.") from error
    return await function(world, **args)


def _load() -> None:
    """Import the modules whose decorators fill the table; deferred, since each brings its own imports."""
    from navigator.cascade.commands import decisions, notes, projects, tasks

    assert decisions and notes and projects and tasks
