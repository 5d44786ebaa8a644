"""JSON-RPC on stdin and stdout, as the Model Context Protocol wants it of a server that offers tools.

Source: https://modelcontextprotocol.io/specification/2025-11-25, the parts that such a server needs. Why it is written here and
does not come from the SDK: docs/decisions/0010-the-mcp-server-is-written-here.md.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from typing import Any, BinaryIO

from navigator import __version__
from navigator.mcp.tools import Tools
from navigator.model.errors import NavigatorError
from navigator.model.json_text import read_json

log = logging.getLogger(__name__)

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Protocol versions whose messages for tools are the ones spoken here, newest first."""

MOST_BYTES = 1_000_000
"""Of one message. A longer one is refused, and read to its end so that the next one is understood."""

_PARSE, _REQUEST, _METHOD, _PARAMS, _INTERNAL = -32700, -32600, -32601, -32602, -32603


class _Refused(Exception):
    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class McpServer:
    """One connection. `answer` takes a message and gives what to send back."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    def serve(self, source: BinaryIO, target: BinaryIO) -> None:
        """Answer line by line until the client closes its end."""
        while line := source.readline(MOST_BYTES + 1):
            answer: dict[str, Any] | None
            if len(line) > MOST_BYTES:
                while line and not line.endswith(b"\n"):
                    line = source.readline(MOST_BYTES)
                answer = _error(None, _REQUEST, f"A message has more than {MOST_BYTES} bytes.")
            elif not line.strip():
                continue
            else:
                answer = self.answer(line)
            if answer is not None:
                target.write(json.dumps(answer, ensure_ascii=True).encode("ascii") + b"\n")
                target.flush()

    def answer(self, line: bytes) -> dict[str, Any] | None:
        """The answer to one message; None to a notification and to an answer, which need none."""
        try:
            message = read_json(line)
        except ValueError:
            return _error(None, _PARSE, "This is not JSON.")
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _error(None, _REQUEST, "This is not a JSON-RPC 2.0 message.")
        method, number = message.get("method"), message.get("id")
        if not isinstance(method, str):
            if "result" in message or "error" in message:
                return None  # nothing was asked of the client, so its answer is to nothing
            return _error(None, _REQUEST, "The method is missing.")
        if "id" not in message:
            return None
        if isinstance(number, bool) or not isinstance(number, str | int):
            return _error(None, _REQUEST, "The id is neither a string nor a whole number.")
        params = message.get("params", {})
        if not isinstance(params, dict):
            return _error(number, _PARAMS, "The parameters are not an object.")
        try:
            return {"jsonrpc": "2.0", "id": number, "result": self._result(method, params)}
        except _Refused as refused:
            return _error(number, refused.code, refused.message)
        except Exception:  # noqa: BLE001
            # A fault of Navigator's own: the client is told that there is one, stderr what it is, and the server goes on.
            log.error("%s failed: %s", method, self._tools.shown(traceback.format_exc()))
            return _error(number, _INTERNAL, "Navigator failed on this; what it wrote to stderr says why.")

    def _result(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            asked = params.get("protocolVersion")
            return {
                "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
                "capabilities": {"tools": {"listChanged": False}},
                "serverInfo": {"name": "navigator", "version": __version__},
                "instructions": self._tools.instructions,
            }
        if method == "ping":
            return {}
        if method == "tools/list":
            return {"tools": self._tools.listed()}
        if method == "tools/call":
            name, arguments = params.get("name"), params.get("arguments", {})
            if not isinstance(name, str) or name not in self._tools.names:
                raise _Refused(_PARAMS, f"There is no tool {name!r}."[:200])
            if not isinstance(arguments, dict):
                raise _Refused(_PARAMS, "The arguments are not an object.")
            return self._called(name, arguments)
        raise _Refused(_METHOD, f"There is no method {method!r}."[:200])

    def _called(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """What a tool gave, as data and as the same in text; a refusal is a result too, so that the model reads it."""
        try:
            found = self._tools.call(name, arguments)
        except NavigatorError as error:
            return {"content": [{"type": "text", "text": self._tools.shown(str(error))}], "isError": True}
        text = json.dumps(found, ensure_ascii=False)
        return {"content": [{"type": "text", "text": text}], "structuredContent": found, "isError": False}


def _error(number: str | int | None, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "error": {"code": code, "message": message}}
