"""Names of keys: as people write and read them, and as Textual calls them."""

from __future__ import annotations

import unicodedata

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
