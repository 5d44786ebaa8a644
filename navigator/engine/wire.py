"""The conductor's socket: one JSON document a line, both ways.

A request is `{"id": 1, "op": "approve", "args": {…}}`; its answer `{"id": 1, "ok": true, "result": {…}}` (of a verb what
`--json` prints, and `told`, the same in words) or
`{"id": 1, "ok": false, "error": {"code", "message", "hint", "exit_code"}}`. After `subscribe` the server also sends
`{"event": {…}}` for each event of the store, in order, and `{"live": {…}}` for progress that is not kept.
"""

from __future__ import annotations

import json
from typing import Any

from navigator.model.errors import NavigatorError
from navigator.model.json_text import read_json

MAX_LINE = 8 * 1024 * 1024
"""Bytes in one line at most; more is a broken peer."""


Result = dict[str, Any]
"""What an operation answers with: JSON data."""


class RemoteError(NavigatorError):
    """An error the conductor answered with; message, hint and exit code are its own."""

    def __init__(self, message: str, *, hint: str, code: str, exit_code: int) -> None:
        super().__init__(message, hint=hint)
        self.remote_code = code
        self.remote_exit_code = exit_code


class NoConductor(NavigatorError):
    """Nothing listens on the socket, or the conductor is ending."""

    code = "no_conductor"


START = "Start one: `navigator run --detach` in the background, or `navigator run` here."
"""What to do without a conductor."""


class NotResponding(NoConductor):
    """A conductor listens, but does not answer: it is stopped (SIGSTOP), or hangs."""

    code = "not_responding"


def encode(document: dict[str, Any]) -> bytes:
    """One line, newline included."""
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """One line back.

    Raises:
        ValueError: not a JSON object.
    """
    document = read_json(line)
    if not isinstance(document, dict):
        raise ValueError("a line of the conductor's socket is a JSON object")
    return document


def error_document(error: NavigatorError) -> dict[str, Any]:
    """A typed error as it crosses the socket."""
    return {
        "code": error.code,
        "message": error.message,
        "hint": error.hint,
        "exit_code": error.exit_code,
    }


def raise_remote(error: dict[str, Any]) -> None:
    """Raise the error that the other side answered with; `NoConductor` where it is ending."""
    if error.get("code") == NoConductor.code:
        raise NoConductor(str(error.get("message", "")), hint=str(error.get("hint", "")))
    raise RemoteError(
        str(error.get("message", "the conductor refused")),
        hint=str(error.get("hint", "")),
        code=str(error.get("code", "error")),
        exit_code=int(error.get("exit_code", 1)),
    )
