"""Looking closer in Review: more context, search, the editor, the clipboard, the details."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

from textual.app import SuspendNotSupported

from navigator.domain.diff import FileDiff
from navigator.domain.errors import NavigatorError
from navigator.tui.diff.messages import ContextRequested
from navigator.tui.diff.model import Comment, FindingNote, Side, find_file
from navigator.tui.terminal.editor import borrowed, editor_command, editor_words, run_editor
from navigator.tui.widgets.panels import SearchBar

if TYPE_CHECKING:
    from navigator.tui.review.screen import ReviewScreen


class Tools:
    """Mixed into the review screen."""

    @property
    def _screen(self) -> ReviewScreen:
        return cast("ReviewScreen", self)

    # More context

    async def _more_context(self, event: ContextRequested) -> None:
        """Fetch unchanged lines from the version shown and put them into the diff."""
        screen = self._screen
        context, shown = screen.context, screen.shown
        if context is None or shown is None:
            return
        try:
            text = await asyncio.to_thread(screen.trees.text, context.project, shown.tree, event.path)
        except NavigatorError as error:
            screen.app.toast(str(error), "warning")
            return
        if screen.shown is not None and screen.shown.id != shown.id:
            return
        lines = text.split("\n")
        no_newline = lines[-1] != ""
        if not no_newline:
            lines.pop()
        first = event.first - 1
        some = lines[first : first + event.count]
        ended = first + event.count >= len(lines)
        screen.diff.insert_context(
            event.path,
            event.hunk,
            some,
            event.where,
            ended=ended and event.where == "below",
            no_newline=ended and no_newline and bool(some),
        )

    # Search

    def action_search(self) -> None:
        """Search in the diff."""
        self._screen.add_class("-search")
        self._screen.query_one(SearchBar).open()

    def on_search_bar_step(self, event: SearchBar.Step) -> None:
        """To another place that matches, or back to the diff."""
        event.stop()
        screen = self._screen
        if not event.by:
            screen.remove_class("-search")
            screen.diff.focus()
            return
        if not find_in(screen, event.query, event.by):
            screen.app.toast(f"Nothing in the diff says “{event.query}”.", "warning")

    # The editor

    async def action_editor(self) -> None:
        """Open the file under the cursor, as it is in this version, to read."""
        screen = self._screen
        context, shown = screen.context, screen.shown
        place = screen.diff.location
        if context is None or shown is None or not place.path:
            screen.app.toast("No file is under the cursor.", "warning")
            return
        side, path, tree = place.side, place.path, shown.tree
        if side == "old" or _is_gone(screen.diff.files, path):
            tree, path = screen.base_of(context, shown), _old_name(screen.diff.files, path)
        try:
            words = editor_words()
            content = await asyncio.to_thread(screen.trees.content, context.project, tree, path)
            with borrowed(path, content) as file:
                command = editor_command(words, file, place.line)
                with screen.app.suspend():
                    run_editor(command)
        except SuspendNotSupported:
            screen.app.toast("This terminal cannot be lent to an editor.", "warning")
        except NavigatorError as error:
            screen.app.toast(str(error), "warning")
        screen.refresh()

    # The clipboard

    def action_copy(self) -> None:
        """The finding or comment under the cursor, the hunk, or the file's path."""
        screen = self._screen
        text = copy_text(screen)
        if text:
            screen.app.copy_to_clipboard(text)
        else:
            screen.app.toast("There is nothing to copy under the cursor.", "warning")

    def action_details(self) -> None:
        """The task, the checks' output, the policy items, the reviewer's words."""
        from navigator.tui.review.details import DetailsDialog

        screen = self._screen
        if screen.context is not None and screen.shown is not None:
            screen.app.push_screen(
                DetailsDialog(screen.context, screen.shown, screen.overlaps_of(screen.shown.id))
            )


def copy_text(screen: ReviewScreen) -> str:
    """What `y` copies where the cursor stands."""
    diff = screen.diff
    key = diff.current_key
    for annotation in diff.annotations if key else ():
        if annotation.key != key:
            continue
        if isinstance(annotation, Comment):
            return annotation.text
        return _finding_text(annotation)
    place = diff.location
    if not place.hunk:
        return place.path
    for file in diff.files:
        for hunk in file.hunks:
            if file.path == place.path and hunk.label == place.hunk:
                head = f"@@ -{hunk.old_start},{hunk.old_count} +{hunk.new_start},{hunk.new_count} @@ {hunk.section}"
                body = (f"{line.kind}{line.text}" for line in hunk.lines)
                return "\n".join([f"--- {file.path}", head.rstrip(), *body, ""])
    return ""


def _finding_text(note: FindingNote) -> str:
    finding = note.finding
    where = f"{finding.path}:{finding.line}" if finding.line else finding.path
    head = " · ".join(
        part for part in (finding.severity.value, finding.criterion.value, finding.kind.value, where) if part
    )
    quote = f"> {finding.quote}" if finding.quote else ""
    trigger = f"happens when: {finding.trigger}" if finding.trigger else ""
    return "\n".join(part for part in (head, quote, finding.message, trigger) if part)


def find_in(screen: ReviewScreen, query: str, by: int) -> bool:
    """Put the cursor on the next line (by 1) or the one before (-1) that holds the words; round the end."""
    wanted = query.casefold()
    diff, place = screen.diff, screen.diff.location
    places: list[tuple[str, Side, int]] = []
    before, on_one = 0, False
    for file in diff.files:
        if file.path == place.path and place.line is None:
            before = len(places)
        for line in (line for hunk in file.hunks for line in hunk.lines):
            side: Side = "old" if line.kind == "-" else "new"
            number = line.old if side == "old" else line.new
            here = (file.path, side, number) == (place.path, place.side, place.line)
            matches = number is not None and wanted in line.text.casefold()
            if here:
                before, on_one = len(places), matches
            if matches and number is not None:
                places.append((file.path, side, number))
    if not places:
        return False
    target = before + (1 if on_one else 0) if by > 0 else before - 1
    path, side, number = places[target % len(places)]
    return diff.move_to(path, side, number)


def _is_gone(files: object, path: str) -> bool:
    assert isinstance(files, tuple)
    index = find_file(files, path)
    return index is not None and files[index].status == "D"


def _old_name(files: object, path: str) -> str:
    assert isinstance(files, tuple)
    index = find_file(files, path)
    file: FileDiff | None = files[index] if index is not None else None
    return (file.old_path or path) if file is not None else path
