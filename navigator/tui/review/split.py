"""Choosing hunks in Review: what is marked, the question, and the part once its checks are done."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, cast

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from navigator.domain.diff import FileDiff, choices, what_happens
from navigator.domain.models import Proposal
from navigator.domain.states import TaskState
from navigator.domain.text import safe_text
from navigator.tui.data.deck_snapshot import DeckSnapshot
from navigator.tui.data.drafts import DraftKeeper
from navigator.tui.dialogs.note import NEW_LINE, NoteDialog
from navigator.tui.diff.messages import ChoiceAsked
from navigator.tui.keys.bindings import bindings_of
from navigator.tui.review.context import ReviewContext, note_key
from navigator.tui.widgets.writing import WritingArea

if TYPE_CHECKING:
    from navigator.tui.review.screen import ReviewScreen

_MOST_LINES = 6
"""Chosen hunks that the question lists one by one."""


class SplitChoice(NamedTuple):
    """What the developer says to the question: a note for the rest, and whether it is dropped instead."""

    note: str
    drop_rest: bool


class SplitDialog(NoteDialog):
    """Ends with an `SplitChoice`, or with None; a note that was typed then stays as a draft.

    Args:
        shown: the proposal whose hunks are taken.
        lines: the chosen hunks, one a line.
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
            f"Take {', '.join(chosen)} of {shown.id} as a proposal of its own?",
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
        """Question, the chosen hunks, what becomes of the rest, a note, answers."""
        with Vertical():
            yield Static(Content(safe_text(self._question)).stylize("bold"))
            yield Static(Content(safe_text("\n".join(self._lines))), classes="lines")
            yield Static(
                "Nothing is approved yet: it opens next, and is approved by itself.", classes="later"
            )
            yield Static("", classes="rest")
            yield WritingArea(self._text, placeholder="a note for the rest, if you like")
            yield Static("", classes="answer")

    def on_mount(self) -> None:
        """Say what becomes of the rest."""
        self._show_rest()

    def _show_rest(self) -> None:
        keys = self.app.keymap
        named = ", ".join(self._rest[:8]) + (" …" if len(self._rest) > 8 else "")
        if self.drop_rest:
            said = f"✗ The rest ({named}) is dropped: {self._shown.task_id} ends as rejected."
            other = "write the rest anew"
        else:
            along = {0: "", 1: " and 1 comment"}.get(self._comments, f" and {self._comments} comments")
            said = f"↺ The rest ({named}) is written anew on top of it, with your note{along}."
            other = "drop the rest"
        self.query_one(".rest", Static).update(Content(safe_text(said)))
        answer = (
            f"{keys.shown('writing.keep')} make it     {keys.shown('split.drop_rest')} {other}"
            f"     {keys.shown('writing.put_aside')} leave it\n{NEW_LINE}"
        )
        self.query_one(".answer", Static).update(Content(answer))

    def action_drop_rest(self) -> None:
        """Drop the rest, or have it written anew after all."""
        self.drop_rest = not self.drop_rest
        self._show_rest()

    def accept(self) -> None:
        """The note and what becomes of the rest."""
        self.dismiss(SplitChoice(self.query_one(WritingArea).text.strip(), self.drop_rest))


