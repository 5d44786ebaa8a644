"""The diff view: one widget on the line API, whatever the length of the diff."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import ClassVar

from textual import events
from textual.binding import BindingType

from navigator.model.diff import FileDiff, choices
from navigator.tui.diff import messages
from navigator.tui.diff.layout import (
    DiffRow,
    RowKind,
    build_rows,
    first_line,
    hidden_above,
    with_lines_above,
    with_lines_below,
)
from navigator.tui.diff.model import (
    Annotation,
    FindingNote,
    LineComment,
    Mode,
    Side,
    find_file,
    find_line,
    place,
)
from navigator.tui.diff.paint import Scene
from navigator.tui.diff.walk import DiffWalker, row_of_line
from navigator.tui.keys.registry import bindings_of

CONTEXT_STEP = 20
"""Unchanged lines asked for at a time."""


class DiffView(DiffWalker, can_focus=True, inherit_bindings=False):
    """Shows `FileDiff`s with findings and comments beside the lines they are about.

    Fill it with `show`; everything untrusted becomes inert on its way to the screen.
    """

    DEFAULT_CSS = """
    DiffView {
        background: $background;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-gutter: stable;
        scrollbar-size-vertical: 1;
    }
    """

    BINDINGS: ClassVar[list[BindingType]] = bindings_of("diff")

    ContextRequested = messages.ContextRequested
    ChoiceAsked = messages.ChoiceAsked

    def __init__(
        self,
        files: Sequence[FileDiff] = (),
        findings: Sequence[FindingNote] = (),
        comments: Sequence[LineComment] = (),
        *,
        mode: Mode = "unified",
        wrap: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(mode=mode, wrap=wrap, name=name, id=id, classes=classes)
        self._files = list(files)
        self._findings = tuple(findings)
        self._comments = tuple(comments)
        self._collapsed: set[str] = set()
        self._folded: set[str] = set()
        self._ended: set[str] = set()
        self._chosen: frozenset[str] = frozenset()

    # What is shown

    def show(
        self,
        files: Sequence[FileDiff],
        findings: Sequence[FindingNote] = (),
        comments: Sequence[LineComment] = (),
    ) -> None:
        """Show another diff, from its top. Keys of findings and comments are unique among both."""
        self._files = list(files)
        self._findings = tuple(findings)
        self._comments = tuple(comments)
        for state in (self._collapsed, self._folded, self._ended):
            state.clear()
        self._chosen = frozenset()
        self._syntax.clear()
        self._widest = None
        self._offset = 0
        self._cursor = 0
        self._side = "new"
        if self._painter is None:
            return
        self._rebuild()
        self._scroll_now(0)

    def set_findings(self, findings: Sequence[FindingNote]) -> None:
        """Other findings on the same diff; the cursor stays where it is."""

        def change() -> None:
            self._findings = tuple(findings)

        self._keeping_place(change)

    def set_comments(self, comments: Sequence[LineComment]) -> None:
        """Other comments on the same diff; the cursor stays where it is."""

        def change() -> None:
            self._comments = tuple(comments)

        self._keeping_place(change)

    def insert_context(
        self,
        path: str,
        hunk: str,
        lines: Sequence[str],
        where: messages.Where = "above",
        *,
        ended: bool = False,
        no_newline: bool = False,
    ) -> bool:
        """Answer `ContextRequested`: put unchanged `lines` above `hunk`, or below the last hunk of the file.

        `ended`: the file has no more lines below; `no_newline`: and it ends without one. Returns False, and changes
        nothing, when the diff has no such hunk.
        """
        index = find_file(self._files, path)
        labels = [] if index is None else [candidate.label for candidate in self._files[index].hunks]
        if index is None or hunk not in labels:
            return False
        file = self._files[index]
        if where == "above":
            changed = with_lines_above(file, labels.index(hunk), lines)
        else:
            changed = with_lines_below(file, lines, no_newline=no_newline)

        def change() -> None:
            self._files[index] = changed
            if ended:
                self._ended.add(file.path)
            self._syntax.clear()
            self._widest = None

        self._keeping_place(change)
        return True

    def set_expanded(self, key: str, expanded: bool) -> None:
        """Open or close one finding or comment."""

        def change() -> None:
            (self._collapsed.discard if expanded else self._collapsed.add)(key)

        self._keeping_place(change)

    def set_chosen(self, labels: Collection[str]) -> None:
        """Mark these hunks as chosen, and no others."""
        self._chosen = frozenset(labels)
        self._scene.chosen = self._chosen
        if self._painter is not None:
            self._repaint()

    @property
    def chosen(self) -> frozenset[str]:
        """The labels that are marked as chosen."""
        return self._chosen

    @property
    def files(self) -> Sequence[FileDiff]:
        """The diff as it is shown, with the context that was added."""
        return tuple(self._files)

    @property
    def annotations(self) -> Sequence[Annotation]:
        """Findings, then comments."""
        return (*self._findings, *self._comments)

    @property
    def expanded(self) -> Mapping[str, bool]:
        """By key, whether each finding and comment is open."""
        return {annotation.key: annotation.key not in self._collapsed for annotation in self.annotations}

    @property
    def current_key(self) -> str:
        """The key of the finding or comment under the cursor, or empty."""
        row = self._row
        return self._scene.annotations[row.a].key if row is not None and row.kind == RowKind.BOX else ""

    # Rows

    def _rebuild(self) -> None:
        files = list(self._files)
        annotations = self.annotations
        placement = place(files, annotations)
        folded = {index for index, file in enumerate(files) if file.path in self._folded}
        ended = {index for index, file in enumerate(files) if file.path in self._ended}
        notes_in: dict[int, int] = {}
        for where, boxes in (*placement.lines.items(), *placement.hunks.items()):
            notes_in[where[0]] = notes_in.get(where[0], 0) + len(boxes)
        collapsed = {
            index for index, annotation in enumerate(annotations) if annotation.key in self._collapsed
        }
        scene = Scene(
            files, annotations, placement.elsewhere, collapsed, folded, notes_in, chosen=self._chosen
        )
        self._set_scene(scene, build_rows(files, placement, self.mode, folded, ended))

    def _keeping_place(self, change: Callable[[], None]) -> None:
        """Make a change and new rows; what was on the screen stays where it was, and the cursor on what it was on."""
        if self._painter is None:
            change()
            return
        cursor = self._mark(self._cursor)
        seen = self._on_screen(self._cursor)
        # A cursor that the wheel left behind does not pull the screen back to it.
        held = self._cursor if seen or not self._layout.total else self._layout.at(round(self.scroll_y))[0]
        hold = self._mark(held)
        down = self._layout.top(held) - round(self.scroll_y)
        change()
        self._rebuild()
        self._cursor = self._find(cursor)
        self._scroll_now(self._layout.top(self._find(hold)) - down)
        if seen:
            self._reveal()

    def on_resize(self, _: events.Resize) -> None:
        width = max(1, self.scrollable_content_region.width)
        if self._painter is None:
            self._rebuild()
        elif self._painter.width != width:
            on_screen = self._layout.top(self._cursor) - round(self.scroll_y)
            self._stack()
            self._scroll_now(self._layout.top(self._cursor) - on_screen)
        self._reveal()

    def watch_mode(self) -> None:
        self._keeping_place(lambda: None)

    def watch_wrap(self) -> None:
        self._offset = 0
        self._keeping_place(lambda: None)

    # Going to a place

    def move_to(self, path: str, side: Side = "new", line: int | None = None) -> bool:
        """Put the cursor on a line, or on a file's header; False when the diff does not show it. Unfolds the file."""
        index = find_file(self._files, path)
        if index is None:
            return False
        if self._files[index].path in self._folded:
            self._fold(self._files[index].path, False)
        if line is None:
            self._move(self._layout.file_rows[index])
            return True
        ref = find_line(self._files, path, side, line)
        row = None if ref is None else row_of_line(self._layout, ref)
        if row is None:
            return False
        self._side = side
        self._move(row)
        return True

    # Actions: those that change what is shown; those that move about come from `DiffWalker`

    def action_toggle_split(self) -> None:
        """Side by side, or one under the other."""
        self.mode = "unified" if self.mode == "split" else "split"

    def action_toggle_wrap(self) -> None:
        """Wrap long lines, or cut them."""
        self.wrap = not self.wrap

    def action_toggle_findings(self) -> None:
        """Close every finding and comment, or open them all when they are closed."""
        keys = {annotation.key for annotation in self.annotations}
        opened = keys - self._collapsed

        def change() -> None:
            self._collapsed = keys if opened else set()

        self._keeping_place(change)

    def action_activate(self) -> None:
        """Open or close the finding or file under the cursor; on hidden lines, ask for them."""
        row = self._row
        if row is None:
            return
        match row.kind:
            case RowKind.BOX:
                self._toggle(self.current_key)
            case RowKind.FILE:
                path = self._files[row.file].path
                self._fold(path, path not in self._folded)
            case RowKind.HUNK | RowKind.GAP:
                self._ask_for_context(row)
            case RowKind.LINE | RowKind.PAIR:
                following = self._cursor + 1
                if following < len(self._layout.rows) and self._layout.rows[following].kind == RowKind.BOX:
                    self._toggle(self._scene.annotations[self._layout.rows[following].a].key)

    def action_expand_context(self) -> None:
        """Ask for the hidden lines above the hunk under the cursor, or below the last one."""
        row = self._row
        if row is not None and row.hunk >= 0:
            self._ask_for_context(row)

    def action_select(self) -> None:
        """Ask to choose the hunk under the cursor, or every hunk of the file whose header it is on; or no longer."""
        row = self._row
        if row is None or row.file < 0:
            return
        labels = choices(self._files[row.file], row.file + 1)
        self.post_message(self.ChoiceAsked(labels if row.hunk < 0 else labels[row.hunk : row.hunk + 1]))

    def _toggle(self, key: str) -> None:
        self.set_expanded(key, key in self._collapsed)

    def _fold(self, path: str, folded: bool) -> None:
        def change() -> None:
            (self._folded.add if folded else self._folded.discard)(path)

        self._keeping_place(change)

    def _ask_for_context(self, row: DiffRow) -> None:
        file = self._files[row.file]
        hunk = file.hunks[row.hunk]
        first = first_line(hunk.new_start, hunk.new_count)
        if row.kind == RowKind.GAP:
            below = first + hunk.new_count
            self.post_message(self.ContextRequested(file.path, hunk.label, "below", below, CONTEXT_STEP))
            return
        count = min(CONTEXT_STEP, hidden_above(file, row.hunk))
        if count:
            self.post_message(self.ContextRequested(file.path, hunk.label, "above", first - count, count))

    # The mouse

    def on_click(self, event: events.Click) -> None:
        """A click puts the cursor on a row, the second of a double click opens or closes it."""
        place_in = event.get_content_offset(self)
        if place_in is None or self._painter is None:
            return
        top = round(self.scroll_y)
        header = self._sticky(top) if place_in.y == 0 else None
        if header is not None:
            self._move(self._layout.file_rows[header])
            return
        if top + place_in.y >= self._layout.total:
            return
        index, _ = self._layout.at(top + place_in.y)
        if self.mode == "split":
            self._side = "old" if place_in.x < self._painter.left else "new"
        self._move(index)
        if event.chain == 2:
            self.action_activate()
