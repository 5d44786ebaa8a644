"""Time to the first paint: Navigator's deck over a filled store against a bare Textual app of five widgets.

    python benchmarks/tui_startup.py [--tiny | --full] [ROUNDS]

Each start is a process of its own on a pseudo-terminal, turn by turn; the time runs from the start of the process until
a word of the screen reaches the terminal. Medians and their ratios. Aim: at most 1.3 times, with the rows of the store 1.6
times. Modules are compiled in the uncounted round, as they are where Navigator is installed.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import statistics
import struct
import sys
import tempfile
import termios
import time
from contextlib import suppress
from fcntl import ioctl
from pathlib import Path

from benchmarks.size import sized

ROUNDS = sized(1, 5, 9)
UNCOUNTED = sized(0, 1, 1)
"""First rounds, which warm the caches of the file system."""
BARE = """
from textual.app import App
from textual.widgets import DataTable, Footer, Header, OptionList, Static
class Bare(App):
    def compose(self):
        yield Header()
        yield OptionList("one", "two")
        yield DataTable()
        yield Static("BAREPAINTED")
        yield Footer()
Bare().run()
"""
OURS = "from navigator.tui.app import run_app; run_app()"


def first_paint(program: str, word: bytes) -> float:
    """Seconds from the start of a process until `word` reaches its terminal."""
    began = time.perf_counter()
    child, master = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "xterm-256color", "COLUMNS": "120", "LINES": "40"}  # as the terminal below is
        os.execv(sys.executable, [sys.executable, "-c", program])
    ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen = b""
    try:
        while word not in seen:
            if not select.select([master], [], [], 30)[0]:
                raise SystemExit(f"nothing was painted: {seen[-500:]!r}")
            seen = (seen + os.read(master, 65536))[-200_000:]
        return time.perf_counter() - began
    finally:
        os.kill(child, signal.SIGKILL)
        with suppress(OSError):
            os.close(master)
        os.waitpid(child, 0)


def fill(folder: Path) -> None:
    """24 projects and a day's proposals."""
    from navigator.config.paths import StatePaths
    from tests.tui import world

    os.environ |= {
        "NAVIGATOR_STATE": str(folder / "s"),
        "XDG_CONFIG_HOME": str(folder / "none"),
        "COLORTERM": "truecolor",
        "TERM": "xterm-256color",
    }
    world.fill(StatePaths(folder / "s").ensure())


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # else Navigator alone would be compiled with each start
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder))
        pairs = [
            (
                first_paint(BARE, b"BAREPAINTED"),
                first_paint(OURS, b"PROJECTS"),
                first_paint(OURS, b"aurora-api"),
            )
            for _ in range(UNCOUNTED + rounds)
        ][UNCOUNTED:]
    bare, painted, filled = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(f"first paint, median of {rounds}, ms")
    print(f"  bare Textual app, five widgets   {1000 * bare:7.0f}")
    print(f"  Navigator, the deck              {1000 * painted:7.0f}   {painted / bare:5.2f}×   aim ≤ 1.3×")
    print(f"  Navigator, the store's rows      {1000 * filled:7.0f}   {filled / bare:5.2f}×   aim ≤ 1.6×")


if __name__ == "__main__":
    main()
