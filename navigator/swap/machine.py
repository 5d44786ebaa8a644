"""This machine: its files and programs, and how much memory of its cards is free.

A released server's memory is free a little after it has answered.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from navigator.config.paths import write_whole
from navigator.model.errors import MissingPart
from navigator.model.text import safe_line
from navigator.process.runner import MOST, Ended, run
from navigator.swap.failures import until


class Machine:
    """This machine: where files are read and written, and programs run. `host` is as ssh knows it, "" for this one."""

    host: str = ""

    def run(
        self,
        words: Sequence[str],
        seconds: float,
        *,
        given: bytes = b"",
        variables: Mapping[str, str] | None = None,
    ) -> Ended | None:
        """Run a program to its end; None if it cannot be started, or takes longer than `seconds`."""
        try:
            done = run(words, seconds, given=given, most=MOST, env=os.environ | dict(variables or {}))
        except OSError:
            return None
        return None if done.cut else done

    def read(self, path: Path) -> tuple[bytes, int] | None:
        """A file's content and mode; None if it is not there.

        Raises:
            MissingPart: it is there and cannot be read.
        """
        try:
            return path.read_bytes(), path.stat().st_mode & 0o777
        except FileNotFoundError:
            return None
        except OSError as error:
            raise MissingPart(
                f"{path} cannot be read: {error.strerror}.", hint="Check its owner and mode, or use sudo."
            ) from error

    def write(self, path: Path, content: bytes, mode: int, folder_mode: int) -> None:
        """Write a file whole or not at all; its folder is made with `folder_mode` if absent.

        Raises:
            OSError: it cannot be written.
        """
        path.parent.mkdir(mode=folder_mode, parents=True, exist_ok=True)
        write_whole(path, content, mode)

    def remove(self, path: Path) -> None:
        """Remove a file, or a folder if it is empty.

        Raises:
            OSError: it cannot be removed.
        """
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()


HERE = Machine()


# How much memory of the cards is free.

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

_SECONDS = 10.0
_FIELDS = "name,memory.total,memory.used,driver_version"


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU; memory in MiB as nvidia-smi counts it."""

    name: str
    total_mib: int
    used_mib: int
    driver: str


def cards(on: Machine = HERE) -> list[Gpu]:
    """The cards of a machine; [] without nvidia-smi, or when the driver does not answer."""
    done = on.run(["nvidia-smi", f"--query-gpu={_FIELDS}", "--format=csv,noheader,nounits"], _SECONDS)
    return parse_cards(done.out.decode(errors="replace")) if done and done.code == 0 else []


def card_names(on: Machine = HERE) -> str:
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
