"""The one registry of what keys do.

Bindings, the footer, the palette, the help screen and `docs/keys.md` are all derived from `ACTIONS`. An action's id is
`group.name`; the node that carries the group (a screen, a list, the diff view) has a method `action_<name>`. Keys are
written as characters or Textual's names ("ctrl+d", "enter"); the first one is the one that is shown.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from textual.binding import Binding, BindingType

from navigator.model.json_text import table


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a key does.

    Attributes:
        id: `group.name`; the name of the method, `action_<name>`, and the key in keys.toml.
        keys: default keys, the one to show first.
        label: one or two words for the footer.
        help: a sentence for the help screen and the palette.
        footer: shown in the footer where there is room.
        palette: offered in the palette.
        first: has room in the footer before the others.
    """

    id: str
    keys: tuple[str, ...]
    label: str
    help: str
    footer: bool = False
    palette: bool = True
    first: bool = False

    @property
    def group(self) -> str:
        """What carries it: a screen, or a widget that several screens share."""
        return self.id.partition(".")[0]

    @property
    def name(self) -> str:
        """The method's name without its prefix."""
        return self.id.partition(".")[2]

    @property
    def shown_keys(self) -> str:
        """The default keys as a person reads them: `j ↓`."""
        return " ".join(shown_key(key) for key in self.keys)


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
        palette="P" in flags,
        first="1" in flags,
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
        keys: effective keys by action id, normalised; ids that are left out keep their defaults.

    Returns:
        `(scope, key, action id, action id)`, each pair of actions once.
    """
    found: list[tuple[str, str, str, str]] = []
    told: set[tuple[str, str, str]] = set()
    for scope in SCOPES:
        holders: dict[str, str] = {}
        for action in in_scope(scope):
            for key in keys.get(action.id, action.keys):
                holder = holders.setdefault(key, action.id)
                if holder != action.id and (key, holder, action.id) not in told:
                    told.add((key, holder, action.id))
                    found.append((scope, key, holder, action.id))
    return found


# Names of keys: as people write and read them, and as Textual calls them.

_NAMED = {"/": "slash", "\\": "backslash", "@": "at", "-": "minus", "+": "plus", "_": "underscore"}
_SHOWN = {
    "escape": "esc",
    "down": "↓",
    "up": "↑",
    "left": "←",
    "right": "→",
    "pagedown": "pgdn",
    "pageup": "pgup",
    "full_stop": ".",
    "hyphen_minus": "-",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    **{name: character for character, name in _NAMED.items()},
}


def key_name(key: str) -> str:
    """Textual's name of a key: `"?" -> "question_mark"`, `"ctrl+?" -> "ctrl+question_mark"`; names stay."""
    head, plus, last = key.rpartition("+") if len(key) > 1 and key != "+" else ("", "", key)
    if not last:  # "ctrl++"
        head, plus, last = head.removesuffix("+"), "+", "+"
    if len(last) == 1 and not last.isalnum():
        last = _NAMED.get(last) or unicodedata.name(last, last).lower().replace(" ", "_").replace("-", "_")
    return f"{head}{plus}{last}"


def shown_key(key: str) -> str:
    """A key as the footer and the help show it: `"question_mark" -> "?"`, `"escape" -> "esc"`."""
    head, plus, last = key.rpartition("+") if len(key) > 1 else ("", "", key)
    if len(last) > 1:
        last = _SHOWN.get(last) or _character(last) or last
    return f"{head}{plus}{last}"


def _character(name: str) -> str:
    for candidate in (name.replace("_", " "), name.replace("_", "-")):
        try:
            found = unicodedata.lookup(candidate.upper())
        except KeyError:
            continue
        if found.isprintable() and not found.isspace():
            return found
    return ""


# Textual bindings, made from the action registry.


def bindings_of(*groups: str, priority: bool = False) -> list[BindingType]:
    """The bindings of some groups. Their ids are the actions' ids, so that a keymap can move them.

    Args:
        priority: they come before those of a focused field.
    """
    return [
        Binding(
            ",".join(key_name(key) for key in action.keys),
            action.name,
            action.label,
            priority=priority,
            id=action.id,
        )
        for group in groups
        for action in in_group(group)
    ]
