"""What a check finds, and what it may know beyond the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from navigator.lab.speculation.tables import Speculation

Severity = Literal["impossible", "mismatch", "caution"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: about what, in which lines of the file, and the arithmetic."""

    kind: str
    severity: Severity
    subject: str
    arithmetic: str
    lines: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What the reader knows beyond the table.

    Attributes:
        bandwidth: of the memory, GB/s; 0: unknown.
        gigabytes: what a step of a model reads, by its name in the table: all weights of a dense model, the active ones of
            a sparse model.
        same: draft → the model whose runs without speculation are the draft's own speed.
        claimed_rounds: draft length → verifying passes that a text claims for a run; 0 for every length.
        prompt_words: length of the text that prompts were cut from.
    """

    bandwidth: float = 0.0
    gigabytes: Mapping[str, float] = field(default_factory=dict)
    same: Mapping[str, str] = field(default_factory=dict)
    claimed_rounds: Mapping[int, float] = field(default_factory=dict)
    prompt_words: int | None = None


def name(row: Speculation) -> str:
    """What a finding is about: a row of the table."""
    return label(row.target, row.draft, row.gamma)


def label(target: str, draft: str, gamma: int) -> str:
    """The same by its parts."""
    return f"{target}, {draft}, γ = {gamma}" if gamma else f"{target}, no speculation"


def percent(share: float) -> str:
    """With one digit."""
    return f"{100 * share:.1f} %"
