"""Escalate a proposal: have the reviewer read it next, or the final model on another machine read it as well.

It may wait for its review, or for the developer, who gets another reading beside the first. That reading decides nothing. What
would leave this machine is shown first: the very prompts, redacted, counted and not sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from navigator.actions.base import Done, Question, Told, Verb, done
from navigator.actions.conducting import swap_words
from navigator.actions.deciding import Pinned, not_waiting, require_tree
from navigator.journey import moves
from navigator.model.errors import ConfigError, Conflict, NavigatorError
from navigator.model.models import Proposal
from navigator.model.states import Escalation, Role, TaskState
from navigator.model.text import plural
from navigator.sheet.marks import read_card

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

        shown = [reader.proposal(entry.id) for entry in self.proposals]
        found = plan_leaving(StatePaths(state_dir()), load_settings(), reader, shown)
        lines = [line for one in found for line in _leaving_lines(one)]
        return Question(f"Send {names} to another machine?", tuple(lines), "send it")

    async def perform(self, deps: Dependencies) -> Done:
        self.require(deps.reader)
        shown = {entry.id: deps.reader.proposal(entry.id) for entry in self.proposals}
        for entry in self.proposals:
            require_tree(shown[entry.id], entry.tree)
        asked = list(shown.values())
        rows: list[Leaving] = [{"id": one.id, "again": False} for one in asked]
        if self.final:
            rows = await asyncio.to_thread(plan_leaving, deps.paths, deps.settings, deps.reader, asked)
            self.require(deps.reader)  # planning took its time
        with deps.store.transaction() as tx:
            for proposal, row in zip(asked, rows, strict=True):
                task = tx.read.task(proposal.task_id)
                if task.state is TaskState.AWAITING_REVIEW:
                    tx.escalate_task(task.id, Escalation.NEXT)
                else:
                    moves.escalate(tx, task, final=self.final)
                    row["again"] = True
        hint = "" if deps.conducting else "No conductor is running: `navigator run` starts one."
        told = (Told(row["id"], self._words(row), hint=hint) for row in rows)
        return done(told, proposals=rows, final=self.final, running=deps.conducting)

    def _words(self, row: Leaving) -> str:
        if self.final:
            return f"goes to the final model ({row['tokens']:,} tokens); what it says decides nothing"
        return "is read next" + ("; the new verdict is shown beside the first" if row["again"] else "")

    def _swap_lines(self, reader: Reader) -> tuple[str, ...]:
        """What reading them now costs."""
        if all(read_card(reader, one.id).state is TaskState.AWAITING_REVIEW for one in self.proposals):
            return (swap_words(reader),)
        back = "It comes back to you with another verdict beside the first, whatever that says."
        return swap_words(reader), back


# What would leave this machine

REDACTED = "[redacted"


Leaving = dict[str, Any]
"""What is sent of one proposal, as JSON: where to, how many `prompts`, the `files` of which something is shown, `characters` and
`tokens` of all prompts (`exact`: by the model's own count), and how many secrets were `redacted`."""


def _leaving_lines(one: Leaving) -> list[str]:
    """For people, before they agree to it."""
    tokens = f"{'' if one['exact'] else 'about '}{one['tokens']:,} tokens"
    return [
        f"{one['id']} to {one['model']} at {one['host']}:",
        f"{plural(one['prompts'], 'prompt')}, {one['characters']:,} characters, {tokens}",
        "the task, its note, the results of checks, and of these files:",
        *(f"  {path}" for path in one["files"]),
        f"secrets taken out: {one['redacted']}",
    ]


def plan_leaving(
    paths: StatePaths, settings: Settings, reader: Reader, proposals: Sequence[Proposal]
) -> list[Leaving]:
    """What would be sent of each. Runs git: use it in a thread.

    Raises:
        ConfigError: `[final]` names no model.
        Conflict: one of them may not be sent, or does not fit into a prompt.
        NavigatorError: a repository cannot be read.
    """
    from navigator.journey.dependencies import Prompting

    if not settings.final.configured:
        hint = "Set model and base_url under [final] in the settings (docs/settings.md)."
        raise ConfigError("No final model is set.", hint=hint)
    # The keys of these prompts differ from those that are sent, and are as long.
    deps = Prompting(settings)
    return [_planned(paths, deps, reader, proposal) for proposal in proposals]


def _planned(paths: StatePaths, deps: Prompting, reader: Reader, proposal: Proposal) -> Leaving:
    from navigator.journey.repositories import Repositories
    from navigator.journey.review import plan_review, prompt_dependencies
    from navigator.journey.subject import learn_leaving, leaving_messages, read_subject

    final, redact = deps.settings.final, deps.redact
    task, project = reader.task(proposal.task_id), reader.project(proposal.project_id)
    private = Repositories(paths.private).private(project)
    learn_leaving(redact, project, private, proposal)
    subject = read_subject(private, project, task, proposal)
    plan = plan_review(subject, prompt_dependencies(deps, Role.FINAL))
    if subject.guarded or not plan.readings:
        why = subject.guarded or f"It does not fit into a prompt: {'; '.join(plan.too_large)}"
        hint = "The reviewer here can read it: escalate it without --final."
        raise Conflict(f"{proposal.id} may not leave this machine: {why}.", hint=hint)
    texts = [message["content"] for reading in plan.readings for message in leaving_messages(redact, reading)]
    shown = [reading.shown for reading in plan.readings]
    files = [path for one in shown for path in (*(file.path for file in one.files), *one.context)]
    counter = deps.counter_for(Role.FINAL)
    return {
        "id": proposal.id,
        "again": False,
        "model": final.model,
        "host": urlsplit(final.base_url).netloc,
        "prompts": len(plan.readings),
        "files": [redact.outgoing(path) for path in dict.fromkeys(files)],
        "characters": sum(map(len, texts)),
        "tokens": sum(map(counter.count, texts)),
        "exact": counter.exact,
        "redacted": sum(text.count(REDACTED) for text in texts),
    }
