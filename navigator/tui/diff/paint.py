"""Rows drawn as strips: gutters, signs, words, colours. Knows widths and styles, nothing of widgets or scrolling."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from navigator.model import patterns
from navigator.model.diff import DiffLine, FileDiff, choices
from navigator.tui.diff.highlight import MAX_COMPARED, Spans, changed_words
from navigator.tui.diff.layout import Annotation, BoxLine, DiffRow, Mode, RowKind, box_lines, partners
from navigator.tui.theme import DiffPalette
from navigator.tui.widgets.cells import clip, display, fit_left, rows_needed, wrap

SIGNS = {" ": " ", "+": "+", "-": "−"}
"""The sign column. The minus is the typographic one, as wide as the plus."""

NARROW = 72
"""Below this many cells a unified diff shows one column of numbers: the new one, or the old one of a removed line."""

NO_NEWLINE = "no newline at end of file"

CHOSEN = "◉ chosen"
"""Glyph and word of a hunk that is chosen; a bar runs down its lines beside it."""

# What `safe_text` puts in the place of an unsafe character.
_SUBSTITUTE = patterns.compile("[\u2400-\u2421]|<U\\+[0-9A-F]{4,6}>")

Layer = Sequence[tuple[int, int, Style]]


class Cursor(Enum):
    """Whether the cursor is on a row, and whether the view has the focus."""

    AWAY = 0
    BLURRED = 1
    FOCUSED = 2


@dataclass(slots=True)
class Scene:
    """What there is to draw. `elsewhere` and `collapsed` are indices of annotations; `chosen` are labels of hunks."""

    files: Sequence[FileDiff]
    annotations: Sequence[Annotation] = ()
    elsewhere: Collection[int] = ()
    collapsed: Collection[int] = ()
    chosen: frozenset[str] = frozenset()
    _partners: dict[tuple[int, int], dict[int, int]] = field(default_factory=dict)

    def partner(self, row: DiffRow, index: int) -> int | None:
        """The line of the row's hunk that line `index` replaces or is replaced by."""
        key = (row.file, row.hunk)
        if key not in self._partners:
            self._partners[key] = partners(self.files[row.file].hunks[row.hunk].lines)
        return self._partners[key].get(index)

    def chosen_in(self, file: int) -> tuple[int, int]:
        """How many of a file's parts are chosen, of how many."""
        labels = choices(self.files[file], file + 1)
        return sum(label in self.chosen for label in labels), len(labels)

    def is_chosen(self, row: DiffRow) -> bool:
        """Whether the row belongs to a chosen hunk, or to a file without lines that is chosen."""
        if not self.chosen or row.file < 0 or row.kind == RowKind.FILE:
            return False
        labels = choices(self.files[row.file], row.file + 1)
        return labels[max(0, row.hunk)] in self.chosen if row.hunk >= 0 or len(labels) == 1 else False

    def line(self, row: DiffRow, index: int) -> DiffLine:
        """The diff line `index` of the row's hunk."""
        return self.files[row.file].hunks[row.hunk].lines[index]


