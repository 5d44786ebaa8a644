"""Choosing hunks in Review by keys, over real trees; the part made without a conductor through the same functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from navigator.config.paths import StatePaths
from navigator.model.models import Proposal
from navigator.model.states import ProposalState, TaskState
from navigator.sheet.waiting import row_head
from navigator.store.database import open_reader
from navigator.store.reads.cards import CardReads
from navigator.tui.deck.rows import flags_of
from navigator.tui.dialogs.confirm import ConfirmDialog
from navigator.tui.review.screen import ReviewScreen
from navigator.tui.widgets.screen import Dialog
from tests.tui.reviewing import Reviewing
from tests.tui.test_review import Driver, opened, plain


@pytest.fixture
def reviewing(tmp_path: Path) -> Reviewing:
    return Reviewing(StatePaths(tmp_path / "s").ensure(), tmp_path)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Dialog, "GRACE", 0.001)
    monkeypatch.setattr(ReviewScreen, "SEEN_AFTER", 3600.0)


def part_of(at: Driver, parent: str) -> Proposal:
    (part,) = (one for one in at.read().proposals() if one.parent == parent and one.attempt == 0)
    return part


def whole_text(at: Driver) -> str:
    """Every row of the diff, as it is painted."""
    diff = at.screen.diff
    assert diff._painter is not None
    rows = list(diff._layout.rows)
    return "\n".join(diff._painter.strip(row, 0, 1).text for row in rows)


@pytest.mark.parametrize(("size", "mode"), [((80, 24), "unified"), ((200, 60), "split")])
async def test_space_marks_the_hunk_under_the_cursor(
    reviewing: Reviewing, size: tuple[int, int], mode: str
) -> None:
    async with opened(reviewing, size=size) as at:
        if mode == "split":
            await at.press("backslash")
        await at.press("right_square_bracket", "space")
        assert at.screen.diff.chosen == {"H1"}
        await at.press("j", "right_square_bracket", "j", "space")
        assert at.screen.diff.chosen == {"H1", "H2"}
        assert "◉ chosen  H2" in whole_text(at)
        assert "◉ chosen 2 of 2" in whole_text(at)
        assert "◉ 2 hunks chosen" in plain(at)
        await at.press("space")
        assert at.screen.diff.chosen == {"H1"}, "the same key clears the mark"
        assert at.screen.diff.mode == mode


async def test_the_header_of_a_file_selects_all_its_hunks(reviewing: Reviewing) -> None:
    async with opened(reviewing) as at:
        assert at.screen.diff.move_to("billing/totals.py")
        await at.press("space")
        assert at.screen.diff.chosen == {"H1", "H2"}
        await at.press("space")
        assert at.screen.diff.chosen == frozenset()


async def test_what_is_chosen_stays_while_the_developer_leafs_about(reviewing: Reviewing) -> None:
    async with opened(reviewing) as at:
        await at.press("right_square_bracket", "space")
        await at.press("n")
        await at.drawn("P3")
        assert at.screen.diff.chosen == frozenset()
        await at.press("p")
        await at.drawn("P2")
        assert at.screen.diff.chosen == {"H1"}
        await at.press("equals_sign")
        await at.until(lambda: at.screen.between and at.screen.diff.files[0].added == 2)
        assert at.screen.diff.chosen == frozenset(), "labels of another diff"
        await at.press("right_square_bracket", "space")
        assert at.told("of the whole change")
        await at.press("equals_sign")
        await at.until(lambda: at.screen.diff.chosen == {"H1"}, "the marks again")
        await at.press("backslash", "w")
        assert at.screen.diff.chosen == {"H1"}


async def test_hunks_of_an_earlier_round_and_of_a_single_hunk_are_not_chosen(reviewing: Reviewing) -> None:
    async with opened(reviewing) as at:
        await at.press("comma")
        await at.drawn(reviewing.first)
        await at.press("right_square_bracket", "space")
        assert at.told("does not wait for your decision") and at.screen.diff.chosen == frozenset()
        await at.show("P3")
        await at.press("right_square_bracket", "space")
        assert at.told("P3 is a single hunk") and at.screen.diff.chosen == frozenset()


async def asked(at: Driver) -> str:
    """What the question before a split says."""
    await at.press("a")
    dialog = await at.dialog(ConfirmDialog)
    return "\n".join(str(widget.render()) for widget in dialog.query("Static"))


async def test_approving_with_hunks_chosen_makes_a_part_and_opens_it(reviewing: Reviewing) -> None:
    async with opened(reviewing) as at:
        await at.press("right_square_bracket", "right_square_bracket", "space")
        words = await asked(at)
        assert "Make a proposal of H2 of P2?" in words
        assert "Nothing is approved yet: it opens next; you approve it separately." in words
        assert "P2 was read as a whole (REVISE)." in words
        await at.press("enter")
        await at.until(lambda: at.screen.shown_id not in ("P2", ""), "the part")
        part = part_of(at, "P2")
        await at.drawn(part.id)
        assert part.hunks == ("H2",)
        head = plain(at)
        assert "PART" in head and "part of P2, reviewed as a whole (REVISE there)" in head
        assert at.read().task(part.task_id).state is TaskState.AWAITING_APPROVAL
        assert at.read().task(reviewing.task).state is TaskState.AWAITING_APPROVAL, "so is the rest"
        await at.press("right_square_bracket", "space")
        assert at.told("already a part of P2")
        await at.press("a")
        dialog = await at.dialog(ConfirmDialog)
        assert "reviewed as a whole" in "\n".join(dialog._lines)
        await at.press("enter")
        await at.until(lambda: at.proposal(part.id).state is ProposalState.LANDED, "the landing")
        assert reviewing.branch()


async def test_all_hunks_chosen_are_the_whole_proposal(reviewing: Reviewing) -> None:
    async with opened(reviewing) as at:
        assert at.screen.diff.move_to("billing/totals.py")
        await at.press("space", "a")
        dialog = await at.dialog(ConfirmDialog)
        assert dialog._question.startswith("Approve P2 ")
        await at.press("enter")
        await at.until(lambda: at.proposal("P2").state is ProposalState.LANDED, "the landing")
        assert not [one for one in at.read().proposals() if one.parent]


async def test_leaving_the_question_decides_nothing(reviewing: Reviewing) -> None:
    async with opened(reviewing) as at:
        await at.press("right_square_bracket", "space")
        await asked(at)
        await at.press("escape")
        await at.until(lambda: at.app.screen is at.screen, "Review again")
        assert at.screen.diff.chosen == {"H1"}
        assert at.proposal("P2").state is ProposalState.OPEN


async def test_another_tree_than_the_one_on_the_screen_is_refused(reviewing: Reviewing) -> None:
    async with opened(reviewing) as at:
        await at.press("right_square_bracket", "space")
        shown = at.screen.shown
        assert shown is not None
        stale = shown.model_copy(update={"tree": "f" * 40})
        at.screen.hunks._chosen["P2", stale.tree] = frozenset({"H1"})
        at.screen.run_worker(at.screen._split(stale, frozenset({"H1"})))
        await at.until(lambda: at.told("changed since you looked"), "the refusal")
        assert at.proposal("P2").state is ProposalState.OPEN


async def test_the_deck_says_what_is_a_part(reviewing: Reviewing) -> None:
    async with opened(reviewing) as at:
        await at.press("right_square_bracket", "space")
        await asked(at)
        await at.press("enter")
        await at.until(lambda: at.screen.shown_id not in ("P2", ""), "the part")
        part = part_of(at, "P2")
    (card,) = CardReads(open_reader(reviewing.paths.database)).cards_of([part.task_id])
    assert card.parent == "P2"
    assert row_head(card).word == "PART"
    assert ("part of P2", "muted") in flags_of(card, short=False)
