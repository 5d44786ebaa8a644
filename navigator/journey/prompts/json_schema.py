"""The two pieces that answers are constrained by: closed objects and bounded strings.

An unbounded string can run on: with a constrained random model, 5 of 25 answers ran to max_tokens on SGLang.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def closed_object(properties: Schema) -> Schema:
    """An object with just these fields, all of them required, written in this order."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def bounded_text(characters: int) -> Schema:
    """A string of at most so many characters."""
    return {"type": "string", "maxLength": characters}
