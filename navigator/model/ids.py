"""Ids as people write them: T12 a task, P7 a proposal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from navigator.model import patterns
from navigator.model.errors import UsageError


@dataclass(frozen=True, slots=True)
class Lettered:
    """Marks a field that holds such an id; the database stores its number alone, NULL for "".

    `letter` is "T" or "P".
    """

    letter: str


TaskId = Annotated[str, Lettered("T")]
ProposalId = Annotated[str, Lettered("P")]

_FORM = patterns.compile(r"([TP])([1-9][0-9]{0,17})")
_NAMES = {"T": "a task (such as T12)", "P": "a proposal (such as P7)"}


def task_id(number: int) -> str:
    """`12 -> "T12"`."""
    return f"T{number}"


def proposal_id(number: int) -> str:
    """`7 -> "P7"`."""
    return f"P{number}"


def number_of(identifier: str, prefix: str) -> int:
    """The number in an id.

    Args:
        identifier: as typed, in either case, e.g. `"p7"`.
        prefix: `"T"` or `"P"`.

    Raises:
        UsageError: the text is not an id of that sort.
    """
    match = _FORM.fullmatch(identifier.strip().upper())
    if match is None or match[1] != prefix:
        raise UsageError(
            f"{identifier!r} does not name {_NAMES[prefix]}.",
            hint="`navigator proposals` and `navigator task list` show the ids.",
        )
    return int(match[2])


PART_BASE = "part-base:"
"""Before a commit's id: the key under which the store says which proposal that commit holds."""
