"""Whether a server that answers still says what its model says: the questions, and how answers are compared.

A model at temperature 0 is nearly deterministic, not wholly: kernels add in another order for another batch, and a tie between
two tokens can fall the other way, after which the text goes on differently. So answers that differ are reported, and only
answers that have nothing in common with the reference, nor with what was asked for, count as garbage.
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
"""Mean likeness to the reference below which answers count as garbage. Forced answers that diverge late stay far above it."""

FEWER_ACCEPTED = 0.5
"""Share of the reference's accept length below which speculation is reported as broken."""

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


@dataclass(frozen=True, slots=True)
class ProbeJudgement:
    """What the answers came to. `likeness`: mean over the probes, 0 to 1; None without a reference."""

    outcome: CanaryOutcome
    likeness: float | None = None
    reason: str = ""


def judge(
    answers: Sequence[str],
    reference: Sequence[str] | None,
    *,
    accept_length: float | None = None,
    reference_accept_length: float | None = None,
) -> ProbeJudgement:
    """Compare answers to `PROBES` with those of the same model and profile when it was first loaded.

    Args:
        answers: one text a probe, perhaps cut; untrusted.
        reference: None where nothing was kept yet.
        accept_length: tokens a step that speculation yields, where the server counts them.
    """
    right = any(patterns.search(probe.expected, text) for probe, text in zip(PROBES, answers, strict=True))
    if reference is None:
        if not any(text.strip() for text in answers):
            return ProbeJudgement(CanaryOutcome.UNANSWERED, reason="every answer was empty")
        if not right and all(map(_loops, answers)):
            return ProbeJudgement(CanaryOutcome.GARBAGE, reason="every answer repeats one or two tokens")
        return ProbeJudgement(CanaryOutcome.REFERENCE)
    if tuple(answers) == tuple(reference):
        likeness = 1.0
    else:
        likeness = fmean(_likeness(*pair) for pair in zip(answers, reference, strict=True))
    if likeness < ALIKE and not right:
        words = f"the answers have nothing in common with the reference (likeness {likeness:.2f})"
        return ProbeJudgement(CanaryOutcome.GARBAGE, likeness, words)
    known = reference_accept_length
    if accept_length is not None and known is not None and accept_length < FEWER_ACCEPTED * known:
        words = f"speculation accepts {accept_length:.2f} tokens a step, {known:.2f} in the reference"
        return ProbeJudgement(CanaryOutcome.DRIFTED, likeness, words)
    if tuple(answers) != tuple(reference):
        return ProbeJudgement(
            CanaryOutcome.DRIFTED,
            likeness,
            f"the answers differ from the reference (likeness {likeness:.2f})",
        )
    return ProbeJudgement(CanaryOutcome.SAME, likeness)


def _likeness(one: str, other: str) -> float:
    """Of words and signs in order, 0 to 1. Not symmetric, and no measure of meaning."""
    return SequenceMatcher(None, _PIECES.findall(one), _PIECES.findall(other), autojunk=False).ratio()


def _loops(text: str) -> bool:
    pieces = _PIECES.findall(text)
    return len(pieces) >= _LOOP_TOKENS and len(set(pieces)) <= 2
