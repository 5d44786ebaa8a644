"""The developer's comments on lines, in Review."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from navigator.domain.errors import NavigatorError
from navigator.domain.states import ProposalState
from navigator.tui.diff.model import find_file, find_line
from navigator.tui.review.context import Remark, comment_key
from navigator.tui.widgets.panels import WritingPanel
from navigator.tui.work import begin

if TYPE_CHECKING:
    from navigator.tui.review.screen import ReviewScreen


class Remarks:
    """Mixed into the review screen."""

    _place: tuple[str, str, int, str] = ("", "new", 0, "")
    """Path, side, line (0: the file) and quote of what is being commented on."""
    _changing: Remark | None = None

    @property
    def _page(self) -> ReviewScreen:
        return cast("ReviewScreen", self)

    def action_comment(self) -> None:
        """Comment on the line under the cursor, or change the comment that stands there."""
        screen = self._page
        context, shown = screen.context, screen.shown
        if context is None or shown is None:
            return
        if context.current.state is not ProposalState.OPEN:
            screen.app.toast(
                f"{context.current.id} is decided: a comment would go nowhere. u takes the decision back.",
                "warning",
            )
            return
        found = next(
            (r for r in context.remarks if f"c{r.number}" == screen.diff.current_key and not r.sent), None
        )
        if found is not None:
            self._begin(found.path, found.side, found.line, found.quote, found)
            return
        place = screen.diff.location
        if not place.path:
            screen.app.toast("No line is under the cursor.", "warning")
            return
        if place.side == "old" and screen.between:
            screen.app.toast("That line is of the round before: comment on it there (,).", "warning")
            return
        self._begin(place.path, place.side, place.line or 0, self._quote(), None)

    def _begin(self, path: str, side: str, line: int, quote: str, changing: Remark | None) -> None:
        screen = self._page
        assert screen.context is not None and screen.shown is not None
        self._place, self._changing = (path, side, line, quote), changing
        number = changing.number if changing is not None else 0
        key = comment_key(screen.shown.id, side, line, path, number)
        held = screen.context.drafts.get(key, changing.text if changing is not None else "")
        where = f"{path}:{line}{' (removed)' if side == 'old' else ''}" if line else path
        screen.add_class("-writing")
        screen.query_one(WritingPanel).open(key, where, held)

    def _quote(self) -> str:
        """The text of the line under the cursor."""
        view = self._page.diff
        place = view.location
        if place.line is None:
            return ""
        ref = find_line(view.files, place.path, place.side, place.line)
        index = find_file(view.files, place.path)
        if ref is None or index is None:
            return ""
        return view.files[ref.file].hunks[ref.hunk].lines[ref.line].text

    def on_writing_panel_typed(self, event: WritingPanel.Typed) -> None:
        """Keep the draft."""
        event.stop()
        self._page.drafts.keep(event.key, event.text)

    def on_writing_panel_done(self, event: WritingPanel.Done) -> None:
        """Keep the comment, or the draft."""
        event.stop()
        screen = self._page
        screen.remove_class("-writing")
        screen.diff.focus()
        begin(screen, partial(self._end, event), group="comment")

    async def _end(self, event: WritingPanel.Done) -> None:
        """What is kept becomes a comment and its draft goes; what is put aside stays as a draft."""
        screen = self._page
        if not event.kept:
            screen.drafts.keep(event.key, event.text)
            await screen.drafts.flush()
            await screen.reload()
            return
        proposal = event.key.split(":")[1]
        path, side, line, quote = self._place
        changing, self._changing = self._changing, None
        text = event.text.strip()
        try:
            if text and (changing is None or text != changing.text):
                await screen.app.link.request(
                    "comment.add",
                    {
                        "proposal": changing.proposal if changing is not None else proposal,
                        "path": path,
                        "side": side,
                        "line": line,
                        "quote": quote,
                        "text": text,
                    },
                )
            if changing is not None and text != changing.text:
                await screen.app.link.request("comment.remove", {"number": changing.number})
        except NavigatorError as error:
            screen.drafts.keep(event.key, event.text)
            screen.app.toast(f"{error} What you wrote is kept as a draft.", "error")
        else:
            screen.drafts.keep(event.key, "")
        await screen.drafts.flush()
        await screen.reload()
