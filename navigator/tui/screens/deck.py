"""The deck: every project, what waits for the developer, what is in work, what ended today."""

from __future__ import annotations

from textual.app import ComposeResult

from navigator.store.cards import Card
from navigator.tui.glance import Glance
from navigator.tui.messages import OpenProposal
from navigator.tui.screens.base import NavScreen
from navigator.tui.widgets.cells import Piece, fit
from navigator.tui.widgets.rows import RowList


class DeckScreen(NavScreen):
    """The first screen."""

    SCOPE = "deck"
    TITLE = "deck"
    FULL_STRIP = True

    def compose_body(self) -> ComposeResult:
        """The lists."""
        yield RowList[Card](lambda card: card.task, _draw, selectable=True, id="inbox")

    def show_glance(self, glance: Glance) -> None:
        """New rows."""
        self.query_one("#inbox", RowList).set_rows(glance.inbox)

    def action_open(self) -> None:
        """Open the row under the cursor."""
        card = self.query_one("#inbox", RowList).current
        if card is not None:
            self.post_message(OpenProposal(card.proposal))


def _draw(card: Card, width: int) -> list[Piece]:
    return [(fit(f"{card.proposal or card.task} {card.project} {card.title}", width), "")]
