"""Whether a server that answers still says what its model says: the questions, and how answers are judged.

A model at temperature 0 is nearly deterministic, not wholly: kernels add in another order for another batch, and a tie between
two tokens may be broken differently, after which the text differs. So only answers that have nothing in common with
those of an earlier load, nor with what was asked for, count as garbage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from statistics import fmean

from navigator.model import patterns
from navigator.model.states import CanaryOutcome

MAX_TOKENS = 32
"""Of one answer. Three of them take about two seconds at 48 tokens a second."""

ALIKE = 0.25
"""Mean likeness to earlier answers below which answers count as garbage. Forced answers that diverge late stay far above it."""

_LOOP_TOKENS = 8
_PIECES = patterns.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Probe:
    """A question whose answer is all but forced: an answer that matches `expected` is no garbage, whatever the reference."""

    question: str
    expected: str


PROBES = (
    Probe(
        "Repeat this line exactly, and write nothing else:\n"
        "for index, (name, value) in enumerate(sorted(table.items()), start=1):",
        r"for index, ?\(name, ?value\) in enumerate",
    ),
    Probe(
        "Write the whole numbers from 1 to 20 in order, separated by commas, and nothing else.",
        r"1,\s*2,\s*3,\s*4,\s*5",
    ),
    Probe(
        "Write the Python function clamp(value, low, high). Write only code, without a docstring.",
        r"def clamp\(",
    ),
)


def judge(answers: Sequence[str], reference: Sequence[str] | None) -> tuple[CanaryOutcome, str]:
    """What answers to `PROBES` come to, and why they are not well.

    Args:
        answers: one text a probe, perhaps cut; untrusted.
        reference: what the same model answered well before; None where that is not known.
    """
    right = any(patterns.search(probe.expected, text) for probe, text in zip(PROBES, answers, strict=True))
    if reference is None and not any(text.strip() for text in answers):
        return CanaryOutcome.UNANSWERED, "every answer was empty"
    if not right and all(map(_loops, answers)):
        return CanaryOutcome.GARBAGE, "every answer repeats one or two tokens"
    if reference is not None and not right:
        likeness = fmean(_likeness(*pair) for pair in zip(answers, reference, strict=True))
        if likeness < ALIKE:
            words = f"the answers have nothing in common with earlier ones (likeness {likeness:.2f})"
            return CanaryOutcome.GARBAGE, words
    return CanaryOutcome.WELL, ""


def _likeness(one: str, other: str) -> float:
    """Of words and signs in order, 0 to 1. Not symmetric, and no measure of meaning."""
    return SequenceMatcher(None, _PIECES.findall(one), _PIECES.findall(other), autojunk=False).ratio()


def _loops(text: str) -> bool:
    pieces = _PIECES.findall(text)
    return len(pieces) >= _LOOP_TOKENS and len(set(pieces)) <= 2
