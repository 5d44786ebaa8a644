"""What the screens of a report and of a scan's suggestions share: the head, and what is done with the whole."""

from __future__ import annotations

from functools import cached_property

from textual import work
from textual.app import SuspendNotSupported

from navigator.domain.errors import NavigatorError
from navigator.domain.states import TaskState
from navigator.tui.answers.answer import AnswerText, head_lines, read_answer
from navigator.tui.data.deck_snapshot import DeckSnapshot
from navigator.tui.data.drafts import DraftKeeper
from navigator.tui.terminal.editor import borrowed, editor_command, editor_words, run_editor
from navigator.tui.widgets.cells import Piece
from navigator.tui.widgets.lines import PieceLines
from navigator.tui.widgets.screen import NavScreen


class AnswerScreen(NavScreen):
    """Over any screen; esc leaves it. A subclass shows the answer in `show_answer`."""

    DEFAULT_CSS = """
    AnswerScreen #head { background: $surface; padding: 0 1; }
    """

    def __init__(self, identifier: str) -> None:
        super().__init__()
        self._identifier = identifier
        self.answer: AnswerText | None = None

    @cached_property
    def drafts(self) -> DraftKeeper:
        """Where a note goes that is not sent yet."""
        return DraftKeeper(self.app.link.request, lambda told: self.app.toast(told, "warning"))

    def on_mount(self) -> None:
        """The head is drawn for the width there is."""
        self.query_one("#head", PieceLines).show(self._head)

    async def on_unmount(self) -> None:
        """Keep what was typed."""
        await self.drafts.close()

    def show_snapshot(self, snapshot: DeckSnapshot) -> None:
        """Something happened, perhaps to this task."""
        if snapshot.loaded:
            self._read()

    @work(exclusive=True, group="read")
    async def _read(self) -> None:
        try:
            answer = await self.app.feed.read(lambda reader: read_answer(reader, self._identifier))
        except NavigatorError as error:
            self.app.toast(str(error), "error")
            return
        if answer == self.answer:
            return
        self.answer = answer
        self.query_one("#head", PieceLines).refresh(layout=True)
        self.show_answer(answer)
        self.refresh_keys()

    def show_answer(self, answer: AnswerText) -> None:
        """Draw what the answer is now."""

    def word(self, answer: AnswerText) -> str:
        """Where it stands, in a word or two."""
        return answer.task.state.value.replace("_", " ")

    def _head(self, width: int) -> list[list[Piece]]:
        return head_lines(self.answer, self.word(self.answer), width) if self.answer is not None else [[], []]

    @property
    def waits(self) -> bool:
        """Whether it waits for the developer's word."""
        return self.answer is not None and self.answer.task.state is TaskState.AWAITING_APPROVAL

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Only what fits the task's state."""
        return self.waits if action in ("done", "send_back") else True

    # Actions

    @work(group="decide")
    async def action_done(self) -> None:
        """Read: put it away."""
        await self.put_away()

    async def put_away(self) -> None:
        """Have the task be done, and leave."""
        done = f"{self._identifier} is put away."
        if await self.app.ask("task.done", {"ids": [self._identifier]}, done=done) is not None:
            self.dismiss(None)

    @work(group="decide")
    async def action_send_back(self) -> None:
        """A new attempt, with a note."""
        from navigator.tui.dialogs.note import NoteDialog

        key = f"note:{self._identifier}"
        try:
            held = (await self.app.feed.read(lambda reader: reader.drafts(key))).get(key, "")
        except NavigatorError as error:
            self.app.toast(str(error), "warning")
            held = ""
        self.drafts.seed(key, held)
        note = await self.app.push_screen_wait(
            NoteDialog(
                f"Send {self._identifier} back?",
                ["It is answered anew; your note stands before everything else."],
                key=key,
                text=held,
                drafts=self.drafts,
                needed="Say what to do otherwise.",
                yes="send it back",
            )
        )
        if note is None:
            await self.drafts.flush()
            return
        done = f"{self._identifier} is queued again."
        answer = await self.app.ask("task.send-back", {"ids": [self._identifier], "note": note}, done=done)
        if answer is None:
            return
        self.drafts.keep(key, "")
        await self.drafts.flush()
        self.app.want_work()
        self.dismiss(None)

    def action_copy(self) -> None:
        """The whole report."""
        if self.answer is not None:
            self.app.copy_to_clipboard(self.answer.task.report)

    def action_editor(self) -> None:
        """Read it in $VISUAL or $EDITOR; what is written there is not kept."""
        if self.answer is None:
            return
        try:
            words = editor_words()
            with borrowed(f"{self._identifier}.md", self.answer.task.report.encode()) as file:
                command = editor_command(words, file)
                with self.app.suspend():
                    run_editor(command)
        except SuspendNotSupported:
            self.app.toast("This terminal cannot be lent to an editor.", "warning")
        except NavigatorError as error:
            self.app.toast(str(error), "warning")
        self.refresh()

    def action_details(self) -> None:
        """The task's own page: its text, and what happened to it."""
        from navigator.tui.answers.task import TaskScreen

        self.app.push_screen(TaskScreen(self._identifier))
