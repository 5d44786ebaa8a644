"""Review, driven by keys over real trees, decided without a conductor through the same functions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, nullcontext
from pathlib import Path
from typing import Any, cast

import pytest
from textual.widgets import Input

from navigator.config.settings import Settings
from navigator.engine.alone import act_alone
from navigator.model.models import Proposal
from navigator.model.states import DecisionKind, LandingState, ProposalState, TaskState
from navigator.store.database import open_reader, open_writer
from navigator.store.reads.reader import Reader
from navigator.tui.app import NavigatorApp
from navigator.tui.base import OpenProposal
from navigator.tui.dialogs import ConfirmDialog, Editor, NoteDialog, PickDialog
from navigator.tui.review.context import finding_notes
from navigator.tui.review.screen import ReviewScreen
from navigator.tui.review.words import DetailsScreen
from navigator.tui.widgets.page import Page
from navigator.tui.widgets.screen import Dialog, KeyBar
from tests.journey.support import git
from tests.tui import driving
from tests.tui.driving import go_to_finding, loaded, type_at_once, until
from tests.tui.reviewing import Reviewing, editor_script


class Driver(driving.Driver):
    """The app with Review in front."""

    @property
    def screen(self) -> ReviewScreen:
        return cast("ReviewScreen", self.app.screen_stack[0])

    async def show(self, proposal: str) -> None:
        self.screen.open(proposal)
        await self.drawn(proposal)

    async def drawn(self, proposal: str) -> None:
        await self.until(
            lambda: (
                self.screen.shown is not None
                and self.screen.shown.id == proposal
                and self.screen._drawn is not None
                and self.screen._drawn[1] == self.screen.shown.tree
            ),
            f"{proposal} on the screen",
        )

    async def dialog(self, kind: type[Any]) -> Any:
        await self.until(lambda: isinstance(self.app.screen, kind), kind.__name__)
        dialog = self.app.screen
        if isinstance(dialog, Dialog):
            await self.until(lambda: dialog.ready, "the end of the moment of grace")
        return dialog

    async def back(self) -> None:
        await self.until(lambda: self.app.screen is self.screen, "Review again")

    async def comment(self, text: str) -> None:
        """Where the cursor is; what stands there already is gone on with."""
        await self.press("c")
        await self.dialog(NoteDialog)
        await self.type(text)
        await self.press("ctrl+s")

    def proposal(self, identifier: str) -> Proposal:
        return self.read().proposal(identifier)


def remarks_of(screen: ReviewScreen) -> list[str]:
    """What stands below the findings that are shown."""
    assert screen.context is not None and screen.shown is not None
    return [said for note in finding_notes(screen.context, screen.shown) for said in note.remarks]


@asynccontextmanager
async def opened(
    reviewing: Reviewing, proposal: str = "", size: tuple[int, int] = (100, 30), **options: Any
) -> AsyncIterator[Driver]:
    app = NavigatorApp(Settings(), reviewing.paths, autostart=False, **options)
    async with app.run_test(size=size) as pilot:
        await loaded(pilot)
        first = proposal or reviewing.second
        app.go("review", OpenProposal(first, [card.proposal for card in app.snapshot.inbox]))
        await until(pilot, lambda: app.current_mode == "review", what="the review screen")
        driver = Driver(pilot, app)
        await driver.drawn(first)
        yield driver


def plain(driver: Driver) -> str:
    """What stands in the head and the warnings."""
    screen = driver.screen
    lines = [*screen._head(160), *screen._warnings(160)]
    return "\n".join("".join(text for text, _ in line) for line in lines)


# What is shown


async def test_what_there_is_to_know_is_shown_copied_and_judged(reviewing: Reviewing) -> None:
    # A revision that was NO_CHANGE: its proposal waits with REVISE, and the writer said why.
    reason = "The generator keeps its change: net() is never\x1b[31m called with a float." + " Truly." * 40
    with closing(open_writer(reviewing.paths.database)) as connection, connection:
        connection.execute("UPDATE tasks SET reason = ? WHERE id = ?", (reason, int(reviewing.task[1:])))
    async with opened(reviewing) as at:
        words = plain(at)
        for expected in (
            "P2 billing · Round half-even in totals",
            "REVISE (1 round used)",
            "✓ tests 214 passed",
            "r0 ─ [r1]",
            "Qwen3.5-35B-A3B",
            "1 of 4",
            "overlaps P4",
        ):
            assert expected in words
        assert "review@" not in words and "generate@" not in words, "prompts are in the details"
        asked = "".join(text for line in at.screen._asked(80) for text, _ in line)
        assert asked.split() == at.screen.context.task.text.split(), "the task's text is above the diff"
        lines = ["".join(text for text, _ in line) for line in at.screen._warnings(100)]
        (said,) = (line for line in lines if "keeps its change" in line)
        assert "net() is never" in said and "\x1b" not in said and len(said) <= 100

        await at.press("i")
        details = await at.dialog(DetailsScreen)
        shown = "\n".join("".join(text for text, _ in line) for line in details.query_one(Page).lines)
        assert "check tests\npassed in 12.4 s\n214 passed" in shown
        assert "Truly. Truly." in shown and "\x1b" not in shown
        await at.press("escape")
        await at.back()

        view = at.screen.diff
        assert go_to_finding(view, "freviewer0")
        assert (view.location.path, view.location.line) == ("billing/totals.py", 29)
        assert "freviewer1" in view.collapsed, "a nit takes one row until it is asked for"
        await at.press("y")
        assert "Decimal cannot be divided by a float" in at.app.clipboard
        await at.press("J")
        await at.dialog(PickDialog)
        await at.press(*"wrong", "enter")
        await at.dialog(NoteDialog)
        await at.press(*"no", "ctrl+s")
        await at.back()
        await at.until(lambda: "you: wrong: no" in remarks_of(at.screen), "the judgement")
        view.move_to("billing/totals.py")
        await at.press("y", "J")
        assert at.app.clipboard == "billing/totals.py"
        assert at.app.screen_stack[-1] is at.screen, "there is no finding there"
        view.move_to("billing/totals.py", "new", 3)
        await at.press("y")
        assert at.app.clipboard == "billing/totals.py:3"

        await at.show("P4")
        assert "⚠ to confirm: Makefile" in plain(at) and "⚠ to confirm: pyproject.toml" in plain(at)
        reviewing.repository.rename(reviewing.repository.with_name("elsewhere"))
        at.screen.__dict__.pop("trees")
        at.screen.open("P3")
        await at.until(lambda: at.screen.has_class("-message"), "words in the place of the diff")


async def test_rounds_proposals_context_and_search(reviewing: Reviewing) -> None:
    def lines() -> list[str]:
        return [line.text for hunk in view.files[0].hunks for line in hunk.lines]

    async with opened(reviewing) as at:
        view = at.screen.diff
        await at.press("slash")
        await at.type("quantize")
        for line in (24, 29, 24):
            await at.press("enter")
            await at.until(lambda line=line: view.location.line == line, "the match")  # type: ignore[misc]
        at.screen.query_one(Input).value = "nowhere"
        await at.press("enter")
        await at.until(lambda: at.told("No match"), "that there is none")
        await at.press("escape")
        assert view.has_focus

        await at.press("g", "right_square_bracket", "space", "right_square_bracket")
        assert view.chosen == {"H1"} and "def first(lines):" not in lines()
        line = view.files[0].hunks[1].lines[0].new
        await at.press("enter")
        await at.until(lambda: "def first(lines):" in lines(), "more lines")
        assert view.location.line == line
        assert view.chosen == frozenset(), "labels of another diff"
        await at.press("a")
        assert at.told("without more context")
        await at.press("left_square_bracket", "enter")
        await at.until(lambda: "def first(lines):" not in lines(), "fewer lines")
        assert view.chosen == {"H1"}

        assert view.files[0].added == 4
        await at.press("equals_sign")
        await at.until(lambda: view.files[0].added == 2, "the diff between the rounds")
        assert "since r0" in plain(at)
        await at.press("comma")
        await at.drawn(reviewing.first)
        assert "[r0] ─ r1" in plain(at)
        assert not at.screen.between, "before the first round there is none"
        for key in ("a", "r", "b"):
            await at.press(key)
            assert at.app.screen is at.screen
        assert at.told(f"is an earlier round; {reviewing.second} replaced it")
        await at.press("full_stop")
        await at.drawn(reviewing.second)
        await at.press("full_stop")
        assert at.told("last round")

        await at.press("p")
        assert at.told("No other proposal")
        await at.press("n")
        await at.drawn("P3")
        await at.press("n")
        await at.drawn("P4")
        await at.press("p")
        await at.drawn("P3")
        await at.press(*"nnnnnnnnnn")
        said = [note.message for note in at.app._notifications]
        assert len(said) == len(set(said)), "a toast that is shown is not repeated"
        await at.press("escape")
        await at.until(lambda: at.app.current_mode == "deck", "the deck")


# Seen


async def test_seen_is_what_was_scrolled_to_its_end_or_marked(
    reviewing: Reviewing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReviewScreen, "SEEN_AFTER", 0.01)
    async with opened(reviewing, size=(80, 24)) as at:
        await at.pilot.pause()
        assert not at.proposal("P2").seen, "its end was not on the screen yet"
        await at.press("G")
        await at.until(lambda: at.proposal("P2").seen, "seen")
        await at.until(lambda: "not seen" not in plain(at))
        await at.press("m")
        await at.until(lambda: not at.proposal("P2").seen, "taken back by hand")
        await at.press("m")
        await at.until(lambda: at.proposal("P2").seen, "marked by hand")


# Comments


async def test_a_comment_is_kept_changed_removed_and_carried_over(reviewing: Reviewing) -> None:
    async with opened(reviewing, reviewing.first) as at:
        view = at.screen.diff
        assert view.move_to("billing/totals.py", "new", 24)
        await at.press("c")
        dialog = await at.dialog(NoteDialog)
        assert dialog._question == "billing/totals.py:24" and dialog._lines[0].strip().startswith(
            "return sum("
        )
        await at.type("and what of empty")
        await at.press("ctrl+s")
        await at.until(lambda: bool(at.read().comments()), "the comment in the store")
        held = at.read().comments()[0]
        assert (held.path, held.side, held.line) == ("billing/totals.py", "new", 24)
        assert held.quote == "    return sum(amounts).quantize(CENT, ROUND_HALF_EVEN)"
        assert at.read().drafts() == {}
        await at.until(lambda: "c1" in [one.key for one in view.annotations])
        assert go_to_finding(view, "c1")
        await at.comment(" lists")
        await at.until(lambda: [c.text for c in at.read().comments()] == ["and what of empty lists"])

        assert view.move_to("billing/totals.py", "new", 23)
        await at.comment("slow")
        await at.until(lambda: len(at.read().comments()) == 2)
        await at.show(reviewing.second)
        places = {c.text: c.line for c in at.screen.diff._comments}
        assert places == {"and what of empty lists": None, "slow": None}, "on the file in another round"

        await at.show(reviewing.first)
        assert go_to_finding(at.screen.diff, "c3")
        await at.press("c")
        await at.dialog(NoteDialog)
        await at.press("ctrl+u", "ctrl+s")
        await at.until(lambda: len(at.read().comments()) == 1, "an emptied comment is taken back")


async def test_what_is_typed_is_never_lost(reviewing: Reviewing) -> None:
    async with opened(reviewing) as at:
        at.screen.diff.move_to("billing/totals.py", "new", 29)
        await at.press("c")
        await at.type("half a thou")
        await at.press("escape")
        await at.until(lambda: list(at.read().drafts().values()) == ["half a thou"], "the draft")
        await at.back()
        await at.until(lambda: bool(at.screen.context and at.screen.context.drafts), "the draft, read again")
        await at.press("c")
        assert (await at.dialog(NoteDialog)).query_one(Editor).text == "half a thou"
        await at.type("ght")
    # The terminal is closed in the middle of the word.
    reader = Reader(open_reader(reviewing.paths.database))
    assert list(reader.drafts().values()) == ["half a thought"]
    async with opened(reviewing) as at:
        at.screen.diff.move_to("billing/totals.py", "new", 29)
        await at.press("c")
        assert (await at.dialog(NoteDialog)).query_one(Editor).text == "half a thought"


# Deciding


async def test_decisions_of_what_was_on_the_screen(
    reviewing: Reviewing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Dialog, "GRACE", 3600.0)
    async with opened(reviewing, "P3") as at:
        bar = at.screen.query_one(KeyBar)
        assert "u undo" not in bar.render().plain
        await at.press("a")
        await at.until(lambda: isinstance(at.app.screen, ConfirmDialog))
        assert any("navigator/2026-11-20" in line for line in cast("ConfirmDialog", at.app.screen)._lines)
        await at.press("enter", "enter")
        assert isinstance(at.app.screen, ConfirmDialog), "a key meant for the diff does not answer"
        await at.press("n")
        await at.back()
        assert at.proposal("P3").decision is None and reviewing.branch() == ""

        monkeypatch.setattr(Dialog, "GRACE", 0.001)
        await at.press("a", "y")  # before the moment of grace is over
        await at.until(lambda: at.proposal("P3").state is ProposalState.LANDED, "the landing")
        assert git(reviewing.repository, "show", "navigator/2026-11-20:README.md").endswith("half-even.")
        assert at.told("P3 landed")
        await at.drawn("P4")
        await at.until(lambda: "u undo" in bar.render().plain, "undo in the footer")
        await at.press("u")
        dialog = await at.dialog(ConfirmDialog)
        assert "P3" in dialog._question
        await at.press("enter")
        await at.until(lambda: reviewing.branch() == "", "the branch gone again")
        await at.drawn("P3")
        await at.until(lambda: "landing undone" in plain(at), "the landing's end in the head")
        landing = at.proposal("P3").landing
        assert landing is not None and landing.state is LandingState.UNDONE

        await at.show("P4")  # policy items are confirmed one by one
        await at.press("a")
        first = await at.dialog(ConfirmDialog)
        assert "1 of 2" in first._question and "Makefile" in first._question
        await at.press("escape")
        await at.back()
        assert at.proposal("P4").decision is None
        await at.press("a")
        first = await at.dialog(ConfirmDialog)
        await at.press("enter")
        await at.until(lambda: at.app.screen is not first)
        second = await at.dialog(ConfirmDialog)
        assert "2 of 2" in second._question and "pyproject.toml" in second._question
        await at.press("enter")
        await at.until(lambda: at.app.screen is not second)
        assert (await at.dialog(ConfirmDialog))._question.startswith("Approve P4")
        await at.press("enter")
        await at.until(lambda: at.proposal("P4").decision is not None)
        decision = at.proposal("P4").decision
        assert decision.confirmed == ("makefile:Makefile", "packaging:pyproject.toml")


async def test_rejecting_here_and_elsewhere(reviewing: Reviewing) -> None:
    async with opened(reviewing, "P5") as at:
        type_at_once(at.app, "rnot")  # what is typed while a dialog opens is in its note
        dialog = await at.dialog(NoteDialog)
        await at.until(lambda: dialog.query_one(Editor).text == "not", "the note")
        await at.press("enter", *"now", "ctrl+s")
        await at.until(lambda: at.proposal("P5").decision is not None)
        decision = at.proposal("P5").decision
        assert decision is not None and (decision.kind, decision.note) == (DecisionKind.REJECT, "not\nnow")
        await at.until(lambda: at.read().drafts() == {}, "the draft gone")

        await at.show("P3")
        args = {"proposals": [{"id": "P3"}], "note": "by the other one"}
        await asyncio.to_thread(act_alone, reviewing.paths, "reject", args)
        await at.until(lambda: "rejected: by the other one" in plain(at), "the other's decision")
        await at.press("a")
        await at.until(lambda: at.told("P3 is already rejected"), "why not")


async def test_send_back_takes_the_comments_along_and_needs_words(reviewing: Reviewing) -> None:
    async with opened(reviewing, size=(80, 24)) as at:
        await at.press("b")
        dialog = await at.dialog(NoteDialog)
        line = dialog.query_one(".answer")
        assert str(line.render()) == "ctrl+s send back     esc cancel     enter new line"
        assert line.size.height == 1
        await at.press("ctrl+s")
        assert isinstance(at.app.screen, NoteDialog), "nothing to say is no reason to send back"
        await at.type("mind")
        await at.press("escape")
        await at.back()
        at.screen.diff.move_to("billing/totals.py", "new", 29)
        await at.comment("use Decimal")
        await at.until(lambda: at.screen.context is not None and bool(at.screen.context.unsent))
        await at.until(lambda: not any(worker.group == "decide" for worker in at.app.workers))
        await at.press("b")
        dialog = await at.dialog(NoteDialog)
        assert any("billing/totals.py:29  use Decimal" in line for line in dialog._lines)
        assert dialog.query_one(Editor).text == "mind", "the draft of the note came back"
        await at.press("ctrl+s")
        await at.until(lambda: at.read().task(reviewing.task).state is TaskState.QUEUED)
        task = at.read().task(reviewing.task)
        assert task.attempt == 1
        assert task.note.startswith("mind\nbilling/totals.py:29: ")
        assert "use Decimal" in task.note
        assert all(comment.sent for comment in at.read().comments())


# Beyond the screen


async def test_e_opens_a_copy_to_read_at_the_line(
    reviewing: Reviewing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(reviewing) as at:
        view = at.screen.diff
        view.move_to("billing/totals.py", "new", 29)
        await at.press("e")
        assert at.told("No editor is set")
        script = editor_script(
            tmp_path,
            f'cp "$file" {tmp_path}/seen; ls -l "$file" > {tmp_path}/mode; echo "$@" > {tmp_path}/words',
        )
        monkeypatch.setenv("EDITOR", str(script.rename(tmp_path / "vim")))
        monkeypatch.setattr(at.app, "suspend", nullcontext)
        await at.press("e")
        await at.until(lambda: (tmp_path / "words").exists(), "the editor")
        assert "quantize(CENT)" in (tmp_path / "seen").read_text()
        assert (tmp_path / "words").read_text().startswith("+29 ")
        assert (tmp_path / "mode").read_text().startswith("-r--------")
