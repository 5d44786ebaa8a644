"""Run `navigator WORDS` and die by SIGKILL at one chosen moment: `killed_at.py MOMENT WHAT COUNT WORDS…`.

Without arguments it does so for each line that it reads, in a fork of itself: everything is imported already.

Moments, the COUNT-th of which is the last thing the process does:
    soon DELAY          an event of any kind was committed, and DELAY milliseconds went by
    event KIND[=WORD]   an event of the store was committed; WORD must stand among its data's values
    swap PHASE.STATE    a phase of a swap began or ended
    before NAME         a function of `navigator.journey.land`, or one named `module:function`, is about to be called
    after NAME          it has returned, and nothing was done with what it returned
    git WORD CALL N     the COUNT-th `git WORD` is killed at its N-th system call CALL (one word: "update-ref rename 1"),
                        and everything with it
    only-git WORD CALL N    the same, but this process lives and finds its git dead
    whole DELAY         as `soon`, and every git that runs at that moment dies too
"""

from __future__ import annotations

import importlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from navigator.cli.main import main
from navigator.engine.server import SocketServer
from navigator.git import runner
from navigator.journey import land
from navigator.store import database
from navigator.store.writes.writer import Store, Transaction

KILLED_AT = __file__
GIT_DIED = "git was killed"
"""Said on standard error when a git was killed and this process was not."""


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def countdown(count: int, end: Callable[[], None] = die) -> Callable[[], None]:
    """Calls `end` the COUNT-th time that it is called."""
    left = count

    def tick() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            end()

    return tick


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
    module, _, word = name.rpartition(":")
    place = importlib.import_module(module) if module else land
    function = getattr(place, word)

    def watched(*args: Any, **options: Any) -> Any:
        if moment == "before":
            tick()
        result = function(*args, **options)
        if moment == "after":
            tick()
        return result

    setattr(place, word, watched)


def in_git(what: str, count: int, *, together: bool) -> None:
    """Have the `count`-th git of a subcommand killed by strace as it enters a system call for the N-th time."""
    word, call, number = what.split()
    trace = ["-e", f"trace={call}", "-e", f"inject={call}:signal=SIGKILL:when={number}"]
    run = runner.run
    seen = 0

    def watched(command: Any, *args: Any, **options: Any) -> Any:
        nonlocal seen
        if word in command:
            seen += 1
            if seen == count:
                command = ["/usr/bin/strace", "-f", "-qq", "-o", os.devnull, *trace, *command]
        result = run(command, *args, **options)
        if result.code == -signal.SIGKILL:
            if together:
                os.kill(os.getpid(), signal.SIGKILL)
            print(GIT_DIED, file=sys.stderr, flush=True)
        return result

    runner.run = watched


def die_with_every_git() -> None:
    """SIGKILL for this process and each git below it, as a power cut or the kernel's memory killer would have it."""
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):
            for child in (task / "children").read_text().split():
                with suppress(OSError):
                    if Path(f"/proc/{child}/comm").read_text().strip() == "git":
                        os.kill(int(child), signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)


def run(moment: str, what: str, count: str, *words: str) -> None:
    """The command, to its end or to the moment."""
    coming = threading.Event()

    def soon() -> None:
        coming.set()
        threading.Timer(int(what) / 1000, die_with_every_git if moment == "whole" else die).start()

    tick = countdown(int(count))
    if moment in ("soon", "whole"):
        at_event("", countdown(int(count), soon))
    elif moment in ("git", "only-git"):
        in_git(what, int(count), together=moment == "git")
    elif moment == "event":
        at_event(what, tick)
    elif moment == "swap":
        at_phase(what, tick)
    else:
        at_call(moment, what, tick)
    sys.argv = ["navigator", *words]
    try:
        main()
    finally:
        if coming.is_set():
            signal.pause()  # however fast the session was: death comes


def forked(asked: dict[str, Any]) -> None:
    """One command as a process that was started anew: its environment, its output, its chance."""
    os.environ.clear()
    os.environ.update(asked["environment"])
    tempfile.tempdir = None
    random.seed()
    written = os.open(asked["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, opened in enumerate((os.open(os.devnull, os.O_RDONLY), written, written)):
        os.dup2(opened, number)
    try:
        run(*asked["words"])
    except SystemExit as ended:
        os._exit(ended.code if isinstance(ended.code, int) else int(ended.code is not None))
    except BaseException:  # noqa: BLE001 - as at the end of a process of its own
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def serve() -> None:
    """Fork for each line of standard input; answer with how it ended."""
    database.SYNCHRONOUS = (
        "OFF"  # a process dies, not the machine: what was committed is there without waiting
    )
    for name in (
        "cli.decide",
        "cli.run",
        "cli.session",
        "cli.proposals",
        "engine.conductor",
        "journey.review",
    ):
        importlib.import_module(f"navigator.{name}")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            forked(json.loads(line))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    run(*sys.argv[1:]) if sys.argv[1:] else serve()
