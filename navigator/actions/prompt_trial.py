"""A prompt tried on a task: rendered as the conductor would, and not sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from navigator.actions.preview import preview
from navigator.git.private import PrivateRepo
from navigator.journey.calls import Message
from navigator.journey.dependencies import Prompting
from navigator.journey.prompts.library import Prompt, PromptLibrary
from navigator.journey.prompts.material import findings_block, worth_sending
from navigator.journey.review import plan_review, prompt_dependencies
from navigator.journey.subject import read_subject
from navigator.model.errors import UsageError
from navigator.model.models import Finding, Proposal, Task
from navigator.model.states import Role

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.config.settings import Settings
    from navigator.store.reads.reader import Reader

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
