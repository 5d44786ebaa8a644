"""`docs/keys.md`, generated from the key table: `python -m navigator.tui.keys.page > docs/keys.md`."""

from __future__ import annotations

import sys

from navigator.tui.keys.registry import TITLES, Action, in_group, title_of

_HEAD = """# Keys

Generated from the key table by `python -m navigator.tui.keys.page`; do not edit manually.

Every key can be changed in `keys.toml`, beside the settings file (`navigator config path` says where that is):

```toml
[keys]
"deck.swap" = "ctrl+r"
"review.approve" = ["a", "ctrl+a"]
```

A key has one meaning per screen. An entry that would give it two is ignored, and the screens say so.
"""


def keys_page() -> str:
    """The page, its final newline included."""
    parts = [_HEAD]
    for group in TITLES:
        rows = "\n".join(_row(action) for action in in_group(group))
        parts.append(f"## {title_of(group)}\n\n| key | what it does | name |\n|---|---|---|\n{rows}\n")
    return "\n".join(parts)


def _row(action: Action) -> str:
    keys = " ".join(f"`` {key} ``" if "`" in key else f"`{key}`" for key in action.shown_keys.split())
    return f"| {keys.replace('|', chr(92) + '|')} | {action.help} | `{action.id}` |"


if __name__ == "__main__":
    sys.stdout.write(keys_page())
