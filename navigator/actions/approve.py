"""Approve proposals and land them; approving one again that could not land tries the landing again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from navigator.actions.base import ConfirmItem, Done, Question, Told
from navigator.actions.deciding import Decide, DecisionRow, not_waiting
from navigator.journey import moves
from navigator.journey.variants import open_variants, put_away_others
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Landing, Project, Proposal, utc_now
from navigator.model.states import DecisionKind, LandingState
from navigator.model.text import plural
from navigator.sheet.marks import NEVER, Kind, marks, named_once, to_confirm, unconfirmed, with_others
from navigator.sheet.waiting import tips

if TYPE_CHECKING:
    from navigator.git.facts import RepoFacts
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

log = logging.getLogger(__name__)

TESTS_PATIENCE = 5.0
"""Seconds to wait for tests on a landing's result while a conductor runs; it lands later what takes longer."""


class Approve(Decide):
    """Records the approval, then lands it.

    `confirm` names policy items that were looked at: `RULE:PATH`, or `P7:RULE:PATH`, which is needed where several of the
    proposals have the same item. `unasked`: no question was put, so what was not seen is named too.
    """

    op = "approve"
    kind = DecisionKind.APPROVE

    confirm: tuple[str, ...] = ()
    unasked: bool = False

    @classmethod
    def refuse_one(cls, on: Card) -> NavigatorError | None:
        if not (on.to_decide or on.approved):
            return not_waiting(on)
        if on.refused:
            rule, path, words = on.refused[0]
            return Conflict(
                f"{on.proposal} is refused by policy: {path}: {words or rule}.",
                hint=f"Reject it, or send it back: `navigator send-back {on.proposal} --note …`.",
            )
        if on.rival:
            return Conflict(
                f"{on.proposal} is a variant of a task for which {on.rival} is approved.",
                hint=f"Take that one back first: `navigator undo {on.rival}`.",
            )
        if on.waits_for:
            return Conflict(
                f"{on.proposal} was written on top of {on.waits_for}, which has not landed yet.",
                hint=f"Approve {on.waits_for} first: `navigator approve {on.waits_for}`.",
            )
        return None

    def question(self, reader: Reader) -> Question:
        shown = reader.cards_about(self.subjects)
        named = named_once(shown, self.confirm)
        items = tuple(
            ConfirmItem(f"{card.proposal}:{item.key}", f"{card.proposal} {item.words}")
            for card in shown
            for item in unconfirmed(card, named, unasked=self.unasked and card.open)
        )
        if len(shown) == 1:
            title = f"Approve {shown[0].proposal}  {shown[0].title}?"
            return Question(title, tuple(approval_lines(reader, shown[0])), "approve", items=items)
        lines = [f"{one.proposal}  {one.project}  {one.title}  +{one.added} −{one.removed}" for one in shown]
        for number in sorted({one.project_id for one in shown}):
            lines += _landing_lines(reader.project(number))
        return Question(
            f"Approve {plural(len(shown), 'proposal')}?", tuple(lines), f"approve {len(shown)}", items=items
        )

    async def perform(self, deps: Dependencies) -> Done:
        named = named_once(deps.reader.cards_about(self.subjects), self.confirm) if self.confirm else ()
        return await Decide.perform(self.model_copy(update={"confirm": named}), deps)

    def confirmed(self, on: Card) -> tuple[str, ...]:
        missing = unconfirmed(on, self.confirm, unasked=self.unasked and on.open)
        if missing:
            options = " ".join(f"--confirm {f'{on.proposal}:{item.key}'!r}" for item in missing)
            raise Conflict(
                f"{on.proposal} has items that must be confirmed individually.",
                hint=f"Look at them, then add {options}.",
            )
        return tuple(item.key for item in to_confirm(on, unasked=self.unasked))

    def write(self, tx: Transaction, proposal: Proposal, note: str) -> None:
        moves.approve(tx, proposal.task_id)
        tx.set_landing(proposal.id, Landing(state=LandingState.PENDING, at=utc_now()))
        put_away_others(tx, proposal)

    async def follow(self, deps: Dependencies, row: DecisionRow) -> DecisionRow:
        return await _land(deps, row)

    @classmethod
    def told(cls, row: DecisionRow) -> Told:
        if row.landing is LandingState.LANDED:
            moved = ", transplanted onto its tip" if row.transplanted else ""
            return Told(
                row.id, f"landed on {row.branch} as {row.commit[:12]}{moved}", hint=merge_hint(row.branch)
            )
        if row.landing is LandingState.PENDING:
            return Told(row.id, f"approved, not landed yet: {row.reason}", "warning")
        return Told(row.id, f"approved, but the landing was refused: {row.reason}", "error")


def merge_hint(branch: str) -> str:
    """How to merge what landed on a branch of Navigator's own; "" where it landed on the user's branch."""
    return "`navigator merge` merges it into your branch." if branch.startswith("navigator/") else ""


async def _land(deps: Dependencies, row: DecisionRow) -> DecisionRow:
    from navigator.journey.land import land

    proposal = deps.reader.proposal(row.id)
    patience = TESTS_PATIENCE if deps.conducting else None
    try:
        landing = await land(deps, proposal.task_id, patience=patience)
    except (NavigatorError, OSError, RecursionError, ValueError) as error:
        # One that cannot land now must not stop the others of the batch; its landing stays due.
        log.warning("%s could not land: %r", row.id, error)
        return row.model_copy(update={"landing": LandingState.PENDING, "reason": str(error)})
    update: dict[str, object] = {"landing": landing.state, "reason": landing.reason}
    if landing.state is LandingState.LANDED:
        update |= {"ref": landing.ref, "commit": landing.commit, "transplanted": landing.transplanted}
    return row.model_copy(update=update)


# What to know before approving


def approval_lines(reader: Reader, of: Card) -> list[str]:
    """Where a proposal goes, and what bears on the decision. Reads the repository: call it in a thread."""
    (known,) = with_others([of], reader.cards(NEVER), tips(reader, {of.project_id}))
    project = reader.project(known.project_id)
    lines = [f"{project.name}   +{known.added} −{known.removed}"]
    lines += _landing_lines(project, known.batch, whole=True)
    lines += [mark.words if mark.kind is Kind.PART else f"⚠ {mark.words}" for mark in marks(known)]
    others = open_variants(reader, known.variant_of, besides=known.task)
    if others:
        names = [f"{other.id} ({other.state.value.replace('_', ' ')})" for other in others]
        lines.append(f"puts away the other variants: {', '.join(names)}")
    return lines


def _landing_lines(project: Project, batch: str = "", *, whole: bool = False) -> list[str]:
    """Why nothing can land there; of a single approval the `whole`: where it goes, and which hooks will not run."""
    from navigator.git.facts import read_facts
    from navigator.landing.plan import why_nobody

    try:
        facts = read_facts(project.path)
    except NavigatorError as error:
        return [f"⚠ {error}"]
    lines = [f"→ {destination(project, batch, facts)}"] if whole else []
    if why := why_nobody(facts):
        lines.append(f"⚠ {why}")
    if whole and facts.hooks:
        lines.append(f"Hooks exist ({', '.join(facts.hooks)}): they will not run.")
    return lines


def destination(project: Project, batch: str, facts: RepoFacts) -> str:
    """The branch an approval goes to, in words."""
    if project.landing == "current":
        return facts.branch or "the current branch (HEAD is detached: the landing will be refused)"
    from navigator.landing.land import branch_name

    return branch_name(batch) if batch else "navigator/…"
