"""What every table of the settings file is."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""What the name of an environment variable may be."""

Positive = Annotated[int, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Section(BaseModel):
    """A table of the file: frozen, closed to unknown keys, and strict (`"8"` is no number)."""

    # hide_input_in_errors: a value that was refused may be a key that somebody put in the wrong place.
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)
