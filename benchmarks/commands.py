"""How long commands take, beside what any command of this kind has to import.

    python benchmarks/commands.py [--tiny | --full] [ROUNDS]

Each is a process of its own over the state that a demo leaves, turn by turn with the reference, which imports
click, sqlite3 and tomllib and ends. Medians of the wall clock and their ratio. Aim: at most 3 times. Compiled modules are kept,
as an installed package has them, whatever PYTHONDONTWRITEBYTECODE says.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.size import sized

ROUNDS = sized(1, 15, 40)
UNCOUNTED = sized(0, 1, 1)
"""First rounds, which warm the caches."""
PROJECTS, TASKS = sized((1, 1), (3, 6), (3, 6))
REFERENCE = ("-c", "import click, sqlite3, tomllib")
NAMES = ("status", "proposals", "diff P1", "task list")
COMMANDS = {name: ("-m", "navigator", *name.split()) for name in NAMES[: sized(1, 4, 4)]}


def taken(words: tuple[str, ...]) -> float:
    """Seconds that a Python process with these arguments takes."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - began


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        demo = ["-m", "navigator", "demo", "--headless", "--projects", str(PROJECTS), "--tasks", str(TASKS)]
        subprocess.run(
            [sys.executable, *demo, "--time-scale", "0", "--state", folder], check=True, capture_output=True
        )
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ |= {
            "NAVIGATOR_STATE": folder,
            "XDG_CONFIG_HOME": f"{folder}/none",
            "PYTHONPYCACHEPREFIX": f"{folder}/compiled",
        }
        times = [
            [taken(words) for words in (REFERENCE, *COMMANDS.values())] for _ in range(UNCOUNTED + rounds)
        ]
    reference, *found = (statistics.median(column) for column in zip(*times[UNCOUNTED:], strict=True))
    print(f"median of {rounds}, ms")
    print(f"  {'import click, sqlite3, tomllib':<32} {1000 * reference:6.0f}")
    for name, seconds in zip(COMMANDS, found, strict=True):
        print(f"  navigator {name:<22} {1000 * seconds:6.0f}   {seconds / reference:5.2f}×   aim ≤ 3×")


if __name__ == "__main__":
    main()
