"""The other end of the conductor's socket, for commands that ask one thing. `engine.following` has the one for screens."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

from navigator.actions import wire
from navigator.actions.wire import START, NoConductor, NotResponding


def request(path: Path, op: str, args: dict[str, Any], *, timeout: float = 600.0) -> dict[str, Any]:
    """Ask the conductor one thing and wait for the answer.

    Raises:
        NoConductor: nothing listens at `path`, or it went away before it answered.
        RemoteError: what the conductor answered.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        try:
            connection.connect(str(path))
            connection.sendall(wire.encode({"id": 1, "op": op, "args": args}))
            with connection.makefile("rb") as lines:
                line = lines.readline(wire.MAX_LINE)
        except (TimeoutError, BlockingIOError) as error:  # the latter where too many others already wait
            raise NotResponding(
                f"The conductor did not answer within {timeout:g} seconds.",
                hint="Its log says what it does. If it was stopped, continue it (`kill -CONT PID`), or end it (`kill PID`).",
            ) from error
        except OSError as error:
            raise NoConductor("No conductor answers.", hint=START) from error
    if not line.endswith(b"\n"):
        raise NoConductor("The conductor went away before it answered.", hint="Ask again.")
    return result_of(wire.decode(line))


def result_of(answer: dict[str, Any]) -> dict[str, Any]:
    """What the conductor answered.

    Raises:
        RemoteError: it refused, or failed.
    """
    if not answer.get("ok"):
        wire.raise_remote(answer.get("error") or {})
    result = answer.get("result")
    return result if isinstance(result, dict) else {}
