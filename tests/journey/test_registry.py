"""Every verb's name leads to a verb, and arguments that do not fit are refused before anything is done."""

from __future__ import annotations

from typing import cast

import pytest

from navigator.actions import registry
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import UsageError

NOWHERE = cast("Dependencies", None)


@pytest.mark.parametrize("name", registry.known())
def test_each_name_leads_to_its_verb(name: str) -> None:
    assert registry.verb(name).name == name


async def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(UsageError, match="no operation"):
        await registry.perform(NOWHERE, "os.system", {})


async def test_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="shell"):
        await registry.perform(NOWHERE, "approve", {"proposals": [], "shell": "x"})
