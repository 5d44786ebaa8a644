"""What Navigator costs while nothing happens: processor time and memory of the screens and of a conductor without work.

    python benchmarks/idle.py [--tiny | --full] [--minutes N]

After a demo of some projects, its conductor is started again and has nothing to do, and the screens show the deck on a
pseudo-terminal. Beside them, in the same time, a bare Textual app of five widgets. Processor time is the kernel's, user and
system, of each process and those that it started, as a share of one core. Before that the screens go through every page once.

With `--minutes`, the demo's tasks are queued again and again for so long before the rest, and the screens go through every page
each time: what memory comes to in use.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from fcntl import ioctl
from pathlib import Path

from benchmarks.size import sized
from benchmarks.tui_startup import BARE, OURS

PROJECTS, TASKS, SECONDS = sized((1, 1, 0.2), (24, 36, 60), (24, 36, 600))
PAUSE, REST = sized((0.05, 0.1), (1, 5), (1, 5))
"""Seconds after each key, and after the last."""
PAGES = [*"F", "escape", *"S2345", "escape", *"C", "escape", *"?", "escape"]
KEYS = ["j", "k", "enter", "n", "n", "escape", *sized([], PAGES, PAGES)]
"""Pressed before the rest: Review, Fleet, the pages of Statistics, Compose, the help."""
SENT = {"tab": "\t", "enter": "\r", "escape": "\x1b"}


def on_terminal(program: str, word: bytes) -> tuple[int, int]:
    """Process and terminal of a Python program, as soon as it has painted a word."""
    child, master = pty.fork()
    if child == 0:
        os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": "120", "LINES": "40"}
        os.execv(sys.executable, [sys.executable, "-c", program])
    ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen = b""
    while word not in seen:
        if not select.select([master], [], [], 60)[0]:
            raise SystemExit(f"nothing was painted: {seen[-500:]!r}")
        seen = (seen + os.read(master, 65536))[-200_000:]
    return child, master


def drain(masters: list[int], seconds: float) -> None:
    """Read what terminals are sent, for so long: a program whose terminal is full would wait."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        for master in select.select(masters, [], [], left)[0]:
            os.read(master, 65536)


def spent(process: int) -> float:
    """Seconds of processor time of a process and of its children that ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def megabytes(process: int) -> float:
    """Resident size at its peak."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


def navigator(*words: str) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "navigator", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def in_use(minutes: float, masters: list[int], ours: int) -> int:
    """Queue tasks of the demo again and walk through the screens for so long; how many tasks were queued."""
    tasks, queued, until = (
        json.loads(navigator("task", "list", "--json"))["tasks"],
        0,
        time.monotonic() + 60 * minutes,
    )
    while time.monotonic() < until:
        for task in random.sample(tasks, min(12, len(tasks))):
            navigator("task", "add", task["project"], task["text"], "--kind", task["kind"])
            queued += 1
        for key in KEYS:
            os.write(ours, SENT.get(key, key).encode())
            drain(masters, PAUSE)
    return queued


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0)
    minutes = parser.parse_args().minutes
    sys.path.insert(0, str(Path(__file__).parent.parent))
    with tempfile.TemporaryDirectory() as folder:
        demo = ["demo", "--headless", "--projects", str(PROJECTS), "--tasks", str(TASKS), "--state", folder]
        demo += sized(["--time-scale", "0"], [], [])
        subprocess.run([sys.executable, "-m", "navigator", *demo], check=True, capture_output=True)
        os.environ |= {"NAVIGATOR_STATE": folder, "NAVIGATOR_CONFIG": f"{folder}/demo.toml"}
        run = [sys.executable, "-m", "navigator", "run"]
        conductor = subprocess.Popen(run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        processes = {"the conductor": conductor.pid}
        try:
            bare, its = on_terminal(BARE, b"BAREPAINTED")
            processes = {"bare Textual app": bare, **processes}
            screens, ours = on_terminal(OURS, b"PROJECTS")
            processes["the screens"] = screens
            for key in KEYS:
                os.write(ours, SENT.get(key, key).encode())
                drain([its, ours], PAUSE)
            if minutes:
                print(f"{in_use(minutes, [its, ours], ours)} tasks queued in {minutes:g} minutes")
            drain([its, ours], REST)
            before = {name: spent(process) for name, process in processes.items()}
            drain([its, ours], SECONDS)
            print(f"over {SECONDS} s, {PROJECTS} projects, {TASKS} tasks")
            for name, process in processes.items():
                share = 100 * (spent(process) - before[name]) / SECONDS
                print(f"  {name:<18} {share:6.2f} % of a core   {megabytes(process):6.0f} MB at most")
            together = megabytes(screens) + megabytes(conductor.pid)
            print(f"screens and conductor together {together:.0f} MB   aim ≤ 250 MB")
        finally:
            conductor.terminate()
            conductor.wait(30)
            for process in {*processes.values()} - {conductor.pid}:
                os.kill(process, signal.SIGKILL)
                os.waitpid(process, 0)


if __name__ == "__main__":
    main()
