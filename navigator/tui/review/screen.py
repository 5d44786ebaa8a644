"""Review: a proposal's diff with what the reviewer found and what the developer says, and the row of proposals it is in."""

from __future__ import annotations

import asyncio
from functools import cached_property, partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from navigator.domain.diff import FileDiff
from navigator.domain.errors import NavigatorError
from navigator.domain.models import Proposal
from navigator.domain.states import Severity
from navigator.domain.text import safe_text
from navigator.tui.data.deck_snapshot import DeckSnapshot
from navigator.tui.data.drafts import DraftKeeper
from navigator.tui.diff.messages import ContextRequested
from navigator.tui.diff.model import Comment, Mode
from navigator.tui.diff.view import DiffView
from navigator.tui.keys.bindings import bindings_of
from navigator.tui.messages import OpenProposal
from navigator.tui.review.context import carried
from navigator.tui.review.comments import Remarks
from navigator.tui.review.context import ReviewContext, finding_notes, load_review_context
from navigator.tui.review.deciding import Deciding
from navigator.tui.review.split import Choosing
from navigator.tui.review.tools import Tools
from navigator.tui.review.trees import Trees
from navigator.tui.review.words import Place, rounds_line, title_line, warning_lines
from navigator.tui.widgets.cells import Piece
from navigator.tui.widgets.lines import PieceLines
from navigator.tui.widgets.panels import SearchBar, WritingPanel
from navigator.tui.widgets.screen import NavScreen
from navigator.tui.work import begin


class ReviewDiff(DiffView, inherit_bindings=False):
    """The diff view with the keys of the action registry."""

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("diff")


