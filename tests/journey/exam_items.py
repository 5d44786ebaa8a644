"""Exam items for the tests: made in a project's private repository from files that a test gives."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path

from navigator.exam.queue import ExamQueue
from navigator.git.private import FileChange
from navigator.journey.dependencies import Dependencies
from navigator.model.models import utc_now
from navigator.model.records import ExamItem
from navigator.model.states import ExamSource, TaskKind
from tests.journey.room import Room
from tests.journey.support import git


def ask_all(room: Room) -> None:
    """Have the reviewer answer every item that is left, with and without precedents, beside any session."""

    async def ask(deps: Dependencies) -> None:
        queue = ExamQueue(deps)
        for _ in range(2):
            queue.ask_for(1_000)
            for item in queue.left():
                await queue.ask(item)

    with room.world() as deps:
        asyncio.run(ask(deps))


def add_item(
    deps: Dependencies,
    project: str,
    files: Mapping[str, str],
    *,
    faulty: bool,
    origin: str,
    source: ExamSource = ExamSource.REVERSED_FIX,
    text: str = "Make double() multiply\n\nBy two.",
    path: str = "",
    line: int = 0,
) -> int:
    """Keep a change of `files` on the newest commit of the project as an item; returns its number."""
    found = deps.reader.project(project)
    base = git(Path(found.path), "rev-parse", "HEAD")
    private = deps.repositories.private(found)
    private.pin_base(base)
    changes = {name: FileChange(content.encode()) for name, content in files.items()}
    tree = private.write_tree(base, changes)
    private.keep(f"exam-{hashlib.sha256(origin.encode()).hexdigest()[:12]}", tree, base)
    changed = sum(file.added + file.removed for file in private.diff(base, tree))
    with deps.store.transaction() as tx:
        number = tx.add_exam_item(
            ExamItem(
                project_id=found.id,
                source=source if faulty else ExamSource.CLEAN,
                faulty=faulty,
                origin=origin,
                text=text,
                kind=TaskKind.IMPLEMENT,
                base_commit=base,
                tree=tree,
                path=path,
                line=line,
                end_line=line,
                changed_lines=changed,
                created=utc_now(),
            )
        )
    assert number is not None
    return number
