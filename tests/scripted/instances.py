"""Values that satisfy a JSON schema, and values cut to fit one: what grammar-constrained decoding would allow."""

from __future__ import annotations

from typing import Any

_SHORT = "rehearsal"


def instance_of(schema: dict[str, Any]) -> Any:
    """The plainest value a schema allows. Knows type, properties, items, enum, const, anyOf and the length bounds."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for word in ("anyOf", "oneOf"):
        if schema.get(word):
            return instance_of(schema[word][0])
    kind = schema.get("type", "object")
    if isinstance(kind, list):
        kind = kind[0]
    if kind == "object":
        properties: dict[str, Any] = schema.get("properties", {})
        return {name: instance_of(part) for name, part in properties.items()}
    if kind == "array":
        return [instance_of(schema.get("items", {})) for _ in range(schema.get("minItems", 0))]
    if kind == "string":
        text = _SHORT.ljust(int(schema.get("minLength", 0)), ".")
        return text[: schema.get("maxLength", len(text))]
    if kind in {"integer", "number"}:
        return schema.get("minimum", 0)
    return False if kind == "boolean" else None


def fitted(value: Any, schema: dict[str, Any]) -> Any:
    """`value` cut to a schema: strings and lists shortened, unknown keys dropped, items with a forbidden word left out."""
    if isinstance(value, dict):
        properties: dict[str, Any] = schema.get("properties", {})
        if not properties:
            return value
        return {name: fitted(value[name], part) for name, part in properties.items() if name in value}
    if isinstance(value, list):
        items: dict[str, Any] = schema.get("items", {})
        kept = [fitted(item, items) for item in value if allowed(item, items)]
        return kept[: schema.get("maxItems", len(kept))]
    if isinstance(value, str):
        return value[: schema.get("maxLength", len(value))]
    if isinstance(value, int) and not isinstance(value, bool):
        return max(value, int(schema.get("minimum", value)))
    return value


def allowed(value: Any, schema: dict[str, Any]) -> bool:
    """Whether every word of `value` that an enumeration governs is in it."""
    if "enum" in schema:
        return value in schema["enum"]
    if isinstance(value, dict):
        properties: dict[str, Any] = schema.get("properties", {})
        return all(allowed(value[name], part) for name, part in properties.items() if name in value)
    return True
