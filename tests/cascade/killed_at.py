"""Run `navigator WORDS` and die by SIGKILL at one chosen moment: `killed_at.py MOMENT COUNT WORDS…`.

Moments, the COUNT-th of which is the last thing the process does:
    soon DELAY          an event of any kind was committed, and DELAY milliseconds went by
    event KIND[=WORD]   an event of the store was committed; WORD must stand among its data's values
    swap PHASE.STATE    a phase of a swap began or ended
    before NAME         a function of `navigator.cascade.stages.land` is about to be called
    after NAME          it has returned, and nothing was done with what it returned
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from navigator.cascade.server import SocketServer
from navigator.cascade.stages import land
from navigator.cli.main import main
from navigator.store.writer import Store, Transaction


def countdown(count: int) -> Callable[[], None]:
    left = count

    def tick() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return tick


def later(count: int, delay: float) -> tuple[Callable[[], None], threading.Event]:
    """As `countdown`, but death comes `delay` seconds after, from another thread. The event says that it is on its way."""
    coming = threading.Event()
    left = count

    def tick() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            coming.set()
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()

    return tick, coming


def arm(moment: str, what: str, tick: Callable[[], None]) -> None:
    if moment == "event":
        at_event(what, tick)
    elif moment == "swap":
        at_phase(what, tick)
    else:
        at_call(moment, what, tick)


def at_event(what: str, tick: Callable[[], None]) -> None:
    kind, _, word = what.partition("=")
    transaction = Store.transaction

    @contextmanager
    def watched(self: Store) -> Iterator[Transaction]:
        with transaction(self) as tx:
            yield tx
        for event in tx.events:
            if kind in ("", event.kind) and (not word or word in map(str, event.data.values())):
                tick()

    Store.transaction = watched  # type: ignore[method-assign]


def at_phase(what: str, tick: Callable[[], None]) -> None:
    phase, _, state = what.partition(".")
    published = SocketServer.publish_live

    def watched(self: SocketServer, progress: dict[str, Any]) -> None:
        published(self, progress)
        swap = progress.get("swap", {})
        if swap.get("phase") == phase and swap.get("state") == state:
            tick()

    SocketServer.publish_live = watched  # type: ignore[method-assign]


def at_call(moment: str, name: str, tick: Callable[[], None]) -> None:
    function = getattr(land, name)

    def watched(*args: Any, **options: Any) -> Any:
        if moment == "before":
            tick()
        result = function(*args, **options)
        if moment == "after":
            tick()
        return result

    setattr(land, name, watched)


if __name__ == "__main__":
    moment, what, count, *words = sys.argv[1:]
    coming = threading.Event()
    if moment == "soon":
        tick, coming = later(int(count), int(what) / 1000)
        at_event("", tick)
    else:
        arm(moment, what, countdown(int(count)))
    sys.argv = ["navigator", *words]
    try:
        main()
    finally:
        if coming.is_set():
            signal.pause()  # however fast the session was: death comes
