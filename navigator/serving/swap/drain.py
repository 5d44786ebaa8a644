"""Waiting until a server has nothing of anybody in hand, and what to do when that takes too long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable

from navigator.serving.client.client import ModelClient

_FIRST_POLL = 0.05
_LONGEST_POLL = 0.5

InFlight = Callable[[], Iterable[str]]
"""The ids of Navigator's own requests that run right now."""


async def until(
    seconds: float, *, first: float = _FIRST_POLL, longest: float = _LONGEST_POLL
) -> AsyncIterator[None]:
    """Turns of a wait, ever further apart, until `seconds` have passed; at least one."""
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
    """Wait until nothing runs, waits or has its grammar compiled; past `seconds` abort our own requests by id.

    What is aborted comes back to its caller as a call that has to be made again. Requests of others are never aborted.

    Args:
        client: of the server that is about to lose its GPU.
        seconds: to wait at most; half as much again, at most 10 s, for the aborted ones to end.
        in_flight: asked when the time is up.

    Returns:
        What was unusual, in words: "" where the server became idle by itself, or cannot say how busy it is.
    """
    if await _idle_within(client, seconds):
        return ""
    ours = list(in_flight())
    for request in ours:
        await client.abort(request)
    if ours and await _idle_within(client, min(10.0, seconds / 2)):
        return f"{len(ours)} requests aborted after {seconds:g} s; they are made again"
    left = await requests_in_hand(client)
    return f"{left} requests still ran after {seconds:g} s" if left else ""


async def _idle_within(client: ModelClient, seconds: float) -> bool:
    async for _ in until(seconds):
        if not await requests_in_hand(client):
            return True
    return False


async def requests_in_hand(client: ModelClient) -> int:
    """Requests that a server runs, has waiting or compiles a grammar for; 0 where it does not say or cannot be asked."""
    load = await client.load()
    return 0 if load is None else load.running + load.waiting
