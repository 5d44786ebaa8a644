"""The process that calls functions for `bounded.run`: a crash, a hang or a flood of memory ends this process alone.

Standard input carries requests, standard output answers, both pickled behind their length. A call that takes more processor
time than it was given is ended by the kernel: the alarm has no handler, since none would run while C code loops.
"""

from __future__ import annotations

import importlib
import os
import pickle
import resource
import signal
import sys
from functools import reduce
from typing import Any

from navigator.process.bounded.run import HEAD, LENGTH, WorkerLost


def answer(body: bytes) -> bytes:
    """Call what a request names; whether it returned, and its value or the error it raised, pickled."""
    module, name, args = pickle.loads(body)
    function: Any = reduce(getattr, name.split("."), importlib.import_module(module))
    try:
        told = (True, function(*args))
    except (RecursionError, MemoryError):
        told = (False, WorkerLost())
    except Exception as error:  # noqa: BLE001 it is raised where the call came from
        told = (False, error)
    return pickle.dumps(told, pickle.HIGHEST_PROTOCOL)


def main() -> None:
    """Answer until standard input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(5)
    ask, tell = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    while head := ask.read(HEAD.size):
        seconds, memory, length = HEAD.unpack(head)
        resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
        signal.setitimer(signal.ITIMER_PROF, seconds)
        found = answer(ask.read(length))
        signal.setitimer(signal.ITIMER_PROF, 0)
        tell.write(LENGTH.pack(len(found)))
        tell.write(found)
        tell.flush()


if __name__ == "__main__":
    main()
