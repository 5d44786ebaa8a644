"""What `navigator config show` prints: every value, and whether the file or the default gave it."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from navigator.config.settings import Settings


def describe(settings: Settings) -> dict[str, Any]:
    """The settings as plain data.

    Returns:
        `{"file": path or None, "generator": {key: {"value": …, "from": "file" | "default"}}, …, "projects": […]}`.
        Keys of servers are never among the values: settings hold the names of variables only.
    """
    shown: dict[str, Any] = {"file": str(settings.source) if settings.source else None}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, BaseModel):
            shown[name] = _table(value)
    shown["projects"] = [_table(entry) for entry in settings.project]
    return shown


def _table(table: BaseModel) -> dict[str, Any]:
    values = table.model_dump(mode="json")
    return {
        key: {"value": value, "from": "file" if key in table.model_fields_set else "default"}
        for key, value in values.items()
    }
