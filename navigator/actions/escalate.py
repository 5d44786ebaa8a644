"""Escalate a proposal: have the reviewer read it next, or the final model on another machine read it as well.

It may wait for its review, or for the developer, who gets another reading beside the first. That reading decides nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from navigator.actions.base import Question, Subject, Told, Verb
from navigator.actions.conducting import swap_words
from navigator.actions.deciding import Pinned, not_waiting, require_tree
from navigator.actions.leaving import Leaving, plan_leaving
from navigator.journey import change
from navigator.model.errors import ConfigError, Conflict, NavigatorError
from navigator.model.models import Model
from navigator.model.states import Escalation, TaskState

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader

_TO_COME = (TaskState.AWAITING_REVIEW, TaskState.FINAL_REVIEW)


class EscalateArgs(Model):
    """`final`: by the final model. `withdraw`: take back what was asked for and has not begun."""

    proposals: tuple[Pinned, ...]
    final: bool = False
    withdraw: bool = False


class Escalated(Model):
    """One row for each proposal. `running`: a conductor works, and takes it up by itself."""

    proposals: tuple[Leaving, ...] = ()
    final: bool = False
    withdrawn: bool = False
    running: bool = False


class Escalate(Verb[EscalateArgs, Escalated]):
    """All or none."""

    name = "escalate"
    args = EscalateArgs
    result = Escalated

    def refuse(self, reader: Reader, args: EscalateArgs) -> NavigatorError | None:
        for entry in args.proposals:
            on = Subject.read(reader, entry.id)
            held = reader.task(on.task).escalated
            if args.withdraw:
                refusal = _not_withdrawn(on, held)
            elif held:
                refusal = Conflict(
                    f"{on.id} is escalated already.",
                    hint=f"To take that back: `navigator escalate {on.id} --withdraw`.",
                )
            elif args.final and not reader.project(on.project).escalate:
                refusal = Conflict(
                    f"{on.project} does not let its proposals leave this machine.",
                    hint=f"To allow it when you escalate one: `navigator project set {on.project} --escalate`.",
                )
            else:
                next_up = on.open and on.state is TaskState.AWAITING_REVIEW and not args.final
                refusal = None if on.with_you or next_up else not_waiting(on)
            if refusal is not None:
                return refusal
        return None

    def question(self, reader: Reader, args: EscalateArgs) -> Question | None:
        if args.withdraw:
            return None
        names = ", ".join(entry.id for entry in args.proposals)
        if not args.final:
            return Question(f"Have the reviewer read {names} next?", _swap_lines(reader, args), "read it")
        from navigator.config.paths import StatePaths, state_dir
        from navigator.config.settings import load_settings

        settings = load_settings()
        require_final(settings.final.configured)
        shown = [reader.proposal(entry.id) for entry in args.proposals]
        found = plan_leaving(StatePaths(state_dir()), settings, reader, shown)
        _require_sendable(found)
        lines = [line for one in found for line in one.lines()]
        return Question(f"Send {names} to another machine?", tuple(lines), "send it")

    async def perform(self, deps: Dependencies, args: EscalateArgs) -> Escalated:
        self.require(deps.reader, args)
        shown = [deps.reader.proposal(entry.id) for entry in args.proposals]
        for proposal, entry in zip(shown, args.proposals, strict=True):
            require_tree(proposal, entry.tree)
        rows = {one.id: Leaving(id=one.id) for one in shown}
        if args.final and not args.withdraw:
            require_final(deps.settings.final.configured)
            found = await asyncio.to_thread(plan_leaving, deps.paths, deps.settings, deps.reader, shown)
            _require_sendable(found)
            rows = {one.id: one for one in found}
            self.require(deps.reader, args)  # planning took its time
        with deps.store.transaction() as tx:
            for proposal in shown:
                task = tx.read.task(proposal.task_id)
                if args.withdraw:
                    if task.escalated is Escalation.AGAIN:
                        change.to_developer(tx, task)
                    else:
                        tx.escalate_task(task.id, Escalation.NONE)
                elif task.state is TaskState.AWAITING_REVIEW:
                    tx.escalate_task(task.id, Escalation.NEXT)
                else:
                    change.escalate(tx, task, final=args.final)
                    rows[proposal.id] = rows[proposal.id].model_copy(update={"again": True})
        return Escalated(
            proposals=tuple(rows.values()), final=args.final, withdrawn=args.withdraw, running=deps.conducting
        )

    def tell(self, result: Escalated) -> list[Told]:
        hint = (
            ""
            if result.running or result.withdrawn
            else "No conductor is running: `navigator run` starts one."
        )
        return [Told(row.id, _escalated_words(result, row), hint=hint) for row in result.proposals]


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
    refused = [one for one in found if one.refused]
    if refused:
        raise Conflict(
            f"{refused[0].id} may not leave this machine: {refused[0].refused}",
            hint="The reviewer here can read it: escalate it without --final.",
        )


def _escalated_words(result: Escalated, row: Leaving) -> str:
    if result.withdrawn:
        return "is no longer escalated"
    if result.final:
        return f"goes to the final model ({row.tokens:,} tokens); what it says decides nothing"
    return "is read next" + ("; the new verdict is shown beside the first" if row.again else "")


def _not_withdrawn(on: Subject, held: Escalation) -> NavigatorError | None:
    if not held:
        return Conflict(f"{on.id} is not escalated.")
    if on.state in _TO_COME:
        return None
    return Conflict(f"{on.id} is being read already.")


def _swap_lines(reader: Reader, args: EscalateArgs) -> tuple[str, ...]:
    """What reading them now costs."""
    again = any(
        reader.task(reader.proposal(one.id).task_id).state is TaskState.AWAITING_APPROVAL
        for one in args.proposals
    )
    back = "It comes back to you with another verdict beside the first, whatever that says."
    return (swap_words(reader), back) if again else (swap_words(reader),)
