"""What stands behind Review and Compose, without a screen: carrying comments, drafts, editors, words about the reading."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from navigator.model.errors import Conflict, MissingPart, NavigatorError
from navigator.model.models import Project, Proposal, Review
from navigator.model.states import Verdict
from navigator.tui import prefs as drafts
from navigator.tui.compose import Sheet
from navigator.tui.prefs import DraftKeeper
from navigator.tui.review.context import REMARK, ReviewContext, finding_notes
from navigator.tui.review.words import warning_lines
from navigator.tui.terminal import borrowed, editor_command, editor_words, run_editor
from tests.records import asked, finding, proposed
from tests.sheet.cards import CARD


def test_a_draft_that_is_no_sheet_is_a_text() -> None:
    assert Sheet.from_draft("plain words") == Sheet(text="plain words")
    assert Sheet.from_draft('{"text": 1}') == Sheet(text='{"text": 1}')


async def test_a_draft_that_cannot_be_written_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "PAUSE", 0.0)
    monkeypatch.setattr(drafts, "_AGAIN", 0.01)
    answers = [Conflict("Another works on this state."), None]
    told: list[str] = []
    kept: list[str] = []

    async def request(op: str, args: dict[str, Any]) -> None:
        problem = answers.pop(0)
        if problem is not None:
            raise problem
        kept.append(args["text"])

    keeper = DraftKeeper(request, told.append)
    keeper.keep("k", "words")
    while not kept:
        await asyncio.sleep(0.005)
    assert kept == ["words"]
    assert "not saved yet" in told[0]
    await keeper.close()


@pytest.mark.parametrize(
    ("editor", "expected"),
    [
        ("vim", ["vim", "+7", "f"]),
        ("nano -w", ["nano", "-w", "+7", "f"]),
        ("/usr/bin/hx", ["/usr/bin/hx", "f:7"]),
        ("code", ["code", "--wait", "--goto", "f:7"]),
        ("code --wait", ["code", "--wait", "--goto", "f:7"]),
        ("ed", ["ed", "f"]),
    ],
)
def test_editors_open_at_the_line(editor: str, expected: list[str]) -> None:
    assert editor_command(editor.split(), Path("f"), 7) == expected


def test_an_editor_that_is_not_there_is_refused_in_words() -> None:
    with pytest.raises(MissingPart, match="No editor is set"):
        editor_words({})
    with pytest.raises(MissingPart, match="nowhere-to-be-found is not installed"):
        editor_words({"EDITOR": "nowhere-to-be-found -x", "PATH": "/usr/bin:/bin"})
    with pytest.raises(MissingPart, match="is not valid"):
        editor_words({"VISUAL": "vim 'x", "PATH": "/usr/bin:/bin"})
    assert editor_words({"VISUAL": " ", "EDITOR": "cat -n", "PATH": "/usr/bin:/bin"}) == ["cat", "-n"]
    with pytest.raises(NavigatorError, match="exit code 1"):
        run_editor(["false"])


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b/\x1b[31m.py", "..", "x\ny.py"])
def test_a_borrowed_file_stays_in_its_folder(name: str) -> None:
    with borrowed(name, b"content") as file:
        assert file.read_bytes() == b"content"
        assert file.parent.name.startswith("navigator-")
        assert file.name.isprintable() and "/" not in file.name and file.name not in ("", ".", "..")
        seen = subprocess.run(["ls", "-l", str(file)], capture_output=True, text=True, check=True).stdout
        assert seen.startswith("-r--------")
    assert not file.parent.exists()


def shown(review: Review) -> tuple[ReviewContext, Proposal]:
    proposal = proposed(id="P2", round=1, review=review)
    card = CARD._replace(proposal="P2", verdict=review.verdict, stated=review.stated_verdict)
    project = Project(id=1, name="p", path="/p")
    return ReviewContext(asked(), project, (proposal,), facts={"P2": card}), proposal


def lines(review: Review, width: int = 120) -> list[str]:
    context, proposal = shown(review)
    return ["".join(text for text, _ in line) for line in warning_lines(context, proposal, (), width)]


def test_the_parts_and_the_stated_verdict_share_a_line() -> None:
    review = Review(verdict=Verdict.APPROVE, stated_verdict=Verdict.REVISE, parts=4)
    (line,) = lines(review, 160)
    assert line.startswith("the reviewer said REVISE, overruled: no blocker or major finding of it counts")
    assert line.endswith("   reviewed in 4 parts")


def test_why_it_was_not_reviewed_is_said() -> None:
    review = Review(
        verdict=Verdict.UNREVIEWED, summary="Too large to be reviewed whole: hunk H1\x1b[2J of a.py."
    )
    (line,) = lines(review)
    assert line.startswith("? unreviewed: Too large to be reviewed whole: hunk H1")
    assert "\x1b" not in line


def test_a_remark_says_that_it_decides_nothing() -> None:
    context, proposal = shown(Review(verdict=Verdict.APPROVE, findings=(finding(remark=True),)))
    (note,) = finding_notes(context, proposal)
    assert note.remarks == (REMARK,)
