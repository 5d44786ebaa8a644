"""The diff view: one widget on the line API, whatever the length of the diff."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message

from navigator.model.diff import FileDiff, choices
from navigator.tui.diff.canvas import DiffCanvas
from navigator.tui.diff.layout import (
    Annotation,
    FindingNote,
    LineComment,
    Mode,
    RowKind,
    Side,
    build_rows,
    find_file,
    find_line,
    place,
    row_of_line,
)
from navigator.tui.diff.paint import Scene
from navigator.tui.keys import bindings_of


class DiffView(DiffCanvas, can_focus=True, inherit_bindings=False):
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

    @dataclass
    class ChoiceAsked(Message):
        """The user wants to choose some hunks, or no longer: `labels` as `navigator.model.diff.choices` gives them.

        Answer with `DiffView.set_chosen`.
        """

        labels: tuple[str, ...]

    @dataclass
    class ContextAsked(Message):
        """The user wants to see more unchanged lines around the hunks, or fewer. The cursor is on the hunk of that line."""

        path: str
        line: int | None

    def __init__(self, *, mode: Mode = "unified", wrap: bool = False, id: str | None = None) -> None:
        super().__init__(mode=mode, wrap=wrap, id=id)
        self._findings: tuple[FindingNote, ...] = ()
        self._comments: tuple[LineComment, ...] = ()
        self._collapsed: set[str] = set()
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
        self._collapsed.clear()
        self._chosen = frozenset()
        self._syntax.clear()
        self._cursor = 0
        self._side = "new"
        if self._painter is None:
            return
        self._rebuild()
        self._scroll_now(0)

    def set_findings(self, findings: Sequence[FindingNote]) -> None:
        """Other findings on the same diff; the cursor stays where it is."""
        self._findings = tuple(findings)
        self._keep_place()

    def set_comments(self, comments: Sequence[LineComment]) -> None:
        """Other comments on the same diff; the cursor stays where it is."""
        self._comments = tuple(comments)
        self._keep_place()

    def set_expanded(self, key: str, expanded: bool) -> None:
        """Open or close one finding or comment."""
        (self._collapsed.discard if expanded else self._collapsed.add)(key)
        self._keep_place()

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
        """The diff as it is shown."""
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
        return self._key_at(self._cursor)

    # Rows

    def _rebuild(self) -> None:
        files = list(self._files)
        annotations = self.annotations
        placement = place(files, annotations)
        collapsed = {
            index for index, annotation in enumerate(annotations) if annotation.key in self._collapsed
        }
        scene = Scene(files, annotations, placement.elsewhere, collapsed, chosen=self._chosen)
        self._set_scene(scene, build_rows(files, placement, self.mode))

    def _keep_place(self) -> None:
        """Make new rows; what was on the screen stays where it was, and the cursor on what it was on."""
        if self._painter is None:
            return
        cursor = self.current_key, self.location
        seen = self._on_screen(self._cursor)
        # A cursor that the wheel left behind does not pull the screen back to it.
        held = self._cursor if seen or not self._layout.total else self._layout.at(round(self.scroll_y))[0]
        hold = self._key_at(held), self._anchor(held)
        down = self._layout.top(held) - round(self.scroll_y)
        self._rebuild()
        self._cursor = self._find(*cursor)
        self._scroll_now(self._layout.top(self._find(*hold)) - down)
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
        self._keep_place()

    def watch_wrap(self) -> None:
        self._keep_place()

    # Going to a place

    def move_to(self, path: str, side: Side = "new", line: int | None = None) -> bool:
        """Put the cursor on a line, or on a file's header; False when the diff does not show it."""
        index = find_file(self._files, path)
        if index is None:
            return False
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

    # Actions: those that change what is shown

    def action_toggle_split(self) -> None:
        """Side by side, or one under the other."""
        self.mode = "unified" if self.mode == "split" else "split"

    def action_toggle_wrap(self) -> None:
        """Wrap long lines, or cut them."""
        self.wrap = not self.wrap

    def action_toggle_findings(self) -> None:
        """Close every finding and comment, or open them all when they are closed."""
        keys = {annotation.key for annotation in self.annotations}
        self._collapsed = keys if keys - self._collapsed else set()
        self._keep_place()

    def action_activate(self) -> None:
        """Open or close the finding under the cursor; on a hunk's header, ask for more context."""
        row = self._row
        if row is None:
            return
        match row.kind:
            case RowKind.BOX:
                self._toggle(self.current_key)
            case RowKind.HUNK:
                file = self._files[row.file]
                lines = (line.new for line in file.hunks[row.hunk].lines if line.new is not None)
                self.post_message(self.ContextAsked(file.path, next(lines, None)))
            case RowKind.LINE | RowKind.PAIR:
                following = self._cursor + 1
                if following < len(self._layout.rows) and self._layout.rows[following].kind == RowKind.BOX:
                    self._toggle(self._scene.annotations[self._layout.rows[following].a].key)

    def action_select(self) -> None:
        """Ask to choose the hunk under the cursor, or every hunk of the file whose header it is on; or no longer."""
        row = self._row
        if row is None or row.file < 0:
            return
        labels = choices(self._files[row.file], row.file + 1)
        self.post_message(self.ChoiceAsked(labels if row.hunk < 0 else labels[row.hunk : row.hunk + 1]))

    def _toggle(self, key: str) -> None:
        self.set_expanded(key, key in self._collapsed)

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
