"""Reads a prompt as its addressee would: the instructions, and the data blocks between keyed delimiters.

A block is `[[begin KIND KEY {attributes}]]`, its content, `[[end KIND KEY]]`. The key is in the system text; a block
under another key is part of some file's content and is not read as a block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from navigator.model import patterns
from navigator.model.json_text import read_json
from navigator.rehearsal.chat import fraction
from navigator.rehearsal.player import DataBlock, blocks_of, key_of

_OPENER = patterns.compile(r"^(<{7,}) SEARCH$", patterns.MULTILINE)
_WHOLE_ORDER = patterns.compile(r"^For (.+?) do not use SEARCH/REPLACE again", patterns.MULTILINE)

Messages = Sequence[Mapping[str, str]]


def chance(what: str, *parts: object) -> float:
    """A number in [0, 1) that depends on what is drawn and on `parts` alone."""
    return fraction(what, 0, *parts)


@dataclass(frozen=True, slots=True)
class WritingPrompt:
    """What the generator is asked, over one or several turns.

    `turn` is "first", "repair" or "revise"; `whole` names files that the last turn wants written whole.
    """

    task: str = ""
    named: tuple[str, ...] = ()
    note: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    marker: int = 7
    wants_edits: bool = False
    turn: str = "first"
    whole: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReviewPrompt:
    """What the reviewer is shown. `earlier` is not None when a revision is asked about."""

    task: str = ""
    diff: str = ""
    earlier: tuple[Mapping[str, Any], ...] | None = None


def read_writing(messages: Messages) -> WritingPrompt:
    """The generator's prompt, from the first turn to the last."""
    system = "\n".join(m["content"] for m in messages if m["role"] == "system")
    users = [m["content"] for m in messages if m["role"] == "user"]
    if not users:
        return WritingPrompt()
    key = key_of(system)
    blocks = [block for text in users for block in blocks_of(text, key)]
    task = next((b for b in blocks if b.kind == "task"), None)
    opener = _OPENER.search(system)
    later = users[1:]
    revised = any(block.kind == "findings" for block in blocks)
    return WritingPrompt(
        task=task.text.strip() if task else users[0].strip(),
        named=tuple(str(p) for p in _list(task.attributes.get("files"))) if task else (),
        note=next((b.text.strip() for b in blocks if b.kind == "note"), ""),
        files={
            str(b.attributes["path"]): b.text for b in blocks if b.kind == "file" and "path" in b.attributes
        },
        marker=len(opener[1]) if opener else 7,
        wants_edits=opener is not None,
        turn="revise" if revised else "repair" if later else "first",
        whole=tuple(_WHOLE_ORDER.findall(users[-1])) if later else (),
    )


def read_review(messages: Messages) -> ReviewPrompt:
    """The reviewer's prompt: what is before it, and nothing else."""
    system = "\n".join(m["content"] for m in messages if m["role"] == "system")
    user = "\n".join(m["content"] for m in messages if m["role"] == "user")
    blocks = blocks_of(user, key_of(system))
    return ReviewPrompt(
        task=next((b.text.strip() for b in blocks if b.kind == "task"), ""),
        diff=next((b.text for b in blocks if b.kind == "diff"), ""),
        earlier=next((_findings(b) for b in blocks if b.kind == "earlier"), None),
    )


def _findings(block: DataBlock) -> tuple[Mapping[str, Any], ...]:
    try:
        return tuple(item for item in _list(read_json(block.text)) if isinstance(item, dict))
    except ValueError:
        return ()


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
