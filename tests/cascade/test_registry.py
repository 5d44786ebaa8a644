"""Every operation's name leads to a function, and wrong words are refused before anything is done."""

from __future__ import annotations

import importlib
import inspect
from typing import Any, cast

import pytest

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.verbs import registry
from navigator.domain.errors import UsageError

NOWHERE = cast(Dependencies, None)


@pytest.mark.parametrize("op", registry.known())
def test_each_name_leads_to_an_operation(op: str) -> None:
    module, name = registry._OPERATIONS[op]
    function: Any = getattr(importlib.import_module(f"navigator.cascade.verbs.{module}"), name)
    assert inspect.iscoroutinefunction(function)
    assert next(iter(inspect.signature(function).parameters)) == "deps"


async def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(UsageError, match="no operation"):
        await registry.perform(NOWHERE, "os.system", {})


async def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="shell"):
        await registry.perform(NOWHERE, "task.add", {"tasks": [], "shell": "x"})
