"""A real terminal: it is put back whatever ends the screens, and nothing raw of what others wrote reaches it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color

from navigator.config.paths import StatePaths
from navigator.model.states import TaskState
from navigator.model.text import is_unsafe
from navigator.store.database import open_writer
from navigator.store.writes.writer import Store
from navigator.tui.prefs import Prefs
from navigator.tui.terminal import InertFilter
from tests.tui import world

_RUN = "from navigator.tui.app import run_app; run_app()"
_LEAVE_ALTERNATE = b"\x1b[?1049l"
_HOSTILE = "x\x1b]52;c;b3duZWQ=\x07y\x1b[31mz\x9b2Jq\u202eevil\u200bw\x07v"


class Terminal:
    """The screens in a pseudo-terminal of 100 by 30, and every byte they wrote."""

    def __init__(self, pid: int, fd: int) -> None:
        self.pid, self.fd = pid, fd
        self.written = b""

    def read(self, *, until: bytes = b"", seconds: float = 20.0) -> bytes:
        """Take what comes until `until` was written or the other side is gone."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if until and until in self.written:
                return self.written
            ready, _, _ = select.select([self.fd], [], [], 0.1)
            if not ready:
                continue
            try:
                data = os.read(self.fd, 65536)
            except OSError:
                break
            if not data:
                break
            self.written += data
        assert not until or until in self.written, self.written[-2000:]
        return self.written

    def ended(self) -> int:
        self.read()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextmanager
def screens(paths: StatePaths) -> Iterator[Terminal]:
    import fcntl
    import struct
    import termios

    pid, fd = pty.fork()
    if pid == 0:
        os.environ |= {"NAVIGATOR_STATE": str(paths.root), "TERM": "xterm-256color"}
        os.execv(sys.executable, [sys.executable, "-c", _RUN])
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    terminal = Terminal(pid, fd)
    try:
        yield terminal
    finally:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        with suppress(OSError):
            os.close(fd)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(state: StatePaths, number: signal.Signals) -> None:
    with screens(state) as terminal:
        terminal.read(until=b"WAITING FOR YOU")
        os.kill(terminal.pid, number)
        assert terminal.ended() == 128 + number
        assert _LEAVE_ALTERNATE in terminal.written
        assert terminal.written.rindex(b"\x1b[?25h") > terminal.written.rindex(b"WAITING FOR YOU")


def test_a_closed_terminal_ends_the_screens(state: StatePaths) -> None:
    with screens(state) as terminal:
        terminal.read(until=b"WAITING FOR YOU")
        os.close(terminal.fd)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if os.waitpid(terminal.pid, os.WNOHANG)[0]:
                return
            time.sleep(0.02)
        raise AssertionError("it lives on without a terminal")


def test_nothing_raw_of_what_others_wrote_reaches_the_terminal(empty_state: StatePaths) -> None:
    connection = open_writer(empty_state.database)
    with world.store_clock() as clock, Store(connection).transaction() as tx:
        make = world.Maker(tx, clock)
        clock.ago(hours=1)
        project = tx.add_project(name=f"p{_HOSTILE}", path=f"/src/{_HOSTILE}", root_commit="r")
        make.waiting(
            project, f"Title {_HOSTILE}", paths=(f"src/{_HOSTILE}.py",), policy=[("ci", f"a{_HOSTILE}")]
        )
        task = make.task(project, f"Task {_HOSTILE}\nmore {_HOSTILE}")
        make.to(task, TaskState.GENERATING)
        tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, reason=_HOSTILE, report=f"Report {_HOSTILE}")
    connection.close()
    Prefs(empty_state.root).set("deck.inbox", "oldest")
    with screens(empty_state) as terminal:
        terminal.read(until=b"REPORT")
        os.write(terminal.fd, b"G\r")
        terminal.read(until=b"Report")  # the deck says REPORT
        os.write(terminal.fd, b"q")
        assert terminal.ended() == 0 and _LEAVE_ALTERNATE in terminal.written
        text = terminal.written.decode("utf-8", "replace")
    assert "<U+202E>" in text and "<U+200B>" in text and "<U+009B>" in text
    assert "]52;c;b3duZWQ=" in text
    assert "\x1b]52" not in text
    assert not re.search("[\x80-\x9f\u200b\u202e]", text)
    assert "y\x1b[31mz" not in text
    assert "w\x07" not in text


BLACK = Color(0, 0, 0)
HOSTILE = "\x1b[31m\x1b]52;c;aGk=\x07\x9b2J\u202egnp\u200b\u2066\U000e0041\x00\r\x08"
texts = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from(HOSTILE)), max_size=30)


@given(st.lists(texts, max_size=6))
def test_whatever_comes_is_inert_and_no_wider(parts: list[str]) -> None:
    segments = [Segment(part) for part in parts]
    made = InertFilter().apply(list(segments), BLACK)
    assert not any(is_unsafe(segment.text) for segment in made)
    before = sum(cell_len(segment.text) for segment in segments)
    assert sum(cell_len(segment.text) for segment in made) <= max(before, 0) or made == segments


def test_clean_lines_are_not_copied() -> None:
    segments = [Segment("plain"), Segment(" text ▰ 日本")]
    assert InertFilter().apply(segments, BLACK) is segments
