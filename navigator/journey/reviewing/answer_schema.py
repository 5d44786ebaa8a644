"""What the reviewer may answer, as a JSON schema; every string is bounded, because an unbounded one can run on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from navigator.journey.prompts.json_schema import bounded_text, closed_object
from navigator.journey.reviewing.answer import LONGEST
from navigator.model.states import Criterion, FindingKind, Severity, Verdict

MAX_FINDINGS = 8
_VERDICTS = [Verdict.APPROVE.value, Verdict.REVISE.value]


def review_schema(
    hunks: Sequence[str],
    *,
    again: int = 0,
    asked: Sequence[int] | None = None,
    precedents: Sequence[int] = (),
) -> dict[str, Any]:
    """The schema for one review.

    The order of the fields is the order in which a constrained model writes them: what goes wrong before how grave it is,
    and the findings before the verdict.

    Args:
        hunks: the labels of the diff shown, in order; at least one.
        again: number of earlier findings when this is a rereview, else 0.
        asked: the numbers of those that this prompt asks about, where the diff is read in several; all where None.
        precedents: the numbers of those that the prompt shows.
    """
    fields: dict[str, Any] = {
        "kind": {"type": "string", "enum": [kind.value for kind in FindingKind]},
        "hunk": {"type": "string", "enum": list(hunks)},
        "quote": _text_schema("quote"),
        "line": {"type": "integer", "minimum": 0},
        "trigger": _text_schema("trigger"),
        "message": _text_schema("message"),
        "criterion": {"type": "string", "enum": [criterion.value for criterion in Criterion]},
        "severity": {"type": "string", "enum": [severity.value for severity in Severity]},
    }
    if again:
        fields["earlier"] = {"type": "integer", "minimum": 0, "maximum": again}
    if precedents:
        fields["precedent"] = {"type": "integer", "enum": [0, *precedents]}
    finding = closed_object(fields)
    labels = {"type": "array", "items": {"type": "string", "enum": list(hunks)}, "maxItems": len(hunks)}
    review: dict[str, Any] = {"summary": _text_schema("summary"), "read": labels}
    numbers = list(asked) if asked is not None else list(range(1, again + 1))
    if numbers:
        whole = numbers == list(range(1, again + 1))
        number: dict[str, Any] = (
            {"type": "integer", "minimum": 1, "maximum": again}
            if whole
            else {"type": "integer", "enum": numbers}
        )
        addressed = closed_object({"finding": number, "why": _text_schema("why"), "met": {"type": "boolean"}})
        review["addressed"] = {"type": "array", "items": addressed, "maxItems": len(numbers)}
    review["findings"] = {"type": "array", "items": finding, "maxItems": MAX_FINDINGS}
    review["verdict"] = {"type": "string", "enum": _VERDICTS}
    return closed_object(review)


def _text_schema(name: str) -> dict[str, Any]:
    return bounded_text(LONGEST[name])
