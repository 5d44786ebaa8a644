"""Take back a landing, or an approval that has not landed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from navigator.actions.base import Done, Question, SubjectVerb, Told, Verb, done, plural, read_card
from navigator.actions.deciding import after_id
from navigator.journey.change import withdraw_approval
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.states import LandingState, TaskState
from navigator.sheet.parts import built_on

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.model.models import Proposal
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader


class Undo(SubjectVerb):
    """Undo landings: move the branch back, or make a revert commit on a new branch. Withdraw approvals that have not landed."""

    op = "undo"
    small = True

    ids: tuple[str, ...]

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if on.landing == LandingState.LANDED or on.approved:
            return None
        if on.landing == LandingState.UNDONE and on.state is TaskState.UNDONE:
            return Conflict(
                f"{on.id} has already been undone.",
                hint=f"To have it written again: `navigator task retry {on.task}`.",
            )
        if on.to_decide:
            return Conflict(f"{on.id} is waiting for your decision; there is nothing to undo.")
        return Conflict(
            f"{on.id} has not landed and is not approved; there is nothing to undo.",
            hint="`navigator proposals --state landed` lists what has landed.",
        )

    def question(self, reader: Reader) -> Question | None:
        landed = [
            proposal
            for proposal in map(reader.proposal, self.ids)
            if proposal.landing is not None and proposal.landing.state is LandingState.LANDED
        ]
        if not landed:
            # One key withdraws the approval, another gives it again.
            return None
        lines = [line for proposal in landed for line in _landed_lines(reader, proposal)]
        lines.append(
            "What is undone does not wait for you again; a retry (`t` on the screens) writes it again."
        )
        return Question(f"Undo the landing of {', '.join(one.id for one in landed)}?", tuple(lines), "undo")

    async def perform(self, deps: Dependencies) -> Done:
        found = [deps.reader.proposal(identifier) for identifier in dict.fromkeys(self.ids)]
        # Newest first, so that each finds its own commit at the tip.
        found.sort(key=lambda proposal: proposal.landing.at if proposal.landing else "", reverse=True)
        rows = [await self._undo(deps, proposal) for proposal in found]
        told = (
            Told(row["id"], f"undone: {row['reason']}")
            if row["undone"]
            else Told(row["id"], after_id(row["id"], row["reason"], "not undone"), "error")
            for row in rows
        )
        return done(told, undone=rows)

    async def _undo(self, deps: Dependencies, proposal: Proposal) -> dict[str, Any]:
        """The result for one proposal; `ref` is the branch that was moved or made, "" for an approval that was withdrawn."""
        row: dict[str, Any] = {"id": proposal.id, "undone": False, "ref": ""}
        try:
            # A landing under way is not interrupted: once it is done, there is a landing to undo and no approval.
            async with deps.project_lock(proposal.project_id):
                on = read_card(deps.reader, proposal.id)
                self.require_one(on)
                if on.landing != LandingState.LANDED:
                    with deps.store.transaction() as tx:
                        withdraw_approval(tx, on.proposal, tx.read.task(on.task))
                    why = "the approval is withdrawn; it is waiting for your decision again"
                    return row | {"undone": True, "reason": why}
            return row | {"undone": True} | await _undo_landing(deps, proposal)
        except NavigatorError as error:
            return row | {"reason": str(error)}


async def _undo_landing(deps: Dependencies, proposal: Proposal) -> dict[str, Any]:
    from navigator.journey.land import undo
    from navigator.store.database import require_space

    require_space(deps.paths.root)
    landing = await undo(deps, proposal.id)
    above, more = [task.id for task in built_on(deps.reader, proposal)], ""
    if above:
        more = f"; {', '.join(above)} was based on it and will be rewritten once its proposal is approved"
    return {"ref": landing.ref, "reason": landing.reason + more}


def _landed_lines(reader: Reader, proposal: Proposal) -> list[str]:
    assert proposal.landing is not None
    branch = proposal.landing.ref.removeprefix("refs/heads/")
    lines = [
        f"{proposal.id}  {proposal.project}: {proposal.title}",
        f"{proposal.landing.commit[:12]} on {branch}",
    ]
    above = [task.id for task in built_on(reader, proposal)]
    return [*lines, f"⚠ {', '.join(above)} builds on it"] if above else lines


class LookForReverts(Verb):
    """Look for landed commits that were reverted since; nothing is changed. Those found before are not looked for again."""

    op = "reverts.look"

    async def perform(self, deps: Dependencies) -> Done:
        from navigator.exam.blame import look_at_findings
        from navigator.journey.reverts import look_for

        told, rows = [], []
        for project in deps.reader.projects():
            fates = Counter(fate.fate for fate in await look_for(deps, project))
            await look_at_findings(deps, project)
            if n := fates.total():
                looked, reverted, unknown = plural(n, "landed commit"), fates["reverted"], fates["unknown"]
                said = f"{looked} looked for: {reverted} reverted, {unknown} not known"
                told.append(Told(project.name, said))
                row = {"commits": n, "reverted": reverted, "unknown": unknown}
                rows.append({"project": project.name} | row)
        return done(told, projects=rows)
