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
from navigator.rehearsal.player import DataBlock, blocks_of, key_of

_SKILL = patterns.compile(
    r"^Rehearsal: sensitivity (0?\.\d+|[01]), specificity (0?\.\d+|[01])$", patterns.MULTILINE
)
_OPENER = patterns.compile(r"^(<{7,}) SEARCH$", patterns.MULTILINE)
_APPROACH = patterns.compile(r"^Approach: (\w+)\.", patterns.MULTILINE)
_LOOK = patterns.compile(r"^<{7,} LOOK$", patterns.MULTILINE)
_LAST_LOOK = "You cannot look again."
_WHOLE_ORDER = patterns.compile(r"^For (.+?) do not use SEARCH/REPLACE again", patterns.MULTILINE)

Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class WritingPrompt:
    """What the generator is asked, over one or several turns.

    `turn` is "first", "repair" or "revise"; `previous` is the answer that the last turn is about; `objections` are the
    reviewer's findings wherever they are in the conversation and `objected` the answer they were about; `whole` names
    files that the last turn wants written whole; `approach` is how one of several variants is asked for. `files` has what was
    read in looks, too, which are no turns; `looks` are the answers that asked for them, since the last answer of another kind,
    and `looked` all that they were told.
    """

    task: str = ""
    kind: str = ""
    named: tuple[str, ...] = ()
    note: str = ""
    approach: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    tree: tuple[str, ...] = ()
    marker: int = 7
    wants_edits: bool = False
    turn: str = "first"
    turns: int = 1
    previous: str = ""
    feedback: str = ""
    objections: tuple[Mapping[str, Any], ...] = ()
    objected: str = ""
    whole: tuple[str, ...] = ()
    may_look: bool = False
    looks: tuple[str, ...] = ()
    looked: str = ""


@dataclass(frozen=True, slots=True)
class ReviewPrompt:
    """What the reviewer is shown. `earlier` is not None when a revision is asked about.

    `skill`: sensitivity and specificity, where the instructions name them; rules do not follow any other wording.
    """

    task: str = ""
    kind: str = ""
    diff: str = ""
    excerpts: tuple[DataBlock, ...] = ()
    checks: str = ""
    earlier: tuple[Mapping[str, Any], ...] | None = None
    skill: tuple[float, float] | None = None


def read_writing(messages: Messages) -> WritingPrompt:
    """The generator's prompt, from the first turn to the last."""
    system = "\n".join(m["content"] for m in messages if m["role"] == "system")
    talk, looks, told = _apart(messages)
    users = [m["content"] for m in talk if m["role"] == "user"]
    if not users:
        return WritingPrompt()
    key = key_of(system)
    blocks = blocks_of(users[0], key)
    read = [block for text in told for block in blocks_of(text, key)]
    task = next((b for b in blocks if b.kind == "task"), None)
    opener = _OPENER.search(system)
    answers = [m["content"] for m in talk if m["role"] == "assistant"]
    last = users[-1]
    objections: tuple[Mapping[str, Any], ...] = ()
    objected = ""
    turn = "first"
    for number, user in enumerate(users[1:]):
        findings = _findings(blocks_of(user, key), "findings")
        turn = "repair" if findings is None else "revise"
        if findings is not None:
            objections = findings
            objected = answers[number] if number < len(answers) else ""
    return WritingPrompt(
        task=task.text.strip() if task else users[0].strip(),
        kind=str(task.attributes.get("kind", "")) if task else "",
        named=tuple(str(p) for p in _list(task.attributes.get("files"))) if task else (),
        note=next((b.text.strip() for b in blocks if b.kind == "note"), ""),
        approach=found[1] if (found := _APPROACH.search(users[0])) else "",
        files={
            str(b.attributes["path"]): b.text
            for b in (*blocks, *read)
            if b.kind == "file" and "path" in b.attributes
        },
        tree=tuple(
            line.strip() for b in blocks if b.kind == "tree" for line in b.text.split("\n") if line.strip()
        ),
        marker=len(opener[1]) if opener else 7,
        wants_edits=opener is not None,
        turn=turn,
        turns=len(users),
        previous=answers[-1] if answers else "",
        feedback=last if len(users) > 1 else "",
        objections=objections,
        objected=objected,
        whole=tuple(_WHOLE_ORDER.findall(last)) if turn == "repair" else (),
        may_look=bool(_LOOK.search(system)) and not (told and _LAST_LOOK in told[-1]),
        looks=tuple(looks),
        looked="\n".join(told),
    )


def _apart(messages: Messages) -> tuple[list[Mapping[str, str]], list[str], list[str]]:
    """The conversation without its looks; the looks since the last answer that is none; what all of them were told."""
    talk: list[Mapping[str, str]] = []
    looks: list[str] = []
    told: list[str] = []
    looking = False
    for message in messages:
        text, own = message["content"], message["role"] == "assistant"
        if looking and not own:
            told.append(text)
            looking = False
        elif own and _LOOK.search(text) and not _OPENER.search(text):
            looks.append(text)
            looking = True
        else:
            talk.append(message)
            looks = [] if own else looks
    return talk, looks, told


def read_review(messages: Messages) -> ReviewPrompt:
    """The reviewer's prompt: what is before it, and nothing else."""
    system = "\n".join(m["content"] for m in messages if m["role"] == "system")
    user = "\n".join(m["content"] for m in messages if m["role"] == "user")
    blocks = blocks_of(user, key_of(system))
    task = next((b for b in blocks if b.kind == "task"), None)
    skill = _SKILL.search(system)
    return ReviewPrompt(
        task=task.text.strip() if task else "",
        kind=str(task.attributes.get("kind", "")) if task else "",
        diff=next((b.text for b in blocks if b.kind == "diff"), ""),
        excerpts=tuple(b for b in blocks if b.kind in {"excerpt", "file"}),
        checks=next((b.text for b in blocks if b.kind == "checks"), ""),
        earlier=_findings(blocks, "earlier"),
        skill=(float(skill[1]), float(skill[2])) if skill else None,
    )


def _findings(blocks: Sequence[DataBlock], kind: str) -> tuple[Mapping[str, Any], ...] | None:
    """The JSON list of findings in the block of that kind; None without such a block."""
    block = next((b for b in blocks if b.kind == kind), None)
    if block is None:
        return None
    try:
        value = read_json(block.text)
    except ValueError:
        return ()
    return tuple(item for item in _list(value) if isinstance(item, dict))


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
