"""The app comes up over a filled state, and shows what the store says."""

from __future__ import annotations

from navigator.tui.deck.screen import DeckScreen
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded


async def test_the_first_picture_arrives(make_app: AppMaker) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await loaded(pilot)
        assert isinstance(app.screen, DeckScreen)
        assert len(app.snapshot.projects) == 24
        assert [card.proposal or card.task for card in app.snapshot.inbox]
        assert app.snapshot.awaiting_review == 5
