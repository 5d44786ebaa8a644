"""One key at a time: what is typed faster than the screens move waits, and acts where the user meant it.

Textual queues changes of focus and of screen behind keys that were typed already. So `/is:approve` typed in one go would
open the filter and then, before the field has the focus, sort, approve and hurry the review. Here a key that comes while the one
before it is still being worked off is held back until the messages it caused are through and focus and screen stand still.
Characters for a text field that has the focus pass at once, in order.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from textual.binding import Binding
from textual.events import Key

from navigator.tui.keys.registry import ACTIONS

if TYPE_CHECKING:
    from textual.app import App
    from textual.dom import DOMNode
    from textual.message_pump import MessagePump

LONGEST = 0.5
"""Seconds that a key may hold back the next at most: a widget that hangs must not lock the keyboard."""

_ROUND = 0.2
"""Seconds to wait for one widget's queue."""

_SCREEN_WORK = "go"
"""The group of workers that bring another screen to the front."""


class KeyGate:
    """Holds keys back for one app.

    Args:
        app: whose keys they are.
        act: Textual's own handling of a key.
    """

    def __init__(self, app: App[None], act: Callable[[Key], Awaitable[None]]) -> None:
        self._app = app
        self._act = act
        self._held: deque[Key] = deque()
        self._busy = False

    async def take(self, key: Key) -> None:
        """Act on a key, or hold it until the one before is done."""
        if self._busy:
            self._held.append(key)
            return
        await self._pass(key)

    async def _pass(self, key: Key) -> None:
        if self._is_text(key):
            await self._act(key)
            if self._held:
                self._app.call_later(self._next)
            else:
                self._busy = False
            return
        self._busy = True
        await self._act(key)
        asyncio.get_running_loop().create_task(self._settle())

    def _is_text(self, key: Key) -> bool:
        """Whether the focused field takes the key as a character."""
        focused = self._app.focused
        return focused is not None and key.is_printable and focused.check_consume_key(key.key, key.character)

    async def _settle(self) -> None:
        """Wait until two looks in a row find the same focus on the same screen, with every queue on the way worked off."""
        deadline = time.monotonic() + LONGEST
        before: tuple[object, ...] = ()
        while time.monotonic() < deadline and self._app.is_running:
            for pump in self._way():
                await self._worked_off(pump)
            now = (self._app.screen, self._app.focused, len(self._app.screen_stack))
            moving = any(
                worker.group == _SCREEN_WORK and not worker.is_finished for worker in self._app.workers
            )
            if now == before and self._app.screen.is_mounted and not moving:
                break
            before = now
        # Back in the app's own loop, where Textual expects its keys to be handled.
        self._app.call_later(self._next)

    async def _next(self) -> None:
        if self._held:
            await self._pass(self._held.popleft())
        else:
            self._busy = False

    def _way(self) -> list[MessagePump]:
        """The queues a key goes through: the focused widget, its ancestors, the screen, the app."""
        start = self._app.focused or self._app.screen
        return [*start.ancestors_with_self]

    async def _worked_off(self, pump: MessagePump) -> None:
        done = asyncio.Event()
        if not pump.is_running or not pump.call_later(done.set):
            return
        try:
            await asyncio.wait_for(done.wait(), _ROUND)
        except TimeoutError:
            return  # it is going away, or busy for long: `LONGEST` bounds the whole


async def act_on_own_key(app: App[None], keys: Mapping[str, tuple[str, ...]], key: Key) -> bool:
    """Run the action that the user moved to a key, before a text field's editing keys.

    Textual gives a key to the focused field first, so an action moved to `ctrl+e` would only move the field's cursor. It
    also forgets a moved key where the action's old key is a character that the field takes.

    Args:
        keys: the user's own keys by action id.

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
