"""A small MCP client: the server as a real process, one message a line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.cli.conftest import Command


class McpClient:
    """One connection, after `initialize`."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._last = 0
        hello = self.ask(
            "initialize",
            protocolVersion="2025-06-18",
            capabilities={},
            clientInfo={"name": "test", "version": "1"},
        )
        assert hello["result"]["protocolVersion"] == "2025-06-18"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: Any) -> None:
        """One message, or bytes as they are."""
        line = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next message."""
        found = json.loads(self.process.stdout.readline())
        assert isinstance(found, dict)
        return found

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """A request, and its answer."""
        self._last += 1
        self.send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        answer = self.read()
        assert answer["id"] == self._last
        return answer

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """A tool's data; the text is the same."""
        result = self.ask("tools/call", name=tool, arguments=arguments)["result"]
        assert result["isError"] is False, result
        (content,) = result["content"]
        found = result["structuredContent"]
        assert json.loads(content["text"]) == found
        assert isinstance(found, dict)
        return found

    def refused(self, tool: str, **arguments: Any) -> str:
        """The words of a refusal, by the tool or by the protocol."""
        answer = self.ask("tools/call", name=tool, arguments=arguments)
        if "error" in answer:
            return str(answer["error"]["message"])
        assert answer["result"]["isError"] is True, answer
        return str(answer["result"]["content"][0]["text"])


@contextmanager
def connected(command: Command, *options: str) -> Iterator[McpClient]:
    """`navigator mcp` with this state; it ends by itself when its stdin closes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "navigator", "mcp", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=command.environment(),
    )
    try:
        yield McpClient(process)
        process.stdin.close()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()
