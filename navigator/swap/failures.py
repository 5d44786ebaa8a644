"""Classes of failed swaps. Navigator's own errors have their class by type; only other programs' words are searched."""

from __future__ import annotations

import errno
from typing import Literal

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
    """A phase did not end well. Strategies turn it into a `SwapResult`; callers do not meet it."""

    code = "swap_failed"

    def __init__(self, message: str, *, hint: str = "", failure: Failure = "") -> None:
        super().__init__(message, hint=hint)
        self.failure: Failure = failure


_WORDS: tuple[tuple[Failure, str], ...] = (
    (
        "no_memory",
        r"out of memory|outofmemory|cudamalloc|requires more (system )?memory|not enough (gpu |system |host )?memory"
        r"|insufficient (gpu |device )?memory|\boom\b|failed to allocate",
    ),
    ("disk_full", r"no space left on device|disk (is )?full"),
    ("port_taken", r"address already in use|port .{0,20}in use"),
    ("wrong_model", r"model .{0,120}(not found|does not exist|not supported)|no such model|unknown model"),
    ("timeout", r"timed out|timeout|took too long"),
)


def class_of_words(words: str) -> Failure:
    """The class that a server's or a program's own words name; "" if they name none. They have no type to go by."""
    return next(
        (failure for failure, pattern in _WORDS if patterns.search(pattern, words, patterns.IGNORECASE)),
        "",
    )


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
