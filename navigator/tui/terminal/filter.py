"""The last gate before the terminal: no control, bidi or zero-width character passes, whatever widget let it through.

Widgets use `safe_text` on what they show, which makes such characters readable. This filter keeps the width of a line:
what was made visible takes its room from the blanks behind it, or from the end of the line.
"""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from navigator.domain.text import is_unsafe, safe_line


class InertFilter(LineFilter):
    """Makes every untrusted character of a line inert."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """The same segments, or new ones where a character was unsafe."""
        if not any(is_unsafe(segment.text) for segment in segments if not segment.control):
            return segments
        width = sum(cell_len(segment.text) for segment in segments if not segment.control)
        made = [
            segment if segment.control else Segment(safe_line(segment.text), segment.style)
            for segment in segments
        ]
        excess = sum(cell_len(segment.text) for segment in made if not segment.control) - width
        return _shortened(made, excess) if excess > 0 else made


def _shortened(segments: list[Segment], excess: int) -> list[Segment]:
    """Take `excess` cells away: trailing blanks of segments first, from the right, then text from the right."""
    for blanks_only in (True, False):
        for index in range(len(segments) - 1, -1, -1):
            segment = segments[index]
            if excess <= 0:
                return segments
            if segment.control:
                continue
            length = cell_len(segment.text)
            spare = length - cell_len(segment.text.rstrip(" ")) if blanks_only else length
            cut = min(excess, spare)
            if cut:
                segments[index] = Segment(set_cell_size(segment.text, length - cut), segment.style)
                excess -= cut
    return segments
