"""What goes to the terminal past the screen: clipboard and notifications. Wrapped for tmux, and bounded."""

from __future__ import annotations

import base64
import os

from navigator.domain.text import safe_line

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
