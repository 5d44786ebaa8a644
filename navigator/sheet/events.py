"""An event of a task as people read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from navigator.model import patterns
from navigator.model.models import Event
from navigator.model.text import safe_line

_NAMES_OF_STATES = frozenset({"from", "to", "state", "outcome", "purpose", "role", "verdict", "kind", "code"})
"""Fields that hold a word of Navigator's own, shown with blanks for underscores. Other text, such as a path, is shown
as it is."""
_HASH = patterns.compile(r"[0-9a-f]{40,64}")
_SHOWN_OF_HASH = 10


def event_words(event: Event) -> tuple[str, str]:
    """What happened and the particulars, each one line without control characters; the second may be ""."""
    kind = safe_line(event.kind.replace("_", " "))
    if event.kind == "task_state":
        data = event.data
        moved = f"{_value('from', data.get('from'))} → {_value('to', data.get('to'))}"
        reason = data.get("reason")
        return kind, safe_line(f"{moved}: {reason}" if reason else moved)
    if event.kind == "task_linked" and not event.data.get("after"):
        return kind, "after no other task"
    said = [
        words if key == "seconds" else f"{key.replace('_', ' ')} {words}"
        for key, value in event.data.items()
        if (words := _value(key, value))
    ]
    return kind, safe_line(", ".join(said))


def _value(key: str, value: Any) -> str:
    """A field's value in words; "" where there is nothing to say."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f} s" if key.endswith("seconds") else f"{value:.1f}"
    if isinstance(value, str):
        if key in _NAMES_OF_STATES:
            return value.replace("_", " ")
        return value[:_SHOWN_OF_HASH] if _HASH.fullmatch(value) else value
    if isinstance(value, Mapping):
        if value.keys() == {"name", "outcome"}:  # a check
            return f"{value['name']} {_value('outcome', value['outcome'])}"
        return " ".join(f"{name} {said}" for name, held in value.items() if (said := _value(str(name), held)))
    if isinstance(value, Sequence):
        return ", ".join(said for held in value if (said := _value(key, held)))
    return str(value + 1) if key == "attempt" else str(value)
