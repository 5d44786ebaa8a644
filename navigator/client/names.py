"""Whether the model that answered is the one that was asked for.

Servers spell one model in several ways: a repository id, a folder, a cache snapshot, a tag. Two spellings are the same
model only if they name the same owner. Pure functions.
"""

from __future__ import annotations

from navigator.config.settings import is_rehearsal
from navigator.model import patterns

_HUB_FOLDER = patterns.compile(r"(?:.*/)?models--([^/]+?)--([^/]+)(?:/.*)?")
_DATED = patterns.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
_ABSOLUTE = patterns.compile(r"[/~]|[A-Za-z]:/")


def same_model(wanted: str, answered: str) -> bool:
    """Whether `answered` is `wanted`.

    Equal names are, after what carries no identity is dropped: letter case, `@revision`, `:latest` and `.gguf`; a snapshot
    of the Hugging Face cache counts as its `owner/name`. Beyond that:

    - `answered` may add a date, as cloud services do: `gpt-x` answered by `gpt-x-2026-01-31`.
    - An absolute path that ends in the other's whole name is that model: `/models/Qwen/Qwen3-8B` is `Qwen/Qwen3-8B`, and
      `/models/qwen3` is `qwen3`. Servers that are started on a folder list it so.

    A name without an owner is not the same as a name with an owner: `X/gen-model` is not `gen-model`. An empty `answered` is no
    statement and passes. A rehearsal never passes for a real model.
    """
    if not answered or answered == wanted:
        return True
    if is_rehearsal(wanted) != is_rehearsal(answered):
        return False
    left, right = _canonical(wanted), _canonical(answered)
    return left == right or left == _DATED.sub("", right) or _lies_at(left, right) or _lies_at(right, left)


def same_base(one: str, other: str) -> bool:
    """Whether two names may be the same weights, owners aside: a copy under another owner reviews its own work."""
    return _canonical(one).rpartition("/")[2] == _canonical(other).rpartition("/")[2]


def _lies_at(name: str, path: str) -> bool:
    return not _ABSOLUTE.match(name) and bool(_ABSOLUTE.match(path)) and path.endswith(f"/{name}")


def _canonical(model: str) -> str:
    path = model.strip().replace("\\", "/").rstrip("/")
    hub = _HUB_FOLDER.fullmatch(path)
    name = f"{hub[1]}/{hub[2]}" if hub else path
    name = name.partition("@")[0] or name
    return name.casefold().removesuffix(".gguf").removesuffix(":latest")
