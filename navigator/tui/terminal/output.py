"""What reaches the terminal: the filter that every line passes, and clipboard and notification sequences.

Widgets use `safe_text` on what they show, which makes control characters readable. The filter is the last gate: no control,
bidi or zero-width character passes, whatever widget let it through. It keeps the width of a line: what was made visible takes
its room from the blanks behind it, or from the end of the line.
"""

from __future__ import annotations

import base64
import os

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from navigator.model.text import is_unsafe, safe_line

COPY_LIMIT = 74_994
"""Bytes of base64 in one OSC 52 that terminals take; longer ones are dropped by some without a word."""


def clipboard_sequence(text: str, *, tmux: bool) -> str | None:
    """OSC 52 that puts `text` on the clipboard, or None where it is too long.

    Inside tmux the sequence is sent twice: as it is, for tmux itself (`set-clipboard on`), and wrapped, for the terminal
    around it (`allow-passthrough on`).
    """
    data = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if len(data) > COPY_LIMIT:
        return None
    sequence = f"\x1b]52;c;{data}\x07"
    return sequence + through_tmux(sequence) if tmux else sequence


def notification_sequence(text: str, *, tmux: bool) -> str:
    """A bell, and OSC 9 with `text` for terminals that show it as a notification."""
    sequence = f"\x1b]9;{safe_line(text)[:200]}\x07"
    return "\x07" + (through_tmux(sequence) if tmux else sequence)


def through_tmux(sequence: str) -> str:
    """`sequence` in tmux's passthrough envelope."""
    doubled = sequence.replace("\x1b", "\x1b\x1b")
    return f"\x1bPtmux;{doubled}\x1b\\"


def inside_tmux() -> bool:
    """Whether this terminal is a tmux pane."""
    return bool(os.environ.get("TMUX"))


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
