"""How much GPU memory is free. A released server's memory is free a little after it has answered."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from navigator.model.text import safe_line
from navigator.process.runner import Ended, attempt
from navigator.swap.failures import until

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


# What nvidia-smi says about the cards.

Runs = Callable[[Sequence[str], float], Ended | None]
"""Runs a program on some machine; None if it cannot be started, or takes longer than these seconds."""

_SECONDS = 10.0
_FIELDS = "name,memory.total,memory.used,driver_version"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; memory in MiB as nvidia-smi counts it."""

    name: str
    total_mib: int
    used_mib: int
    driver: str


def cards(on: Runs = attempt) -> list[Gpu]:
    """The cards of a machine; [] without nvidia-smi, or when the driver does not answer."""
    done = on(["nvidia-smi", f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits"], _SECONDS)
    return parse_cards(done.out.decode(errors="replace")) if done and done.code == 0 else []


def card_names(on: Runs = attempt) -> str:
    """The cards of a machine in words; "" without any."""
    return ", ".join(card.name for card in cards(on))


def parse_cards(listing: str) -> list[Gpu]:
    """The cards of a listing, one a line; a line that does not fit is left out."""
    found = []
    for line in listing.splitlines():
        fields = [safe_line(part.strip()) for part in line.split(",")]
        if len(fields) != 4 or not fields[1].isdecimal():
            continue
        used = int(fields[2]) if fields[2].isdecimal() else 0
        found.append(Gpu(fields[0], int(fields[1]), used, fields[3]))
    return found
