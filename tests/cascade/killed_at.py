"""Run `navigator WORDS` and die by SIGKILL at one chosen moment: `killed_at.py MOMENT COUNT WORDS…`.

Moments, the COUNT-th of which is the last thing the process does:
    event KIND[=WORD]   an event of the store was committed; WORD must stand among its data's values
    swap PHASE.STATE    a phase of a swap began or ended
    before NAME         a function of `navigator.cascade.stages.land` is about to be called
    after NAME          it has returned, and nothing was done with what it returned
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

from navigator.cascade.conductor import Conductor
from navigator.cascade.server import SocketServer
from navigator.cascade.stages import land
from navigator.cli.main import main
from navigator.domain.models import Event


def countdown(count: int) -> Callable[[], None]:
    left = count

    def tick() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return tick


def arm(moment: str, what: str, tick: Callable[[], None]) -> None:
    if moment == "event":
        at_event(what, tick)
    elif moment == "swap":
        at_phase(what, tick)
    else:
        at_call(moment, what, tick)


def at_event(what: str, tick: Callable[[], None]) -> None:
    kind, _, word = what.partition("=")
    committed = Conductor._committed

    def watched(self: Conductor, events: Sequence[Event]) -> None:
        committed(self, events)
        for event in events:
            if event.kind == kind and (not word or word in map(str, event.data.values())):
                tick()

    Conductor._committed = watched  # type: ignore[method-assign]


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
    arm(moment, what, countdown(int(count)))
    sys.argv = ["navigator", *words]
    main()
