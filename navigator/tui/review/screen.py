"""Review: a proposal's diff with the reviewer's findings and your comments, and the queue of proposals it is in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import cached_property, partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from navigator.actions.approve import Approve
from navigator.actions.base import Verb
from navigator.actions.deciding import Decide, Pinned, Reject, SendBack, Undo, decided
from navigator.actions.notes import KeepComment, MarkSeen
from navigator.actions.reviews import RequestFix
from navigator.actions.split import Split
from navigator.actions.tasks import PutAway
from navigator.model.errors import NavigatorError
from navigator.model.models import Proposal
from navigator.model.states import LandingState, Severity
from navigator.model.text import safe_text
from navigator.sheet.marks import read_card
from navigator.sheet.writing import numbered
from navigator.tui.base import OpenProposal, begin
from navigator.tui.deck_snapshot import DeckSnapshot
from navigator.tui.dialogs import NoteDialog
from navigator.tui.diff.layout import Mode
from navigator.tui.diff.view import DiffView
from navigator.tui.keys import Action
from navigator.tui.review import comments
from navigator.tui.review.comments import OTHERWISE, Trees, labels_of, why_not_chosen
from navigator.tui.review.context import (
    ReviewContext,
    carried,
    comment_key,
    finding_notes,
    load_review_context,
    note_key,
)
from navigator.tui.review.words import DetailsScreen, rounds_line, task_lines, title_line, warning_lines
from navigator.tui.terminal import editor_words, open_in_editor
from navigator.tui.verbs import escalate, judge, perform
from navigator.tui.widgets.cells import Piece
from navigator.tui.widgets.page import PieceLines
from navigator.tui.widgets.screen import NavScreen

CONTEXT, WIDE_CONTEXT = 3, 30
"""Unchanged lines around a hunk, and how many where the user asks for more."""


class ReviewScreen(NavScreen):
    """Opened with `OpenProposal`: the id to show, and the ids to step through with n and p.

    A proposal counts as seen when `m` says so, or when the end of its diff has been on the screen for `SEEN_AFTER`
    seconds: opening it, or stepping past it, is not enough.
    """

    SCOPE = "review"
    TITLE = "review"
    CSS_PATH = "review.tcss"
    AUTO_FOCUS = "#diff"
    SEEN_AFTER: ClassVar[float] = 1.0
    MOST_WARNINGS: ClassVar[int] = 4

    def __init__(self) -> None:
        super().__init__()
        self.context: ReviewContext | None = None
        self.queue: tuple[str, ...] = ()
        self._chosen: dict[tuple[str, str], frozenset[str]] = {}  # labels by proposal and tree
        self.shown_id = ""
        self.between = False
        self.widened = False
        self._drawn: tuple[str, str] | None = None
        self._seq = -1
        self._reaching_end = False
        self._loading = 0
        self._stale = False

    @cached_property
    def trees(self) -> Trees:
        """Where diffs and files come from."""
        return Trees(self.app.paths)

    def compose_body(self) -> ComposeResult:
        """Head, warnings, diff, and what opens at the foot."""
        yield PieceLines(id="head")
        yield PieceLines(most=3, id="task")
        yield PieceLines(most=self.MOST_WARNINGS, id="warnings")
        mode: Mode = "split" if self.app.prefs.get("diff.mode", "unified") == "split" else "unified"
        yield DiffView(mode=mode, id="diff")
        yield Static("", id="message")
        yield Input(placeholder="search   enter goes to the next match   esc closes", id="search")

    def on_mount(self) -> None:
        """Watch how far the diff is scrolled, and how it is shown."""
        self.watch(self.diff, "scroll_y", self._watch_end, init=False)
        self.watch(self.diff, "mode", lambda mode: self.app.prefs.set("diff.mode", mode), init=False)

    @property
    def diff(self) -> DiffView:
        """The diff view."""
        return self.query_one("#diff", DiffView)

    @property
    def shown(self) -> Proposal | None:
        """The version on the screen."""
        if self.context is None:
            return None
        return self.context.versions[self.context.index(self.shown_id)]

    @property
    def waiting_queue(self) -> tuple[str, ...]:
        """What n and p step through: as it was opened with, else the inbox."""
        return self.queue or tuple(card.proposal for card in self.app.snapshot.inbox if card.proposal)

    # Opening

    def receive(self, request: Message) -> None:
        """Show a proposal."""
        if isinstance(request, OpenProposal):
            self.queue = tuple(request.queue)
            self.open(request.proposal)

    def open(self, proposal: str) -> None:
        """Show another proposal, from its top."""
        self.shown_id, self.between, self.widened, self._drawn = proposal, False, False, None
        begin(self, self.reload, group="load", exclusive=True)

    async def reload(self) -> None:
        """Read the task again and show what is new; the place in the diff stays where the diff is the same."""
        self._loading += 1
        try:
            await self._load()
        finally:
            self._loading -= 1
        if self._stale and not self._loading:
            self._stale = False
            self.call_later(self.show_snapshot, self.app.snapshot)

    async def _load(self) -> None:
        wanted = self.shown_id
        self._seq = self.app.snapshot.seq
        try:
            context = await self.app.feed.read(partial(load_review_context, proposal=wanted))
        except NavigatorError as error:
            self._say(str(error))
            return
        if wanted != self.shown_id:
            return
        self.context = context
        for key, text in context.drafts.items():
            self.app.drafts.seed(key, text)
        self.draw_head()
        await self._draw_diff(context)

    async def _draw_diff(self, context: ReviewContext) -> None:
        shown = context.versions[context.index(self.shown_id)]
        before = self.base_of(context, shown)
        pair = (before, shown.tree)
        try:
            around = WIDE_CONTEXT if self.widened else CONTEXT
            changed = pair != self._drawn
            files = (
                await asyncio.to_thread(self.trees.diff, context.project, *pair, around) if changed else None
            )
        except NavigatorError as error:
            self._drawn = None
            self._say(str(error))
            return
        if self.context is not context:
            return
        notes = finding_notes(context, shown, anchors=not self._otherwise)
        comments = carried(context, shown, old_is_base=not self.between)
        if files is None:
            self.diff.annotate(notes, comments)
            return
        self._drawn = pair
        nothing = "is identical to the round before" if self.between else "changes nothing"
        self._say("" if files else f"{shown.id} {nothing}.")
        # A matter of taste, or of no line of the diff, takes one row until it is opened.
        small = [
            note.key
            for note in notes
            if note.finding.severity is Severity.NIT
            or (note.finding.severity is Severity.MINOR and not note.finding.anchored)
        ]
        self.diff.show(files, notes, comments, small)
        self._mark_chosen(shown)
        self._reaching_end = False
        self.call_after_refresh(self._watch_end)

    @property
    def _otherwise(self) -> bool:
        """Whether the diff is not the one that the reviewer saw, so that labels of hunks mean nothing."""
        return self.between or self.widened

    def base_of(self, context: ReviewContext, shown: Proposal) -> str:
        """What the diff is against: the base, or the round before."""
        place = context.index(shown.id)
        return context.versions[place - 1].tree if self.between and place > 0 else shown.base_commit

    def _say(self, words: str) -> None:
        """A message in place of the diff; "" shows the diff."""
        self.set_class(bool(words), "-message")
        self.query_one("#message", Static).update(Content(safe_text(words)))

    # The head

    def draw_head(self) -> None:
        """Redraw what is shown, and how. News may come before the screen is up, and after it has gone."""
        if not (self.is_mounted and self.is_attached):
            return
        self.query_one("#head", PieceLines).show(self._head)
        self.query_one("#task", PieceLines).show(self._asked)
        self.query_one("#warnings", PieceLines).show(self._warnings)
        self.refresh_keys()

    def _head(self, width: int) -> list[list[Piece]]:
        context, shown = self.context, self.shown
        if context is None or shown is None:
            return []
        queue = self.waiting_queue
        mine = {version.id for version in context.versions}
        number = next((index for index, name in enumerate(queue, 1) if name in mine), 0)
        place = f"{number} of {len(queue)}" if len(queue) > 1 else ""
        chosen = len(self.chosen_in(shown))
        rounds = rounds_line(context, shown, width, place=place, between=self.between, chosen=chosen)
        return [title_line(context, shown, width), rounds]

    def _asked(self, width: int) -> list[list[Piece]]:
        context, shown = self.context, self.shown
        return task_lines(context, shown, width) if context is not None and shown is not None else []

    def _warnings(self, width: int) -> list[list[Piece]]:
        context, shown = self.context, self.shown
        if context is None or shown is None:
            return []
        return warning_lines(context, shown, self.overlaps_of(shown.id), width)

    def overlaps_of(self, proposal: str) -> tuple[str, ...]:
        """Other open proposals that touch one of its paths."""
        return self.app.snapshot.overlaps.get(proposal, ())

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """Something happened: perhaps here."""
        if self.context is None or snapshot.seq == self._seq:
            return
        if self._loading:
            self._stale = True  # what is being read now may be older: read once more afterwards
            return
        begin(self, self.reload, group="load", exclusive=True)

    # What was seen

    def _watch_end(self) -> None:
        """Begin to count once the end of the diff is on the screen."""
        shown, diff = self.shown, self.diff
        if shown is None or shown.seen or self.between or self._drawn is None or self._reaching_end:
            return
        if not diff.at_end:
            return
        self._reaching_end = True
        self.set_timer(self.SEEN_AFTER, partial(self._has_seen, shown.id))

    def _has_seen(self, proposal: str) -> None:
        shown = self.shown
        self._reaching_end = False
        if shown is None or shown.id != proposal or shown.seen or not self.is_current:
            return
        begin(self, partial(self._mark, [proposal], True), group="seen")

    async def _mark(self, ids: list[str], seen: bool) -> None:
        if await perform(self.app, MarkSeen(ids=tuple(ids), seen=seen), quiet=True) is not None:
            await self.reload()

    # Going about

    def action_next(self) -> None:
        """The next one."""
        self._leaf(1)

    def action_previous(self) -> None:
        """The one before."""
        self._leaf(-1)

    def _leaf(self, by: int) -> None:
        queue = self.waiting_queue
        mine = {version.id for version in self.context.versions} if self.context else set()
        here = next((index for index, name in enumerate(queue) if name in mine), None)
        there = 0 if here is None else here + by
        if not queue or not 0 <= there < len(queue) or queue[there] in mine:
            self.app.toast("No other proposal in that direction.")
            return
        self.open(queue[there])

    def action_next_round(self) -> None:
        """The next round or attempt."""
        self._turn(1)

    def action_previous_round(self) -> None:
        """The round or attempt before."""
        self._turn(-1)

    def _turn(self, by: int) -> None:
        context = self.context
        if context is None:
            return
        there = context.index(self.shown_id) + by
        if not 0 <= there < len(context.versions):
            self.app.toast("That is the last round." if by > 0 else "That is the first round.")
            return
        self.shown_id = context.versions[there].id
        self.between = self.between and there > 0
        begin(self, self.reload, group="load", exclusive=True)

    def action_compare(self) -> None:
        """What changed since the round before, or the whole change."""
        if self.context is None:
            return
        if self.context.index(self.shown_id) == 0:
            self.app.toast("There is no round before this one.")
            return
        self.between = not self.between
        begin(self, self.reload, group="load", exclusive=True)

    def action_mark_seen(self) -> None:
        """Looked at, or not."""
        shown = self.shown
        if shown is not None:
            self._reaching_end = shown.seen  # unmarked by the user: reaching the end does not mark it again
            begin(self, partial(self._mark, [shown.id], not shown.seen), group="seen")

    # Deciding

    def action_approve(self) -> None:
        """Approve what is shown; with some of its hunks chosen, make a separate proposal of those first."""
        shown = self.shown
        chosen = self.chosen_in(shown) if shown is not None else frozenset()
        if chosen and self._otherwise:
            self.app.toast(OTHERWISE, "warning")
            return
        # All of its hunks chosen is the whole proposal: a plain approval.
        some = bool(chosen) and not chosen.issuperset(labels_of(self.diff.files))
        if self.context is not None and shown is not None and some:
            self._start_deciding(partial(self._split, shown, chosen))
        else:
            self._decide(Approve)

    def action_reject(self) -> None:
        """Reject, with an optional reason."""
        self._decide(Reject)

    def action_send_back(self) -> None:
        """Send back with a note and the comments on its lines."""
        self._decide(SendBack)

    def action_request_fix(self) -> None:
        """Have the findings of a review of existing work fixed by a task."""
        shown = self.shown
        if shown is not None:
            draft = note_key(shown.task_id, RequestFix.op)
            verb = RequestFix(proposal=shown.id, tree=shown.tree)
            self._start_deciding(partial(self._settle, verb, shown, draft))

    def action_judge(self) -> None:
        """Say what the finding under the cursor is worth."""
        shown, key = self.shown, self.diff.current_key
        held = numbered(shown) if shown is not None else []
        number = next((n for n, (role, at, _) in enumerate(held, 1) if key == f"f{role.value}{at}"), 0)
        if shown is None or not number:
            self.app.toast("Put the cursor on a finding first.")
            return
        begin(self, partial(self._judge, shown.id, number), group="judge")

    async def _judge(self, proposal: str, number: int) -> None:
        if await judge(self.app, proposal, number):
            await self.reload()

    def action_put_away(self) -> None:
        """A review of existing work is read."""
        shown = self.shown
        if shown is not None:
            self._start_deciding(partial(self._settle, PutAway(ids=(shown.task_id,)), shown))

    async def _settle(self, verb: Verb, shown: Proposal, draft: str = "") -> None:
        if await perform(self.app, verb, draft=draft) is None:
            return
        following = self._following(shown.id)
        if following and self.shown_id == shown.id:
            self.open(following)
        else:
            await self.reload()

    def offers(self, action: Action) -> bool:
        """Where there is nothing to land, what can be done with a review; else what can be decided."""
        existing = self.shown is not None and self.shown.existing
        if action.id == "review.undo":
            return bool(self.app.last_decided)
        if action.name in ("request_fix", "put_away"):
            return existing
        return not (existing and action.name in ("approve", "reject", "send_back", "select"))

    def _decide(self, verb: type[Decide]) -> None:
        if self.context is not None and self.shown is not None:
            pinned = verb(proposals=(Pinned(id=self.shown.id, tree=self.shown.tree),))
            draft = note_key(self.context.task.id, verb.kind.value)
            self._start_deciding(partial(self._perform, pinned, draft))

    def _start_deciding(self, job: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """One decision at a time."""
        if not any(worker.group == "decide" and not worker.is_finished for worker in self.workers):
            begin(self, job, group="decide")

    async def _perform(self, verb: Decide, draft: str) -> None:
        about = verb.proposals[0].id
        done = await perform(self.app, verb, draft=draft)
        recorded = [row for row in decided(done) if row.recorded] if done is not None else []
        if recorded:
            self._chosen.pop((about, verb.proposals[0].tree), None)
        landed = all(row.landing in (None, LandingState.LANDED) for row in recorded)
        following = self._following(about) if recorded and landed else ""
        if following and self.shown_id == about:
            self.open(following)
        else:
            await self.reload()

    def _following(self, decided: str) -> str:
        """The next proposal or review of the queue that still waits; "" where none does."""
        queue = self.waiting_queue
        waiting = {card.proposal for card in self.app.snapshot.inbox if card.with_you}
        waiting.discard(decided)
        here = queue.index(decided) if decided in queue else -1
        order = [*queue[here + 1 :], *queue[: max(0, here)]]
        return next((name for name in order if name in waiting), "")

    def action_undo(self) -> None:
        """Undo the landing or the approval of what is shown, else of what was decided last."""
        self._start_deciding(self._undo)

    async def _undo(self) -> None:
        last, here = self.app.last_decided, self.shown_id
        try:
            shown = await self.app.feed.read(lambda reader: read_card(reader, here))
        except NavigatorError as error:
            self.app.toast(str(error), "warning")
            return
        ids = last if last and Undo.refuse_one(shown) is not None else (here,)
        done = await perform(self.app, Undo(ids=ids))
        if done is not None and any(row["undone"] for row in done.data["undone"]):
            self.open(ids[-1])

    def action_escalate(self) -> None:
        """Have it read next, or by the final model."""
        if self.shown is not None:
            self._start_deciding(partial(escalate, self.app, self.shown.id, self.shown.tree))

    # Choosing hunks: a choice is kept while other proposals are shown

    def chosen_in(self, shown: Proposal) -> frozenset[str]:
        """The labels of the hunks that are chosen of a proposal."""
        return self._chosen.get((shown.id, shown.tree), frozenset())

    def _mark_chosen(self, shown: Proposal) -> None:
        """Show the chosen hunks on the diff that is drawn."""
        self.diff.set_chosen(frozenset() if self._otherwise else self.chosen_in(shown))

    def on_diff_view_choice_asked(self, event: DiffView.ChoiceAsked) -> None:
        """Choose hunks, or choose them no longer, where this can be split at all."""
        event.stop()
        context, shown = self.context, self.shown
        if context is None or shown is None:
            return
        why = why_not_chosen(context, shown, self.diff.files, otherwise=self._otherwise)
        if why:
            self.app.toast(why, "warning")
            return
        wanted, held = frozenset(event.labels), self.chosen_in(shown)
        self._chosen[shown.id, shown.tree] = held - wanted if wanted <= held else held | wanted
        self._mark_chosen(shown)
        self.draw_head()

    async def _split(self, shown: Proposal, chosen: frozenset[str]) -> None:
        """Ask, then have a part made of exactly the tree that was on the screen."""
        labels = tuple(label for label in labels_of(self.diff.files) if label in chosen)
        done = await perform(self.app, Split(proposal=shown.id, hunks=labels, tree=shown.tree))
        if done is None:
            await self.reload()
            return
        self._chosen.pop((shown.id, shown.tree), None)
        part = done.data["proposals"][0]["id"]
        self.queue = tuple(part if name == shown.id else name for name in self.queue)
        self.open(part)

    # Comments

    def action_comment(self) -> None:
        """Comment on the line under the cursor, or change the comment under it."""
        context, shown = self.context, self.shown
        if context is None or shown is None:
            return
        undo = self.app.keymap.shown("review.undo")
        try:
            place = comments.place_at_cursor(
                context, shown.id, self.diff, between=self.between, undo_key=undo
            )
        except NavigatorError as error:
            self.app.toast(str(error), "warning")
            return
        text = context.drafts.get(comment_key(place), place.text)
        begin(self, partial(self._comment, place, text), group="decide")

    async def _comment(self, place: KeepComment, text: str) -> None:
        quoted = (place.quote,) if place.quote else ()
        dialog = NoteDialog(
            comments.title_of(place),
            quoted,
            key=comment_key(place),
            text=text,
            placeholder="a comment",
            yes="save",
        )
        written: str | None = await self.app.push_screen_wait(dialog)
        if written is not None:
            await comments.save(self.app, place, written)
        await self.app.drafts.flush()
        await self.reload()

    # Looking closer

    def on_diff_view_context_asked(self, event: DiffView.ContextAsked) -> None:
        """More unchanged lines are wanted, or fewer."""
        event.stop()
        begin(self, partial(self._widen, event), group="load", exclusive=True)

    async def _widen(self, event: DiffView.ContextAsked) -> None:
        self.widened, self._drawn = not self.widened, None
        await self.reload()
        self.diff.move_to(event.path, "new", event.line)

    def action_search(self) -> None:
        """Search in the diff."""
        self.add_class("-search")
        self.query_one("#search").focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """To the next match."""
        if event.value and not comments.find_in(self.diff, event.value):
            self.app.toast(f"No match for “{event.value}”.", "warning")

    def back(self) -> bool:
        """Esc closes the search."""
        searching = self.has_class("-search")
        self.remove_class("-search")
        self.diff.focus()
        return searching

    async def action_editor(self) -> None:
        """Open the file under the cursor, as it is in this version, to read."""
        context, shown = self.context, self.shown
        path, old = comments.file_at_cursor(self.diff)
        if context is None or shown is None or not path:
            self.app.toast("No file is under the cursor.", "warning")
            return
        tree = self.base_of(context, shown) if old else shown.tree
        try:
            editor_words()
            content = await asyncio.to_thread(self.trees.content, context.project, tree, path)
            open_in_editor(self.app, path, content, self.diff.location.line)
        except NavigatorError as error:
            self.app.toast(str(error), "warning")

    def action_copy(self) -> None:
        """Copy the finding or comment under the cursor, else the path and line."""
        text = comments.copy_text(self.diff)
        if text:
            self.app.copy_to_clipboard(text)
        else:
            self.app.toast("Nothing to copy under the cursor.", "warning")

    def action_details(self) -> None:
        """The task, the checks' output, the policy items, the reviewer's words."""
        if self.context is not None and self.shown is not None:
            overlaps = self.overlaps_of(self.shown.id)
            self.app.push_screen(DetailsScreen(self.context, self.shown, overlaps))
