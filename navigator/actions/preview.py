"""What a task's writer would be shown, or was shown: the conductor's own prompt, rendered and not sent.

Nothing is pinned and no state changes. A task that has begun is shown on its base; a waiting one on the base that it would
begin on now; `base_note` says which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.context.pack import ContextFile
from navigator.git.facts import read_base
from navigator.git.private import PrivateRepo, is_commit_id
from navigator.git.source import TreeSource
from navigator.journey.calls import Message
from navigator.journey.dependencies import Prompting
from navigator.journey.prompts.assemble import Prompted, prompt_for
from navigator.journey.prompts.library import Prompt, PromptLibrary
from navigator.journey.prompts.material import Material
from navigator.journey.repositories import at_home
from navigator.journey.review import plan_review, prompt_dependencies
from navigator.journey.subject import read_subject
from navigator.model.errors import UsageError
from navigator.model.models import Project, Task
from navigator.model.states import Role

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader


def preview(
    paths: StatePaths,
    settings: Settings,
    store: Reader,
    identifier: str,
    *,
    prompts: PromptLibrary | None = None,
) -> tuple[Material, dict[str, Any]]:
    """The prompt that opens a task's next attempt, or opened its current one, and how it came about, as JSON has it.

    `pieces` are all parts in the prompt's order; their tokens and those of the delimiters add up to the prompt's tokens.

    Args:
        prompts: templates to be used instead of those in use.

    Raises:
        NavigatorError: there is no such task, or its repository cannot be read.
    """
    task = store.task(identifier)
    project = store.project(task.project_id)
    with at_home(project):
        private = PrivateRepo.open(paths.private, project)
        base, note = _base(task.based(project), task)
    deps = Prompting(settings)
    if prompts is not None:
        deps.prompts = prompts
    writer = store.wrote(task.id) or settings.routing.writer(task.kind, task.complexity)
    source = TreeSource(private, base, project)
    made = prompt_for(deps, source, task, project, writer)
    context = made.context
    return Material(task, source, made, writer=writer), {
        "task": task.id,
        "project": project.name,
        "base": source.treeish,
        "base_note": note,
        "model": settings.server(writer).model,
        "prompt_version": made.version,
        "tokens": made.tokens,
        "context_tokens": context.tokens,
        "shared_tokens": context.shared_tokens,
        "budget": context.budget,
        "room": made.room,
        "exact": deps.counter_for().exact,
        "why_estimate": deps.counter_for().why,
        "pieces": _pieces(deps, made, task),
        "left_out": [asdict(left) for left in context.left_out],
        "hidden": dict(context.hidden),
    }


def _base(project: Project, task: Task) -> tuple[str, str]:
    if task.base_commit:
        return task.base_commit, "the base of this attempt"
    if is_commit_id(project.base):
        return project.base, "the change that it is to fix"
    return read_base(project.path, project.base), "the base it would begin on now"


def _pieces(deps: Prompting, made: Prompted, task: Task) -> list[dict[str, Any]]:
    """Every part of the prompt, in its order; what the delimiters and the headings take is one part at the end.

    `shared` parts are the same for every task of the base; `lines` is "" for what is not part of a file.
    """
    pieces: list[dict[str, Any]] = []

    def add(
        part: str, tokens: int, why: str = "", *, shared: bool = False, file: ContextFile | None = None
    ) -> None:
        lines = (
            f"{file.first}-{file.first + len(file.text.splitlines()) - 1}" if file and not file.whole else ""
        )
        where = {"path": file.path if file else "", "lines": lines}
        pieces.append({"part": part, "tokens": tokens, "why": why, "shared": shared} | where)

    count, context = deps.counter_for().count, made.context
    add("instructions", count(made.messages[0]["content"]), made.version, shared=True)
    if told := context.conventions:
        add("conventions", told.tokens, told.why, shared=True, file=told)
    add("tree", context.tree_tokens, "all paths; large folders as a count", shared=True)
    if context.map:
        add("map", context.map_tokens, "definitions in the most used files", shared=True)
    for part, files in (("file", context.files), ("excerpt", context.excerpts)):
        for file in files:
            add(part, file.tokens, file.why, file=file)
    if context.nearby:
        add("nearby", context.nearby_tokens, "definitions in the next files by rank")
    add("task", count(task.text), task.kind.value)
    if task.note:
        add("note", count(task.note), "your note when you sent it back")
    add("delimiters", max(0, made.tokens - sum(piece["tokens"] for piece in pieces)), "around each part")
    return pieces


# A prompt tried on a task: rendered as the conductor would, and not sent.


def try_prompt(
    paths: StatePaths,
    settings: Settings,
    store: Reader,
    prompts: PromptLibrary,
    identifier: str,
    *,
    name: str = "",
) -> dict[str, Any]:
    """Render a prompt for a task, as JSON has it. Reads git: call it in a thread where there is a loop.

    `room` are the tokens that the server leaves for a prompt; a large review has several `prompts`, and `too_large` says in
    words what fits into none.

    Args:
        prompts: the packaged templates and the user's own.
        name: the template; by default `review` where the task has a proposal, else `generate`.

    Raises:
        ConfigError: the template cannot be used; the message names file and line.
        UsageError: this kind of prompt cannot be tried here.
    """
    task = store.task(identifier)
    proposals = store.proposals(task_id=task.id)
    prompt = prompts.get(name or ("review" if proposals else "generate"))
    prompts.check_one(prompt)
    if prompt.name == "review":
        if not proposals:
            raise UsageError(
                f"{task.id} has no proposal to try {prompt.name!r} on.", hint="Run `navigator run` first."
            )
        project, made = store.project(task.project_id), Prompting(settings)
        made.prompts = prompts
        deps = prompt_dependencies(made, Role.REVIEWER)
        subject = read_subject(PrivateRepo.open(paths.private, project), project, task, proposals[-1])
        plan = plan_review(subject, deps)
        shown = [(reading.messages, reading.tokens) for reading in plan.readings]
        return _trial(task, prompt, Role.REVIEWER, shown, deps.exact, deps.room, plan.too_large)
    if prompt.name not in ("generate", "report"):
        raise UsageError(
            f"{prompt.name!r} cannot be tried on its own: it follows another answer.",
            hint="Try generate, report or review.",
        )
    material, _ = preview(paths, settings, store, task.id, prompts=prompts)
    messages: Sequence[Message] = material.prompted.messages
    if prompt.name == "report":
        messages, _ = material.asking(prompts, prompt.name, kind=task.kind.value)
    counter = Prompting(settings).counter_for()
    tokens = sum(counter.count(message["content"]) for message in messages)
    room = material.prompted.room
    return _trial(task, prompt, Role.GENERATOR, [(messages, tokens)], counter.exact, room)


def _trial(
    task: Task,
    prompt: Prompt,
    role: Role,
    conversations: Sequence[tuple[Sequence[Message], int]],
    exact: bool,
    room: int,
    too_large: Sequence[str] = (),
) -> dict[str, Any]:
    return {
        "task": task.id,
        "prompt": prompt.name,
        "prompt_version": prompt.version,
        "path": str(prompt.path),
        "role": role.value,
        "exact": exact,
        "room": room,
        "too_large": list(too_large),
        "prompts": [
            {"tokens": tokens, "fits": tokens <= room, "messages": list(messages)}
            for messages, tokens in conversations
        ],
    }
