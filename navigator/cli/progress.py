"""Progress of a session: one bar on a terminal, one line per event elsewhere, nothing with --json."""

from __future__ import annotations

import logging
import shutil
import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

import click

from navigator.model.models import Event
from navigator.model.text import safe_line, safe_text

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader

log = logging.getLogger(__name__)

_ENDED = frozenset(
    {"awaiting_approval", "approved", "landed", "rejected", "failed", "cancelled", "undone", "done"}
)
_REDRAW = 0.1
_BAR = 24


class Progress:
    """Shows events as they come. On stderr, so that stdout stays for the result.

    A terminal that was closed shows nothing more, and the session continues.

    Args:
        reader: for the counts at the start.
        quiet: show nothing.
    """

    def __init__(self, reader: Reader, *, quiet: bool) -> None:
        self._reader = reader
        self._quiet = quiet
        self._bar = not quiet and sys.stderr.isatty()
        self._states: dict[str, str] = {}
        self._doing = ""
        self._drawn = 0.0

    def __enter__(self) -> Progress:
        if not self._quiet:
            self._states = {task.id: task.state.value for task in self._reader.tasks()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._write("\r\x1b[K")

    def event(self, event: Event) -> None:
        """Show one event."""
        line = "" if self._quiet else self._line(event)
        if self._bar:
            self._draw()
        elif line:
            self._write(f"{safe_text(line)}\n")

    def _write(self, text: str) -> None:
        try:
            click.echo(text, nl=False, err=True)
        except OSError as error:
            # The terminal was closed (EIO) or the reader of stderr ended. Neither may fail the work in progress.
            self._quiet, self._bar = True, False
            log.info("Progress is no longer shown: %s", error.strerror)

    def _line(self, event: Event) -> str:
        """The plain line for an event; empty for those that say little."""
        if event.kind == "task_state":
            state = str(event.data.get("to", ""))
            self._states[event.task_id] = state
            if state not in _ENDED and state not in ("awaiting_review", "revising", "stale"):
                return ""
            reason = safe_line(str(event.data.get("reason", "")))[:160]
            said = f"{event.at[11:19]} {event.task_id} {state.replace('_', ' ')}"
            return f"{said}: {reason}" if reason else said
        if event.kind == "swap_begun":
            origin = event.data.get("from")
            self._doing = f"swapping to {event.data.get('to')}"
            return f"{event.at[11:19]} {'swap' if origin else 'load'} to {event.data.get('to')} begins"
        if event.kind == "swap_added":
            to, outcome = event.data.get("to"), event.data.get("outcome")
            reason = safe_line(str(event.data.get("reason") or ""))
            took = f"{event.data.get('seconds', 0.0):.1f} s"
            return f"{event.at[11:19]} swap to {to}: {outcome} in {took}{': ' + reason if reason else ''}"
        if event.kind == "server_problem":
            problem = safe_line(str(event.data.get("problem") or "")) or "answers again"
            return f"{event.at[11:19]} the {event.data.get('role')}'s server: {problem}"
        if event.kind == "disk_low":
            return (
                f"{event.at[11:19]} disk full ({event.data.get('free_mb')} MB free): no new work is started"
            )
        if event.kind == "disk_free":
            return f"{event.at[11:19]} disk space is available again"
        if event.kind == "resident":
            self._doing = f"{event.data.get('role') or 'nothing'} resident"
        return ""

    def _draw(self) -> None:
        now = time.monotonic()
        if now - self._drawn < _REDRAW:
            return
        self._drawn = now
        total = len(self._states) or 1
        ended = sum(state in _ENDED for state in self._states.values())
        waiting = sum(state == "awaiting_review" for state in self._states.values())
        filled = _BAR * ended // total
        text = (
            f"{'▰' * filled}{'▱' * (_BAR - filled)} {ended}/{total}  {waiting} awaiting review  {self._doing}"
        )
        width = shutil.get_terminal_size().columns - 1
        self._write(f"\r\x1b[K{text[:width]}")
