"""How much GPU memory is free. A released server's memory is free a little after it has answered."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from navigator.swap.drain import until
from navigator.swap.remote.nvidia import cards

_STEADY = 4
"""Readings in a row that do not grow, after which the memory counts as free if the need is unknown."""


def is_local(url: str) -> bool:
    """Whether a server is on this machine, so that this machine's GPU is the one it uses."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


async def free_mib() -> int | None:
    """Free MiB over all GPUs of this machine; None without nvidia-smi, or if it does not answer."""
    found = await asyncio.to_thread(cards)
    return sum(max(0, card.total_mib - card.used_mib) for card in found) if found else None


async def wait_for_memory(need: int, seconds: float) -> bool:
    """Wait until `need` MiB are free; with 0, until what is free has stopped growing.

    Returns: False if the time is up before. True at once if nothing can be measured.
    """
    steady, last = 0, -1
    async for _ in until(seconds):
        free = await free_mib()
        if free is None:
            return True
        if need and free >= need:
            return True
        steady = steady + 1 if free <= last else 0
        last = free
        if not need and steady >= _STEADY:
            return True
    return False
