"""A task whose output is words: a report goes to the developer as it was written, and nothing is changed.

`architecture` always ends so. `security` may: the answer decides. One that holds no edit block and begins with a Markdown
heading is a report; everything else is held to be a change and judged as one.
"""

from __future__ import annotations

from navigator.cascade.dependencies import Dependencies
from navigator.cascade.prompts.material import Material
from navigator.cascade.stages.calls import Message
from navigator.cascade.stages.turn import ask
from navigator.domain.models import Task
from navigator.domain.states import EITHER_KINDS, TaskState
from navigator.workspace.edits import parse_answer


async def report(deps: Dependencies, material: Material) -> None:
    """Ask for a report, unless a stored answer is there, and put it before the developer."""
    task = material.task
    system, user, version = deps.prompts.render(
        "report", kind=task.kind.value, key=material.key, material=material.messages[1]["content"]
    )
    stored = deps.reader.last_answer(task.id, task.attempt, task.round, role=material.writer)
    messages: list[Message] = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    text = stored.text if stored else await ask(deps, task, material.writer, "report", version, messages)
    if text is not None:
        keep_report(deps, task, text)


def keep_report(deps: Dependencies, task: Task, text: str) -> None:
    """The task ends with these words before the developer."""
    with deps.store.transaction() as tx:
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, report=text.strip(), reason="report")


def is_report(task: Task, text: str, *, marker: int) -> bool:
    """Whether the answer to a task that may be either is a report. A revision never is."""
    if task.kind not in EITHER_KINDS or task.round > 0 or not text.lstrip().startswith("#"):
        return False
    answer = parse_answer(text, marker=marker)
    return not answer.blocks and not answer.problems and answer.no_change is None
