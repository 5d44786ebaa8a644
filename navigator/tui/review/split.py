"""Choosing hunks in Review: which are chosen, whether they can be, and the question before a part is made of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from navigator.model.diff import FileDiff, choices, what_happens
from navigator.model.models import Proposal
from navigator.model.text import safe_text
from navigator.tui.data.prefs import DraftKeeper
from navigator.tui.dialogs.confirm import NEW_LINE, NoteDialog
from navigator.tui.keys.registry import bindings_of
from navigator.tui.review.context import ReviewContext
from navigator.tui.widgets.panels import WritingArea

_MOST_LINES = 6
"""Chosen hunks that the question lists one by one."""


class SplitChoice(NamedTuple):
    """The answer to the question: a note for the rest, and whether the rest is dropped instead."""

    note: str
    drop_rest: bool


class SplitDialog(NoteDialog):
    """Ends with a `SplitChoice`, or with None; a note that was typed then stays as a draft.

    Args:
        shown: the proposal whose hunks are taken.
        lines: the chosen hunks, one per line.
        rest: labels of what is not chosen.
        comments: how many comments go along with the rest.
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("split")
    DEFAULT_CSS = """
    SplitDialog .rest { margin-top: 1; }
    SplitDialog WritingArea { height: 4; margin: 1 0; background: $panel; }
    """

    def __init__(
        self,
        shown: Proposal,
        chosen: Sequence[str],
        lines: Sequence[str],
        rest: Sequence[str],
        *,
        comments: int,
        key: str,
        text: str,
        drafts: DraftKeeper,
    ) -> None:
        super().__init__(
            f"Make {', '.join(chosen)} of {shown.id} a separate proposal?",
            lines,
            key=key,
            text=text,
            drafts=drafts,
        )
        self._shown = shown
        self._rest = rest
        self._comments = comments
        self.drop_rest = False

    def compose(self) -> ComposeResult:
        """Question, the chosen hunks, what happens to the rest, a note, answers."""
        with Vertical():
            yield Static(Content(safe_text(self._question)).stylize("bold"))
            yield Static(Content(safe_text("\n".join(self._lines))), classes="lines")
            yield Static(
                "Nothing is approved yet: it opens next; you approve it separately.", classes="later"
            )
            yield Static("", classes="rest")
            yield WritingArea(
                self._text, placeholder="a note for the rest: it is then written again (optional)"
            )
            yield Static("", classes="answer")

    def on_mount(self) -> None:
        """Show what happens to the rest."""
        self._show_rest()

    def _show_rest(self) -> None:
        keys = self.app.keymap
        named = ", ".join(self._rest[:8]) + (" …" if len(self._rest) > 8 else "")
        if self.drop_rest:
            said = f"✗ The rest ({named}) is dropped: {self._shown.task_id} ends as rejected."
            other = "keep the rest"
        else:
            along = {0: "", 1: " and 1 comment"}.get(self._comments, f" and {self._comments} comments")
            said = f"↺ The rest ({named}) becomes a proposal too; with a note{along} it is written again."
            other = "drop the rest"
        self.query_one(".rest", Static).update(Content(safe_text(said)))
        answer = (
            f"{keys.shown('writing.send')} make it     {keys.shown('split.drop_rest')} {other}"
            f"     {keys.shown('writing.put_aside')} cancel\n{NEW_LINE}"
        )
        self.query_one(".answer", Static).update(Content(answer))

    def action_drop_rest(self) -> None:
        """Drop the rest, or have it written again."""
        self.drop_rest = not self.drop_rest
        self._show_rest()

    def accept(self) -> None:
        """The note, and what happens to the rest."""
        self.dismiss(SplitChoice(self.query_one(WritingArea).text.strip(), self.drop_rest))


class HunkChoice:
    """Which hunks are chosen, by proposal and tree: a choice is kept while other proposals are shown."""

    def __init__(self) -> None:
        self._chosen: dict[tuple[str, str], frozenset[str]] = {}

    def of(self, shown: Proposal) -> frozenset[str]:
        """The labels that are chosen of a proposal."""
        return self._chosen.get((shown.id, shown.tree), frozenset())

    def toggle(self, shown: Proposal, labels: Collection[str]) -> None:
        """Choose these too, or none of them where all were chosen."""
        wanted, held = frozenset(labels), self.of(shown)
        self._chosen[shown.id, shown.tree] = held - wanted if wanted <= held else held | wanted

    def forget(self, proposal: str) -> None:
        """A decision was made: nothing of it is chosen any more."""
        self._chosen = {key: labels for key, labels in self._chosen.items() if key[0] != proposal}


def labels_of(files: Sequence[FileDiff]) -> list[str]:
    """Everything that can be chosen in a diff, in its order."""
    return [label for number, file in enumerate(files, 1) for label in choices(file, number)]


def split_dialog(
    context: ReviewContext,
    shown: Proposal,
    files: Sequence[FileDiff],
    chosen: Collection[str],
    *,
    key: str,
    text: str,
    drafts: DraftKeeper,
) -> SplitDialog:
    """The question for some chosen hunks of the proposal shown. `key` and `text` are the note's draft."""
    labels = labels_of(files)
    return SplitDialog(
        shown,
        [label for label in labels if label in chosen],
        [*chosen_lines(files, chosen), _reviewed_as_a_whole(shown)],
        [label for label in labels if label not in chosen],
        comments=_going_along(context, shown, files, chosen),
        key=key,
        text=text,
        drafts=drafts,
    )


def why_not_chosen(
    context: ReviewContext, shown: Proposal, files: Sequence[FileDiff], *, between: bool
) -> str:
    """Why hunks of what is shown cannot be chosen; "" where they can."""
    if between:
        return "Choose hunks of the whole change, not of what changed since a round (= switches)."
    if shown.parent:
        return f"{shown.id} is already a part of {shown.parent}; approve or reject it."
    if not context.waiting or shown.id != context.current.id:
        return f"{shown.id} does not wait for your decision; choose hunks of one that does."
    return f"{shown.id} is a single hunk; approve or reject it." if len(labels_of(files)) == 1 else ""


def chosen_lines(files: Sequence[FileDiff], chosen: Collection[str]) -> list[str]:
    """The chosen hunks for the question: where each is, and how much."""
    lines: list[str] = []
    for number, file in enumerate(files, 1):
        for hunk in file.hunks:
            if hunk.label in chosen:
                added = sum(line.kind == "+" for line in hunk.lines)
                removed = sum(line.kind == "-" for line in hunk.lines)
                lines.append(f"{hunk.label}  {file.path}:{hunk.new_start}  +{added} −{removed}")
        if not file.hunks and f"F{number}" in chosen:
            lines.append(f"F{number}  {file.path}  {what_happens(file)}")
    more = len(lines) - _MOST_LINES
    return [*lines[:_MOST_LINES], f"and {more} more"] if more > 0 else lines


def _reviewed_as_a_whole(shown: Proposal) -> str:
    if shown.review is None:
        return f"The checks run again on both. {shown.id} was not reviewed."
    return f"The checks run again on both. {shown.id} was reviewed as a whole ({shown.review.verdict.value})."


def _going_along(
    context: ReviewContext, shown: Proposal, files: Sequence[FileDiff], chosen: Collection[str]
) -> int:
    from navigator.sheet.parts import comments_on_rest

    rows = [
        {"proposal_id": r.proposal, "path": r.path, "side": r.side, "line": r.line} for r in context.unsent
    ]
    return len(comments_on_rest(shown, rows, files, chosen))
