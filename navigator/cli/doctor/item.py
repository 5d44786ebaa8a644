"""One line of `navigator doctor`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Item:
    """One thing that was looked at. `state`: ok, warn (works without), missing (something needs it)."""

    name: str
    state: Literal["ok", "warn", "missing"]
    found: str
    hint: str = ""
