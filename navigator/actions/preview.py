"""What a task's writer would be shown, or was shown: the conductor's own prompt, rendered and not sent.

Nothing is pinned and no state changes. A task that has begun is shown on its base; a waiting one on the base that it would
begin on now. A project whose base is the checkout needs a snapshot for that, which takes the lock; while a
conductor holds it, HEAD is used instead of the snapshot, and `base_note` says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.context.pack import ContextFile
from navigator.git.facts import WORKTREE, read_base, read_facts
from navigator.git.private import PrivateRepo, is_commit_id
from navigator.git.snapshot import take_snapshot
from navigator.git.source import TreeSource
from navigator.journey.dependencies import Prompting, at_home
from navigator.journey.prompts.assemble import Prompted, prompt_for
from navigator.journey.prompts.library import PromptLibrary
from navigator.journey.prompts.material import Material
from navigator.model.errors import Conflict
from navigator.model.models import Project, Task

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader


@dataclass(frozen=True)
class PromptPart:
    """One part of the prompt. `shared` is the same for every task of the base; `lines` is "" for what is not part of a file."""

    part: str
    tokens: int
    why: str = ""
    shared: bool = False
    path: str = ""
    lines: str = ""


@dataclass(frozen=True)
class Preview:
    """A task's prompt and how it came about.

    Attributes:
        base_note: how the base was found.
        pieces: every part, in the prompt's order; their tokens and those of the delimiters add up to the prompt's tokens.
    """

    material: Material
    base_note: str
    model: str
    pieces: tuple[PromptPart, ...]
    exact: bool
    why_estimate: str

    def document(self) -> dict[str, Any]:
        """As `navigator context --json` prints it."""
        source, prompted = self.material.source, self.material.prompted
        context = prompted.context
        return {
            "task": self.material.task.id,
            "project": source.project.name,
            "base": source.treeish,
            "base_note": self.base_note,
            "model": self.model,
            "prompt_version": prompted.version,
            "tokens": prompted.tokens,
            "context_tokens": context.tokens,
            "shared_tokens": context.shared_tokens,
            "budget": context.budget,
            "room": prompted.room,
            "exact": self.exact,
            "why_estimate": self.why_estimate,
            "pieces": [asdict(piece) for piece in self.pieces],
            "left_out": [asdict(left) for left in context.left_out],
            "hidden": dict(context.hidden),
        }


def preview(
    paths: StatePaths,
    settings: Settings,
    store: Reader,
    identifier: str,
    *,
    budget: int | None = None,
    prompts: PromptLibrary | None = None,
) -> Preview:
    """The prompt that opens a task's next attempt, or opened its current one.

    Args:
        budget: tokens of context, instead of the usual aim.
        prompts: templates to be used instead of those in use.

    Raises:
        NavigatorError: there is no such task, or its repository cannot be read.
    """
    task = store.task(identifier)
    project = store.project(task.project_id)
    with at_home(project):
        private = PrivateRepo.open(paths.private, project)
        base, note = _base(paths, task.based(project), task, private)
    deps = Prompting(settings)
    if prompts is not None:
        deps.prompts = prompts
    writer = store.wrote(task.id) or settings.routing.writer(task.kind, task.complexity)
    source = TreeSource(private, base, project)
    made = prompt_for(deps, source, task, project, writer, budget)
    return Preview(
        material=Material(task, source, made, writer=writer),
        base_note=note,
        model=settings.server(writer).model,
        pieces=tuple(_pieces(deps, made, task)),
        exact=deps.counter.exact,
        why_estimate=deps.counter.why,
    )


def _base(paths: StatePaths, project: Project, task: Task, private: PrivateRepo) -> tuple[str, str]:
    if task.base_commit:
        return task.base_commit, "the base of this attempt"
    if is_commit_id(project.base):
        return project.base, "the change that it is to fix"
    if project.base != WORKTREE:
        return read_base(project.path, project.base), "the base it would begin on now"
    from navigator.actions.alone import locked_dependencies

    facts = read_facts(project.path)
    try:
        with locked_dependencies(paths):
            return take_snapshot(private, facts).commit, "the checkout as it is now"
    except Conflict:
        return facts.head_commit, "HEAD, without the uncommitted work: a conductor is running"


def _pieces(deps: Prompting, made: Prompted, task: Task) -> Iterable[PromptPart]:
    """Every part of the prompt, in its order; what the delimiters and the headings take is one part at the end."""
    count, context = deps.counter.count, made.context
    pieces = [PromptPart("instructions", count(made.messages[0]["content"]), made.version, shared=True)]
    if context.conventions:
        pieces.append(_file_piece("conventions", context.conventions, shared=True))
    why = "all paths; large folders as a count"
    pieces.append(PromptPart("tree", context.tree_tokens, why, shared=True))
    if context.map:
        why = "definitions in the most used files"
        pieces.append(PromptPart("map", context.map_tokens, why, shared=True))
    pieces += [_file_piece("file", file) for file in context.files]
    pieces += [_file_piece("excerpt", piece) for piece in context.excerpts]
    if context.nearby:
        pieces.append(PromptPart("nearby", context.nearby_tokens, "definitions in the next files by rank"))
    pieces.append(PromptPart("task", count(task.text), task.kind.value))
    if task.note:
        pieces.append(PromptPart("note", count(task.note), "your note when you sent it back"))
    rest = made.tokens - sum(piece.tokens for piece in pieces)
    return [*pieces, PromptPart("delimiters", max(rest, 0), "around each part")]


def _file_piece(part: str, file: ContextFile, *, shared: bool = False) -> PromptPart:
    last = file.first + len(file.text.splitlines()) - 1
    lines = "" if file.whole else f"{file.first}-{last}"
    return PromptPart(part, file.tokens, file.why, shared, file.path, lines)
