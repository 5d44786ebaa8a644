"""How much a test command may take, and what became of one that was run."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024

KEPT_OUTPUT = 8 * MIB
"""Bytes of output after which a command is ended: nobody reads more, and names of failing tests fit many times over."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may take.

    Attributes:
        seconds: wall clock; then everything in the sandbox is killed.
        memory_mb: the setting `[checks] memory_mb`; of all its processes together, and of each one.
        processes: processes and threads at once.
        disk_mb: what it may add to the files it was given, and the size of one file.
        tmpfs_mb: of `/tmp`, which is memory; the home folder gets a quarter of it.
        output: bytes.
    """

    seconds: float = 300.0
    memory_mb: int = 4096
    processes: int = 1024
    disk_mb: int = 2048
    tmpfs_mb: int = 512
    output: int = KEPT_OUTPUT


@dataclass(frozen=True, slots=True)
class Ran:
    """A command that ended.

    `status` is its exit status, negative for a signal; `cut` says in words which limit ended it ("" when it ended by
    itself); `output` is what it wrote to both streams, in order.
    """

    status: int
    output: str
    seconds: float
    cut: str = ""
