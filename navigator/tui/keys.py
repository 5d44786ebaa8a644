"""What keys do: the table of actions, the user's own keys, and one key at a time."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.binding import Binding, BindingType
from textual.events import Key
from textual.keys import _character_to_key, format_key

from navigator.model.json_text import read_toml, table

if TYPE_CHECKING:
    from textual.app import App
    from textual.message_pump import MessagePump
    from textual.worker import Worker


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a key does.

    Attributes:
        id: `group.name`; the name of the method, `action_<name>`, and the key in keys.toml.
        keys: default keys, the one to show first.
        label: one or two words for the footer.
        help: a sentence for the help screen.
        footer: shown in the footer where there is room.
        first: has room in the footer before the others.
        moves: moves the cursor or the screen only, which nobody searches for.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    footer: bool = False
    first: bool = False
    moves: bool = False

    @property
    def group(self) -> str:
        """What carries it: a screen, or a widget that several screens share."""
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """The method's name without its prefix."""
        return self.id.partition(".")[2]


_TABLE = table(__package__, "key_table.toml")

TITLES: dict[str, str] = {group: rows["title"] for group, rows in _TABLE["groups"].items()}
"""What each group of actions is called, in the order in which they are shown."""

ACTIONS: dict[str, Action] = {
    f"{group}.{name}": Action(
        f"{group}.{name}",
        tuple(keys.split()),
        label,
        sentence,
        footer="F" in flags,
        first="1" in flags,
        moves="M" in flags,
    )
    for group, rows in _TABLE["groups"].items()
    for name, keys, label, sentence, flags in rows["actions"]
}
"""Every action by its id, in the order in which they are shown."""

SCOPES: dict[str, tuple[str, ...]] = {scope: tuple(groups) for scope, groups in _TABLE["scopes"].items()}
"""Which groups answer on which screen, the nearest first. A key means one thing within a scope."""


TERMS: dict[str, tuple[str, ...]] = {scope: tuple(terms) for scope, terms in _TABLE["terms"].items()}
"""Terms of the glossary by screen, in the order in which the help shows them."""


def in_group(group: str) -> tuple[Action, ...]:
    """The actions of one group, in order."""
    return tuple(action for action in ACTIONS.values() if action.group == group)


def in_scope(screen: str) -> tuple[Action, ...]:
    """The actions that answer on one screen, the nearest group first."""
    return tuple(action for group in SCOPES[screen] for action in in_group(group))


def clashes(keys: Mapping[str, Iterable[str]]) -> list[tuple[str, str, str, str]]:
    """Keys that would mean two things at once.

    Args:
        keys: the effective keys of every action, normalised.

    Returns:
        `(scope, key, action id, action id)`, each pair of actions once.
    """
    found: list[tuple[str, str, str, str]] = []
    told: set[tuple[str, str, str]] = set()
    for scope in SCOPES:
        holders: dict[str, str] = {}
        for action in in_scope(scope):
            for key in keys[action.id]:
                holder = holders.setdefault(key, action.id)
                if holder != action.id and (key, holder, action.id) not in told:
                    told.add((key, holder, action.id))
                    found.append((scope, key, holder, action.id))
    return found


# Names of keys: as people write and read them, and as Textual calls them.


def key_name(key: str) -> str:
    """Textual's name of a key: `"?" -> "question_mark"`, `"ctrl+?" -> "ctrl+question_mark"`; names stay."""
    head, last = _parts(key)
    return head + (_character_to_key(last) if len(last) == 1 else last)


def shown_key(key: str) -> str:
    """A key as the footer and the help show it: `"question_mark" -> "?"`, `"escape" -> "esc"`."""
    head, last = _parts(key)
    return head + (last if last == "enter" else format_key(last))


def _parts(key: str) -> tuple[str, str]:
    """The modifiers with their `+`, and the key itself, which may be `+`."""
    head, plus, last = key[:-1].rpartition("+")
    return f"{head}{plus}", last + key[-1]


# Textual bindings, made from the action registry.


def bindings_of(*groups: str, priority: bool = False) -> list[BindingType]:
    """The bindings of some groups. Their ids are the actions' ids, so that a keymap can move them.

    Args:
        priority: they come before those of a focused field.
    """
    return [
        Binding(
            ",".join(_default(action)),
            action.name,
            action.label,
            priority=priority,
            id=action.id,
        )
        for group in groups
        for action in in_group(group)
    ]


# The user's own keys: a `[keys]` table in `keys.toml` beside the settings file.


@dataclass(frozen=True)
class Keymap:
    """Keys by action id where they differ from the defaults, and what was wrong with the file, a sentence each."""

    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def of(self, action: Action) -> tuple[str, ...]:
        """The keys that hold for an action, under Textual's names."""
        return self.keys.get(action.id) or _default(action)

    def shown(self, action_id: str) -> str:
        """The first key of an action as it is shown; "" for one that has none."""
        keys = self.of(ACTIONS[action_id])
        return shown_key(keys[0]) if keys else ""

    def textual(self) -> dict[str, str]:
        """What `App.set_keymap` takes."""
        return {identifier: ",".join(keys) for identifier, keys in self.keys.items()}


