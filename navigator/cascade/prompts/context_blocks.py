"""A context as the blocks of a prompt, in the order that a prefix cache can use: what all tasks of a base share comes first."""

from __future__ import annotations

from navigator.cascade.prompts.blocks import data_block
from navigator.domain.models import Task
from navigator.workspace.context.build import Context


def context_texts(context: Context) -> list[str]:
    """Every text of a context that stands in the prompt."""
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


def task_block(task: Task, key: str) -> str:
    """The task as data: its text, its kind, the files it names."""
    return data_block("task", key, task.text, kind=task.kind.value, files=list(task.files))
