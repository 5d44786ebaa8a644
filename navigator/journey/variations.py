"""How the proposals of one task differ that is written several times: by temperature, by how the writer is asked, or by who
writes.

The first variant is always written as the settings say, so that figures about first proposals count the same work as without
variants.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from navigator.model.errors import UsageError
from navigator.model.models import Variation

MOST = 8
"""Variants of one task."""

HOTTEST = 1.0
COOLEST = 0.2

APPROACH = "approach-"
"""How the names of the prompts begin that ask for the same change in another way."""


class Vary(StrEnum):
    """What differs between the variants of a task."""

    TEMPERATURE = "temperature"
    PROMPT = "prompt"
    WRITER = "writer"


def variations(
    number: int, vary: Vary, *, temperature: float, approaches: Sequence[str], writers: Sequence[str]
) -> list[Variation]:
    """`number` ways to write one task, the usual one first.

    Args:
        temperature: of the writer's settings; the others are spread evenly from it to 1.0, or to 0.2 where it is hot already.
        approaches: the names of the prompts that there are for it, without `approach-`.
        writers: those beside the one that the settings name for the task.

    Raises:
        UsageError: there are not so many prompts, or writers.
    """
    others = number - 1
    if vary is Vary.WRITER:
        if others > len(writers):
            few = "are 2 writers" if writers else "is no other writer"
            raise UsageError(
                f"There {few} for this task; writers are the model and the agent of the settings.",
                hint="An agent is set with `command` under [generator.agent]; or use --vary temperature.",
            )
        return [Variation(), *(Variation(writer=name) for name in writers[:others])]
    if vary is Vary.PROMPT:
        if others > len(approaches):
            raise UsageError(
                f"There are {len(approaches)} prompts to vary by, for at most {len(approaches) + 1} variants.",
                hint=f"Add files `{APPROACH}NAME.md` to your prompts, or use --vary temperature.",
            )
        return [Variation(), *(Variation(approach=name) for name in approaches[:others])]
    end = HOTTEST if temperature <= (HOTTEST + COOLEST) / 2 else COOLEST
    step = (end - temperature) / max(1, others)
    return [
        Variation(),
        *(Variation(temperature=round(temperature + step * place, 2)) for place in range(1, number)),
    ]
