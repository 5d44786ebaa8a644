"""Keys that the developer chose come before the editing keys of a text field.

Textual gives a key to the focused field first, so an action moved to `ctrl+e` would only move the field's cursor. It also
forgets a moved key where the action's old key is a character that the field takes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from textual.binding import Binding

from navigator.tui.keys.registry import ACTIONS

if TYPE_CHECKING:
    from textual.app import App
    from textual.dom import DOMNode
    from textual.events import Key


async def act_on_own_key(app: App[None], keys: Mapping[str, tuple[str, ...]], key: Key) -> bool:
    """Do what the developer moved to a key.

    Args:
        keys: the developer's own keys by action id.

    Returns:
        Whether something was done; characters for a text field stay with the field.
    """
    meant = [name for name, own in keys.items() if key.key in own or set(key.aliases) & set(own)]
    focused = app.focused
    if not meant or (focused is not None and focused.check_consume_key(key.key, key.character)):
        return False
    for node in (focused or app.screen).ancestors_with_self:
        carried = _carried(node)
        for name in meant:
            if name in carried and await app.run_action(ACTIONS[name].name, node):
                return True
        if node.is_modal:
            return False
    return False


def _carried(node: DOMNode) -> set[str]:
    """The ids of the actions that a node has keys for."""
    return {
        binding.id
        for kind in type(node).__mro__
        for binding in vars(kind).get("BINDINGS", ())
        if isinstance(binding, Binding) and binding.id
    }
