"""Existing work on the screens: chosen on the Deck, read in Review, fixed or put away there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from navigator.actions.registry import perform
from navigator.cli.session import locked_dependencies
from navigator.config.paths import StatePaths
from navigator.journey.change import check
from navigator.model.models import Review
from navigator.model.states import TaskState, Verdict
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from navigator.tui.dialogs import NoteDialog, PickDialog
from navigator.tui.keys import ACTIONS
from navigator.tui.review.screen import ReviewScreen
from navigator.tui.widgets.screen import KeyBar
from tests.journey.support import git, make_repository
from tests.tui.conftest import AppMaker
from tests.tui.driving import loaded, type_at_once, until


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    made = make_repository(tmp_path / "code", {"app.py": b"x = 1\n"})
    git(made, "checkout", "-q", "-b", "topic")
    (made / "app.py").write_text("x = 2\n")
    git(made, "commit", "-q", "-am", "Two")
    git(made, "checkout", "-q", "main")
    return made


async def act(paths: StatePaths, op: str, **args: Any) -> dict[str, Any]:
    with locked_dependencies(paths) as deps:
        return await perform(deps, op, args)


async def read_it(paths: StatePaths) -> None:
    """The checks and the review of T1, without a model."""
    with locked_dependencies(paths) as deps:
        await check(deps, "T1")
        with deps.store.transaction() as tx:
            tx.set_task_state("T1", TaskState.REVIEWING)
            tx.add_review("P1", Review(verdict=Verdict.APPROVE, model="m", prompt_version="review@1"))
            tx.set_task_state("T1", TaskState.AWAITING_APPROVAL)


async def test_chosen_read_and_fixed(
    empty_state: StatePaths, repository: Path, make_app: AppMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NAVIGATOR_STATE", str(empty_state.root))
    await act(empty_state, "project.add", path=str(repository), name="code")
    reader = Reader(open_reader(empty_state.database))
    app = make_app(empty_state)
    async with app.run_test(size=(120, 36)) as pilot:
        await loaded(pilot)
        deck = app.screen
        await until(pilot, lambda: bool(deck.pane("projects").rows))
        bar = deck.query_one(KeyBar)
        assert "review existing work" not in str(bar.render())
        deck._focus("projects")
        await pilot.pause()
        assert "V review existing work" in str(bar.render()) and "a approve" not in str(bar.render())
        await pilot.press("V")
        await until(pilot, lambda: isinstance(app.screen, PickDialog), what="the choice")
        type_at_once(app, "topic")
        await pilot.press("enter")
        await until(pilot, lambda: bool(reader.tasks()), what="the task")
        (task,) = reader.tasks()
        assert (task.ref, task.state) == ("topic", TaskState.CHECKING)
        await read_it(empty_state)
        await until(pilot, lambda: bool(deck.pane("inbox").rows), what="the review in the inbox")
        await pilot.press("A")
        await pilot.pause()
        assert app.screen is deck  # nothing to approve
        deck._focus("inbox")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ReviewScreen) and app.screen.shown is not None)
        screen = app.screen
        offered = [
            name
            for name in ("request_fix", "put_away", "approve")
            if screen.offers(ACTIONS[f"review.{name}"])
        ]
        assert offered == ["request_fix", "put_away"]
        assert not screen.offers(ACTIONS["diff.select"])
        head = "".join(text for text, _ in screen._head(120)[1])
        assert "reviewed by" in head and ", reviewed" not in head  # nobody is known to have written it
        await pilot.press("a")
        await until(
            pilot,
            lambda: any("x in Review" in notice.message for notice in app._notifications),
            what="why not",
        )
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, NoteDialog) and app.screen.ready, what="the note")
        type_at_once(app, "More")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(reader.tasks()) == 2, what="the fix")
        assert [one.state for one in reader.tasks()] == [TaskState.DONE, TaskState.QUEUED]
        assert reader.task("T2").base == "topic" and "More" in reader.task("T2").text
