"""The deck: every project, what waits for the user, what is being worked on, what ended today."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from operator import attrgetter
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Input

from navigator.model.states import DecisionKind, TaskKind, TaskState
from navigator.model.text import safe_line
from navigator.sheet.variants import best_first
from navigator.tui import deck_rows as draw
from navigator.tui.base import DecideAll, OpenProposal, OpenTask, begin
from navigator.tui.deck_rows import admits, together
from navigator.tui.deck_snapshot import DeckSnapshot, LiveStatus, ProjectRow
from navigator.tui.keys import Action
from navigator.tui.widgets.cells import Piece
from navigator.tui.widgets.rows import RowList
from navigator.tui.widgets.screen import NavScreen

if TYPE_CHECKING:
    from navigator.actions.base import Verb
    from navigator.store.reads.cards import Card

PANES = ("inbox", "work", "ended", "projects")
"""In the order of tab. Where only one fits, the first is shown first."""

_NOTHING_WAITS = (
    "Nothing waits for you.",
    "",
    "Proposals appear here after their review.",
)
_NOTHING_MATCHES = ("Nothing matches the filter.", "", "esc clears it")
_NO_PROJECTS = ("No projects yet.", "", "+ finds repositories in a folder")


class DeckScreen(NavScreen):
    """The first screen."""

    SCOPE = "deck"
    TITLE = "deck"
    FULL_STRIP = True
    CSS_PATH = "deck.tcss"
    AUTO_FOCUS = "#inbox"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (116, "-normal"), (136, "-roomy"), (160, "-wide")]  # noqa: RUF012 (Textual declares it so)
    """Below 116 cells two panes side by side would leave nothing of the titles."""

    def __init__(self) -> None:
        super().__init__(classes="show-inbox")
        self._words: list[str] = []
        self._snapshot = DeckSnapshot()
        self._card_order = "effort"
        self._greeted = False
        self._variants: dict[str, list[Card]] = {}
        self._best: frozenset[str] = frozenset()

    def compose_body(self) -> ComposeResult:
        """Four lists and the filter."""
        with Horizontal(id="panes"):
            yield RowList[ProjectRow](
                lambda row: row.name,
                draw.draw_project,
                heading=self._project_heading,
                selectable=True,
                id="projects",
            )
            with Vertical(id="right"):
                yield RowList["Card"](
                    lambda card: card.proposal or card.task,
                    self._draw_waiting,
                    heading=self._inbox_heading,
                    selectable=True,
                    id="inbox",
                )
                task = attrgetter("task")
                yield RowList["Card"](task, draw.draw_work, heading=self._work_heading, id="work")
                yield RowList["Card"](task, draw.draw_ended, heading=self._ended_heading, id="ended")
        yield Input(
            placeholder="words  project:name  is:revise confirm overlap failed unseen variant existing …",
            id="filter",
        )

    def on_mount(self) -> None:
        """Restore the chosen order."""
        if self.app.prefs.get("deck.inbox", "") == "oldest":
            self._card_order = "oldest"

    # What is shown

    def pane(self, name: str) -> RowList[Any]:
        """One of the lists."""
        return self.query_one(f"#{name}", RowList)

    @property
    def focused_pane(self) -> str:
        """The name of the list that keys go to."""
        return self.focused.id if isinstance(self.focused, RowList) and self.focused.id in PANES else "inbox"

    @property
    def current_card(self) -> Card | None:
        """The task under the cursor of the focused list; None on a project."""
        row: Card | ProjectRow | None = self.pane(self.focused_pane).current
        return None if isinstance(row, ProjectRow) else row

    def offers(self, action: Action) -> bool:
        """Only what does something where the cursor is."""
        here, card = self.pane(self.focused_pane).current, self.current_card
        offered: dict[str, object] = {
            "app.start_conductor": self._snapshot.work,
            "deck.open": here,
            "deck.approve": card,
            "deck.approve_batch": card,
            "deck.review_existing": here if self.focused_pane == "projects" else None,
            "deck.swap": self._snapshot.awaiting_review,
            "deck.undo": self.app.last_decided,
            "deck.add": not self._snapshot.projects,
        }
        return bool(offered.get(action.id, True))

    def on_descendant_focus(self) -> None:
        """The keys go to another list."""
        self.refresh_keys()

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """New rows, or more that is known of the same ones."""
        before, self._snapshot = self._snapshot, snapshot
        if self._words or snapshot.overlaps is not before.overlaps:
            self._fill()
        for name in PANES:  # times and marks move where the rows do not
            self.pane(name).refresh()
        self.refresh_keys()
        if snapshot.loaded and self.app.settled and not self._greeted:
            self._greeted = True
            if not snapshot.projects and self.app.settings.source is None:
                from navigator.tui.welcome import FirstRunScreen

                self.app.push_screen(FirstRunScreen())

    def show_live(self, live: LiveStatus) -> None:
        """Tokens move in the list of work."""
        if live.streams:
            self.pane("work").refresh()

    def _fill(self) -> None:
        snapshot = self._snapshot
        if not snapshot.loaded:
            if snapshot.problem:  # it stays: an empty deck would look as if everything were gone
                pane = self.pane("inbox")
                words = wrap(safe_line(snapshot.problem), max(20, pane.size.width - 4))
                pane.empty = ("The stored state cannot be read. Nothing is lost.", "", *words)
                for name in PANES:
                    self.pane(name).set_rows([])
            return
        self.pane("inbox").empty = _NOTHING_MATCHES if self._words and snapshot.inbox else _NOTHING_WAITS
        self.pane("projects").empty = _NOTHING_MATCHES if snapshot.projects else _NO_PROJECTS
        inbox = self._admitted(snapshot.quickest if self._card_order == "effort" else snapshot.inbox)
        self._variants = best_first(snapshot.inbox)
        self._best = frozenset(group[0].task for group in self._variants.values())
        self.pane("inbox").set_rows(together(inbox, self._variants))
        named = [word for word in self._words if word.startswith("project:")]
        self.pane("projects").set_rows(
            [
                row
                for row in snapshot.projects
                if all(word in f"project:{row.name}".casefold() for word in named)
            ]
        )
        self.pane("work").set_rows(self._admitted(snapshot.work))
        self.pane("ended").set_rows(self._admitted(snapshot.ended))
        heights = pane_heights(
            self.query_one("#right").size.height, *(len(self.pane(n).rows) for n in PANES[:3])
        )
        for name, height in zip(PANES[:2], heights, strict=True):
            self.pane(name).styles.height = None if self.has_class("-narrow") else height

    def _admitted(self, cards: Sequence[Card]) -> Sequence[Card]:
        words, known = self._words, self._snapshot.known
        return [card for card in cards if admits(words, known(card))] if words else cards

    def on_resize(self) -> None:
        """Another size: the short lists get another share."""
        self.call_after_refresh(self._fill)

    def _project_heading(self, width: int) -> list[Piece]:
        return draw.project_heading(width, self._counted(len(self.pane("projects").rows)))

    def _counted(self, rows: int) -> int | None:
        """How many there are; None before the store was read."""
        return rows if self._snapshot.loaded else None

    def _inbox_heading(self, width: int) -> list[Piece]:
        if not self._snapshot.loaded:
            return draw.card_heading("WAITING FOR YOU", None, "reading …", width)
        pane = self.pane("inbox")
        notes = []
        if len(pane.rows) != len(self._snapshot.inbox):
            notes.append(f"of {len(self._snapshot.inbox)}")
        if pane.selection:
            notes.append(f"{len(pane.selection)} selected")
        notes.append("quickest first" if self._card_order == "effort" else "oldest first")
        return draw.card_heading(
            "WAITING FOR YOU", len(pane.rows), "  ".join(notes), width, self._elsewhere("inbox")
        )

    def _work_heading(self, width: int) -> list[Piece]:
        cards = self.pane("work").rows
        queued = sum(card.state is TaskState.QUEUED for card in cards)
        note = f"{queued} queued" if queued else ""
        return draw.card_heading(
            "WORKING", self._counted(len(cards) - queued), note, width, self._elsewhere("work")
        )

    def _ended_heading(self, width: int) -> list[Piece]:
        note = draw.ended_note(self._snapshot.ended)
        return draw.card_heading(
            "ENDED TODAY", None if note else self._counted(0), note, width, self._elsewhere("ended")
        )

    def _elsewhere(self, name: str) -> str:
        """Where one list hides the others: what tab shows next."""
        if not self.has_class("-narrow"):
            return ""
        key = self.app.keymap.shown("deck.next_pane")
        other = PANES[(PANES.index(name) + 1) % len(PANES)]
        words = {"inbox": "waiting", "work": "work", "ended": "ended", "projects": "projects"}
        return f"{key} → {words[other]} {len(self.pane(other).rows)}"

    def _draw_waiting(self, card: Card, width: int) -> list[Piece]:
        return draw.draw_waiting(self._snapshot.known(card), width, best=card.task in self._best)

    # Going about

    @on(RowList.Chosen)
    def _open_chosen(self) -> None:
        self.action_open()

    def action_open(self) -> None:
        """A project narrows the inbox to itself; a task opens."""
        row: Card | ProjectRow | None = self.pane(self.focused_pane).current
        if isinstance(row, ProjectRow):
            self._narrow_to(row.name)
        elif row is not None and row.proposal:
            rows: list[Card] = list(self.pane(self.focused_pane).rows)
            self.post_message(OpenProposal(row.proposal, [card.proposal for card in rows if card.proposal]))
        elif row is not None:
            self.post_message(OpenTask(row.task, page_of(row)))

    def _narrow_to(self, name: str) -> None:
        field = self.query_one("#filter", Input)
        wanted = f"project:{name}"
        field.value = "" if field.value == wanted else wanted
        field.set_class(bool(field.value), "-open")
        if field.value:
            self._focus("inbox")

    def meant_projects(self) -> list[str]:
        """The selected projects, or the one under the cursor."""
        selected = self.pane("projects").selected_rows
        row: Card | ProjectRow | None = self.pane(self.focused_pane).current
        if selected:
            return [project.name for project in selected]
        if isinstance(row, ProjectRow):
            return [row.name]
        return [row.project] if row is not None else []

    def action_next_pane(self) -> None:
        """To the next list."""
        self._focus(PANES[(PANES.index(self.focused_pane) + 1) % len(PANES)])

    def action_previous_pane(self) -> None:
        """To the list before."""
        self._focus(PANES[(PANES.index(self.focused_pane) - 1) % len(PANES)])

    def _focus(self, name: str) -> None:
        for other in PANES:
            self.set_class(other == name, f"show-{other}")
        self.pane(name).focus()

    def action_add(self) -> None:
        """Find repositories under a folder."""
        from navigator.tui.welcome import AddProjectsScreen

        self.app.push_screen(AddProjectsScreen())

    # Verbs. Their modules are imported when one is performed: the first paint does not wait for them.

    def _perform(self, verb: type[Verb], **args: Any) -> None:
        from navigator.tui.verbs import perform

        begin(self, partial(perform, self.app, verb(**args)), group="verb")

    def action_approve(self) -> None:
        """Approve the proposal under the cursor; put a report away; open a scan's suggestions to choose from."""
        from navigator.actions.approve import Approve
        from navigator.actions.tasks import PutAway

        card = self.current_card
        if card is None:
            return
        if card.suggestions and not card.proposal:
            self.action_open()  # putting it away would dismiss all of them
        elif card.report and not card.proposal:
            self._perform(PutAway, ids=(card.task,))
        elif (refusal := Approve.refuse_one(card)) is not None:
            self.app.toast(str(refusal), "warning")
        else:
            self.post_message(DecideAll(DecisionKind.APPROVE, [(card.proposal, card.tree)]))

    def action_approve_batch(self) -> None:
        """Approve the selected proposals, else the batch of the one under the cursor, else all that wait."""
        self._decide_all(DecisionKind.APPROVE)

    def action_reject_batch(self) -> None:
        """The same, rejected."""
        self._decide_all(DecisionKind.REJECT)

    def _decide_all(self, kind: DecisionKind) -> None:
        cards = self.batch_cards()
        if cards:
            self.post_message(DecideAll(kind, [(card.proposal, card.tree) for card in cards]))
        else:
            self.app.toast("No proposal here waits for a decision.", "warning")

    def action_review_existing(self) -> None:
        """Choose what of the project under the cursor is reviewed."""
        from navigator.tui.verbs import review_existing

        for name in self.meant_projects()[:1]:
            begin(self, partial(review_existing, self.app, name), group="verb")

    def batch_cards(self) -> list[Card]:
        """What a batch key is about. A row without a waiting proposal means every waiting proposal."""
        inbox = self.pane("inbox")
        rows: list[Card] = inbox.selected_rows or list(inbox.rows)
        waiting = [card for card in rows if card.to_decide]
        current = inbox.current
        if inbox.selected_rows or current is None or not current.to_decide:
            return waiting
        return [card for card in waiting if card.batch == current.batch]

    def action_swap(self) -> None:
        """Load the reviewer without waiting for the batch to fill."""
        if self._snapshot.loaded and not self._snapshot.awaiting_review:
            self.app.toast("No proposal waits for review.", "warning")
        else:
            begin(self, self._swap, group="verb")

    async def _swap(self) -> None:
        from navigator.actions.conducting import Conduct
        from navigator.tui.verbs import perform

        can_start = not self.app.link.here and self.app.settings.swap.strategy is not None
        if can_start and not await self.app.start_conductor():
            return
        await perform(self.app, Conduct(do="review"))

    def action_mark_seen(self) -> None:
        """Mark as seen, or not seen."""
        from navigator.actions.notes import MarkSeen

        current = [self.current_card] if self.current_card is not None else []
        cards = [card for card in self.pane("inbox").selected_rows or current if card.proposal]
        if cards:
            seen = not all(card.seen for card in cards)
            self._perform(MarkSeen, ids=tuple(card.proposal for card in cards), seen=seen)

    def action_escalate(self) -> None:
        """Have it read next, or by the final model."""
        card = self.current_card
        if card is not None and card.proposal:
            from navigator.tui.verbs import escalate

            begin(self, partial(escalate, self.app, card.proposal, card.tree), group="verb")

    def action_undo(self) -> None:
        """Undo the landing or the approval under the cursor, else what was decided last."""
        from navigator.actions.deciding import Undo

        card, last = self.current_card, self.app.last_decided
        own = card is not None and card.proposal and Undo.refuse_one(card) is None
        if card is not None and card.proposal and (own or not last):
            last = (card.proposal,)
        if last:
            self._perform(Undo, ids=last)

    def action_retry(self) -> None:
        """Start a new attempt."""
        from navigator.actions.tasks import Retry

        if self.current_card is not None:
            self._perform(Retry, ids=(self.current_card.task,))

    def action_stop(self) -> None:
        """Cancel a task that has not ended."""
        from navigator.actions.tasks import Cancel

        if self.current_card is not None:
            self._perform(Cancel, ids=(self.current_card.task,))

    # Filter and order

    def action_search(self) -> None:
        """Type a filter."""
        field = self.query_one("#filter", Input)
        field.add_class("-open")
        field.focus()

    @on(Input.Changed, "#filter")
    def _filter_changed(self, event: Input.Changed) -> None:
        self._words = event.value.casefold().split()
        self._fill()

    @on(Input.Submitted, "#filter")
    def _filter_done(self, event: Input.Submitted) -> None:
        event.input.set_class(bool(event.value), "-open")
        self._focus("inbox")

    def action_sort(self) -> None:
        """What waits: the quickest to decide first, or the oldest."""
        self._card_order = "oldest" if self._card_order == "effort" else "effort"
        self.app.prefs.set("deck.inbox", self._card_order)
        self._fill()

    def back(self) -> bool:
        """Esc clears the filter, then the selection."""
        field = self.query_one("#filter", Input)
        if self._words or field.has_class("-open"):
            field.value = ""
            field.remove_class("-open")
            self._focus(self.focused_pane)
            return True
        inbox = self.pane("inbox").clear_selection()
        return self.pane("projects").clear_selection() or inbox


def pane_heights(height: int, waiting: int, work: int, ended: int) -> tuple[int, int]:
    """Lines of what waits and of what is worked on, their headings included; what ended has the rest.

    What waits has the lines that it needs, but leaves a third to the work, and a few to what ended.
    """
    rows = height - 5  # three headings, two blank lines
    ends = min(max(ended, 1), max(2, rows // 5))
    first = min(max(waiting, 3), max(3, rows - ends - min(work, rows // 3)))
    return 1 + first, 1 + max(0, min(work, rows - ends - first))


def page_of(card: Card) -> str:
    """Which screen shows a task without a proposal: "suggestions", or "" for the task's own page."""
    read = card.kind == TaskKind.SCAN.value and card.state is TaskState.DONE
    return "suggestions" if card.report and not card.proposal and (card.suggestions or read) else ""