class Painter:
    """Draws rows of one scene at one width in one mode. Make another when any of these changes; it is cheap."""

    def __init__(
        self,
        scene: Scene,
        palette: DiffPalette,
        *,
        mode: Mode = "unified",
        width: int = 80,
    ) -> None:
        self.scene = scene
        self.palette = palette
        self.mode = mode
        self.width = max(1, width)
        self.digits = _digits(scene.files)
        self.both_numbers = mode == "unified" and width >= NARROW
        self.gutter = self.digits + 4 + (self.digits + 1 if self.both_numbers else 0)
        self.left = self.width // 2 if mode == "split" else 0
        self._boxes: dict[int, list[BoxLine]] = {}
        self._in_choice = False

    @property
    def text_widths(self) -> tuple[int, int]:
        """Cells for text on the left and on the right; unified diffs only use the right."""
        right = max(1, self.width - self.left - self.gutter)
        return (max(1, self.left - self.gutter), right) if self.mode == "split" else (right, right)

    def heights(self, rows: Sequence[DiffRow]) -> list[int]:
        """How many screen lines each row of a part takes: lines wrap, and a file's header has a blank line above it."""
        last, (left, right) = rows[-1] if rows else None, self.text_widths
        lines = self.scene.files[last.file].hunks[last.hunk].lines if last and last.hunk >= 0 else ()
        made = []
        for place, row in enumerate(rows):
            match row.kind:
                case RowKind.LINE:
                    made.append(rows_needed(lines[row.a].text, right))
                case RowKind.PAIR:
                    sides = ((row.a, left), (row.b, right))
                    made.append(max(rows_needed(lines[a].text, width) for a, width in sides if a >= 0))
                case RowKind.BOX:
                    made.append(len(self._box(row.a)))
                case _:
                    made.append(2 if row.kind == RowKind.FILE and (place or row.file) else 1)
        return made

    def strip(
        self,
        row: DiffRow,
        sub: int,
        height: int,
        cursor: Cursor = Cursor.AWAY,
        syntax: tuple[Spans, Spans] = ((), ()),
    ) -> Strip:
        """Line `sub` of `height` of a row, exactly `width` cells. `syntax` is that of its lines a and b."""
        self._in_choice = self.scene.is_chosen(row)
        match row.kind:
            case RowKind.LINE:
                segments = self._unified(row, sub, cursor, syntax[0])
            case RowKind.PAIR:
                segments = self._pair(row, sub, cursor, syntax)
            case RowKind.BOX:
                segments = self._box_line(row, sub, cursor)
            case RowKind.FILE:
                segments = self._file(row, cursor) if sub == height - 1 else []
            case RowKind.HUNK:
                segments = self._hunk(row, cursor)
            case RowKind.TEXT:
                segments = self._without_lines(row, cursor)
        return Strip(segments).adjust_cell_length(self.width, self.palette.base)

    # Headers

    def _file(self, row: DiffRow, cursor: Cursor) -> list[Segment]:
        file = self.scene.files[row.file]
        style, muted = self.palette.file, self.palette.file_muted
        added, removed = file.added, file.removed
        counts: list[tuple[str, Style]] = []
        if added or removed:
            counts = [
                (f"+{added}", style + self.palette.added),
                (f" −{removed}", style + self.palette.removed),
            ]
        tail = f"   {row.file + 1} of {len(self.scene.files)} "
        what = _what_happened(file)
        marked, of = self.scene.chosen_in(row.file) if self.scene.chosen else (0, 0)
        if marked:
            what = "  ".join(filter(None, (CHOSEN if of == 1 else f"{CHOSEN} {marked} of {of}", what)))
        right = sum(cell_len(text) for text, _ in counts) + len(tail)
        room = self.width - 3 - right - 1
        path = fit_left(display(file.path).strip(), max(room, 8))
        what = clip(what, room - cell_len(path) - 2)
        segments = [self._bar(cursor, style), Segment("  ", muted), Segment(path, style)]
        segments.append(Segment(f"  {what}" if what else "", muted))
        used = sum(cell_len(segment.text) for segment in segments)
        segments.append(Segment(" " * max(1, self.width - used - right), style))
        segments += [Segment(text, count_style) for text, count_style in counts]
        segments.append(Segment(tail, muted))
        return segments

    def _hunk(self, row: DiffRow, cursor: Cursor) -> list[Segment]:
        file = self.scene.files[row.file]
        hunk = file.hunks[row.hunk]
        base = self._line_style(" ", cursor)
        room = self.width - self.gutter
        label = (
            f"{CHOSEN}  {display(hunk.label)}"
            if self._in_choice
            else f"line {hunk.new_start or hunk.old_start}"
        )
        label = clip(label, room)
        section = clip(display(hunk.section).strip(), room - cell_len(label) - 3)
        segments = [
            self._bar(cursor, base),
            Segment(self._centred(""), base + _ink(self.palette.faint)),
        ]
        ink = self.palette.accent if self._in_choice else self.palette.hunk
        segments.append(Segment(label, base + _ink(ink)))
        if section:
            segments.append(Segment(f"  {section}", base + _ink(self.palette.muted)))
        return self._filled(segments, base)

    def _without_lines(self, row: DiffRow, cursor: Cursor) -> list[Segment]:
        base = self._line_style(" ", cursor)
        binary = self.scene.files[row.file].binary
        said = "binary file, not shown" if binary else "no line changed"
        text = clip(f"{CHOSEN}  {said}" if self._in_choice else said, self.width - self.gutter)
        ink = base + _ink(self.palette.muted)
        return self._filled(
            [self._bar(cursor, base), Segment(self._centred(" "), ink), Segment(text, ink)], base
        )

    def _centred(self, glyph: str) -> str:
        """A glyph among the numbers, filling the gutter after the bar."""
        numbers = self.gutter - 4
        return f"{glyph:>{numbers}}" + " " * 3

    # Lines

    def _unified(self, row: DiffRow, sub: int, cursor: Cursor, syntax: Spans) -> list[Segment]:
        line = self.scene.line(row, row.a)
        base = self._line_style(line.kind, cursor)
        if self.both_numbers:
            numbers = f"{_number_text(line.old):>{self.digits}} {_number_text(line.new):>{self.digits}}"
        else:
            numbers = f"{_number_text(line.old if line.kind == '-' else line.new):>{self.digits}}"
        segments = [self._bar(cursor, base)]
        segments += self._code(row, row.a, sub, numbers, base, syntax, self.text_widths[1])
        return segments

    def _pair(self, row: DiffRow, sub: int, cursor: Cursor, syntax: tuple[Spans, Spans]) -> list[Segment]:
        left_width, right_width = self.text_widths
        segments = self._half(row, row.a, "old", sub, cursor, syntax[0], left_width)
        right = self._half(row, row.b, "new", sub, cursor, syntax[1], right_width)
        return segments + right

    def _half(
        self, row: DiffRow, index: int, side: str, sub: int, cursor: Cursor, syntax: Spans, width: int
    ) -> list[Segment]:
        kind = self.scene.line(row, index).kind if index >= 0 else " "
        base = self._line_style(kind, cursor)
        edge = (
            self._bar(cursor, base)
            if side == "old"
            else Segment("│", _ink(self.palette.faint) + _paper(base))
        )
        if index < 0:
            paper = self.palette.absent if cursor is not Cursor.FOCUSED else base
            return [edge, Segment(" " * (self.gutter - 1 + width), paper)]
        line = self.scene.line(row, index)
        number = line.old if side == "old" else line.new
        return [
            edge,
            *self._code(row, index, sub, f"{_number_text(number):>{self.digits}}", base, syntax, width),
        ]

    def _code(
        self, row: DiffRow, index: int, sub: int, numbers: str, base: Style, syntax: Spans, width: int
    ) -> list[Segment]:
        """Numbers, sign and the visible part of one line, filled up to its width."""
        line = self.scene.line(row, index)
        text = display(line.text)
        faint = base + _ink(self.palette.faint if line.kind == " " else self.palette.muted)
        sign = base + (
            _ink(self.palette.added if line.kind == "+" else self.palette.removed)
            if line.kind != " "
            else base
        )
        breaks = (*wrap(text, width), len(text))
        if sub >= len(breaks) - 1:
            return [Segment(" " * (len(numbers) + 3 + width), base)]
        first, last = breaks[sub], breaks[sub + 1]
        used = cell_len(text[first:last])
        if used > width:
            # One character wider than the whole column.
            first, used = last, 0
        if sub:
            segments = [Segment(f"{'↳':>{len(numbers)}}   ", faint)]
        else:
            segments = [Segment(f"{numbers} ", faint), Segment(f"{SIGNS[line.kind]} ", sign)]
        segments += _paint(text, first, last, base, self._layers(row, index, text, (first, last), syntax))
        room = width - used
        if line.no_newline and last == len(text) and room > 3:
            note = clip(f" ⊘ {NO_NEWLINE}", room)
            segments.append(Segment(note, base + _ink(self.palette.muted)))
            room -= cell_len(note)
        if room:
            segments.append(Segment(" " * room, base))
        return segments

    def _layers(
        self, row: DiffRow, index: int, text: str, seen: tuple[int, int], syntax: Spans
    ) -> list[Layer]:
        line = self.scene.line(row, index)
        layers: list[Layer] = []
        if syntax:
            styles = self.palette.syntax
            layers.append([(start, stop, styles[group]) for start, stop, group in syntax])
        if line.kind != " ":
            word = self.palette.words[line.kind]
            layers.append([(start, stop, word) for start, stop in self._changed(row, index)])
        if not (line.text.isascii() and line.text.isprintable()):
            layers.append(
                [
                    (seen[0] + match.start(), seen[0] + match.end(), self.palette.unsafe)
                    for match in _SUBSTITUTE.finditer(text[slice(*seen)])
                ]
            )
        return layers

    def _changed(self, row: DiffRow, index: int) -> Sequence[tuple[int, int]]:
        lines = self.scene.files[row.file].hunks[row.hunk].lines
        other = self.scene.partner(row, index)
        if other is None:
            return ()
        added = lines[index].kind == "+"
        old, new = (lines[other].text, lines[index].text) if added else (lines[index].text, lines[other].text)
        if max(len(old), len(new)) > MAX_COMPARED:
            return ()
        changed = changed_words(display(old), display(new))
        if changed is None:
            return ()
        return changed[1] if added else changed[0]

    # Boxes

    def _box(self, index: int) -> list[BoxLine]:
        if index not in self._boxes:
            self._boxes[index] = box_lines(
                self.scene.annotations[index],
                self.width - self._box_indent() - 4,
                collapsed=index in self.scene.collapsed,
                elsewhere=index in self.scene.elsewhere,
            )
        return self._boxes[index]

    def _box_indent(self) -> int:
        """Cells before a box's bar: boxes hang in the sign column, so that code and remarks read as one text."""
        return min(self.gutter - 2, max(1, self.width - 24))

    def _box_line(self, row: DiffRow, sub: int, cursor: Cursor) -> list[Segment]:
        styles = self.palette.box
        body = styles["body"]
        base = self.palette.base
        bar = styles[self._box_colour(row.a)]
        segments = [
            self._bar(cursor, base),
            Segment(" " * (self._box_indent() - 1), base),
            Segment("┃ ", bar),
        ]
        pieces = self._box(row.a)[sub]
        segments += [Segment(text, styles[style]) for text, style in pieces]
        return self._filled(segments, body)

    def _box_colour(self, index: int) -> str:
        annotation = self.scene.annotations[index]
        finding = getattr(annotation, "finding", None)
        return "author" if finding is None else f"severity-{finding.severity.value}"

    # Parts

    def _bar(self, cursor: Cursor, base: Style) -> Segment:
        if cursor is Cursor.AWAY:
            return Segment("▎", base + _ink(self.palette.accent)) if self._in_choice else Segment(" ", base)
        ink = self.palette.cursor_bar if cursor is Cursor.FOCUSED else _ink(self.palette.faint)
        return Segment("▌", base + ink)

    def _line_style(self, kind: str, cursor: Cursor) -> Style:
        return (self.palette.cursor_lines if cursor is Cursor.FOCUSED else self.palette.lines)[kind]

    def _filled(self, segments: list[Segment], style: Style) -> list[Segment]:
        used = sum(cell_len(segment.text) for segment in segments)
        if used < self.width:
            segments.append(Segment(" " * (self.width - used), style))
        return segments