def load_keymap(path: Path) -> Keymap:
    """Read the file; an absent one changes nothing. Whatever does not fit is left out and said."""
    try:
        table = dict(read_toml(path.read_text(encoding="utf-8")).get("keys", {}))
    except FileNotFoundError:
        return Keymap()
    except (OSError, TypeError, ValueError) as error:
        return Keymap(problems=(f"{path} cannot be read; the default keys are used: {error}.",))
    given = {name: [keys] if isinstance(keys, str) else keys for name, keys in table.items()}
    problems = {name: problem for name, keys in given.items() if (problem := _problem(name, keys))}
    wanted = {name: tuple(map(key_name, keys)) for name, keys in given.items() if name not in problems}
    # What would make a key mean two things is dropped, until nothing does; the defaults themselves are free of it.
    while found := clashes({name: wanted.get(name) or _default(ACTIONS[name]) for name in ACTIONS}):
        scope, key, *both = found[0]
        dropped = next(name for name in reversed(both) if name in wanted)
        del wanted[dropped]
        problems[dropped] = f"{shown_key(key)} on {scope} would mean both {' and '.join(both)}."
    return Keymap(wanted, tuple(f"{path}: {problem}" for problem in problems.values()))


def _problem(identifier: str, keys: Any) -> str:
    if identifier not in ACTIONS:
        return f"there is no action {identifier!r}. The help screen names them all."
    if (
        not isinstance(keys, list)
        or not keys
        or not all(isinstance(key, str) and key.strip() for key in keys)
    ):
        return f"{identifier} needs a key or a list of keys."
    action = ACTIONS[identifier]
    # It answers where text is written, because none of its keys is a character.
    typed = action.group in ("compose", "app") and all(len(key) > 1 for key in action.keys)
    if typed and any(len(key) == 1 for key in keys):
        return f"{identifier} works while you type: choose a key with ctrl."
    return ""


def _default(action: Action) -> tuple[str, ...]:
    return tuple(key_name(key) for key in action.keys)


# One key at a time: what is typed faster than the screens move waits, and acts where the user meant it.
#
# Textual queues changes of focus and of screen behind keys that were typed already. So `/is:approve` typed in one go
# would open the filter and then, before the field has the focus, sort, approve and hurry the review. Here a key that
# comes while the one before it is still being worked off is held back until the messages it caused are through and
# focus and screen stand still. Characters for a text field that has the focus pass at once, in order.

LONGEST = 1.0
"""Seconds that a key may hold back the next at most: a widget that hangs must not lock the keyboard."""

_ROUND = 0.2
"""Seconds to wait for one widget's queue."""

_SCREEN_WORK = frozenset({"go", "decide", "verb", "pick", "default"})
"""Groups of workers that bring another screen or a dialog to the front."""


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
        await self._handle(key)

    async def _handle(self, key: Key) -> None:
        if self._is_text(key):
            await self._act(key)
            if self._held:
                self._app.call_later(self._next)
            else:
                self._busy = False
            return
        self._busy = True
        before, depth = set(self._app.workers), len(self._app.screen_stack)
        await self._act(key)
        asyncio.get_running_loop().create_task(self._settle(before, depth))

    def _is_text(self, key: Key) -> bool:
        """Whether the focused field takes the key as a character."""
        focused = self._app.focused
        return focused is not None and key.is_printable and focused.check_consume_key(key.key, key.character)

    async def _settle(self, known: set[Worker[Any]], depth: int) -> None:
        """Wait until two looks in a row find the same focus on the same screen, with every queue on the way worked off.

        Args:
            known: the workers before the key; one that it began may still open a dialog.
            depth: how many screens were open before the key.
        """
        deadline = time.monotonic() + LONGEST
        before: tuple[object, ...] = ()
        while time.monotonic() < deadline and self._app.is_running:
            for pump in self._pumps():
                await self._drain(pump)
            now = (self._app.screen, self._app.focused, len(self._app.screen_stack))
            moving = len(self._app.screen_stack) <= depth and any(
                worker.group in _SCREEN_WORK and not worker.is_finished and worker not in known
                for worker in self._app.workers
            )
            if now == before and self._app.screen.is_mounted and not moving:
                break
            before = now
        # Back in the app's own loop, where Textual expects its keys to be handled.
        self._app.call_later(self._next)

    async def _next(self) -> None:
        if self._held:
            await self._handle(self._held.popleft())
        else:
            self._busy = False

    def _pumps(self) -> list[MessagePump]:
        """The queues a key goes through: the focused widget, its ancestors, the screen, the app."""
        start = self._app.focused or self._app.screen
        return [*start.ancestors_with_self]

    async def _drain(self, pump: MessagePump) -> None:
        done = asyncio.Event()
        if not pump.is_running or not pump.call_later(done.set):
            return
        try:
            await asyncio.wait_for(done.wait(), _ROUND)
        except TimeoutError:
            return  # it is going away, or busy for long: `LONGEST` bounds the whole
