"""The diff view: one widget on the line API, whatever the length of the diff. Rows are drawn, walked and annotated here."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.cache import LRUCache
from textual.geometry import Size
from textual.message import Message
from textual.reactive import var
from textual.strip import Strip
from textual.theme import Theme

from navigator.model.diff import FileDiff, choices
from navigator.tui.diff.highlight import Spans, SyntaxStore
from navigator.tui.diff.layout import (
    Anchor,
    Annotation,
    DiffRow,
    FindingNote,
    Layout,
    LineComment,
    Mode,
    RowKind,
    Side,
    build_rows,
    find_file,
    find_line,
    number_on,
    place,
    row_of_line,
)
from navigator.tui.diff.paint import Cursor, Painter, Scene
from navigator.tui.keys import bindings_of
from navigator.tui.theme import palette_for
from navigator.tui.widgets.rows import ListKeys

AT_ONCE = 500
"""Rows laid out before the first paint, and then between two keys."""

STRIPS = 2048
"""Strips kept: some thirty screens."""

MARGIN = 2
"""Screen lines kept between the cursor and the edge; the first line may be a file's header that stays."""

_StripKey = tuple[int, int, Cursor, bool]


class DiffView(ListKeys, can_focus=True, inherit_bindings=False):
    """Shows `FileDiff`s with findings and comments beside the lines they are about.

    Fill it with `show`; everything untrusted becomes inert on its way to the screen. `files` is the diff as it is shown,
    `collapsed` the keys of the findings and comments that are closed.
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

    ALLOW_SELECT = False

    mode: var[Mode] = var("unified", init=False)

    def __init__(self, *, mode: Mode = "unified", id: str | None = None) -> None:
        super().__init__(id=id)
        self.set_reactive(DiffView.mode, mode)
        self.files: Sequence[FileDiff] = ()
        self._findings: tuple[FindingNote, ...] = ()
        self._comments: tuple[LineComment, ...] = ()
        self.collapsed: set[str] = set()
        self._scene = Scene(())
        self._shown = Layout((), lambda _: ())
        self._painter: Painter | None = None
        self._strips: LRUCache[_StripKey, Strip] = LRUCache(STRIPS)
        self._syntax = SyntaxStore()
        self._lexing = False
        self._cursor = 0
        self._side: Side = "new"

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, self._theme_changed)

    def _theme_changed(self, _: Theme) -> None:
        if self._painter is not None:
            self._repaint()

    # What is shown

    def show(
        self,
        files: Sequence[FileDiff],
        findings: Sequence[FindingNote] = (),
        comments: Sequence[LineComment] = (),
        collapsed: Iterable[str] = (),
    ) -> None:
        """Show another diff, from its top. Keys of findings and comments are unique among both; some are `collapsed`."""
        self.files = tuple(files)
        self._findings, self._comments = tuple(findings), tuple(comments)
        self.collapsed = {*collapsed}
        self._scene = Scene(())
        self._syntax.clear()
        self._cursor = 0
        self._side = "new"
        if self._painter is None:
            return
        self._rebuild()
        self._scroll_now(0)

    def annotate(self, findings: Sequence[FindingNote], comments: Sequence[LineComment]) -> None:
        """Other findings and comments on the same diff; the cursor stays where it is."""
        self._findings, self._comments = tuple(findings), tuple(comments)
        self._keep_place()

    def set_chosen(self, labels: Collection[str]) -> None:
        """Mark these hunks as chosen, and no others."""
        self._scene.chosen = frozenset(labels)
        if self._painter is not None:
            self._repaint()

    @property
    def chosen(self) -> frozenset[str]:
        """The labels that are marked as chosen."""
        return self._scene.chosen

    @property
    def annotations(self) -> Sequence[Annotation]:
        """Findings, then comments."""
        return (*self._findings, *self._comments)

    @property
    def at_end(self) -> bool:
        """Whether the last line is on the screen."""
        return self._shown.whole and round(self.scroll_y) + self._page >= self._shown.total

    @property
    def current_key(self) -> str:
        """The key of the finding or comment under the cursor, or empty."""
        return self._key_at(self._cursor)

    def _rebuild(self) -> None:
        files, annotations = self.files, self.annotations
        placement = place(files, annotations)
        collapsed = {
            index for index, annotation in enumerate(annotations) if annotation.key in self.collapsed
        }
        self._scene = Scene(files, annotations, placement.elsewhere, collapsed, self.chosen)
        painter = self._repaint()
        self._shown = Layout(build_rows(files, placement, self.mode), painter.heights)
        self._shown.grow(AT_ONCE)
        if self._cursor:
            self._cursor = min(self._cursor, max(0, len(self._layout.rows) - 1))
        self.virtual_size = Size(painter.width, self._shown.total)
        self.call_after_refresh(self._grow)

    def _grow(self) -> None:
        """Lay out the rest, in steps that hold up no key."""
        if self._shown.whole:
            return
        self._shown.grow(AT_ONCE)
        if self._shown.whole:
            self.virtual_size = self.virtual_size.with_height(self._shown.total)
        else:
            self.call_after_refresh(self._grow)

    @property
    def _layout(self) -> Layout:
        """The rows, all of them; what only draws asks for those that are `_shown` so far."""
        if not self._shown.whole:
            self._shown.grow()
            self.virtual_size = self.virtual_size.with_height(self._shown.total)
        return self._shown

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
            self._rebuild()
            self._scroll_now(self._layout.top(self._cursor) - on_screen)
        self._reveal()

    def watch_mode(self) -> None:
        self._keep_place()

    def _repaint(self) -> Painter:
        """Another painter: colours or anything above changed."""
        self._painter = Painter(
            self._scene,
            palette_for(self.app.current_theme),
            mode=self.mode,
            width=self.scrollable_content_region.width,
        )
        self._strips.clear()
        self.refresh()
        return self._painter

    def _refresh_row(self, index: int) -> None:
        if index < len(self._shown.rows):
            self.refresh_lines(self._shown.top(index), self._shown.height(index))

    # Drawing

    def render_line(self, y: int) -> Strip:
        """One line of the screen: a search among the rows, and a strip from the cache."""
        painter = self._painter
        if painter is None:
            return Strip.blank(self.size.width, self.rich_style)
        top = round(self.scroll_y)
        if y == 0 and (header := self._sticky(top)) is not None:
            return painter.strip(DiffRow(RowKind.FILE, header), 0, 1)
        if top + y >= self._shown.total:
            return Strip.blank(painter.width, painter.palette.base)
        index, sub = self._shown.at(top + y)
        row = self._shown.rows[index]
        syntax, known = self._syntax_of(row)
        key = (index, sub, self._cursor_on(index), known)
        strip = self._strips.get(key)
        if strip is None:
            strip = painter.strip(row, sub, self._shown.height(index), key[2], syntax)
            self._strips[key] = strip
        return strip

    def _sticky(self, top: int) -> int | None:
        """The file whose header stays on the first line while its rows scroll under it."""
        if top == 0 or top >= self._shown.total:
            return None
        row = self._shown.rows[self._shown.at(top)[0]]
        return None if row.kind == RowKind.FILE or row.file < 0 else row.file

    def _cursor_on(self, index: int) -> Cursor:
        if index != self._cursor:
            return Cursor.AWAY
        return Cursor.FOCUSED if self.has_focus else Cursor.BLURRED

    def on_focus(self) -> None:
        self._refresh_row(self._cursor)

    def on_blur(self) -> None:
        self._refresh_row(self._cursor)

    # Syntax

    def _syntax_of(self, row: DiffRow) -> tuple[tuple[Spans, Spans], bool]:
        """Spans of the row's two lines, and whether they are known; unknown ones are lexed after the paint."""
        if row.kind not in (RowKind.LINE, RowKind.PAIR):
            return ((), ()), True
        first = self._syntax.spans(row.file, row.hunk, row.a) if row.a >= 0 else ()
        second = self._syntax.spans(row.file, row.hunk, row.b) if row.b >= 0 else ()
        if first is not None and second is not None:
            return (first, second), True
        if not self._lexing:
            self._lexing = True
            self.call_after_refresh(self._lex)
        return (first or (), second or ()), False

    def _lex(self) -> None:
        self._lexing = False
        self._syntax.lex_wanted(self._scene.files)
        self.refresh()

    # Walking: the cursor, how it moves, and what of it is on the screen

    @property
    def _row(self) -> DiffRow | None:
        rows = self._shown.rows
        return rows[self._cursor] if self._cursor < len(rows) else None

    @property
    def _page(self) -> int:
        return max(1, self.scrollable_content_region.height)

    def _scroll_now(self, y: int) -> None:
        self.scroll_to(y=max(0, y), animate=False, force=True)

    def _move(self, index: int) -> None:
        """Put the cursor on a row and show it."""
        index = max(0, min(index, len(self._layout.rows) - 1))
        if index != self._cursor:
            self._refresh_row(self._cursor)
            self._cursor = index
            self._refresh_row(index)
        self._reveal()

    def _reveal(self) -> None:
        """Scroll as little as needed for the cursor's row; of a row taller than the screen, for some of it."""
        if not self._shown.rows:
            return
        page = self._page
        margin = min(MARGIN, (page - 1) // 2)
        top = self._shown.top(self._cursor)
        bottom = top + self._shown.height(self._cursor)
        scroll = round(self.scroll_y)
        highest = bottom + margin - page
        lowest = top - margin
        if highest > lowest:
            # Taller than the screen: anywhere inside will do.
            highest, lowest = lowest, highest
        if not highest <= scroll <= lowest:
            self._scroll_now(min(max(scroll, highest), lowest))

    def _on_screen(self, index: int) -> bool:
        top = round(self.scroll_y)
        start = self._shown.top(index)
        return start < top + self._page and start + self._shown.height(index) > top

    def _into_view(self) -> bool:
        """Bring a cursor that was left behind by the wheel back to the screen; False when it was there already."""
        if not self._layout.rows:
            return False
        if self._on_screen(self._cursor):
            return False
        top = round(self.scroll_y)
        edge = top + MARGIN if self._layout.top(self._cursor) < top else top + self._page - 1 - MARGIN
        self._move(self._layout.at(max(0, min(edge, self._layout.total - 1)))[0])
        return True

    @property
    def page_rows(self) -> int:
        """Screen lines of a page, less those that stay in sight."""
        return max(1, self._page - MARGIN)

    def go_by(self, by: int) -> None:
        """One row on; inside a row taller than the screen, a few lines on."""
        if self._into_view() or not self._layout.rows:
            return
        top = round(self.scroll_y)
        start = self._layout.top(self._cursor)
        end = start + self._layout.height(self._cursor)
        few = max(1, self._page // 3)
        if by > 0 and end > top + self._page:
            self._scroll_now(min(top + few, end - self._page))
        elif by < 0 and start < top:
            self._scroll_now(max(top - few, start - 1))
        else:
            self._move(self._cursor + by)

    def page_by(self, lines: int) -> None:
        """Scroll by `lines`, the cursor with them; at an end the cursor goes all the way."""
        if not self._layout.rows:
            return
        top = round(self.scroll_y)
        start = max(self._layout.top(self._cursor), min(top, self._layout.total - 1))
        target = max(0, min(start + lines, self._layout.total - 1))
        self._scroll_now(top + lines)
        self._move(self._layout.at(target)[0])

    def _jump(self, places: Sequence[int], by: int) -> None:
        """To the next or previous of some rows, shown near the top so that what follows it is seen."""
        at = bisect_right(places, self._cursor) if by > 0 else bisect_left(places, self._cursor) - 1
        if not 0 <= at < len(places):
            return
        index = places[at]
        row = self._layout.rows[index]
        start = self._layout.top(index) + (self._layout.height(index) - 1 if row.kind == RowKind.FILE else 0)
        following = places[at + 1] if at + 1 < len(places) else len(self._layout.rows)
        end = self._layout.top(following)
        top = round(self.scroll_y)
        if not (top + MARGIN <= start and end <= top + self._page):
            self._scroll_now(start - (0 if row.kind == RowKind.FILE else MARGIN))
        self._move(index)

    # Actions

    def action_first(self) -> None:
        """To the top."""
        self._scroll_now(0)
        self._move(0)

    def action_last(self) -> None:
        """To the bottom."""
        self._scroll_now(self._layout.total)
        self._move(len(self._layout.rows) - 1)

    def action_next_hunk(self) -> None:
        """To the next hunk."""
        self._jump(self._layout.hunk_rows, 1)

    def action_previous_hunk(self) -> None:
        """To the hunk before."""
        self._jump(self._layout.hunk_rows, -1)

    def action_next_file(self) -> None:
        """To the next file."""
        self._jump(self._layout.file_rows, 1)

    def action_previous_file(self) -> None:
        """To the file before, or the start of this one."""
        self._jump(self._layout.file_rows, -1)

    def action_next_finding(self) -> None:
        """To the next finding or comment."""
        self._jump(self._layout.box_rows, 1)

    def action_previous_finding(self) -> None:
        """To the finding or comment before."""
        self._jump(self._layout.box_rows, -1)

    def action_next_pane(self) -> None:
        """Side by side: point at the old or the new line of the row."""
        self._side = "old" if self._side == "new" else "new"
        self._refresh_row(self._cursor)

    # From rows to places in the diff and back: what the cursor is on, and where that moved when the rows changed

    @property
    def location(self) -> Anchor:
        """What the cursor is on: where a comment would go."""
        return self._anchor(self._cursor)

    def _anchor(self, index: int) -> Anchor:
        """The place of a row, on the wanted side where it has both; boxes belong to the line above them."""
        rows = self._shown.rows
        if not 0 <= index < len(rows):
            return Anchor()
        while index and rows[index].kind == RowKind.BOX:
            index -= 1
        row = rows[index]
        if row.file < 0:
            return Anchor()
        file = self._scene.files[row.file]
        if row.hunk < 0:
            return Anchor(file.path)
        hunk = file.hunks[row.hunk]
        if row.kind not in (RowKind.LINE, RowKind.PAIR):
            return Anchor(file.path, "new", None, hunk.label)
        if row.kind == RowKind.LINE:
            line = hunk.lines[row.a]
            where: Side = "old" if line.kind == "-" else "new"
        else:
            where = self._side
            if row.a < 0 or row.b < 0:
                where = "new" if row.a < 0 else "old"
            line = hunk.lines[row.a if where == "old" else row.b]
        return Anchor(file.path, where, number_on(line, where), hunk.label)

    def _key_at(self, index: int) -> str:
        """The key of the finding or comment that a row belongs to, or ""."""
        row = self._shown.rows[index] if index < len(self._shown.rows) else None
        return self._scene.annotations[row.a].key if row is not None and row.kind == RowKind.BOX else ""

    def _find(self, key: str, anchor: Anchor) -> int:
        """The row that a place is in now: the same box, line or header, or the nearest header above."""
        if key and (box := self._row_of_key(key)) is not None:
            return box
        files, layout = self._scene.files, self._layout
        if anchor.line is not None:
            ref = find_line(files, anchor.path, anchor.side, anchor.line)
            if ref is not None and (line := row_of_line(layout, ref)) is not None:
                return line
        file = find_file(files, anchor.path) if anchor.path else None
        for index in layout.hunk_rows if file is not None else ():
            row = layout.rows[index]
            if row.file == file and files[file].hunks[row.hunk].label == anchor.hunk:
                return index
        return next((index for index in layout.file_rows if layout.rows[index].file == file), 0)

    def _row_of_key(self, key: str) -> int | None:
        """The row of the box of a finding or comment."""
        return next((index for index in self._layout.box_rows if self._key_at(index) == key), None)

    # Going to a place

    def move_to(self, path: str, side: Side = "new", line: int | None = None) -> bool:
        """Put the cursor on a line, or on a file's header; False when the diff does not show it."""
        index = find_file(self.files, path)
        if index is None:
            return False
        if line is None:
            self._move(self._layout.file_rows[index])
            return True
        ref = find_line(self.files, path, side, line)
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

    def action_activate(self) -> None:
        """Open or close the finding under the cursor; on a hunk's header, ask for more context."""
        row = self._row
        if row is None:
            return
        match row.kind:
            case RowKind.BOX:
                self._toggle(self.current_key)
            case RowKind.HUNK:
                file = self.files[row.file]
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
        labels = choices(self.files[row.file], row.file + 1)
        self.post_message(self.ChoiceAsked(labels if row.hunk < 0 else labels[row.hunk : row.hunk + 1]))

    def _toggle(self, key: str) -> None:
        self.collapsed ^= {key}
        self._keep_place()

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
