"""What size costs: 1,000 projects and 10,000 proposals against 24 and 30; memory with a 50,000-line diff open.

    python benchmarks/tui_scale.py [--tiny | --full]

Key to paint: what a key in the deck's inbox does, and then the whole screen made into the terminal's bytes, headless at
160×50; the pause up to the next frame is not in it. Memory: resident size of a process with 24 projects and a diff of
50,000 lines on the screen.
Aims: at most 1.5 times; at most 150 MB.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.size import CHOSEN, sized

SIZE = (160, 50)
ACTIONS = (
    "down",
    "down",
    "half_page_down",
    "up",
    "last",
    "up",
    "first",
    "down",
    "page_down",
    "half_page_up",
)[: sized(1, None, None)]
ROUNDS = sized(1, 8, 8)
PROJECTS, PROPOSALS = sized((25, 31), (1_000, 10_000), (1_000, 10_000))
LINES = sized(200, 50_000, 50_000)
LIMIT_MB = 150


async def key_to_paint(folder: Path, *, projects: int, proposals: int) -> tuple[float, float]:
    """Seconds until the store's first picture, and the median seconds of a key."""
    from navigator.config.paths import StatePaths
    from navigator.config.settings import Settings
    from navigator.tui.app import NavigatorApp, collect_rarely
    from tests.tui import world

    collect_rarely()
    paths = StatePaths(folder / f"{projects}").ensure()
    world.many(paths, projects=projects, proposals=proposals)
    app = NavigatorApp(Settings(), paths, autostart=False)
    async with app.run_test(size=SIZE) as pilot:
        began = time.perf_counter()
        while not app.snapshot.loaded or len(app.snapshot.inbox) != proposals:
            await pilot.pause(0.01)
        loaded = time.perf_counter() - began
        for _ in range(sized(0, 20, 20)):  # until the first counting of rates is over
            await pilot.pause(0.1)
        taken: list[float] = []
        for _ in range(ROUNDS):
            for action in ACTIONS:
                began = time.perf_counter()
                await app.run_action(action, app.screen.query_one("#inbox"))
                app.screen._compositor.render_update(full=True).render_segments(app.console)
                taken.append(time.perf_counter() - began)
                await pilot.pause()
    return loaded, statistics.median(taken)


async def hold_diff(folder: Path) -> None:
    """Open a diff of 50,000 lines over a deck of 24 projects and print this process's resident size in MB."""
    from benchmarks.diff_view import sample
    from navigator.config.paths import StatePaths
    from navigator.config.settings import Settings
    from navigator.tui.app import NavigatorApp
    from navigator.tui.diff.view import DiffView
    from tests.tui import world

    paths = StatePaths(folder / "s").ensure()
    world.fill(paths)
    app = NavigatorApp(Settings(), paths, autostart=False)
    async with app.run_test(size=SIZE) as pilot:
        while not app.snapshot.loaded:
            await pilot.pause(0.01)
        view = DiffView()
        view.show(sample(LINES))
        await app.screen.mount(view)
        view.focus()
        for key in ("G", "g", "ctrl+d", "pagedown"):
            await pilot.press(key)
            await pilot.pause(sized(0.05, 0.3, 0.3))
        resident = next(
            line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS")
        )
        print(int(resident.split()[1]) / 1024)


def memory() -> float:
    """The same in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--hold", *CHOSEN],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ,
    )
    return float(done.stdout.split()[-1])


def main() -> None:
    sys.path.insert(0, str(Path(__file__).parent.parent))
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"XDG_CONFIG_HOME": f"{folder}/none", "NAVIGATOR_STATE": f"{folder}/state"}
        if "--hold" in sys.argv:
            asyncio.run(hold_diff(Path(folder)))
            return
        small_load, small = asyncio.run(key_to_paint(Path(folder), projects=24, proposals=30))
        big_load, big = asyncio.run(key_to_paint(Path(folder), projects=PROJECTS, proposals=PROPOSALS))
    large = f"{PROJECTS:,} / {PROPOSALS:,}"
    print(f"{'24 / 30':>40} {large:>16}   ratio")
    print(
        f"key to paint, median ms        {1000 * small:9.1f} {1000 * big:16.1f}   {big / small:4.2f}×   aim ≤ 1.5×"
    )
    print(f"first picture of the store, ms {1000 * small_load:9.0f} {1000 * big_load:16.0f}")
    held = memory()
    print(f"memory, 24 projects and a diff of {LINES:,} lines: {held:.0f} MB   aim ≤ {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
