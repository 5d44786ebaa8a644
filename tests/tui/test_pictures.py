"""Pictures of the screens and of what opens over them; the deck and Review in two sizes and themes."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from navigator.config.settings import Settings
from navigator.model.states import DecisionKind
from navigator.tui.answers.screen import AnswerScreen
from navigator.tui.app import NavigatorApp
from navigator.tui.base import ComposeFor, DecideAll, OpenProposal
from navigator.tui.compose import ComposeScreen
from navigator.tui.conductor_link import ConductorLink
from navigator.tui.deck_snapshot import LiveStatus, SwapProgress
from navigator.tui.dialogs import HelpScreen, PickDialog
from navigator.tui.review.batch import BatchDialog
from navigator.tui.review.screen import ReviewScreen
from navigator.tui.welcome import FirstRunScreen
from navigator.tui.widgets import strip as strip_text
from navigator.tui.widgets.page import Page
from navigator.tui.widgets.screen import Dialog
from tests.tui import test_fleet, test_statistics
from tests.tui.driving import loaded, until
from tests.tui.test_answers import answered  # noqa: F401 (a fixture)

CONFIG = Path("/home/dev/.config/navigator/config.toml")
Script = Callable[[NavigatorApp, Pilot[Any]], Awaitable[object]]


@pytest.fixture(autouse=True)
def still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that passes by; the link's picture is put back after each test."""
    monkeypatch.setattr(NavigatorApp, "toast", lambda *words, **more: None)
    monkeypatch.setattr(ConductorLink, "live", ConductorLink.live)
    for module in ("welcome", "dialogs"):
        monkeypatch.setattr(f"navigator.tui.{module}.config_path", lambda: CONFIG)
    clock = time.monotonic()
    monkeypatch.setattr("navigator.tui.widgets.strip.time", SimpleNamespace(monotonic=lambda: clock))


def working(app: NavigatorApp, swap: SwapProgress | None = None) -> None:
    """As if a conductor had just told this."""
    status = {"resident": "generator", "strategy": "systemd", "busy": {"T177": "generator"}}
    live = LiveStatus("here", "", int(swap is None), 600.0 if swap is None else 0.0, swap, status)
    type(app.link).live = property(lambda self: live)  # type: ignore[assignment,method-assign]
    app._live_changed()


async def deck(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    working(app)
    await pilot.press("j", "space")


async def swapping(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    now = strip_text.time.monotonic()
    ended = (("drain", 0.4), ("stop", 2.1), ("start", 6.0))
    working(app, SwapProgress("generator", "reviewer", now - 27, "load", now - 18.5, ended))


async def help_page(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    await pilot.press("question_mark")
    await until(pilot, lambda: isinstance(app.screen, HelpScreen) and bool(app.screen.query_one(Page).lines))


async def first_run(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    await until(pilot, lambda: isinstance(app.screen, FirstRunScreen))


async def statistics(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    await test_statistics.opened(pilot)


async def fleet(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    await test_fleet.opened(pilot)


async def report(app: NavigatorApp, pilot: Pilot[Any], *up: str) -> None:
    await pilot.press("G", "k", *up, "enter")
    await until(pilot, lambda: isinstance(app.screen, AnswerScreen) and app.screen.answer is not None)


async def suggestions(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    await report(app, pilot, "k")
    await pilot.press("j", "space", "k")


async def to_review(app: NavigatorApp, pilot: Pilot[Any]) -> ReviewScreen:
    app.go("review", OpenProposal("P2", [card.proposal for card in app.snapshot.inbox]))
    await until(pilot, lambda: isinstance(app.screen, ReviewScreen) and app.screen._drawn is not None)
    return cast("ReviewScreen", app.screen)


async def review(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    screen = await to_review(app, pilot)
    screen.diff.move_to("billing/totals.py", "new", 29)


async def taking(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    screen = await to_review(app, pilot)
    await pilot.press("right_square_bracket", "right_square_bracket", "space")
    await until(pilot, lambda: bool(screen.diff.chosen))
    await painted(app, pilot)
    await pilot.press("a")
    await until(pilot, lambda: isinstance(app.screen, Dialog) and app.screen.ready)


async def batch(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    await to_review(app, pilot)
    cards = [card for card in app.snapshot.inbox if card.proposal]
    app.screen.post_message(DecideAll(DecisionKind.APPROVE, [(card.proposal, card.tree) for card in cards]))
    await until(
        pilot,
        lambda: isinstance(app.screen, BatchDialog) and app.screen.ready and app.screen._stage == "asking",
    )
    await pilot.press("+")


async def compose(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    app.go("compose", ComposeFor(["billing"]))
    await until(pilot, lambda: isinstance(app.screen, ComposeScreen) and bool(app.screen._bases))
    await pilot.press(*"Round", "space", *"half", "tab", "j", "right")
    await painted(app, pilot)


async def files(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    await compose(app, pilot)
    await pilot.press("G", "enter")
    await until(pilot, lambda: isinstance(app.screen, PickDialog) and len(app.screen.rows.rows) == 5)
    await until(pilot, lambda: isinstance(app.focused, Input))
    await pilot.press("tab")


async def painted(app: NavigatorApp, pilot: Pilot[Any]) -> None:
    """Syntax colours come from a worker."""
    await pilot.pause()
    endless = ("follow", "conductor", "decide", "pick")
    ending = [worker for worker in app.workers if worker.group not in endless]
    if ending:  # no workers at all would mean every worker
        await app.workers.wait_for_complete(ending)
    await pilot.pause()


class Picture(NamedTuple):
    """What is done before it is taken, of which state (a fixture), and how it is shown."""

    script: Script
    state: str = "state"
    size: tuple[int, int] = (120, 36)
    theme: str = "navigator-dark"
    settings: Settings = Settings(source=CONFIG)


SMALL, MEDIUM, LARGE, LIGHT = (80, 24), (100, 30), (200, 60), "navigator-light"
PICTURES = {
    "deck-small": Picture(deck, size=SMALL),
    "deck-large": Picture(deck, size=LARGE, theme=LIGHT),
    "swapping": Picture(swapping),
    "help": Picture(help_page),
    "first-run": Picture(first_run, "empty_state", SMALL, settings=Settings()),
    "statistics": Picture(statistics, size=SMALL),
    "fleet": Picture(fleet, "state", LARGE, LIGHT, test_fleet.settings(test_fleet.CLOSED, test_fleet.CLOSED)),
    "report": Picture(report, "answered", SMALL),
    "suggestions": Picture(suggestions, "answered", LARGE, LIGHT),
    "review-small": Picture(review, "reviewing", SMALL),
    "review-large": Picture(review, "reviewing", LARGE, LIGHT),
    "taking": Picture(taking, "reviewing", MEDIUM),
    "batch": Picture(batch, "reviewing", MEDIUM),
    "compose": Picture(compose, "reviewing", MEDIUM),
    "files": Picture(files, "reviewing", MEDIUM),
}


@pytest.mark.parametrize("name", PICTURES)
def test_picture(snap_compare: Callable[..., bool], request: pytest.FixtureRequest, name: str) -> None:
    script, state, size, theme, settings = PICTURES[name]
    held = request.getfixturevalue(state)
    app = NavigatorApp(settings, held.paths if state == "reviewing" else held, autostart=False)
    app.theme = theme

    async def before(pilot: Pilot[Any]) -> None:
        await script(await loaded(pilot), pilot)
        await painted(app, pilot)

    assert snap_compare(app, terminal_size=size, run_before=before)
