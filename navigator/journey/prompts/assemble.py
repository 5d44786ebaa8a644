"""One task's prompt: the context within its budget, rendered, and counted once more as a whole before it is sent.

The conductor sends what this makes, and `navigator context` shows it: there is no second way to a prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from navigator.config.settings import Settings
from navigator.context.build import Context, build_context
from navigator.context.looks import MOST_REQUESTS
from navigator.context.source import TreeSource
from navigator.edits.parser import marker_length
from navigator.journey.calls import Message, opening
from navigator.journey.dependencies import Prompting
from navigator.journey.prompts.blocks import data_block
from navigator.model.errors import NavigatorError
from navigator.model.models import Project, Task
from navigator.model.states import EITHER_KINDS, REPORT_KINDS, Role, TaskKind

CONTEXT_AIM = 24_000
"""Tokens of context aimed at: solved tasks of this model class stayed under 20-30k (arXiv 2602.16069)."""

LOOKING_AIM = 12_000
"""Tokens of context aimed at where the writer may look: the rest of `CONTEXT_AIM` is for what it asks for (docs/context.md)."""

OVERHEAD = 1_500
"""Tokens kept free for the instructions, the delimiters and the feedback."""

LEAST_BYTES_PER_TOKEN = 3
"""Bytes of code that one token has at least."""

LEAST = 1_000
_TRIES = 3


@dataclass(frozen=True)
class Prompted:
    """A prompt, ready to be sent.

    Attributes:
        version: of the template it was rendered from.
        key: what fences its blocks; nothing in them contains it.
        marker: the length of the markers (`<<<`) around an edit; nothing shown has one as long.
        tokens: of all messages, the chat template's own few left out.
        room: what the server leaves for a prompt.
        looks: how often its writer may look in each round.
    """

    context: Context
    messages: tuple[Message, ...]
    version: str
    key: str
    marker: int
    tokens: int
    room: int
    looks: int = 0


def allowed_looks(settings: Settings, kind: TaskKind) -> int:
    """How often the writer of a task may look in each round; a report and a scan are written from what is shown."""
    return 0 if kind in REPORT_KINDS else settings.generator.looks


@dataclass(frozen=True)
class RelatedChange:
    """A change that the base does not contain: one in another project that this task follows, or (`sent_back`) the task's own
    earlier attempt. `text` is its diff.
    """

    project: str
    proposal: str
    title: str
    text: str
    sent_back: bool = False


def prompt_for(
    deps: Prompting,
    source: TreeSource,
    task: Task,
    project: Project,
    writer: Role,
    elsewhere: Sequence[RelatedChange] = (),
) -> Prompted:
    """Choose the context, render the prompt, and see that all of it fits. Reads git and parses: call it in a thread.

    Args:
        elsewhere: changes that the files do not have: in other projects before, or the one that was sent back.

    Raises:
        NavigatorError: the task's text leaves no room for files.
    """
    server = deps.settings.server(writer)
    count = deps.counter_for(writer).count
    room = server.context_tokens - server.max_tokens
    most = room - OVERHEAD
    own = most - count("".join([task.text, task.note, *(change.text for change in elsewhere)]))
    if own < LEAST:
        raise NavigatorError(
            f"{task.id}: the task's text leaves no room for files in a context of {server.context_tokens} tokens.",
            hint="Shorten the task, or raise context_tokens.",
        )
    looks = allowed_looks(deps.settings, task.kind)
    shared = LOOKING_AIM if looks else CONTEXT_AIM
    # What the task names is shown whole in either case: nobody has to ask for it.
    named = sum(source.size(path) for path in task.files) // LEAST_BYTES_PER_TOKEN
    aim = min(CONTEXT_AIM, LOOKING_AIM + named) if looks else CONTEXT_AIM
    # Where the server has little room, half of it is kept for looks.
    budget = min(aim, own // 2 if looks else own)
    for _ in range(_TRIES):
        # The part that all tasks share is reckoned without this task's length, so that it is the same for all of them.
        context = build_context(
            deps.map_of(source),
            project,
            task.text,
            task.files,
            budget,
            count,
            shared_budget=min(shared, most),
        )
        prompted = _render(deps, context, task, project, room, looks, elsewhere, writer)
        over = prompted.tokens - room
        if over <= 0:
            return prompted
        budget = max(budget - over - LEAST // 10, 0)
    raise NavigatorError(
        f"{task.id}: the prompt takes {prompted.tokens} tokens, and {server.model} leaves room for {room}.",
        hint="Raise context_tokens, lower max_tokens, or name fewer files.",
    )


def _render(
    deps: Prompting,
    context: Context,
    task: Task,
    project: Project,
    room: int,
    looks: int,
    elsewhere: Sequence[RelatedChange],
    writer: Role,
) -> Prompted:
    texts = [*context_texts(context), *(change.text for change in elsewhere)]
    key = deps.keys.key_for([*texts, task.text, task.note])
    marker = marker_length(texts)
    words = f"{task.text}\n{task.note}".lower()
    # A scan and a report borrow the user part: it must not say how to change anything then.
    changes = task.kind not in REPORT_KINDS
    system, user, version = deps.prompts.render(
        "generate",
        project=project.name,
        key=key,
        open="<" * marker,
        divider="=" * marker,
        close=">" * marker,
        # Shown only where the task needs them: a model offered DELETE uses it.
        allow_delete=changes and any(word in words for word in ("delete", "remove", "drop")),
        allow_rename=changes and any(word in words for word in ("rename", "move")),
        may_report=task.kind in EITHER_KINDS,
        looks=looks,
        look_tokens=deps.settings.generator.look_tokens,
        most_requests=MOST_REQUESTS,
        blocks=[*shared_blocks(context, key), *own_blocks(context, key), *elsewhere_blocks(elsewhere, key)],
        task=task_block(task, key),
        note=data_block("note", key, task.note) if task.note else "",
        sent_back=any(one.sent_back for one in elsewhere),
    )
    messages = opening(system, user)
    count = deps.counter_for(writer).count
    tokens = count(system) + count(user)
    return Prompted(context, messages, version, key, marker, tokens, room, looks)


def context_texts(context: Context) -> list[str]:
    """Every text of a context that is in the prompt."""
    conventions = context.conventions.text if context.conventions else ""
    pieces = [piece.text for piece in (*context.files, *context.excerpts)]
    return [conventions, context.tree, context.map, *pieces, context.nearby]


def shared_blocks(context: Context, key: str) -> list[str]:
    """Conventions, list of files, map: the same to the byte for every task on one base under one key."""
    blocks = []
    if context.conventions:
        blocks.append(data_block("conventions", key, context.conventions.text, path=context.conventions.path))
    blocks.append(data_block("tree", key, context.tree))
    if context.map:
        blocks.append(data_block("map", key, context.map))
    return blocks


def own_blocks(context: Context, key: str) -> list[str]:
    """What is shown for this task: whole files, parts of files, the map of what is near."""
    blocks = [
        data_block("file", key, file.text, path=file.path, lines=len(file.text.splitlines()))
        for file in context.files
    ]
    blocks += [
        data_block("excerpt", key, piece.text, path=piece.path, first=piece.first)
        for piece in context.excerpts
    ]
    if context.nearby:
        blocks.append(data_block("map", key, context.nearby))
    return blocks


def elsewhere_blocks(elsewhere: Sequence[RelatedChange], key: str) -> list[str]:
    """What the files do not have: changes in other projects, and the task's own one that was sent back."""
    return [
        data_block(
            "sent-back" if one.sent_back else "change-elsewhere",
            key,
            one.text,
            project=one.project,
            title=one.title,
        )
        for one in elsewhere
    ]


def task_block(task: Task, key: str) -> str:
    """The task as data: its text, its kind, the files it names."""
    return data_block("task", key, task.text, kind=task.kind.value, files=list(task.files))
