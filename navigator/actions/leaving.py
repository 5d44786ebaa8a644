"""What would leave this machine if the final model read a proposal: the very prompts, redacted, counted and not sent."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.git.private import PrivateRepo
from navigator.journey.dependencies import Prompting, at_home
from navigator.journey.review import answer_room, plan_review, prompt_dependencies
from navigator.journey.subject import learn_leaving, leaving_messages, read_subject
from navigator.model.models import Proposal, Usage
from navigator.model.states import Role

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader

REDACTED = "[redacted"


@dataclass(frozen=True)
class Leaving:
    """The prompts of one reading elsewhere.

    Attributes:
        files: path and characters of each file of which something is shown, the change and what surrounds it.
        characters, tokens: of all prompts; `exact` says whether the tokens are the model's own count.
        redacted: how many secrets were taken out.
        refused: why nothing of it is sent; "" where nothing speaks against it.
        most: what it costs at most by `[final]` price; None where it is not set.
    """

    proposal: str
    model: str
    host: str
    prompts: int
    files: tuple[tuple[str, int], ...]
    characters: int
    tokens: int
    exact: bool
    redacted: int
    refused: str = ""
    most: float | None = None

    def lines(self) -> list[str]:
        """For people, before they agree to it."""
        if self.refused:
            return [f"{self.proposal}: it cannot be sent. {self.refused}"]
        about = "" if self.exact else "about "
        price = "price not known: set price under [final]"
        if self.most is not None:
            price = f"at most {self.most:.4f} by the prices of [final]"
        shown = [f"  {path}  {size:,} characters" for path, size in self.files]
        prompts = "1 prompt" if self.prompts == 1 else f"{self.prompts} prompts"
        return [
            f"{self.proposal} to {self.model} at {self.host}:",
            f"{prompts}, {self.characters:,} characters, {about}{self.tokens:,} tokens; {price}",
            "the task, its note, the results of checks, and of these files:",
            *shown,
            f"secrets taken out: {self.redacted}",
        ]


@dataclass
class LeavingView:
    """Plans readings by the final model. Runs git: use it in a thread."""

    paths: StatePaths
    settings: Settings

    @cached_property
    def deps(self) -> Prompting:
        """Made once: the prompts' keys differ from those that are sent, and are as long."""
        return Prompting(self.settings)

    def of(self, reader: Reader, proposal: Proposal) -> Leaving:
        """What would be sent of one proposal.

        Raises:
            NavigatorError: its repository cannot be read.
        """
        final = self.settings.final
        task, project = reader.task(proposal.task_id), reader.project(proposal.project_id)
        with at_home(project):
            private = PrivateRepo.open(self.paths.private, project)
        learn_leaving(self.deps.redact, project, private, proposal)
        subject = read_subject(private, project, task, proposal)
        plan = plan_review(subject, prompt_dependencies(self.deps, Role.FINAL))
        refused = f"{subject.guarded}." if subject.guarded else ""
        if not plan.readings and not refused:
            refused = f"It does not fit into a prompt: {'; '.join(plan.too_large)}."
        texts = [
            text
            for reading in plan.readings
            for message in leaving_messages(self.deps.redact, reading)
            for name, text in message.items()
            if name == "content"
        ]
        counter = self.deps.counter_for(Role.FINAL)
        tokens = sum(counter.count(text) for text in texts)
        sizes: Counter[str] = Counter()
        for reading in plan.readings:
            for file in reading.shown.files:
                sizes[file.path] += sum(len(line.text) + 1 for hunk in file.hunks for line in hunk.lines)
            for path, pieces in reading.shown.context.items():
                sizes[path] += sum(len(text) for _, text in pieces)
        most = None
        if any(final.price):
            room = answer_room(final, Role.FINAL)
            usage = Usage(prompt_tokens=2 * tokens, completion_tokens=len(plan.readings) * sum(room))
            most = final.cost(usage)
        return Leaving(
            proposal=proposal.id,
            model=final.model,
            host=urlsplit(final.base_url).netloc,
            prompts=len(plan.readings),
            files=tuple((self.deps.redact.outgoing(path), size) for path, size in sizes.items()),
            characters=sum(map(len, texts)),
            tokens=tokens,
            exact=counter.exact,
            redacted=sum(text.count(REDACTED) for text in texts),
            refused=refused,
            most=most,
        )
