"""Swaps by a program that writes down what it was called for, and a conductor that stays while a test looks."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

from navigator.engine.acting import request
from navigator.engine.conductor import Conductor
from navigator.journey.dependencies import Dependencies
from tests.journey.room import Room
from tests.journey.scripted_models import READER, WRITER
from tests.journey.support import PATIENCE


def swapping(folder: Path, text: str = 'echo "$1" > loaded') -> None:
    """The program that swaps; it writes down that it was called."""
    path = folder / "swap"
    path.write_text(f"#!/bin/sh\ncd '{folder}'\necho \"$1\" >> asked\n{text}\n")
    path.chmod(0o755)


def asked(folder: Path) -> list[str]:
    """The roles that the program was called for."""
    path = folder / "asked"
    return path.read_text().split() if path.exists() else []


def settings(folder: Path, url: str, names: tuple[str, str] = (WRITER, READER)) -> str:
    writer, reader = names
    return (
        f'[generator]\nmodel = "{writer}"\nbase_url = "{url}"\n[reviewer]\nmodel = "{reader}"\nbase_url = "{url}"\n'
        f"[batch]\nquiet_minutes = 0\n"
        f'[swap]\nstrategy = "command"\n[swap.command]\nargv = ["{folder}/swap"]\n'
    )


def staying(room: Room, meanwhile: Any) -> None:
    """A conductor that stays, while `meanwhile(ask)` runs beside it in a thread; then it is told to stop."""

    def ask(op: str, **args: Any) -> dict[str, Any]:
        return request(room.paths.socket, op, args, timeout=30)

    async def beside(world: Dependencies, conductor: Conductor) -> None:
        while not room.paths.socket.exists():
            await asyncio.sleep(0.005)
        try:
            await asyncio.to_thread(meanwhile, ask)
        finally:
            await asyncio.to_thread(ask, "conduct", do="stop")

    room.work("", beside)


def until(condition: Any, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def room_queue(ask: Any, text: str = "Make double() multiply") -> str:
    added = ask("task.add", tasks=[{"project": "code", "text": text, "files": ["app.py"]}])
    return str(added["tasks"][0]["id"])
