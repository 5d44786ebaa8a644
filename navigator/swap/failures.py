"""Classes of failed swaps, and waiting until a server is idle.

Navigator's own errors have their class by type; only the output of other programs is searched for known words.
"""

from __future__ import annotations

import asyncio
import errno
import time
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Literal, cast

from navigator.client.client import ModelClient
from navigator.client.errors import (
    FirstTokenTimeout,
    NoAnswer,
    Refused,
    ServingError,
    Stalled,
    TotalTimeout,
    Unreachable,
    WrongModel,
)
from navigator.model import patterns
from navigator.model.errors import NavigatorError
from navigator.model.json_text import table
from navigator.model.text import plural

Failure = Literal[
    "",
    "no_memory",
    "port_taken",
    "unit_failed",
    "crashed",
    "timeout",
    "wrong_model",
    "disk_full",
    "refused",
    "unreachable",
    "lock_held",
    "no_systemd",
    "connection_lost",
    "cancelled",
    "unsure",
    "garbage",
]
"""Why a swap failed. crashed: the server ended. garbage: it is healthy, and what it answers is no text of its
model. connection_lost: the servers are on another machine, which cannot be reached. unsure: it is unknown whether the server
holds its weights, and guessing would end it."""


class SwapFailed(NavigatorError):
    """A phase did not end well. Strategies turn it into a `SwapResult`; it never reaches their callers."""

    code = "swap_failed"

    def __init__(self, message: str, *, hint: str = "", failure: Failure = "") -> None:
        super().__init__(message, hint=hint)
        self.failure: Failure = failure


def class_of_words(words: str) -> Failure:
    """The class that a program's output suggests; "" if none."""
    for name, known in table(__package__, "failures.toml").items():
        if "words" in known and patterns.search(known["words"], words, patterns.IGNORECASE):
            return cast("Failure", name)
    return ""


def hint_for(failure: Failure) -> str:
    """What to do about a failure of a swap script; "" where nothing is known."""
    hint: str = table(__package__, "failures.toml").get(failure, {}).get("hint", "")
    return hint


def failure_of(error: BaseException) -> Failure:
    """The class of an error met in a swap; "" if it has none."""
    match error:
        case SwapFailed():
            return error.failure
        case WrongModel():
            return "wrong_model"
        case OSError() if error.errno == errno.ENOSPC:
            return "disk_full"
        case TimeoutError() | FirstTokenTimeout() | Stalled() | TotalTimeout() | NoAnswer():
            return "timeout"
        case ServingError() if named := class_of_words(error.said):
            return named
        case Refused():
            return "refused"
        case Unreachable():
            return "unreachable"
    return ""


# Waits until a server runs nothing, and aborts Navigator's own requests if that takes too long.

_FIRST_POLL = 0.05
_LONGEST_POLL = 0.5

InFlight = Callable[[], Iterable[str]]
"""The ids of Navigator's own running requests."""


async def until(
    seconds: float, *, first: float = _FIRST_POLL, longest: float = _LONGEST_POLL
) -> AsyncIterator[None]:
    """Yield at growing intervals, at least once, until `seconds` have passed."""
    deadline = time.monotonic() + seconds
    pause = first
    while True:
        yield
        left = deadline - time.monotonic()
        if left <= 0:
            return
        await asyncio.sleep(min(pause, left))
        pause = min(longest, pause * 1.4)


async def drain(client: ModelClient, seconds: float, in_flight: InFlight = tuple) -> str:
    """Wait until nothing runs, is queued or has its grammar compiled; after `seconds` abort our own requests by id.

    The caller of an aborted request gets an error and asks again. Requests of others are never aborted.

    Args:
        client: of the server that is about to lose its GPU.
        seconds: to wait at most; half as much again, at most 10 s, for the aborted ones to end.
        in_flight: asked when the time is up.

    Returns:
        What was unusual, in words: "" if the server became idle, or does not report how busy it is.
    """
    if await _idle_within(client, seconds):
        return ""
    ours = list(in_flight())
    for request in ours:
        await client.abort(request)
    if ours and await _idle_within(client, min(10.0, seconds / 2)):
        return f"{plural(len(ours), 'request')} aborted after {seconds:g} s; they are sent again"
    left = await running_requests(client)
    return f"{plural(left, 'request')} still running after {seconds:g} s" if left else ""


async def _idle_within(client: ModelClient, seconds: float) -> bool:
    async for _ in until(seconds):
        if not await running_requests(client):
            return True
    return False


async def running_requests(client: ModelClient) -> int:
    """Requests that a server runs, queues or compiles a grammar for; 0 if it does not report them."""
    load = await client.load()
    return 0 if load is None else load.running + load.waiting
