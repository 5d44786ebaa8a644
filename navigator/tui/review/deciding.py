"""The developer's word on the proposal in Review: approve, reject, send back, undo, and the batch."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from textual import work

from navigator.domain.errors import NavigatorError
from navigator.domain.models import PolicyItem, Proposal
from navigator.domain.states import (
    DecisionKind,
    LandingState,
    PolicyAction,
    ProposalState,
    TaskState,
    Verdict,
)
from navigator.store.reads.cards import Card
from navigator.tui.dialogs.confirm import ConfirmDialog
from navigator.tui.dialogs.note import NoteDialog
from navigator.tui.messages import DecideAll
from navigator.tui.review.context import ReviewContext, note_key
from navigator.tui.review.trees import destination
from navigator.tui.review.words import landing_words, part_words

if TYPE_CHECKING:
    from navigator.tui.review.screen import ReviewScreen


class Deciding:
    """Mixed into the review screen."""

    _asking = False
    _last = ""
    """The proposal decided last from this screen: what `u` is about where the one shown has nothing to take back."""

    @property
    def _desk(self) -> ReviewScreen:
        return cast("ReviewScreen", self)

    # Approve

    @work(group="decide")
    async def action_approve(self) -> None:
        """Approve what is on the screen: each policy item by itself, then the whole."""
        ready = self._ready(DecisionKind.APPROVE)
        if ready is None:
            return
        self._asking = True
        try:
            await self._approve(*ready)
        finally:
            self._asking = False

    async def _approve(self, context: ReviewContext, shown: Proposal) -> None:
        nav = self._desk.app
        # All of its hunks chosen is the whole proposal: a plain approval.
        if (chosen := self._desk.picked_of(shown)) and self._desk.rest_of(chosen):
            await self._desk.split_chosen(context, shown, chosen)
            return
        refused = [item for item in shown.policy if item.action is PolicyAction.REFUSE]
        if refused:
            nav.toast(f"{refused[0].path} {refused[0].detail}: this cannot be approved.", "error")
            return
        asked = [item for item in shown.policy if item.action is PolicyAction.CONFIRM]
        for number, item in enumerate(asked, 1):
            if not await nav.push_screen_wait(_policy_dialog(shown, item, number, len(asked))):
                return
        lines = await asyncio.to_thread(approval_lines, context, shown, self._desk.overlaps_of(shown.id))
        if not await nav.push_screen_wait(
            ConfirmDialog(f"Approve {shown.id}  {shown.title}?", lines, yes="approve")
        ):
            return
        await self._decide(
            DecisionKind.APPROVE, shown, confirm=[f"{item.rule}:{item.path}" for item in asked]
        )

    # Reject, send back

    @work(group="decide")
    async def action_reject(self) -> None:
        """Reject, with a reason if there is one."""
        await self._with_note(DecisionKind.REJECT)

    @work(group="decide")
    async def action_send_back(self) -> None:
        """Send back with a note and the comments on its lines."""
        await self._with_note(DecisionKind.SEND_BACK)

    async def _with_note(self, kind: DecisionKind) -> None:
        ready = self._ready(kind)
        if ready is None:
            return
        context, shown = ready
        screen = self._desk
        key = note_key(context.task.id, kind.value)
        unsent = context.unsent
        back = kind is DecisionKind.SEND_BACK
        lines = [f"{shown.project}: {shown.title}"]
        if back:
            lines += [f"{r.path}:{r.line}  {r.text}" if r.line else f"{r.path}  {r.text}" for r in unsent[:5]]
            if len(unsent) > 5:
                lines.append(f"and {len(unsent) - 5} more comments")
        dialog = NoteDialog(
            f"Send {shown.id} back?" if back else f"Reject {shown.id}?",
            lines,
            key=key,
            text=context.drafts.get(key, ""),
            drafts=screen.drafts,
            needed="Say what to do otherwise, or comment on a line (c)." if back and not unsent else "",
            yes="send it back" if back else "reject",
        )
        self._asking = True
        try:
            note = await screen.app.push_screen_wait(dialog)
            if note is None:
                await screen.drafts.flush()
                await screen.reload()
                return
            if await self._decide(kind, shown, note=note):
                screen.drafts.keep(key, "")
                await screen.drafts.flush()
        finally:
            self._asking = False

    # Asking for it

    def _ready(self, kind: DecisionKind) -> tuple[ReviewContext, Proposal] | None:
        """What is decided on, or None with the reason said."""
        screen = self._desk
        context, shown = screen.context, screen.shown
        if context is None or shown is None or self._asking:
            return None
        again = (
            kind is DecisionKind.APPROVE
            and context.task.state is TaskState.APPROVED
            and shown.decision is not None
            and shown.decision.kind is DecisionKind.APPROVE
        )
        if again or (context.waiting and shown.id == context.current.id):
            return context, shown
        if context.waiting:
            keys = f"{screen.app.keymap.shown('review.previous_round')} {screen.app.keymap.shown('review.next_round')}"
            why = f"This is an earlier round: a decision is about {context.current.id} ({keys} go there)."
        elif shown.decision is not None and shown.state is not ProposalState.OPEN:
            why = f"{shown.id} is decided already ({shown.decision.kind.value.replace('_', ' ')})."
        else:
            why = f"{context.task.id} is {context.task.state.value.replace('_', ' ')}: it does not wait for you yet."
        screen.app.toast(why, "warning")
        return None

    async def _decide(
        self, kind: DecisionKind, shown: Proposal, *, note: str = "", confirm: Sequence[str] = ()
    ) -> bool:
        """Ask for the decision on exactly the tree that was on the screen; says whether it was recorded."""
        screen = self._desk
        args: dict[str, Any] = {
            "kind": kind.value,
            "proposals": [{"id": shown.id, "tree": shown.tree}],
            "note": note,
            "confirm": list(confirm),
        }
        answer = await screen.app.ask("decide", args)
        row = next(iter((answer or {}).get("decisions", [])), None)
        if row is None:
            return False
        words, well = landing_words(row)
        if not row.get("recorded"):
            screen.app.toast(f"{shown.id}: {words}", "error")
            await screen.reload()
            return False
        done = {"approve": "approved", "reject": "rejected", "send_back": "sent back"}[kind.value]
        screen.app.toast(
            f"{shown.id} {words or done}.".replace("..", "."), "information" if well else "warning"
        )
        self._last = shown.id
        screen.selected.discard(shown.id)
        screen.forget_picked(shown.id)
        if well and (following := self._following(shown.id)):
            screen.open(following)
        else:
            await screen.reload()
        return True

    def _following(self, decided: str) -> str:
        """The next proposal in the row that still waits; "" where none does."""
        queue = self._desk.waiting_queue
        waiting = {card.proposal for card in waiting_cards(self._desk.app.snapshot.inbox)} - {decided}
        here = queue.index(decided) if decided in queue else -1
        order = [*queue[here + 1 :], *queue[: max(0, here)]]
        return next((name for name in order if name in waiting), "")

    # Take back

    @work(group="decide")
    async def action_undo(self) -> None:
        """Take back the landing or the approval of what is shown, else what was decided last."""
        screen = self._desk
        context, shown = screen.context, screen.shown
        if context is None or shown is None or self._asking:
            return
        target, task_state = shown, context.task.state
        if not _can_undo(shown, task_state) and self._last:
            last = self._last
            target = await screen.app.feed.read(lambda reader: reader.proposal(last))
            task_state = (await screen.app.feed.read(lambda reader: reader.task(target.task_id))).state
        if not _can_undo(target, task_state):
            screen.app.toast(f"{target.id} has neither landed nor an approval to take back.", "warning")
            return
        self._asking = True
        try:
            await self._take_back(target)
        finally:
            self._asking = False

    async def _take_back(self, target: Proposal) -> None:
        screen = self._desk
        landing = target.landing
        if landing is None or landing.state is not LandingState.LANDED:
            done = f"{target.id} waits for a decision again."
            if await screen.app.ask("take-back", {"ids": [target.id]}, done=done) is not None:
                screen.open(target.id)
            return
        where = landing.ref.removeprefix("refs/heads/")
        question = ConfirmDialog(
            f"Take the landing of {target.id} back?",
            [f"{target.project}: {target.title}", f"{landing.commit[:10]} on {where}"],
            yes="take it back",
        )
        if not await screen.app.push_screen_wait(question):
            return
        answer = await screen.app.ask("undo", {"ids": [target.id]})
        for row in (answer or {}).get("undone", []):
            if row.get("undone"):
                screen.app.toast(f"{row['id']} is taken back: {row.get('reason') or 'done'}.")
                screen.open(target.id)
            else:
                screen.app.toast(f"{row['id']}: {row.get('reason')}", "error")

    # The batch

    def action_approve_batch(self) -> None:
        """The selected proposals, or every one of the row that waits."""
        self._ask_batch(DecisionKind.APPROVE)

    def action_reject_batch(self) -> None:
        """The same, rejected."""
        self._ask_batch(DecisionKind.REJECT)

    def _ask_batch(self, kind: DecisionKind) -> None:
        screen = self._desk
        wanted = screen.selected or set(screen.waiting_queue)
        cards = [card for card in waiting_cards(screen.app.snapshot.inbox) if card.proposal in wanted]
        if not cards:
            screen.app.toast("No proposal here waits for a decision.", "warning")
            return
        screen.post_message(DecideAll(kind, [(card.proposal, card.tree) for card in cards]))


def waiting_cards(cards: Sequence[Card]) -> list[Card]:
    """Those that a decision can be made on now."""
    return [card for card in cards if card.open and card.state is TaskState.AWAITING_APPROVAL]


def _can_undo(proposal: Proposal, state: TaskState) -> bool:
    landed = proposal.landing is not None and proposal.landing.state is LandingState.LANDED
    approved = proposal.decision is not None and proposal.decision.kind is DecisionKind.APPROVE
    return landed or (approved and state is TaskState.APPROVED)


def _policy_dialog(shown: Proposal, item: PolicyItem, number: int, of: int) -> ConfirmDialog:
    what = item.detail or item.rule.replace("_", " ")
    count = f"{number} of {of}  " if of > 1 else ""
    return ConfirmDialog(
        f"{count}{shown.id} touches {item.path}",
        [what, f"rule: {item.rule.replace('_', ' ')}"],
        yes="I have looked at it",
    )


def approval_lines(context: ReviewContext, shown: Proposal, overlaps: Sequence[str]) -> list[str]:
    """What to know before approving: where it goes, and what speaks against it. Reads the repository: call in a thread."""
    project = context.project
    lines = [f"{project.name}   +{shown.added} −{shown.removed}   tree {shown.tree[:10]}"]
    try:
        from navigator.workspace.git.facts import read_facts

        facts = read_facts(project.path)
        lines.append(f"→ {destination(project, context.batches.get(shown.id, shown.batch), facts)}")
        if facts.hooks:
            lines.append(f"Hooks exist ({', '.join(facts.hooks)}): they will not run.")
    except NavigatorError as error:
        lines.append(f"⚠ {error}")
    review = shown.review
    if shown.parent:
        lines.append(part_words(shown, context.whole))
    elif review is None or review.verdict is not Verdict.APPROVE:
        said = "nobody reviewed it" if review is None else f"the reviewer says {review.verdict.value}"
        lines.append(f"⚠ {said}")
    lines += [f"⚠ failed check: {check.name}" for check in shown.failed_checks]
    if overlaps:
        lines.append(f"⚠ overlaps {', '.join(overlaps)}: whichever lands second may become stale")
    if not shown.seen:
        lines.append("⚠ not looked at to its end")
    return lines
