"""Pictures of Review, its dialogs and Compose: two sizes, two themes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from navigator.config.settings import Settings
from navigator.model.states import DecisionKind
from navigator.tui.app import NavigatorApp
from navigator.tui.base import ComposeFor, DecideAll, OpenProposal
from navigator.tui.compose import ComposeScreen
from navigator.tui.dialogs import PickDialog
from navigator.tui.review.batch import BatchDialog
from navigator.tui.review.screen import ReviewScreen
from navigator.tui.widgets.screen import Dialog
from tests.tui.driving import loaded, looks, until
from tests.tui.reviewing import Reviewing

Script = Callable[[Pilot[Any]], Awaitable[None]]


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NavigatorApp, "toast", lambda *words, **more: None)


async def to_review(pilot: Pilot[Any], proposal: str = "P2") -> ReviewScreen:
    app = await loaded(pilot)
    app.go("review", OpenProposal(proposal, [card.proposal for card in app.snapshot.inbox]))
    await until(pilot, lambda: isinstance(app.screen, ReviewScreen) and app.screen._drawn is not None)
    screen = app.screen
    assert isinstance(screen, ReviewScreen)
    return screen


async def painted(pilot: Pilot[Any]) -> None:
    """Syntax colours come from a worker."""
    await pilot.pause()
    endless = ("follow", "conductor", "decide", "pick")
    ending = [worker for worker in pilot.app.workers if worker.group not in endless]
    if ending:  # no workers at all would mean every worker
        await pilot.app.workers.wait_for_complete(ending)
    await pilot.pause()


async def review(pilot: Pilot[Any]) -> None:
    screen = await to_review(pilot)
    screen.diff.move_to("billing/totals.py", "new", 29)
    await painted(pilot)


async def chosen(pilot: Pilot[Any]) -> None:
    screen = await to_review(pilot)
    await pilot.press("right_square_bracket", "right_square_bracket", "space")
    await until(pilot, lambda: bool(screen.diff.chosen))
    await painted(pilot)


async def taking(pilot: Pilot[Any]) -> None:
    await chosen(pilot)
    await pilot.press("a")
    await until(pilot, lambda: isinstance(pilot.app.screen, Dialog) and pilot.app.screen.ready)
    await painted(pilot)


async def batch(pilot: Pilot[Any]) -> None:
    await to_review(pilot)
    app = cast("NavigatorApp", pilot.app)
    cards = [card for card in app.snapshot.inbox if card.proposal]
    app.screen.post_message(DecideAll(DecisionKind.APPROVE, [(card.proposal, card.tree) for card in cards]))
    await until(
        pilot,
        lambda: isinstance(app.screen, BatchDialog) and app.screen.ready and app.screen._stage == "asking",
    )
    await pilot.press("+")
    await painted(pilot)


async def compose(pilot: Pilot[Any]) -> None:
    app = await loaded(pilot)
    app.go("compose", ComposeFor(["billing"]))
    await until(pilot, lambda: isinstance(app.screen, ComposeScreen) and bool(app.screen._bases))
    await pilot.press(*"Round", "space", *"half", "tab", "j", "right")
    await painted(pilot)


async def files(pilot: Pilot[Any]) -> None:
    await compose(pilot)
    await pilot.press("G", "enter")
    await until(
        pilot, lambda: isinstance(pilot.app.screen, PickDialog) and len(pilot.app.screen.rows.rows) == 5
    )
    await until(pilot, lambda: isinstance(pilot.app.focused, Input))
    await pilot.press("tab")
    await painted(pilot)


@looks
def test_review(
    snap_compare: Callable[..., bool], reviewing: Reviewing, theme: str, size: tuple[int, int]
) -> None:
    assert snap_compare(made(reviewing, theme), terminal_size=size, run_before=review)


@pytest.mark.parametrize("script", [batch, compose, files, taking], ids=lambda script: script.__name__)
def test_states(snap_compare: Callable[..., bool], reviewing: Reviewing, script: Script) -> None:
    assert snap_compare(made(reviewing, "navigator-dark"), terminal_size=(100, 30), run_before=script)


def made(reviewing: Reviewing, theme: str) -> NavigatorApp:
    app = NavigatorApp(Settings(), reviewing.paths, autostart=False)
    app.theme = theme
    return app
