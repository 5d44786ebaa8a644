"""Which class a failure belongs to, by its type and, where there is nothing better, by the server's words."""

from __future__ import annotations

import errno
import re

from navigator.serving.client.errors import (
    FirstTokenTimeout,
    Refused,
    Stalled,
    TotalTimeout,
    Unreachable,
    WrongModel,
)
from navigator.serving.swap.base import Failure, SwapFailed

_WORDS: tuple[tuple[Failure, re.Pattern[str]], ...] = (
    (
        "no_memory",
        re.compile(
            r"out of memory|outofmemory|cudamalloc|requires more (system )?memory|not enough (gpu |system |host )?memory"
            r"|insufficient (gpu |device )?memory|\boom\b|failed to allocate",
            re.IGNORECASE,
        ),
    ),
    ("disk_full", re.compile(r"no space left on device|disk (is )?full", re.IGNORECASE)),
    ("port_taken", re.compile(r"address already in use|port .{0,20}in use", re.IGNORECASE)),
    (
        "wrong_model",
        re.compile(
            r"model .{0,120}(not found|does not exist|not supported)|no such model|unknown model",
            re.IGNORECASE,
        ),
    ),
    ("timeout", re.compile(r"timed out|timeout|took too long", re.IGNORECASE)),
)


def class_of_words(words: str) -> Failure:
    """The class that a server's or a program's words name; "" where they name none."""
    return next((failure for failure, pattern in _WORDS if pattern.search(words)), "")


def failure_of(error: BaseException) -> Failure:
    """The class of an error met in a swap; "" where it has none."""
    if isinstance(error, SwapFailed):
        return error.failure or class_of_words(str(error))
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return "disk_full"
    if isinstance(error, WrongModel):
        return "wrong_model"
    said = class_of_words(str(error))
    if said:
        return said
    if isinstance(error, Refused):
        return "refused"
    if isinstance(error, Unreachable):
        return "unreachable"
    if isinstance(error, TimeoutError | FirstTokenTimeout | Stalled | TotalTimeout):
        return "timeout"
    return ""
