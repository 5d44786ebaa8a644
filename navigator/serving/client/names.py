"""Whether the model that answered is the one that was asked for.

Servers name one model in many ways: a repository id, a folder, a cache snapshot, a GGUF file, a tag. Pure
functions.
"""

from __future__ import annotations

import re
from typing import Literal

ModelMatch = Literal["exact", "suffix", "any"]
"""How strictly names are compared: character by character; by what is left of them without path, tag and file
ending; or not at all (a gateway that renames models)."""

REHEARSAL_PREFIX = "rehearsal/"
"""Models that do not exist: their names start with this, and never pass for a real one's."""

_HUB_FOLDER = re.compile(r"models--[^/]+?--([^/]+)")
_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")


def is_rehearsal(model: str) -> bool:
    """Whether a model's name says that it only rehearses."""
    return model.startswith(REHEARSAL_PREFIX)


def plain_name(model: str) -> str:
    """What is left of a model's name without folders, owner, revision, `.gguf`, `:latest` and case.

    `~/.cache/huggingface/hub/models--Qwen--Qwen3-8B/snapshots/ab12` -> `qwen3-8b`;
    `Qwen/Qwen3-8B@main`, as `transformers serve` writes it, -> `qwen3-8b`.
    """
    path = model.strip().replace("\\", "/").rstrip("/")
    hub = _HUB_FOLDER.search(path)
    name = hub[1] if hub else path.rsplit("/", 1)[-1]
    name = name.partition("@")[0] or name
    return name.casefold().removesuffix(".gguf").removesuffix(":latest")


def same_model(wanted: str, answered: str, match: ModelMatch = "suffix") -> bool:
    """Whether `answered` is `wanted`, compared as strictly as `match` says.

    An empty `answered` is no statement and passes. With "suffix", an answer may add a date to the wanted name
    (`gpt-x` answered by `gpt-x-2026-01-31`), as cloud services do. A rehearsal never passes for a real model.
    """
    if not answered or answered == wanted:
        return True
    if is_rehearsal(wanted) != is_rehearsal(answered):
        return False
    if match == "any":
        return True
    if match == "exact":
        return False
    left, right = plain_name(wanted), plain_name(answered)
    return left == right or left == _DATED.sub("", right)
