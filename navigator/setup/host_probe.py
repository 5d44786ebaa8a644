"""What can be observed of servers from outside: who listens where, and how fast the model folder can be read."""

from __future__ import annotations

import contextlib
from pathlib import Path

from navigator.model import patterns

_LISTEN = "0A"
_FLAG = patterns.compile(r"(--[a-z][\w-]*)(?:[ =]+(\"(?:[^\"\\]|\\.)*\"|-?[^\s\\-][^\s\\]*))?")
_EXEC = patterns.compile(r"^ExecStart=((?:\\\n|[^\n])*)", patterns.MULTILINE)


def open_to_others(port: int, text: str | None = None) -> bool | None:
    """Whether something listens on `port` at an address that is not the loopback; None if nothing listens.

    Args:
        port: the TCP port.
        text: the kernel's lists of sockets, as /proc/net/tcp and tcp6 have them; those of this machine where None.
    """
    lines = text.splitlines() if text is not None else []
    if text is None:
        for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
            with contextlib.suppress(OSError):
                lines += table.read_text().splitlines()
    found: bool | None = None
    for line in lines:
        with contextlib.suppress(ValueError, IndexError):  # a heading
            fields = line.split()
            address, _, number = fields[1].partition(":")
            if fields[3] == _LISTEN and int(number, 16) == port:
                found = bool(found) or not _is_loopback(address)
    return found


def _is_loopback(address: str) -> bool:
    """An address as the kernel prints it: 32-bit words, each with its bytes reversed."""
    if len(address) == 8:
        return address[6:] == "7F"
    mapped = address[:24] == "0000000000000000FFFF0000" and address[30:] == "7F"
    return mapped or address == "00000000000000000000000001000000"


def flags_of_unit(text: str) -> dict[str, str]:
    """The flags in a unit's ExecStart, with their values; "" for switches."""
    command = _EXEC.search(text)
    if command is None:
        return {}
    joined = command.group(1).replace("\\\n", " ")
    return {name: value.strip('"') for name, value in _FLAG.findall(joined)}


def program_of_unit(text: str) -> str:
    """The program that a unit's ExecStart runs; "" where it has none."""
    command = _EXEC.search(text)
    words = command.group(1).split() if command else []
    return words[0].strip('"') if words else ""
