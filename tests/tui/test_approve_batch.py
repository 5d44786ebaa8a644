"""Batch decisions: exactly what was on the screen, what is left out and why, and what became of each."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from navigator.config.paths import StatePaths
from navigator.config.settings import Settings
from navigator.engine.alone import act_alone
from navigator.landing.plan import unknown_person
from navigator.model.states import DecisionKind, ProposalState, TaskState
from navigator.sheet.marks import facts_of
from navigator.store.database import open_writer
from navigator.tui.app import NavigatorApp
from navigator.tui.base import DecideAll
from navigator.tui.dialogs import HelpScreen
from navigator.tui.review import batch
from navigator.tui.review.batch import BatchDialog
from navigator.tui.widgets.page import Page
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import Dialog
from tests.journey.support import git, without_identity
from tests.tui import world
from tests.tui.driving import loaded, until
from tests.tui.reviewing import Reviewing
from tests.tui.test_review import Driver, opened


def ask(at: Driver, *ids: str, kind: DecisionKind = DecisionKind.APPROVE) -> None:
    """The dialog about everything that waits, or about these."""
    cards = [card for card in at.app.snapshot.inbox if card.proposal and (not ids or card.proposal in ids)]
    at.screen.post_message(DecideAll(kind, [(card.proposal, card.tree) for card in cards]))


async def asked(at: Driver, *ids: str, kind: DecisionKind = DecisionKind.APPROVE) -> BatchDialog:
    ask(at, *ids, kind=kind)
    dialog: BatchDialog = await at.dialog(BatchDialog)
    await at.until(lambda: dialog._stage == "asking", "the dialog's list")
    return dialog


def reasons(dialog: BatchDialog) -> dict[str, str]:
    return {candidate.id: candidate.left_out for candidate in dialog.left_out}


async def done(at: Driver, dialog: BatchDialog) -> None:
    await at.until(lambda: dialog._stage == "done", "the summary")


def words(dialog: BatchDialog) -> str:
    made = [*dialog._question(100), *dialog._notes(100), *dialog._answer(100)]
    return "\n".join("".join(text for text, _ in line) for line in made)


async def test_a_batch_from_its_question_to_its_summary(
    reviewing: Reviewing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_identity(monkeypatch, tmp_path)
    hook = reviewing.repository / ".git" / "hooks" / "pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    async with opened(reviewing) as at:
        dialog = await asked(at)
        assert dialog.taken == []
        assert reasons(dialog) == {
            "P2": "the reviewer says REVISE",
            "P3": "not seen",
            "P4": "to confirm: Makefile: touches Makefile",
            "P5": "not seen",
        }
        assert "You have not looked at 2 yet." in words(dialog) and "? help" in words(dialog)
        dialog.query_one("#rows").move_to_key("P2")  # type: ignore[attr-defined]
        await at.press("+", "enter")
        assert dialog.taken == [] and dialog._stage == "asking", "no other reason is taken away"
        await at.press("question_mark")
        await at.until(lambda: isinstance(at.app.screen, HelpScreen), "the help")
        assert at.app.screen.query_one(Page).lines[0] == [("APPROVING OR REJECTING A BATCH", "heading")]
        await at.press("escape")
        await at.until(lambda: at.app.screen is dialog, "the dialog")
        await at.press("*")
        assert [candidate.id for candidate in dialog.taken] == ["P3", "P5"]
        assert sorted(reasons(dialog)) == ["P2", "P4"], "another reason stays a reason"
        assert "who you are" not in words(dialog)
        assert "Hooks exist in billing (pre-commit): they will not run." in words(dialog)
        await at.press("escape")
        await at.back()
        assert all(at.proposal(f"P{n}").decision is None for n in (2, 3, 4, 5))

        git(reviewing.repository, "config", "--unset", "user.name")
        dialog = await asked(at)
        await at.press("*")
        unknown = unknown_person(str(reviewing.repository))
        assert f"⚠ billing: {unknown}" in " ".join(words(dialog).split())
        await at.press("escape")
        await at.back()

        git(reviewing.repository, "config", "user.name", "A Developer")
        dialog = await asked(at)
        await at.press("+")
        assert [candidate.id for candidate in dialog.taken] == ["P3"]
        await at.press("+")
        assert "Approve 2 proposals?" in words(dialog)
        rows = {row.key: row for row in dialog._rows()}
        assert rows["=billing"].end == "→ navigator/2026-11-20"
        await at.press("enter")
        await done(at, dialog)
        assert "2 landed" in words(dialog)
        assert {at.proposal(name).state for name in ("P3", "P5")} == {ProposalState.LANDED}
        assert not at.proposal("P5").seen, "included is not looked at"
        assert at.proposal("P4").decision is None
        await at.press("enter")
        await at.back()


async def test_what_changed_or_overlaps_is_left_out(
    reviewing: Reviewing, monkeypatch: pytest.MonkeyPatch
) -> None:
    await asyncio.to_thread(act_alone, reviewing.paths, "seen", {"ids": ["P3", "P5"]})
    async with opened(reviewing, "P3") as at:
        await asyncio.to_thread(act_alone, reviewing.paths, "reject", {"proposals": [{"id": "P5"}]})
        tree = at.proposal("P3").tree
        at.screen.post_message(
            DecideAll(DecisionKind.APPROVE, [("P3", "f" * 40), ("P5", at.proposal("P5").tree)])
        )
        dialog: Any = await at.dialog(BatchDialog)
        await at.until(lambda: dialog._stage == "asking")
        assert reasons(dialog) == {"P3": "has changed since you looked at it", "P5": "is already rejected"}
        await at.press("escape")
        await at.back()

        monkeypatch.setattr(
            batch, "facts_of", lambda *given: [of._replace(overlaps=("P31",)) for of in facts_of(*given)]
        )
        at.screen.post_message(DecideAll(DecisionKind.APPROVE, [("P3", tree)]))
        dialog = await at.dialog(BatchDialog)
        await at.until(lambda: dialog._stage == "asking", "the dialog's list")
        assert "Nothing to approve" in words(dialog) and reasons(dialog) == {"P3": "overlaps P31"}
        assert "approve one separately (a); the other is then written again on top of it" in words(dialog)


async def test_a_refused_landing_is_said_in_full_and_takes_no_other_with_it(reviewing: Reviewing) -> None:
    await asyncio.to_thread(act_alone, reviewing.paths, "seen", {"ids": ["P3", "P5"]})
    async with opened(reviewing, size=(80, 24)) as at:
        (reviewing.repository / "README.md").write_text("Another text altogether.\n")
        git(reviewing.repository, "commit", "--quiet", "-am", "Meanwhile")
        dialog = await asked(at)
        await at.press("enter")
        await done(at, dialog)
        outcomes = dialog._outcomes
        assert outcomes["P5"].level == "information" and outcomes["P5"].text.startswith("landed ")
        assert outcomes["P3"].level != "information" and "README.md" in outcomes["P3"].text
        assert "1 landed, 1 not landed" in words(dialog)
        assert at.read().task(at.proposal("P3").task_id).state is TaskState.STALE
        page = dialog.query_one(Page)
        drawn = ["".join(text for text, _ in line) for line in page.lines]
        assert len(drawn) > 2 and not any("…" in line for line in drawn)
        assert " ".join(outcomes["P3"].text.split()) in " ".join(" ".join(drawn).split())
        await at.until(lambda: page.size.height >= len(page.lines), "room for all of it")


async def test_it_opens_at_its_top(tmp_path: Path) -> None:
    """What is approved is seen first, however much is left out below."""
    paths = StatePaths(tmp_path / "many").ensure()
    world.many(paths, projects=3, proposals=40)
    with closing(open_writer(paths.database)) as connection, connection:
        connection.execute("UPDATE proposals SET seen = 1 WHERE id > 6")
    app = NavigatorApp(Settings(), paths, autostart=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await loaded(pilot)
        await pilot.press("A")
        await until(pilot, lambda: isinstance(app.screen, BatchDialog) and app.screen._stage == "asking")
        dialog = app.screen
        listed = dialog.query_one("#rows", RowList)
        await until(pilot, lambda: listed.size.height > 3, what="its height")
        assert dialog.taken and len(listed.rows) > listed.size.height
        await until(pilot, lambda: listed.scroll_y == 0, what="its top, once it has its height")


async def test_a_batch_is_rejected_once_keys_answer(
    reviewing: Reviewing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dialog, "GRACE", 3600.0)
    async with opened(reviewing) as at:
        ask(at, kind=DecisionKind.REJECT)
        await at.until(lambda: isinstance(at.app.screen, BatchDialog) and at.app.screen._stage == "asking")
        dialog = at.app.screen
        assert reasons(dialog) == dict.fromkeys(("P2", "P3", "P4", "P5"), "not seen")
        await at.press("enter", "+")
        assert dialog.taken == [] and at.proposal("P2").decision is None, "keys are dead at first"
        dialog._arm()
        await at.press("+", "+", "+")
        assert len(dialog.taken) == 3
        await at.press("enter")
        await done(at, dialog)
        assert sorted(dialog._outcomes) == ["P2", "P3", "P4"]
        assert at.proposal("P5").decision is None
