"""As much of JSON Schema as the schema of SARIF uses; a keyword that is not known fails."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}
_WORDS = frozenset({"$schema", "default", "definitions", "format"})
"""Keywords that say nothing that is checked here."""


def problems(value: Any, schema: dict[str, Any], root: dict[str, Any], where: str = "$") -> Iterator[str]:
    """What is wrong with a value, each with its place."""
    for word, rule in schema.items():
        yield from _check(word, rule, value, schema, root, where)


def _check(
    word: str, rule: Any, value: Any, schema: dict[str, Any], root: dict[str, Any], where: str
) -> Iterator[str]:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match word:
        case "$ref":
            yield from problems(value, root["definitions"][rule.removeprefix("#/definitions/")], root, where)
        case "type":
            kinds = rule if isinstance(rule, list) else [rule]
            right = any(
                isinstance(value, _TYPES[kind]) and (kind == "boolean" or value is not True) for kind in kinds
            )
            if not right:
                yield f"{where} is no {' or '.join(kinds)}"
        case "enum":
            if value not in rule:
                yield f"{where} is {value!r}, not one of {rule}"
        case "required":
            yield from (
                f"{where} has no {name}" for name in rule if isinstance(value, dict) and name not in value
            )
        case "properties":
            for name, inner in rule.items():
                if isinstance(value, dict) and name in value:
                    yield from problems(value[name], inner, root, f"{where}.{name}")
        case "additionalProperties":
            others = set(value) - set(schema.get("properties", {})) if isinstance(value, dict) else set()
            for name in others:
                if rule is False:
                    yield f"{where} may not have {name}"
                elif isinstance(rule, dict):
                    yield from problems(value[name], rule, root, f"{where}.{name}")
        case "items":
            for place, item in enumerate(value if isinstance(value, list) else ()):
                yield from problems(item, rule, root, f"{where}[{place}]")
        case "minItems":
            if isinstance(value, list) and len(value) < rule:
                yield f"{where} has fewer than {rule} items"
        case "uniqueItems":
            if rule and isinstance(value, list) and any(item in value[:n] for n, item in enumerate(value)):
                yield f"{where} has an item twice"
        case "minimum" | "maximum":
            if number and (value < rule if word == "minimum" else value > rule):
                yield f"{where} is {value}: {word} {rule}"
        case "pattern":
            if isinstance(value, str) and re.search(rule, value) is None:
                yield f"{where} does not match {rule}"
        case "anyOf" | "oneOf":
            fits = sum(not list(problems(value, inner, root, where)) for inner in rule)
            if not fits or (word == "oneOf" and fits > 1):
                yield f"{where} fits {fits} of {word}"
        case _ if word not in _WORDS:
            raise NotImplementedError(word)
