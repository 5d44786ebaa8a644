"""The errors a user can meet. Each says what happened and what to do next."""

from __future__ import annotations

from typing import ClassVar


class NavigatorError(Exception):
    """Base of every error that is shown to a user.

    Args:
        message: what happened, in one sentence, naming the thing it happened to.
        hint: what to do next; shown after the message.
    """

    exit_code: ClassVar[int] = 1
    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class UsageError(NavigatorError):
    """The command's words do not fit: exit code 2."""

    exit_code = 2
    code = "usage"


class MissingPart(NavigatorError):
    """Something Navigator needs is not here: exit code 3; `navigator doctor` names it."""

    exit_code = 3
    code = "missing"


class ConfigError(UsageError):
    """A settings file that cannot be used; the message names the file and the key."""

    code = "config"


class NotFound(UsageError):
    """An id or a name that the store does not hold."""

    code = "not_found"


class Conflict(NavigatorError):
    """The thing changed since the caller looked at it (another tree, another decision)."""

    code = "conflict"
