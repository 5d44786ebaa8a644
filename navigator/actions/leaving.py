"""What would leave this machine if the final model read a proposal: the very prompts, redacted, counted and not sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pydantic import Field

from navigator.model.models import Model, Proposal, Usage
from navigator.model.states import Role

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.config.settings import Settings
    from navigator.journey.dependencies import Prompting
    from navigator.store.reads.reader import Reader

REDACTED = "[redacted"


class Leaving(Model):
    """What is sent of one proposal where it leaves this machine; nothing where it does not.

    Attributes:
        id: of the proposal.
        again: it is read beside an earlier review.
        prompts: how many there are.
        files: characters of each file of which something is shown, the change and what surrounds it.
        characters, tokens: of all prompts; `exact` says whether the tokens are the model's own count.
        redacted: how many secrets were taken out.
        refused: why nothing of it is sent; "" where nothing speaks against it.
        price: what it costs at most by `[final]` price; None where it is not set.
    """

    id: str
    again: bool = False
    model: str = ""
    host: str = ""
    prompts: int = 0
    files: dict[str, int] = Field(default_factory=dict)
    characters: int = 0
    tokens: int = 0
    exact: bool = False
    redacted: int = 0
    refused: str = ""
    price: float | None = None

    def lines(self) -> list[str]:
        """For people, before they agree to it."""
        if self.refused:
            return [f"{self.id}: it cannot be sent. {self.refused}"]
        about = "" if self.exact else "about "
        price = "price not known: set price under [final]"
        if self.price is not None:
            price = f"at most {self.price:.4f} by the prices of [final]"
        prompts = "1 prompt" if self.prompts == 1 else f"{self.prompts} prompts"
        return [
            f"{self.id} to {self.model} at {self.host}:",
            f"{prompts}, {self.characters:,} characters, {about}{self.tokens:,} tokens; {price}",
            "the task, its note, the results of checks, and of these files:",
            *(f"  {path}  {size:,} characters" for path, size in self.files.items()),
            f"secrets taken out: {self.redacted}",
        ]


def plan_leaving(
    paths: StatePaths, settings: Settings, reader: Reader, proposals: Sequence[Proposal]
) -> list[Leaving]:
    """What would be sent of each. Runs git: use it in a thread.

    Raises:
        NavigatorError: a repository cannot be read.
    """
    from navigator.journey.dependencies import Prompting

    # The keys of these prompts differ from those that are sent, and are as long.
    deps = Prompting(settings)
    return [_planned(paths, deps, reader, proposal) for proposal in proposals]


def _planned(paths: StatePaths, deps: Prompting, reader: Reader, proposal: Proposal) -> Leaving:
    from navigator.git.private import PrivateRepo
    from navigator.journey.dependencies import at_home
    from navigator.journey.review import answer_room, plan_review, prompt_dependencies
    from navigator.journey.subject import learn_leaving, leaving_messages, read_subject

    final, redact = deps.settings.final, deps.redact
    task, project = reader.task(proposal.task_id), reader.project(proposal.project_id)
    with at_home(project):
        private = PrivateRepo.open(paths.private, project)
    learn_leaving(redact, project, private, proposal)
    subject = read_subject(private, project, task, proposal)
    plan = plan_review(subject, prompt_dependencies(deps, Role.FINAL))
    refused = f"{subject.guarded}." if subject.guarded else ""
    if not plan.readings and not refused:
        refused = f"It does not fit into a prompt: {'; '.join(plan.too_large)}."
    texts = [message["content"] for reading in plan.readings for message in leaving_messages(redact, reading)]
    counter = deps.counter_for(Role.FINAL)
    tokens = sum(counter.count(text) for text in texts)
    sizes: Counter[str] = Counter()
    for reading in plan.readings:
        for file in reading.shown.files:
            sizes[file.path] += sum(len(line.text) + 1 for hunk in file.hunks for line in hunk.lines)
        for path, pieces in reading.shown.context.items():
            sizes[path] += sum(len(text) for _, text in pieces)
    written = len(plan.readings) * sum(answer_room(final, Role.FINAL))
    most = final.cost(Usage(prompt_tokens=2 * tokens, completion_tokens=written))
    return Leaving(
        id=proposal.id,
        model=final.model,
        host=urlsplit(final.base_url).netloc,
        prompts=len(plan.readings),
        files={redact.outgoing(path): size for path, size in sizes.items()},
        characters=sum(map(len, texts)),
        tokens=tokens,
        exact=counter.exact,
        redacted=sum(text.count(REDACTED) for text in texts),
        refused=refused,
        price=most if any(final.price) else None,
    )
