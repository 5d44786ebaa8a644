"""Choosing hunks in Review by keys, over real trees; the part made without a conductor through the same functions."""

from __future__ import annotations

from typing import Any

from navigator.model.models import Proposal
from navigator.model.states import ProposalState, TaskState
from navigator.sheet.waiting import row_head
from navigator.store.database import open_reader
from navigator.store.reads.cards import CardReads
from navigator.tui.deck_rows import flags_of
from navigator.tui.dialogs import ConfirmDialog
from tests.tui.reviewing import Reviewing
from tests.tui.test_review import Driver, opened, plain


def part_of(at: Driver, parent: str) -> Proposal:
    (part,) = (one for one in at.read().proposals() if one.parent == parent and one.attempt == 0)
    return part


def whole_text(at: Driver) -> str:
    """Every row of the diff, as it is painted."""
    diff = at.screen.diff
    rows = list(diff._layout.rows)
    return "\n".join(diff._painter.strip(row, 0, 1).text for row in rows)


async def asked(at: Driver) -> Any:
    await at.press("a")
    return await at.dialog(ConfirmDialog)


def said(dialog: Any) -> str:
    return "\n".join(str(widget.render()) for widget in dialog.query("Static"))


async def test_hunks_are_chosen_kept_and_refused(reviewing: Reviewing) -> None:
    async with opened(reviewing, size=(80, 24)) as at:
        diff = at.screen.diff
        await at.press("right_square_bracket", "space")
        assert diff.chosen == {"H1"}
        await at.press("j", "right_square_bracket", "j", "space")
        assert diff.chosen == {"H1", "H2"}
        assert "◉ chosen  H2" in whole_text(at) and "◉ chosen 2 of 2" in whole_text(at)
        assert "◉ 2 hunks chosen" in plain(at)
        await at.press("space")
        assert diff.chosen == {"H1"}, "the same key clears the mark"
        await at.press("backslash", "space")
        assert (diff.mode, diff.chosen) == ("split", {"H1", "H2"})
        assert diff.move_to("billing/totals.py")  # the header of a file is all its hunks
        await at.press("space")
        assert diff.chosen == frozenset()
        await at.press("backslash", "right_square_bracket", "space")
        assert diff.chosen == {"H1"}

        await at.press("n")
        await at.drawn("P3")
        assert diff.chosen == frozenset()
        await at.press("right_square_bracket", "space")
        assert at.told("P3 is a single hunk") and diff.chosen == frozenset()
        await at.press("p")
        await at.drawn("P2")
        assert diff.chosen == {"H1"}
        await at.press("equals_sign")
        await at.until(lambda: at.screen.between and diff.files[0].added == 2)
        assert diff.chosen == frozenset(), "labels of another diff"
        await at.press("right_square_bracket", "space")
        assert at.told("of the whole change")
        await at.press("equals_sign")
        await at.until(lambda: diff.chosen == {"H1"}, "the marks again")
        await at.press("comma")
        await at.drawn(reviewing.first)
        await at.press("right_square_bracket", "space")
        assert at.told("does not wait for your decision") and diff.chosen == frozenset()
        await at.press("full_stop")
        await at.drawn(reviewing.second)

        await asked(at)  # leaving the question decides nothing
        await at.press("escape")
        await at.back()
        assert diff.chosen == {"H1"} and at.proposal("P2").state is ProposalState.OPEN

        assert diff.move_to("billing/totals.py")  # all of its hunks are the whole proposal
        await at.press("space")
        assert (await asked(at))._question.startswith("Approve P2 ")
        await at.press("escape")
        await at.back()

        shown = at.screen.shown  # another tree than the one on the screen is refused
        stale = shown.model_copy(update={"tree": "f" * 40})
        at.screen.run_worker(at.screen._split(stale, frozenset({"H1"})))
        await at.until(lambda: at.told("changed since you looked"), "the refusal")
        assert at.proposal("P2").state is ProposalState.OPEN


async def test_approving_with_hunks_chosen_makes_a_part_and_opens_it(reviewing: Reviewing) -> None:
    async with opened(reviewing) as at:
        await at.press("right_square_bracket", "right_square_bracket", "space")
        dialog = await asked(at)
        words = said(dialog)
        assert "Make a proposal of H2 of P2?" in words
        assert "Nothing is approved yet: it opens next; you approve it separately." in words
        assert "P2 was read as a whole (REVISE)." in words
        await at.press("enter")
        await at.until(lambda: at.screen.shown_id not in ("P2", ""), "the part")
        part = part_of(at, "P2")
        await at.drawn(part.id)
        assert part.hunks == ("H2",)
        (card,) = CardReads(open_reader(reviewing.paths.database)).cards_of([part.task_id])
        assert card.parent == "P2" and row_head(card).word == "PART"
        assert ("part of P2", "muted") in flags_of(card, short=False)
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