class Choosing:
    """Mixed into the review screen. What is chosen is kept by proposal and tree: it stays while the developer leafs about."""

    _picked: dict[tuple[str, str], frozenset[str]]
    _awaited: tuple[str, str] = ("", "")
    """The part that opens once its checks are done, and the proposal it came from."""

    @property
    def _board(self) -> ReviewScreen:
        return cast("ReviewScreen", self)

    def picked_of(self, shown: Proposal) -> frozenset[str]:
        """The labels that are chosen of a proposal."""
        return self._picked.get((shown.id, shown.tree), frozenset())

    def rest_of(self, chosen: Collection[str]) -> list[str]:
        """The labels of what is shown that are not among the chosen."""
        files = self._board.diff.files
        labels = [label for number, file in enumerate(files, 1) for label in choices(file, number)]
        return [label for label in labels if label not in chosen]

    def mark_picked(self, shown: Proposal) -> None:
        """Show the marks on the diff that is drawn."""
        self._board.diff.set_chosen(frozenset() if self._board.between else self.picked_of(shown))

    def on_diff_view_choice_asked(self, event: ChoiceAsked) -> None:
        """Choose, or let go, where this can be split at all."""
        event.stop()
        screen = self._board
        context, shown = screen.context, screen.shown
        if context is None or shown is None:
            return
        parts = sum(len(choices(file, 1)) for file in screen.diff.files)
        why = _why_not(context, shown, parts, between=screen.between)
        if why:
            screen.app.toast(why, "warning")
            return
        labels, held = set(event.labels), self.picked_of(shown)
        self._picked[shown.id, shown.tree] = held - labels if labels <= held else held | labels
        self.mark_picked(shown)
        screen.draw_head()

    def forget_picked(self, proposal: str) -> None:
        """A decision was made: nothing of it is chosen any more."""
        for key in [key for key in self._picked if key[0] == proposal]:
            del self._picked[key]

    async def split_chosen(self, context: ReviewContext, shown: Proposal, chosen: Collection[str]) -> None:
        """Ask, then have the conductor make the part of exactly the tree that was on the screen."""
        screen = self._board
        files = screen.diff.files
        labels = [label for n, file in enumerate(files, 1) for label in choices(file, n)]
        key = note_key(context.task.id, "split")
        dialog = SplitDialog(
            shown,
            [label for label in labels if label in chosen],
            [*chosen_lines(files, chosen), _read_as_a_whole(shown)],
            self.rest_of(chosen),
            comments=_going_along(context, shown, files, chosen),
            key=key,
            text=context.drafts.get(key, ""),
            drafts=screen.drafts,
        )
        answer: SplitChoice | None = await screen.app.push_screen_wait(dialog)
        if answer is None:
            await screen.drafts.flush()
            await screen.reload()
            return
        result = await screen.app.ask(
            "split",
            {
                "proposal": shown.id,
                "hunks": [label for label in labels if label in chosen],
                "tree": shown.tree,
                "note": answer.note,
                "drop_rest": answer.drop_rest,
            },
        )
        if result is None:
            await screen.reload()
            return
        self.forget_picked(shown.id)
        screen.drafts.keep(key, "")
        await screen.drafts.flush()
        part = str(result["part"]["id"])
        screen.queue = tuple(part if name == shown.id else name for name in screen.queue)
        self._awaited = (part, shown.id)
        if result["task"]["state"] == TaskState.CHECKING.value:
            screen.app.toast(f"{part} is made; its checks run.")
            await screen.reload()
        else:
            self._open_part()

    def look_for_part(self, snapshot: DeckSnapshot) -> None:
        """Open the part that is waited for, once its checks are done."""
        part = self._awaited[0]
        if part and any(card.proposal == part for card in (*snapshot.inbox, *snapshot.ended)):
            self._open_part()

    def _open_part(self) -> None:
        screen, (part, parent) = self._board, self._awaited
        self._awaited = ("", "")
        if screen.shown_id == parent:
            screen.app.toast(f"{part} is a proposal of its own: approve it by itself.")
            screen.open(part)
        else:
            screen.app.toast(f"{part}, the part of {parent}, waits for your word.")


def _why_not(context: ReviewContext, shown: Proposal, parts: int, *, between: bool) -> str:
    """Why hunks of what is shown cannot be chosen; "" where they can."""
    if between:
        return "Hunks are chosen of the whole change, not of what a round changed (=)."
    if shown.parent:
        return f"{shown.id} is a part of {shown.parent} already: approve or reject it."
    if not context.waiting or shown.id != context.current.id:
        return f"Only of a proposal that waits for your word can hunks be chosen; {shown.id} does not."
    return f"{shown.id} is one hunk: approve or reject it." if parts == 1 else ""


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


def _read_as_a_whole(shown: Proposal) -> str:
    said = shown.review.verdict.value if shown.review is not None else "not reviewed"
    return f"The checks run again on it. The reviewer read {shown.id} as a whole ({said})."


def _going_along(
    context: ReviewContext, shown: Proposal, files: Sequence[FileDiff], chosen: Collection[str]
) -> int:
    from navigator.cascade.views.parts import comments_on_rest

    rows = [
        {"proposal_id": r.proposal, "path": r.path, "side": r.side, "line": r.line} for r in context.unsent
    ]
    return len(comments_on_rest(shown, rows, files, chosen))
