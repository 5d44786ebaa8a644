"""What a task's writer would be shown, or was shown: the conductor's own prompt, rendered and not sent.

Nothing is pinned and no state changes. A task that has begun is shown on its base; a waiting one on the base that it would
begin on now; `base_note` says which.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.context.source import TreeSource
from navigator.journey.dependencies import Prompting
from navigator.journey.prompts.assemble import prompt_for
from navigator.journey.prompts.material import Material, new_base
from navigator.journey.repositories import Repositories, at_home
from navigator.journey.review import plan_review, prompt_dependencies
from navigator.journey.subject import read_subject
from navigator.model.errors import UsageError
from navigator.model.models import Task
from navigator.model.states import Role
from navigator.sheet.writing import Piece, pieces_of

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader


def preview(paths: StatePaths, settings: Settings, store: Reader, identifier: str) -> dict[str, Any]:
    """The prompt that opens a task's next attempt, or opened its current one, and how it came about, as JSON has it.

    `pieces` are all parts in the prompt's order; their tokens and those of the delimiters add up to the prompt's tokens.

    Raises:
        NavigatorError: there is no such task, or its repository cannot be read.
    """
    task, deps = store.task(identifier), Prompting(settings)
    material, note = _opening(paths, deps, store, task)
    made, context, counter = material.prompted, material.prompted.context, deps.counter_for(material.writer)
    pieces = [
        Piece("instructions", counter.count(made.messages[0]["content"]), made.version, shared=True),
        *pieces_of(context),
        Piece("task", counter.count(task.text), task.kind.value),
    ]
    if task.note:
        pieces.append(Piece("note", counter.count(task.note), "your note when you sent it back"))
    around = max(0, made.tokens - sum(piece.tokens for piece in pieces))
    pieces.append(Piece("delimiters", around, "around each part"))
    return {
        "task": task.id,
        "project": task.project,
        "base": material.source.treeish,
        "base_note": note,
        "model": settings.server(material.writer).model,
        "prompt_version": made.version,
        "tokens": made.tokens,
        "context_tokens": context.tokens,
        "shared_tokens": context.shared_tokens,
        "budget": context.budget,
        "room": made.room,
        "exact": counter.exact,
        "why_estimate": counter.why,
        "pieces": [piece._asdict() for piece in pieces],
        "left_out": [asdict(left) for left in context.left_out],
        "hidden": dict(context.hidden),
    }


def _opening(paths: StatePaths, deps: Prompting, store: Reader, task: Task) -> tuple[Material, str]:
    """What a task's writer is shown at first, and which base that is on."""
    project = store.project(task.project_id)
    base, note = task.base_commit, "the base of this attempt"
    with at_home(project):
        private = Repositories(paths.private).private(project)
        if not base:
            based = task.based(project)
            base = new_base(based)
            fixes = base == based.base
            note = "the change that it is to fix" if fixes else "the base it would begin on now"
    writer = store.wrote(task.id) or deps.settings.routing.writer(task.kind, task.complexity)
    source = TreeSource(private, base, project)
    return Material(task, source, prompt_for(deps, source, task, project, writer), writer=writer), note


# A prompt tried on a task: rendered as the conductor would, and not sent.


def try_prompt(
    paths: StatePaths, settings: Settings, store: Reader, identifier: str, *, name: str = ""
) -> dict[str, Any]:
    """Render a prompt for a task, as JSON has it. Reads git: call it in a thread where there is a loop.

    `room` are the tokens that the server leaves for a prompt; a large review has several `prompts`, and `too_large` says in
    words what fits into none.

    Args:
        name: the template; by default `review` where the task has a proposal, else `generate`.

    Raises:
        ConfigError: the template cannot be used; the message names file and line.
        UsageError: this kind of prompt cannot be tried here.
    """
    task, deps = store.task(identifier), Prompting(settings)
    proposals = store.proposals(task_id=task.id)
    prompt = deps.prompts.get(name or ("review" if proposals else "generate"))
    deps.prompts.check_one(prompt)
    role, too_large = Role.GENERATOR, list[str]()
    if prompt.name == "review":
        if not proposals:
            hint = "Run `navigator run` first."
            raise UsageError(f"{task.id} has no proposal to try {prompt.name!r} on.", hint=hint)
        role, project = Role.REVIEWER, store.project(task.project_id)
        private, how = Repositories(paths.private).private(project), prompt_dependencies(deps, role)
        plan = plan_review(read_subject(private, project, task, proposals[-1]), how)
        shown = [(list(reading.messages), reading.tokens) for reading in plan.readings]
        room, too_large = how.room, list(plan.too_large)
    elif prompt.name in ("generate", "report"):
        made, _ = _opening(paths, deps, store, task)
        role, messages, room = made.writer, list(made.prompted.messages), made.prompted.room
        if prompt.name == "report":
            messages, _ = made.asking(deps.prompts, prompt.name, kind=task.kind.value)
        count = deps.counter_for(role).count
        shown = [(messages, sum(count(message["content"]) for message in messages))]
    else:
        raise UsageError(
            f"{prompt.name!r} cannot be tried on its own: it follows another answer.",
            hint="Try generate, report or review.",
        )
    return {
        "task": task.id,
        "prompt": prompt.name,
        "prompt_version": prompt.version,
        "path": str(prompt.path),
        "role": role.value,
        "exact": deps.counter_for(role).exact,
        "room": room,
        "too_large": too_large,
        "prompts": [
            {"tokens": tokens, "fits": tokens <= room, "messages": messages} for messages, tokens in shown
        ],
    }