def _paint(text: str, first: int, last: int, base: Style, layers: Sequence[Layer]) -> list[Segment]:
    """Characters `first` to `last` as segments; later layers lie over earlier ones."""
    if first >= last:
        return []
    cuts = {first, last}
    for layer in layers:
        for start, stop, _ in layer:
            if stop > first and start < last:
                cuts.add(max(start, first))
                cuts.add(min(stop, last))
    edges = sorted(cuts)
    styles = [base] * (len(edges) - 1)
    place = {edge: index for index, edge in enumerate(edges)}
    for layer in layers:
        for start, stop, style in layer:
            if stop <= first or start >= last:
                continue
            for index in range(place[max(start, first)], place[min(stop, last)]):
                styles[index] += style
    return [Segment(text[a:b], style) for a, b, style in zip(edges, edges[1:], styles, strict=False)]


@lru_cache(maxsize=256)
def _ink(style: Style) -> Style:
    """The foreground and attributes of a style, without its background."""
    return Style(color=style.color, bold=style.bold, italic=style.italic, dim=style.dim)


@lru_cache(maxsize=64)
def _paper(style: Style) -> Style:
    return Style(bgcolor=style.bgcolor)


def _number_text(number: int | None) -> str:
    return "" if number is None else str(number)


def _digits(files: Sequence[FileDiff]) -> int:
    """Cells for a line number: enough for the last line of every hunk, at least three."""
    highest = max(
        (
            max(hunk.old_start + hunk.old_count, hunk.new_start + hunk.new_count)
            for file in files
            for hunk in file.hunks
        ),
        default=0,
    )
    return max(3, len(str(highest)))


def _what_happened(file: FileDiff) -> str:
    """Status in words: new file, deleted, renamed; and a change of mode."""
    words: list[str] = []
    match file.status[:1]:
        case "A":
            words.append("new file")
        case "D":
            words.append("deleted")
        case "R":
            words.append(f"renamed from {display(file.old_path)}")
        case "C":
            words.append(f"copied from {display(file.old_path)}")
        case "T":
            words.append("type changed")
    if file.old_mode and file.new_mode and file.old_mode != file.new_mode:
        words.append(f"mode {display(file.old_mode)} → {display(file.new_mode)}")
    return "  ".join(words)
