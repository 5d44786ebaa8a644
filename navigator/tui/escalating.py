"""`E`: escalate one proposal, or take that back. Who reads it is asked only where there is a choice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.cascade.verbs.deciding import Pinned
from navigator.cascade.verbs.escalate import Escalate, EscalateArgs
from navigator.model.states import TaskState
from navigator.tui.dialogs.pick import PickDialog
from navigator.tui.verbs import perform

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader
    from navigator.tui.base import BaseApp

REVIEWER, FINAL = "the reviewer", "the final model"


async def escalate(app: BaseApp, proposal: str, tree: str) -> None:
    """Ask who is to read it, show the price or what leaves the machine, and do it."""

    def look(reader: Reader) -> tuple[bool, bool]:
        found = reader.proposal(proposal)
        task, project = reader.task(found.task_id), reader.project(found.project_id)
        return bool(task.escalated), project.escalate and task.state is TaskState.AWAITING_APPROVAL

    held, may_leave = await app.feed.read(look)
    final = False
    if may_leave and not held:
        picked = await app.push_screen_wait(PickDialog("Who reads it?", (REVIEWER, FINAL), many=False))
        if not picked:
            return
        final = picked[0] == FINAL
    args = EscalateArgs(proposals=(Pinned(id=proposal, tree=tree),), final=final, withdraw=held)
    await perform(app, Escalate(), args)
