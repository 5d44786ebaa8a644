"""Stands between Navigator and a program whose children may leave its process group: none of them outlives the ending.

As the subreaper of all that the program starts (`prctl(2)`), it stays above every one of them, also above those that called
`setsid` or whose parent has ended. They are ended when the program fails, when Navigator asks for it by closing its end of
the socket, and when Navigator dies. With LEAVES 1, a program that exits with 0 may leave processes running.

    keeper.py SOCKET GRACE LEAVES PROGRAM ARGUMENTS...

Standard library only; `python -I -S` runs it.
"""

import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress

GONE_SECONDS = 5.0
"""How long what was killed may take to be gone: one that waits for a disk cannot be killed."""

_SUBREAPER = 36
_LOOK_SECONDS = 1.0


def descendants(pid: int, *, most: int = 100_000) -> list[int]:
    """`pid` and every process below it, as far as `most` of them."""
    found, at = [pid], 0
    while at < len(found) and len(found) < most:
        # One may end while it is looked at.
        with suppress(OSError, ValueError):
            for thread in os.listdir(f"/proc/{found[at]}/task"):  # noqa: PTH208
                with open(f"/proc/{found[at]}/task/{thread}/children", encoding="ascii") as children:  # noqa: PTH123
                    found += map(int, children.read().split())
        at += 1
    return found


def signal_all(pids: list[int], number: int) -> None:
    """Signal each, and wake those that are stopped."""
    for pid in pids:
        for sent in (number, signal.SIGCONT):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, sent)


def _reap(child: int) -> int | None:
    """Take the exit codes of what has ended; the child's, None while it runs."""
    code = None
    with suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
    return code


def _end(grace: float) -> None:
    """SIGTERM, then SIGKILL, to everything below this process."""
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, GONE_SECONDS)):
        deadline = time.monotonic() + seconds
        signal_all(descendants(os.getpid())[1:], number)
        while left := descendants(os.getpid())[1:]:
            if time.monotonic() >= deadline:
                break
            if number == signal.SIGKILL:
                signal_all(left, number)
            _reap(0)
            time.sleep(0.01)
        else:
            return


def watch(child: int) -> int:
    """A descriptor that can be read once a child of this process has ended; the caller closes it."""
    if sys.platform == "linux":
        return os.pidfd_open(child)
    queue = select.kqueue()
    event = select.kevent(child, select.KQ_FILTER_PROC, select.KQ_EV_ADD, select.KQ_NOTE_EXIT)
    try:
        queue.control([event], 0)
        return os.dup(queue.fileno())
    except ProcessLookupError:  # it has ended: so has what can be read here
        reading, writing = os.pipe()
        os.close(writing)
        return reading


def main() -> None:
    """Start the program, wait for it, and end what may not be left."""
    link, grace, leaves, *command = sys.argv[1:]
    control = socket.socket(fileno=int(link))
    control.set_inheritable(False)
    if sys.platform == "linux":  # elsewhere what a child starts may leave this one
        import ctypes

        ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    try:
        child = os.posix_spawnp(
            command[0], command, os.environ, setsid=True, setsigdef=(signal.SIGPIPE, signal.SIGXFSZ)
        )
    except OSError as error:
        control.send(str(error.errno).encode())
        os._exit(1)
    ended = watch(child)
    code = None
    while code is None:
        ready, _, _ = select.select([control.fileno(), ended], [], [], _LOOK_SECONDS)
        code = _reap(child)
        if control.fileno() in ready and code is None:
            code = -signal.SIGKILL
            break
    if code or leaves == "0":
        _end(float(grace))
    if code < 0:  # the same end for whoever waits for this process
        with suppress(OSError):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
