"""`docs/keys.md`, generated from the key table: `python -m tests.tui.keys_page > docs/keys.md`."""

from __future__ import annotations

import sys

from navigator.tui.keys import TITLES, Action, in_group, shown_key

_HEAD = """# Keys

What each key does, and how to change it. `?` explains the keys of the screen you are on.

Every key can be changed in `keys.toml`, beside the settings file (`navigator config path` says where that is):

```toml
[keys]
"deck.swap" = "ctrl+r"
"review.approve" = ["a", "ctrl+a"]
```

A key has one meaning per screen. An entry that would give it two is ignored, and the screens say so. The page is made by
`python -m tests.tui.keys_page`.
"""

_EXPLAINED = ("deck", "review", "diff", "compose", "stats", "go", "app")
"""Groups with a sentence for each key; the names of the others say what they do."""


def keys_page() -> str:
    """The page, its final newline included."""
    parts = [_HEAD]
    for group in _EXPLAINED:
        rows = "\n".join(f"| {_keys(action)} | {action.help} | `{action.id}` |" for action in in_group(group))
        parts.append(f"## {TITLES[group]}\n\n| key | what it does | name |\n|---|---|---|\n{rows}\n")
    parts.append("## Elsewhere\n\n| where | names and keys |\n|---|---|")
    others = (group for group in TITLES if group not in _EXPLAINED)
    return (
        "\n".join(parts)
        + "".join(
            f"\n| {TITLES[group]} | {', '.join(f'`{action.id}` {_keys(action)}' for action in in_group(group))} |"
            for group in others
        )
        + "\n"
    )


def _keys(action: Action) -> str:
    keys = " ".join(f"`` {key} ``" if "`" in key else f"`{key}`" for key in map(shown_key, action.keys))
    return keys.replace("|", chr(92) + "|")


if __name__ == "__main__":
    sys.stdout.write(keys_page())
