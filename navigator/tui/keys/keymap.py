"""The user's own keys: a `[keys]` table in `keys.toml` beside the settings file.

```toml
[keys]
"deck.review_now" = "ctrl+r"
"review.approve" = ["a", "ctrl+a"]
```
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from navigator.model.json_text import read_toml
from navigator.tui.keys.registry import ACTIONS, Action, clashes, key_name, shown_key


@dataclass(frozen=True)
class Keymap:
    """Keys by action id where they differ from the defaults, and what was wrong with the file, a sentence each."""

    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()

    def of(self, action: Action) -> tuple[str, ...]:
        """The keys that hold for an action, under Textual's names."""
        return self.keys.get(action.id) or tuple(key_name(key) for key in action.keys)

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
        document = read_toml(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Keymap()
    except (OSError, ValueError) as error:
        return Keymap(problems=(f"{path} cannot be read, the default keys hold: {error}.",))
    problems = [
        f"{path}: there is no table {name!r}; keys belong under [keys]."
        for name in document
        if name != "keys"
    ]
    table = document.get("keys", {})
    if not isinstance(table, dict):
        return Keymap(problems=(*problems, f"{path}: keys must be a table."))
    wanted: dict[str, tuple[str, ...]] = {}
    for identifier, value in table.items():
        problem = _problem(identifier, value)
        if problem:
            problems.append(f"{path}: {problem}")
            continue
        wanted[identifier] = tuple(key_name(key) for key in ([value] if isinstance(value, str) else value))
    return _without_clashes(path, wanted, problems)


def _problem(identifier: str, value: Any) -> str:
    if identifier not in ACTIONS:
        near = difflib.get_close_matches(identifier, ACTIONS, 1)
        also = f" Did you mean {near[0]!r}?" if near else " The help screen names them all."
        return f"there is no action {identifier!r}.{also}"
    keys = [value] if isinstance(value, str) else value
    if (
        not isinstance(keys, list)
        or not keys
        or not all(isinstance(key, str) and key.strip() for key in keys)
    ):
        return f"{identifier} needs a key or a list of keys."
    bad = next(
        (key for key in keys if ("," in key and key != ",") or (key != key.strip() and key != " ")), None
    )
    if bad is not None:
        return f"{identifier}: {bad!r} is not one key; write a list."
    typed = next((key for key in keys if len(key) == 1), None)
    if typed is not None and _works_while_typing(ACTIONS[identifier]):
        return f"{identifier} works while you type: {typed!r} would be typed; choose a key with ctrl."
    return ""


def _works_while_typing(action: Action) -> bool:
    """Whether an action answers where text is written, and does so because none of its keys is a character."""
    return action.group in ("compose", "app") and all(len(key) > 1 for key in action.keys)


def _without_clashes(path: Path, wanted: dict[str, tuple[str, ...]], problems: list[str]) -> Keymap:
    """Drop what would make a key mean two things, until nothing does; the defaults themselves are free of it."""
    while True:
        found = clashes({action.id: wanted.get(action.id) or _default(action) for action in ACTIONS.values()})
        if not found:
            return Keymap(wanted, tuple(problems))
        scope, key, first, second = found[0]
        dropped = second if second in wanted else first
        kept = first if dropped == second else second
        del wanted[dropped]
        problems.append(
            f"{path}: {shown_key(key)} on {scope} would mean both {kept} and {dropped}; {dropped} keeps its default key."
        )


def _default(action: Action) -> tuple[str, ...]:
    return tuple(key_name(key) for key in action.keys)
