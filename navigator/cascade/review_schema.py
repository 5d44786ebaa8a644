"""What the reviewer may answer, as a JSON schema; every string is bounded, because an unbounded one can run on.

Measured on SGLang with a constrained random model: unbounded strings ran to max_tokens in 5 of 25 answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from navigator.domain.states import Criterion, FindingKind, Severity, Verdict

MAX_FINDINGS = 8
_VERDICTS = [Verdict.APPROVE.value, Verdict.REVISE.value]


def review_schema(hunks: Sequence[str], *, again: int = 0) -> dict[str, Any]:
    """The schema for one review.

    Args:
        hunks: the labels of the diff shown, in order; at least one.
        again: number of earlier findings when this is a second reading, else 0.
    """
    finding = _object(
        {
            "kind": {"type": "string", "enum": [kind.value for kind in FindingKind]},
            "hunk": {"type": "string", "enum": list(hunks)},
            "quote": _text(400),
            "line": {"type": "integer", "minimum": 0},
            "severity": {"type": "string", "enum": [severity.value for severity in Severity]},
            "criterion": {"type": "string", "enum": [criterion.value for criterion in Criterion]},
            "trigger": _text(300),
            "message": _text(500),
        }
    )
    fields: dict[str, Any] = {"summary": _text(600)}
    if again:
        number = {"type": "integer", "minimum": 1, "maximum": again}
        addressed = _object({"finding": number, "met": {"type": "boolean"}, "why": _text(300)})
        fields["addressed"] = {"type": "array", "items": addressed, "maxItems": again}
    fields["findings"] = {"type": "array", "items": finding, "maxItems": MAX_FINDINGS}
    fields["verdict"] = {"type": "string", "enum": _VERDICTS}
    return _object(fields)


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(length: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": length}
