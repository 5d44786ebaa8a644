"""What a task's writer would be shown, or was shown: the conductor's own prompt, rendered and not sent.

Nothing is pinned and no state changes. A task that has begun is shown on its base; a waiting one on the base that it would
begin on now. A project whose base is the checkout needs a snapshot for that, which takes the lock; while a
conductor holds it, HEAD is used instead of the snapshot, and `base_note` says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.context.pack import ContextFile
from navigator.git.facts import WORKTREE, read_base, read_facts
from navigator.git.private import PrivateRepo, is_commit_id
from navigator.git.snapshot import take_snapshot
from navigator.git.source import TreeSource
from navigator.journey.calls import Message
from navigator.journey.dependencies import Prompting, at_home
from navigator.journey.prompts.assemble import Prompted, prompt_for
from navigator.journey.prompts.library import Prompt, PromptLibrary
from navigator.journey.prompts.material import Material, findings_block, worth_sending
from navigator.journey.review import plan_review, prompt_dependencies
from navigator.journey.subject import read_subject
from navigator.model.errors import Conflict, UsageError
from navigator.model.models import Finding, Project, Proposal, Task
from navigator.model.states import Role

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


# A prompt tried on a task: rendered as the conductor would, and not sent.

_REVIEWS = frozenset({"review", "review-again"})


@dataclass(frozen=True)
class Trial:
    """One prompt on one task, before it is sent.

    Attributes:
        prompt: the template that is tried.
        place: the packaged one that it replaces.
        role: whose server would be asked.
        conversations: the messages and their tokens; a large review has several.
        exact: whether the tokens are counted by the model's own tokenizer.
        room: tokens that the server leaves for a prompt.
        too_large: what fits into no prompt, in words.
    """

    task: Task
    prompt: Prompt
    place: str
    role: Role
    conversations: Sequence[tuple[Sequence[Message], int]]
    exact: bool
    room: int
    too_large: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """As `navigator prompts try --json` prints it."""
        return {
            "task": self.task.id,
            "prompt": self.prompt.name,
            "prompt_version": self.prompt.version,
            "path": str(self.prompt.path),
            "stands_for": self.place,
            "role": self.role.value,
            "exact": self.exact,
            "room": self.room,
            "too_large": list(self.too_large),
            "prompts": [
                {"tokens": tokens, "fits": tokens <= self.room, "messages": list(messages)}
                for messages, tokens in self.conversations
            ],
        }


def try_prompt(
    paths: StatePaths,
    settings: Settings,
    store: Reader,
    prompts: PromptLibrary,
    identifier: str,
    *,
    name: str = "",
    role: Role | None = None,
) -> Trial:
    """Render a prompt for a task. Reads git: call it in a thread where there is a loop.

    Args:
        prompts: the packaged templates and the user's own.
        name: the template; by default the one that `role` would be asked with next.
        role: by default the reviewer where the task has a proposal, else the generator.

    Raises:
        ConfigError: the template cannot be used; the message names file and line.
        UsageError: this kind of prompt cannot be tried here.
    """
    task = store.task(identifier)
    proposals = store.proposals(task_id=task.id)
    name = name or _usual(task, proposals, role)
    prompt = prompts.get(name)
    prompts.check_one(prompt)
    place = prompts.replaces(prompt)
    if place in _REVIEWS:
        if not proposals:
            raise UsageError(
                f"{task.id} has no proposal to try {name!r} on.",
                hint="Run `navigator run` first.",
            )
        earlier = _earlier(store, proposals[-1], prompt) if place == "review-again" else []
        reads = Role.FINAL if role is Role.FINAL else Role.REVIEWER
        private = PrivateRepo.open(paths.private, store.project(task.project_id))
        subject = read_subject(private, store.project(task.project_id), task, proposals[-1], earlier)
        library = prompts.standing_in(place, prompt)
        made = Prompting(settings)
        made.prompts = library
        deps = prompt_dependencies(made, reads)
        plan = plan_review(subject, deps)
        shown = [(reading.messages, reading.tokens) for reading in plan.readings]
        return Trial(task, prompt, place, reads, shown, deps.exact, deps.room, plan.too_large)
    if place not in ("generate", "report", "revise"):
        raise UsageError(
            f"{name!r} cannot be tried on its own: it follows a failed answer, or replaces no prompt in use.",
            hint="Try generate, report, revise, review, review-again, or your own with `role:` in its front matter.",
        )
    library = prompts.standing_in("generate", prompt) if place == "generate" else prompts
    material = preview(paths, settings, store, task.id, prompts=library).material
    library = prompts.standing_in(place, prompt)
    messages: Sequence[Message] = material.prompted.messages
    if place == "report":
        messages, _ = material.asking(library, place, kind=task.kind.value)
    if place == "revise":
        messages = [*messages, *_revision(store, library, task, place, material.prompted.key)]
    counter = Prompting(settings).counter
    tokens = sum(counter.count(message["content"]) for message in messages)
    room = material.prompted.room
    return Trial(task, prompt, place, Role.GENERATOR, [(messages, tokens)], counter.exact, room)


def _usual(task: Task, proposals: Sequence[Proposal], role: Role | None) -> str:
    if role is Role.GENERATOR or (role is None and not proposals):
        return "generate"
    return "review-again" if proposals and proposals[-1].round else "review"


def _earlier(store: Reader, proposal: Proposal, prompt: Prompt) -> list[Finding]:
    """The findings that a revision answers."""
    before = None
    if proposal.round:
        before = store.review_of_round(proposal.task_id, proposal.attempt, proposal.round - 1)
    if before is None or not (found := worth_sending(before.findings)):
        raise UsageError(
            f"{proposal.id} answers no findings, so {prompt.name!r} has nothing to ask about.",
            hint="Try it on a task whose change was revised; `navigator proposals` shows the rounds.",
        )
    return found


def _revision(store: Reader, library: PromptLibrary, task: Task, place: str, key: str) -> list[Message]:
    """The answer of the newest round that was reviewed, and what the revision prompt says of it."""
    for number in range(task.round, -1, -1):
        review = store.review_of_round(task.id, task.attempt, number)
        findings = worth_sending(review.findings) if review else []
        answer = store.last_answer(task.id, task.attempt, number)
        if findings and answer is not None:
            _, user, _ = library.render(place, findings=findings_block("findings", findings, key))
            return [{"role": "assistant", "content": answer.text}, {"role": "user", "content": user}]
    raise UsageError(f"{task.id} has no review with findings.", hint="Try it on a task that has one.")
