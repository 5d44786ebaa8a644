"""What the diff view costs over a bare line-API view of the same text, in the same run.

    python benchmarks/diff_view.py [--tiny | --full] [LINES …]

Opening: from the diff (or, for the bare view, from the same text as one string) to the first painted screen. A step: one
line down, to the painted screen; the time is that of the work, without the pause up to the next frame. Both views are
driven headless at 160×50 in fresh applications, turn by turn; the medians are compared, so that a busy machine slows
both alike. Aim: opening and a step at most 1.2 times the bare view.
"""

from __future__ import annotations

import asyncio
import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import get_args

from rich.segment import Segment
from textual.app import App
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from benchmarks.size import sized
from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.tui.diff.layout import Mode
from navigator.tui.diff.view import DiffView
from navigator.tui.theme import DEFAULT_THEME, THEMES

SIZE = (160, 50)
ROUNDS = sized(1, 5, 5)
STEPS = sized(2, 15, 15)


class BareView(ScrollView, can_focus=True):
    """The least a line-API view can do: lines in a list, one segment a line."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.lines = text.splitlines()

    def on_mount(self) -> None:
        self.virtual_size = Size(max(map(len, self.lines)), len(self.lines))

    def render_line(self, y: int) -> Strip:
        index = y + round(self.scroll_y)
        text = self.lines[index] if index < len(self.lines) else ""
        return Strip([Segment(text, self.rich_style)]).crop_extend(0, self.size.width, self.rich_style)


def sample(lines: int) -> list[FileDiff]:
    """A diff of `lines` lines in hunks of twenty, ten hunks a file: context, a replaced pair, an addition."""
    files: list[FileDiff] = []
    made = hunk_number = 0
    while made < lines:
        hunks: list[Hunk] = []
        old = new = 1
        for _ in range(10):
            if made >= lines:
                break
            hunk_number += 1
            start_old, start_new = old, new
            body: list[DiffLine] = []
            for place in range(min(20, lines - made)):
                kind = "-" if place % 10 == 4 else "+" if place % 10 in (5, 6) else " "
                text = f"    value_{place} = compute(item[{made + place}], rate=0.{place}) if ready else default  # {kind}"
                body.append(DiffLine(kind, text, old if kind != "+" else None, new if kind != "-" else None))
                old += kind != "+"
                new += kind != "-"
            made += len(body)
            label = f"H{hunk_number}"
            hunks.append(
                Hunk(
                    label, start_old, old - start_old, start_new, new - start_new, "def work():", tuple(body)
                )
            )
            old, new = old + 30, new + 30
        path = f"package/module_{len(files)}.py"
        files.append(FileDiff("M", path, path, hunks=tuple(hunks)))
    return files


async def measure(make: Callable[[], ScrollView]) -> tuple[float, float]:
    """Seconds to open, and the median seconds of a step, each up to the painted screen."""
    app: App[None] = App()
    for theme in THEMES:
        app.register_theme(theme)
    app.theme = DEFAULT_THEME
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        gc.collect()
        started = time.perf_counter()
        view = make()
        await app.mount(view)
        view.focus()
        await painted(app, view)
        opened = time.perf_counter() - started
        await app.workers.wait_for_complete()
        await pilot.pause()
        steps: list[float] = []
        for _ in range(STEPS):
            started = time.perf_counter()
            view.scroll_to(y=view.scroll_y + 1, animate=False)
            paint(app)
            steps.append(time.perf_counter() - started)
            await pilot.pause()
    return opened, statistics.median(steps)


async def painted(app: App[None], view: ScrollView) -> None:
    """Wait until the view has something to show, then paint."""
    while not view.render_line(2).text.strip():
        done = asyncio.Event()
        view.call_after_refresh(done.set)
        await done.wait()
    paint(app)


def paint(app: App[None]) -> None:
    """Make the terminal's bytes for the whole screen, as the application does after a refresh."""
    app.screen._compositor.render_update(full=True).render_segments(app.console)


def bare_text(files: list[FileDiff]) -> str:
    return "\n".join(line.kind + line.text for file in files for hunk in file.hunks for line in hunk.lines)


def opened(files: list[FileDiff], mode: Mode) -> DiffView:
    view = DiffView(mode=mode)
    view.show(files)
    return view


async def compare(lines: int, mode: Mode) -> None:
    files = sample(lines)
    text = bare_text(files)
    bare: list[tuple[float, float]] = []
    diff: list[tuple[float, float]] = []
    for _ in range(ROUNDS):
        bare.append(await measure(lambda: BareView(text)))
        diff.append(await measure(lambda: opened(files, mode)))
    figures = [
        statistics.median(run[place] for run in runs) * 1000 for runs in (bare, diff) for place in (0, 1)
    ]
    bare_open, bare_step, diff_open, diff_step = figures
    print(
        f"{lines:>7,}  {mode:<8}{bare_open:>9.1f} {diff_open:>8.1f} {diff_open / bare_open:>6.2f}×"
        f"{bare_step:>10.2f} {diff_step:>8.2f} {diff_step / bare_step:>6.2f}×"
    )


async def main() -> None:
    sizes = [int(argument) for argument in sys.argv[1:]] or sized([50], [500, 5_000], [500, 5_000, 50_000])
    print("              ── opening, ms ──────────  ── a step, ms ───────────")
    print("  lines  mode         bare     diff  ratio      bare     diff  ratio")
    for lines in sizes:
        for mode in get_args(Mode):
            await compare(lines, mode)


if __name__ == "__main__":
    asyncio.run(main())