class ReviewScreen(Deciding, Choosing, Remarks, Tools, NavScreen):
    """Opened with `OpenProposal`: the id to show, and the ids to step through with n and p.

    A proposal counts as looked at when `m` says so, or when the end of its diff has stood on the screen for
    `SEEN_AFTER` seconds: opening it, or leafing past it, is not enough.
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
        self.selected: set[str] = set()
        self.shown_id = ""
        self.between = False
        self._picked = {}
        self._drawn: tuple[str, str] | None = None
        self._seq = -1
        self._reaching_end = False
        self._loading = 0
        self._stale = False

    @cached_property
    def trees(self) -> Trees:
        """Where diffs and files come from."""
        return Trees(self.app.paths)

    @cached_property
    def drafts(self) -> DraftKeeper:
        """Where unfinished texts go."""
        return DraftKeeper(self.app.link.request, lambda told: self.app.toast(told, "warning"))

    def compose_body(self) -> ComposeResult:
        """Head, warnings, diff, and what opens at the foot."""
        yield PieceLines(id="head")
        yield PieceLines(most=self.MOST_WARNINGS, id="warnings")
        mode: Mode = "split" if self.app.prefs.get("diff.mode", "unified") == "split" else "unified"
        yield ReviewDiff(mode=mode, wrap=self.app.prefs.get("diff.wrap", "no") == "yes", id="diff")
        yield Static("", id="message")
        yield WritingPanel(id="writing")
        yield SearchBar(placeholder="search in the diff   enter next   ↑ before   esc closes", id="search")

    def on_mount(self) -> None:
        """Mind how far the diff was scrolled, and how it is shown."""
        self.watch(self.diff, "scroll_y", self._mind_the_end, init=False)
        self.watch(self.diff, "mode", lambda mode: self.app.prefs.set("diff.mode", mode), init=False)
        self.watch(
            self.diff,
            "wrap",
            lambda wrap: self.app.prefs.set("diff.wrap", "yes" if wrap else "no"),
            init=False,
        )

    async def on_unmount(self) -> None:
        """Keep what is unfinished."""
        await self.drafts.close()

    @property
    def diff(self) -> ReviewDiff:
        """The diff view."""
        return self.query_one("#diff", ReviewDiff)

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
            self.queue = request.queue
            self.open(request.proposal)

    def open(self, proposal: str) -> None:
        """Show another proposal, from its top."""
        self.shown_id, self.between, self._drawn = proposal, False, None
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
            self.drafts.seed(key, text)
        self.draw_head()
        await self._draw_diff(context)

    async def _draw_diff(self, context: ReviewContext) -> None:
        shown = context.versions[context.index(self.shown_id)]
        before = self.base_of(context, shown)
        pair = (before, shown.tree)
        try:
            files, comments = await asyncio.to_thread(
                self._read, context, shown, pair, pair != self._drawn, self.between
            )
        except NavigatorError as error:
            self._drawn = None
            self._say(str(error))
            return
        if self.context is not context:
            return
        notes = finding_notes(context, shown, anchors=not self.between)
        if files is None:
            self.diff.set_findings(notes)
            self.diff.set_comments(comments)
            return
        self._drawn = pair
        self._say("" if files else self._nothing(context, shown))
        self.diff.show(files, notes, comments)
        self.mark_picked(shown)
        for note in notes:
            # What is taste, and stands under no line, takes one row until it is asked for.
            if note.finding.severity is Severity.NIT or (
                note.finding.severity is Severity.MINOR and not note.finding.anchored
            ):
                self.diff.set_expanded(note.key, False)
        self._reaching_end = False
        self.call_after_refresh(self._mind_the_end)

    def _read(
        self, context: ReviewContext, shown: Proposal, pair: tuple[str, str], anew: bool, between: bool
    ) -> tuple[list[FileDiff] | None, list[Comment]]:
        """The diff, where another one is wanted, and the comments as they stand on it. Runs in a thread."""
        files = self.trees.diff(context.project, *pair) if anew else None
        commented = {remark.path for remark in context.remarks if remark.line and remark.proposal != shown.id}
        lines = self.trees.lines_of(context.project, shown.tree, commented)
        return files, carried(context, shown, lines, old_is_base=not between)

    def base_of(self, context: ReviewContext, shown: Proposal) -> str:
        """What the diff is against: the base, or the round before."""
        place = context.index(shown.id)
        return context.versions[place - 1].tree if self.between and place > 0 else shown.base_commit

    def _nothing(self, context: ReviewContext, shown: Proposal) -> str:
        if self.between:
            return f"{shown.id} is what the round before was, to the byte."
        return f"{shown.id} changes nothing."

    def _say(self, words: str) -> None:
        """Words in the place of the diff; none: the diff."""
        self.set_class(bool(words), "-message")
        self.query_one("#message", Static).update(Content(safe_text(words)))

    # The head

    def draw_head(self) -> None:
        """Say anew what is shown, and how."""
        self.query_one("#head", PieceLines).show(self._head)
        self.query_one("#warnings", PieceLines).show(self._warnings)
        self.refresh_keys()

    def _head(self, width: int) -> list[list[Piece]]:
        context, shown = self.context, self.shown
        if context is None or shown is None:
            return []
        queue = self.waiting_queue
        mine = {version.id for version in context.versions}
        number = next((index for index, name in enumerate(queue, 1) if name in mine), 0)
        chosen = len(self.picked_of(shown))
        place = Place(number, len(queue), shown.id in self.selected, self.between, chosen)
        return [title_line(context, shown, width), rounds_line(context, shown, place, width)]

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
        self.look_for_part(snapshot)
        if self._loading:
            self._stale = True  # what is being read now may be older; it is not thrown away for that
            return
        begin(self, self.reload, group="load", exclusive=True)

    def back(self) -> bool:
        """Esc closes what is open, then the full screen, then leaves."""
        if self.has_class("-full"):
            self.action_full()
            return True
        return False

    # What was seen

    def _mind_the_end(self) -> None:
        """Begin to count once the end of the diff is on the screen."""
        shown, diff = self.shown, self.diff
        if shown is None or shown.seen or self.between or self._drawn is None or self._reaching_end:
            return
        if round(diff.scroll_y) + diff.scrollable_content_region.height < diff.virtual_size.height:
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
        if await self.app.ask("seen", {"ids": ids, "seen": seen}) is not None:
            await self.reload()

    # Going about

    def action_next_proposal(self) -> None:
        """The next one."""
        self._leaf(1)

    def action_previous_proposal(self) -> None:
        """The one before."""
        self._leaf(-1)

    def _leaf(self, by: int) -> None:
        queue = self.waiting_queue
        mine = {version.id for version in self.context.versions} if self.context else set()
        here = next((index for index, name in enumerate(queue) if name in mine), None)
        there = 0 if here is None else here + by
        if not queue or not 0 <= there < len(queue) or queue[there] in mine:
            self.app.toast("There is no other proposal in that direction.")
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

    def action_between_rounds(self) -> None:
        """What changed since the round before, or the whole change."""
        if self.context is None:
            return
        if self.context.index(self.shown_id) == 0:
            self.app.toast("There is no round before this one.")
            return
        self.between = not self.between
        begin(self, self.reload, group="load", exclusive=True)

    def action_full(self) -> None:
        """The diff alone, or everything."""
        self.toggle_class("-full")

    def action_select(self) -> None:
        """Select the proposal for a batch decision, or not; on to the next."""
        shown = self.shown
        if shown is None:
            return
        self.selected ^= {shown.id}
        self.draw_head()
        self.app.toast(f"{len(self.selected)} selected" if self.selected else "Nothing is selected.")

    def action_mark_seen(self) -> None:
        """Looked at, or not."""
        shown = self.shown
        if shown is not None:
            self._reaching_end = (
                shown.seen
            )  # taken back by hand: the end on the screen does not mark it again
            begin(self, partial(self._mark, [shown.id], not shown.seen), group="seen")

    def on_diff_view_context_requested(self, event: ContextRequested) -> None:
        """Unchanged lines are wanted."""
        event.stop()
        begin(self, partial(self._more_context, event), group="context")
