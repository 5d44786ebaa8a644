"""Tasks as suggestions of a scan: the developer accepts some and dismisses the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from navigator.edits.paths import unsafe_path
from navigator.git.scope import in_scope, is_secret
from navigator.journey.change import keep_report
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.material import Material
from navigator.journey.scan_answer import (
    KINDS,
    MOST,
    Known,
    UnreadableScan,
    read_scan,
    report_text,
    scan_schema,
    sift,
)
from navigator.journey.turn import ask
from navigator.model.models import Task
from navigator.model.states import LIVE_TASK_STATES

PURPOSE = "scan"

TRIES = 2
"""Answers that are asked for: one, and one more where it cannot be read."""

REFUSED = "refused"
"""A call's outcome once its answer was read and was no list of suggestions."""

RAW_SHOWN = 8_000
"""Characters of an unreadable answer that its report shows."""


async def scan(deps: Dependencies, material: Material) -> None:
    """Ask for suggestions, unless a stored answer is there, and offer what holds up to the developer.

    Raises:
        ServingError: the server did not answer; the task is back in the queue.
    """
    kinds = [kind.value for kind in KINDS]
    messages, version = material.asking(deps.prompts, PURPOSE, kinds=kinds, most=MOST)
    shown = {file.path: file.text for file in material.prompted.context.files}
    task, role = material.task, material.writer
    while True:
        stored = deps.reader.last_answer(task.id, task.attempt, task.round, role=role)
        if stored is None or stored.outcome == REFUSED:
            asked = len(deps.reader.answers_of(task.id, task.attempt, task.round, PURPOSE))
            if stored is not None and asked >= TRIES:
                _unreadable(deps, task, stored.text)
                return
            schema = scan_schema(list(shown))
            if await ask(deps, task, role, PURPOSE, version, messages, schema=schema) is None:
                return
            continue
        try:
            raw = read_scan(stored.text)
        except UnreadableScan as error:
            with deps.store.transaction() as tx:
                tx.judge_call(stored.call_id, REFUSED)
                tx.event("scan_unreadable", task_id=task.id, data={"why": str(error)})
            continue
        break
    known = await asyncio.to_thread(_known, material, shown, _said_before(deps, task))
    found = sift(raw, known)
    not_shown = [f"{entry.path or 'files'}: {entry.why}" for entry in material.prompted.context.left_out]
    with deps.store.transaction() as tx:
        tx.add_suggestions(task.id, task.attempt, found.suggestions)
        count = len(found.suggestions)
        said = f"{count} suggestion{'' if count == 1 else 's'}"
        keep_report(tx, task, report_text(found, not_shown), said)


def _unreadable(deps: Dependencies, task: Task, text: str) -> None:
    """No answer could be read: the report shows the last one as it came."""
    more = f"\n… and {len(text) - RAW_SHOWN:,} characters more" if len(text) > RAW_SHOWN else ""
    shown = "\n".join(f"    {line}" for line in text[:RAW_SHOWN].splitlines())
    deps.move(
        keep_report,
        task,
        f"# The suggestions could not be read\n\n"
        f"The model was asked {TRIES} times and did not answer in the required form, so nothing here can be "
        f"accepted as a task. Its last answer:\n\n{shown}{more}\n",
    )


def _said_before(deps: Dependencies, task: Task) -> list[tuple[str, frozenset[str], str]]:
    """What is open in the project, and what was proposed for it before: text, files, and what it is called."""
    titles = [
        (held.text, frozenset(held.files), held.id)
        for held in deps.reader.tasks(LIVE_TASK_STATES, project=task.project_id)
        if held.id != task.id
    ]
    return titles + [
        (one.text, frozenset(one.files), f"a suggestion of {one.task_id} ({one.state})")
        for one in deps.reader.earlier_suggestions(task.project_id, task.id)
    ]


def _known(
    material: Material, shown: Mapping[str, str], titles: list[tuple[str, frozenset[str], str]]
) -> Known:
    """What the project holds. Runs git: call it in a thread."""
    source = material.source

    def may_be_new(path: str) -> bool:
        if unsafe_path(path) or not path.isprintable() or is_secret(path):
            return False
        return source.mode(path) is None and in_scope(path, source.project)

    return Known(
        shown=shown,
        paths=frozenset(source.paths()),
        may_be_new=may_be_new,
        titles=titles,
    )
