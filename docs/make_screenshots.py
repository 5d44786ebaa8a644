"""Make the pictures in docs/pictures: the real application over a rehearsal on the sample projects.

    make screenshots

What the rehearsal writes and says is the same each time, in which order and how fast is the machine's.
State, settings and the samples' repositories live in a temporary folder whose name is on no picture.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.pilot import Pilot

    from navigator.config.paths import StatePaths
    from navigator.tui.app import NavigatorApp

PICTURES = Path(__file__).parent / "pictures"
SIZE = (120, 36)
SCALE = 0.3
"""Of simulated time, for the session before the pictures."""
SCALE_SHOWN = 1.0
"""The same while the pictures are taken: slow enough to catch the models at work."""

_FONT = "ui-monospace, 'Fira Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"
_TASK = """Round half-even in totals

Invoices round each line and then the sum, so two lines of 0.005 come out a cent too high.
Round once, at the end, half-even, and keep Decimal throughout. Prices may be negative (credits)."""


def main() -> None:
    """Fill a state folder, take the pictures, end what was started."""
    with tempfile.TemporaryDirectory(prefix="nav-", ignore_cleanup_errors=True) as folder:
        state = Path(folder) / "s"
        os.environ |= {"NAVIGATOR_STATE": str(state), "NAVIGATOR_CONFIG": str(state / "demo.toml")}
        for name in ("NO_COLOR", "TMUX", "TEXTUAL"):
            os.environ.pop(name, None)
        os.environ["COLORTERM"] = "truecolor"
        prepare(state)
        PICTURES.mkdir(exist_ok=True)
        asyncio.run(take(state))


def prepare(state: Path) -> None:
    """A whole rehearsed session, some decisions, and more work in the queue."""
    navigator("demo", "--headless", "--state", str(state), "--time-scale", str(SCALE))
    fit = approvable()
    for one in fit[:3]:  # one at a time: a landing that fails on this machine does not block the others
        navigator("approve", one, "--yes", "--confirm", "unseen", check=False)
    navigator(
        "reject", fit[-1], "--yes", "--note", "The old spelling is part of the file format.", check=False
    )
    queue(state)


def approvable() -> list[str]:
    """Ids of what the reviewer approves and no check or path speaks against, one of each project."""
    found: dict[str, str] = {}
    for one in json.loads(navigator("proposals", "--json"))["proposals"]:
        fine = (
            one["state"] == "open"
            and (one["review"] or {}).get("verdict") == "APPROVE"
            and not one["policy"]
            and not one["parent"]
        )
        if fine and all(check["outcome"] != "failed" for check in one["checks"]):
            found.setdefault(one["project"], one["id"])
    return list(found.values())


def navigator(*words: str, check: bool = True) -> str:
    """One command, as a user gives it; what it prints."""
    done = subprocess.run([sys.executable, "-m", "navigator", *words], capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(f"navigator {' '.join(words)}: {done.stdout[-300:]} {done.stderr[-300:]}\n")
    if check:
        done.check_returncode()
    return done.stdout


def queue(state: Path) -> None:
    """Tasks for the models to work on in the pictures."""
    from navigator.config.paths import StatePaths
    from navigator.engine.alone import act_alone
    from navigator.rehearsal.samples import sample_projects, sample_tasks

    more = sample_tasks(60, sample_projects())[-22:]
    tasks = [
        {
            "project": task.project,
            "text": task.text,
            "kind": task.kind.value,
            "complexity": task.complexity.value,
            "files": list(task.files),
        }
        for task in more
    ]
    act_alone(StatePaths(state), "task.add", {"tasks": tasks})


async def take(state: Path) -> None:
    """Go through the screens by keys."""
    from textual.widgets import TextArea

    from navigator.config.paths import StatePaths
    from navigator.config.settings import load_settings
    from navigator.tui.app import NavigatorApp
    from navigator.tui.base import ComposeFor, LiveChanged

    paths = StatePaths(state)
    app = NavigatorApp(load_settings(), paths, time_scale=SCALE_SHOWN, autostart=True)
    try:
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: app.snapshot.loaded and bool(app.snapshot.tips))
            await pilot.press("g")
            painted = False
            while not painted:  # a stream may end while the screen is painted
                await until(pilot, lambda: at_work(app))
                app.screen.post_message(LiveChanged(app.link.live))
                await pilot.pause()
                painted = at_work(app)
            await shot(app, pilot, "deck", state, at_once=True)
            app.go("compose", ComposeFor(["billing", "dune-loader"]))
            await settle(pilot)
            editor = app.screen_stack[0].query_one("#text", TextArea)
            editor.text = _TASK
            editor.move_cursor(editor.document.end)
            await pilot.press("tab", "j", "right")
            await shot(app, pilot, "compose", state)
            await pilot.press("escape")
            open_objection(app)
            await shot(app, pilot, "review", state)
            await pilot.press("escape", "S")
            await shot(app, pilot, "statistics", state)
            await pilot.press("F")
            await shot(app, pilot, "fleet", state)
    finally:
        stop(paths)


def at_work(app: NavigatorApp) -> bool:
    """Some proposals wait for the reviewer, others are being written."""
    live = app.link.live
    return app.snapshot.awaiting_review >= 5 and live.streams >= 2 and live.chars_per_second > 600


def open_objection(app: NavigatorApp) -> None:
    """To the proposal with the most to see: the reviewer objected, or it took the most rounds."""
    from navigator.tui.base import OpenProposal

    cards = [card for card in app.snapshot.inbox if card.proposal]
    best = max(cards, key=lambda card: (card.blocking, card.round, card.added))
    app.go("review", OpenProposal(best.proposal, [card.proposal for card in cards]))


async def until(pilot: Pilot[None], true: Callable[[], bool], seconds: float = 240.0) -> None:
    """Wait for something, within bounds."""
    async with asyncio.timeout(seconds):
        while not true():
            await pilot.pause(0.05)


async def settle(pilot: Pilot[None]) -> None:
    """Until threads have answered and the screen is painted."""
    for _ in range(6):
        await pilot.pause(0.2)


async def shot(
    app: NavigatorApp, pilot: Pilot[None], name: str, state: Path, *, at_once: bool = False
) -> None:
    """Write one picture.

    Raises:
        SystemExit: a local path is on it.
    """
    if not at_once:
        await settle(pilot)
    picture = plain(app.export_screenshot(title="navigator"))
    words = re.sub(r"<[^>]+>", "", picture).replace("&#160;", " ")
    for path in (str(state), tempfile.gettempdir() + "/", str(Path.home()) + "/"):
        if path in words:
            raise SystemExit(f"The picture {name} shows {path}.")
    (PICTURES / f"{name}.svg").write_text(picture, encoding="utf-8")


def plain(picture: str) -> str:
    """A picture that loads nothing from anywhere and keeps its blanks in every viewer."""
    picture = re.sub(r"@font-face\s*{[^}]*}\s*", "", picture)
    picture = re.sub(r"font-family:[^;]*;", f"font-family: {_FONT};", picture)
    return picture.replace("<text ", '<text xml:space="preserve" ')


def stop(paths: StatePaths) -> None:
    """End the conductor that the application started."""
    from navigator.engine.acting import request
    from navigator.engine.wire import NoConductor

    try:
        request(paths.socket, "conduct", {"do": "stop"}, timeout=10)
    except NoConductor:
        return
    from navigator.store.lock import StateLock

    lock = StateLock(paths)
    lock.acquire(blocking=True)  # held until it has ended
    lock.release()


if __name__ == "__main__":
    main()
