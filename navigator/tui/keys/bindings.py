"""Textual bindings, made from the action registry."""

from __future__ import annotations

from textual.binding import Binding, BindingType

from navigator.tui.keys.names import key_name
from navigator.tui.keys.registry import in_group


def bindings_of(*groups: str) -> list[BindingType]:
    """The bindings of some groups. Their ids are the actions' ids, so that a keymap can move them."""
    return [
        Binding(
            ",".join(key_name(key) for key in action.keys),
            action.name,
            action.label,
            show=action.footer,
            tooltip=action.help,
            id=action.id,
        )
        for group in groups
        for action in in_group(group)
    ]
