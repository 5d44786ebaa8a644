"""What the deck's keys do to proposals and tasks. Each asks first where it cannot be taken back by a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from textual import work

from navigator.domain.states import CANCELLABLE_TASK_STATES, RETRYABLE_TASK_STATES, DecisionKind, TaskState
from navigator.store.reads.cards import Card
from navigator.tui.dialogs.confirm import ConfirmDialog
from navigator.tui.messages import DecideAll

if TYPE_CHECKING:
    from navigator.tui.deck.screen import DeckScreen


class DeckDecisions:
    """Mixed into the deck's screen."""

    @property
    def _deck(self) -> DeckScreen:
        return cast("DeckScreen", self)

    def action_approve(self) -> None:
        """The proposal under the cursor; a report is put away."""
        card = self._deck.current_card
        if card is None:
            return
        if card.suggestions and not card.proposal:
            self._deck.action_open()  # what it proposes is chosen there: putting it away would dismiss all of it
        elif card.report and not card.proposal:
            self._put_away(card)
        elif (card.open and card.state is TaskState.AWAITING_APPROVAL) or card.landing == "refused":
            self._deck.post_message(DecideAll(DecisionKind.APPROVE, [(card.proposal, card.tree)]))
        else:
            self._deck.app.toast(f"{card.proposal or card.task} does not wait for a decision.", "warning")

    def action_approve_batch(self) -> None:
        """The selected proposals, or the batch of the one under the cursor."""
        self._decide_all(DecisionKind.APPROVE)

    def action_reject_batch(self) -> None:
        """The same, rejected."""
        self._decide_all(DecisionKind.REJECT)

    def batch_cards(self) -> list[Card]:
        """What a batch key is about: the selected proposals, else those on the screen of the batch under the cursor."""
        inbox = self._deck.pane("inbox")
        chosen: list[Card] = inbox.selected_rows
        if not chosen:
            current = inbox.current
            chosen = [card for card in inbox.rows if current is not None and card.batch == current.batch]
        return [card for card in chosen if card.open and card.state is TaskState.AWAITING_APPROVAL]

    def _decide_all(self, kind: DecisionKind) -> None:
        cards = self.batch_cards()
        if not cards:
            self._deck.app.toast("No proposal here waits for a decision.", "warning")
            return
        self._deck.post_message(DecideAll(kind, [(card.proposal, card.tree) for card in cards]))

    def _ask(self, op: str, args: dict[str, Any], done: str) -> None:
        self._deck.run_worker(self._deck.app.ask(op, args, done=done))

    def action_review_now(self) -> None:
        """Swap to the reviewer without waiting for the batch to fill."""
        if self._deck.app.snapshot.loaded and not self._deck.app.snapshot.awaiting_review:
            self._deck.app.toast("Nothing waits for review.", "warning")
            return
        self._review_now()

    @work
    async def _review_now(self) -> None:
        nav = self._deck.app
        if not nav.link.here and nav.settings.swap.strategy is not None and not await nav.started():
            return
        await nav.ask("review.now", {}, done="The reviewer comes next.")

    def action_mark_seen(self) -> None:
        """Looked at, or not."""
        inbox = self._deck.pane("inbox")
        cards: list[Card] = inbox.selected_rows or [
            card for card in [self._deck.current_card] if card is not None
        ]
        cards = [card for card in cards if card.proposal]
        if cards:
            seen = not all(card.seen for card in cards)
            word = "looked at" if seen else "not looked at"
            ids = [card.proposal for card in cards]
            self._ask(
                "seen",
                {"ids": ids, "seen": seen},
                f"{', '.join(ids[:3])}{' …' if len(ids) > 3 else ''}: {word}.",
            )

    @work
    async def _put_away(self, card: Card) -> None:
        await self._deck.app.ask("task.done", {"ids": [card.task]}, done=f"{card.task} is put away.")

    @work
    async def action_undo(self) -> None:
        """Take a landing or an approval back."""
        nav, card = self._deck.app, self._deck.current_card
        if card is None or not card.proposal:
            return
        if card.state is TaskState.APPROVED:
            await nav.ask(
                "take-back", {"ids": [card.proposal]}, done=f"{card.proposal} waits for a decision again."
            )
            return
        if card.state is not TaskState.LANDED:
            nav.toast(f"{card.proposal} has not landed.", "warning")
            return
        dialog = ConfirmDialog(
            f"Take the landing of {card.proposal} back?",
            [f"{card.project}: {card.title}", f"on {card.landing_ref.removeprefix('refs/heads/')}"],
            yes="take it back",
        )
        if not await nav.push_screen_wait(dialog):
            return
        answer = await nav.ask("undo", {"ids": [card.proposal]})
        for row in (answer or {}).get("undone", []):
            if row.get("undone"):
                nav.toast(f"{row['id']} is taken back. {row.get('reason') or ''}".strip())
            else:
                nav.toast(f"{row['id']}: {row.get('reason')}", "error")

    @work
    async def action_retry(self) -> None:
        """A new attempt."""
        nav, card = self._deck.app, self._deck.current_card
        if card is None:
            return
        if card.state not in RETRYABLE_TASK_STATES:
            nav.toast(f"{card.task} has not ended without landing: there is nothing to retry.", "warning")
            return
        await nav.ask("task.retry", {"ids": [card.task]}, done=f"{card.task} is queued again.")

    @work
    async def action_cancel(self) -> None:
        """Cancel a task that has not ended."""
        nav, card = self._deck.app, self._deck.current_card
        if card is None:
            return
        if card.state not in CANCELLABLE_TASK_STATES:
            nav.toast(f"{card.task} is {card.state.value}: it cannot be cancelled.", "warning")
            return
        lines = [f"{card.project}: {card.title}"]
        if card.proposal:
            lines.append("Its proposal is kept, and can be had again with a retry.")
        if await nav.push_screen_wait(ConfirmDialog(f"Cancel {card.task}?", lines, yes="cancel the task")):
            await nav.ask("task.cancel", {"ids": [card.task]}, done=f"{card.task} is cancelled.")
