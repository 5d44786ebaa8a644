"""Waits until a server runs nothing, and aborts Navigator's own requests if that takes too long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable

from navigator.client.client import ModelClient

_FIRST_POLL = 0.05
_LONGEST_POLL = 0.5

InFlight = Callable[[], Iterable[str]]
"""The ids of Navigator's own running requests."""


async def until(
    seconds: float, *, first: float = _FIRST_POLL, longest: float = _LONGEST_POLL
) -> AsyncIterator[None]:
    """Polls at growing intervals until `seconds` have passed; at least one."""
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
        return f"{len(ours)} requests aborted after {seconds:g} s; they are sent again"
    left = await running_requests(client)
    return f"{left} requests were still running after {seconds:g} s" if left else ""


async def _idle_within(client: ModelClient, seconds: float) -> bool:
    async for _ in until(seconds):
        if not await running_requests(client):
            return True
    return False


async def running_requests(client: ModelClient) -> int:
    """Requests that a server runs, queues or compiles a grammar for; 0 if it does not report them."""
    load = await client.load()
    return 0 if load is None else load.running + load.waiting
