"""Escalate a proposal: have the reviewer read it next, or the final model on another machine read it as well.

It may wait for its review, or for the developer, who gets another reading beside the first. That reading decides nothing. What
would leave this machine is shown first: the very prompts, redacted, counted and not sent.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from navigator.actions.base import Done, Question, Told, Verb, done, plural, read_card
from navigator.actions.conducting import swap_words
from navigator.actions.deciding import Pinned, not_waiting, require_tree
from navigator.journey import moves
from navigator.model.errors import ConfigError, Conflict, NavigatorError
from navigator.model.models import Proposal
from navigator.model.states import Escalation, Role, TaskState

if TYPE_CHECKING:
    from navigator.config.paths import StatePaths
    from navigator.config.settings import Settings
    from navigator.journey.dependencies import Dependencies, Prompting
    from navigator.store.reads.reader import Reader


class Escalate(Verb):
    """All or none. `final`: by the final model."""

    op = "escalate"

    proposals: tuple[Pinned, ...]
    final: bool = False

    def refuse(self, reader: Reader) -> NavigatorError | None:
        for entry in self.proposals:
            on = read_card(reader, entry.id)
            if reader.task(on.task).escalated:
                return Conflict(f"{on.id} is escalated already.")
            if self.final and not reader.project(on.project).escalate:
                return Conflict(
                    f"{on.project} does not let its proposals leave this machine.",
                    hint=f"To allow it when you escalate one: `navigator project set {on.project} --escalate`.",
                )
            next_up = on.open and on.state is TaskState.AWAITING_REVIEW and not self.final
            if not (on.with_you or next_up):
                return not_waiting(on)
        return None

    def question(self, reader: Reader) -> Question | None:
        names = ", ".join(entry.id for entry in self.proposals)
        if not self.final:
            return Question(f"Have the reviewer read {names} next?", self._swap_lines(reader), "read it")
        from navigator.config.paths import StatePaths, state_dir
        from navigator.config.settings import load_settings

        settings = load_settings()
        require_final(settings.final.configured)
        shown = [reader.proposal(entry.id) for entry in self.proposals]
        found = plan_leaving(StatePaths(state_dir()), settings, reader, shown)
        _require_sendable(found)
        lines = [line for one in found for line in _leaving_lines(one)]
        return Question(f"Send {names} to another machine?", tuple(lines), "send it")

    async def perform(self, deps: Dependencies) -> Done:
        self.require(deps.reader)
        shown = [deps.reader.proposal(entry.id) for entry in self.proposals]
        for proposal, entry in zip(shown, self.proposals, strict=True):
            require_tree(proposal, entry.tree)
        rows: dict[str, Leaving] = {one.id: {"id": one.id, "again": False} for one in shown}
        if self.final:
            require_final(deps.settings.final.configured)
            found = await asyncio.to_thread(plan_leaving, deps.paths, deps.settings, deps.reader, shown)
            _require_sendable(found)
            rows = {one["id"]: one for one in found}
            self.require(deps.reader)  # planning took its time
        with deps.store.transaction() as tx:
            for proposal in shown:
                task = tx.read.task(proposal.task_id)
                if task.state is TaskState.AWAITING_REVIEW:
                    tx.escalate_task(task.id, Escalation.NEXT)
                else:
                    moves.escalate(tx, task, final=self.final)
                    rows[proposal.id]["again"] = True
        hint = "" if deps.conducting else "No conductor is running: `navigator run` starts one."
        return done(
            (Told(row["id"], self._words(row), hint=hint) for row in rows.values()),
            proposals=list(rows.values()),
            final=self.final,
            running=deps.conducting,
        )

    def _words(self, row: Leaving) -> str:
        if self.final:
            return f"goes to the final model ({row['tokens']:,} tokens); what it says decides nothing"
        return "is read next" + ("; the new verdict is shown beside the first" if row["again"] else "")

    def _swap_lines(self, reader: Reader) -> tuple[str, ...]:
        """What reading them now costs."""
        again = any(
            reader.task(reader.proposal(one.id).task_id).state is TaskState.AWAITING_APPROVAL
            for one in self.proposals
        )
        back = "It comes back to you with another verdict beside the first, whatever that says."
        return (swap_words(reader), back) if again else (swap_words(reader),)


def require_final(configured: bool) -> None:
    """Refuse where there is no final model.

    Raises:
        ConfigError: `[final]` names none.
    """
    if not configured:
        raise ConfigError(
            "No final model is set.",
            hint="Set model and base_url under [final] in the settings (docs/settings.md).",
        )


def _require_sendable(found: list[Leaving]) -> None:
    refused = [one for one in found if one["refused"]]
    if refused:
        raise Conflict(
            f"{refused[0]['id']} may not leave this machine: {refused[0]['refused']}",
            hint="The reviewer here can read it: escalate it without --final.",
        )


# What would leave this machine

REDACTED = "[redacted"


Leaving = dict[str, Any]
"""What is sent of one proposal, as JSON: where to, how many `prompts`, characters of each of the `files` of which something is
shown, `characters` and `tokens` of all prompts (`exact`: by the model's own count), how many secrets were `redacted`, and why
nothing of it is sent (`refused`)."""


def _leaving_lines(one: Leaving) -> list[str]:
    """For people, before they agree to it."""
    tokens = f"{'' if one['exact'] else 'about '}{one['tokens']:,} tokens"
    return [
        f"{one['id']} to {one['model']} at {one['host']}:",
        f"{plural(one['prompts'], 'prompt')}, {one['characters']:,} characters, {tokens}",
        "the task, its note, the results of checks, and of these files:",
        *(f"  {path}  {size:,} characters" for path, size in one["files"].items()),
        f"secrets taken out: {one['redacted']}",
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
    from navigator.journey.repositories import at_home
    from navigator.journey.review import plan_review, prompt_dependencies
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
    return {
        "id": proposal.id,
        "again": False,
        "model": final.model,
        "host": urlsplit(final.base_url).netloc,
        "prompts": len(plan.readings),
        "files": {redact.outgoing(path): size for path, size in sizes.items()},
        "characters": sum(map(len, texts)),
        "tokens": tokens,
        "exact": counter.exact,
        "redacted": sum(text.count(REDACTED) for text in texts),
        "refused": refused,
    }
