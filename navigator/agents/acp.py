"""Our side of the Agent Client Protocol, version 1: JSON-RPC 2.0 on an agent's pipes, one message per line, both ways.

Written out here because the part that is needed is small: one client, four requests, text in and out. The package
`agent-client-protocol` takes most of a second to import, starts processes without a group to end, and leaves standard error
unread. Source: agentclientprotocol.com, protocol version 1.

An agent is not trusted: every message is bounded and checked, and the only request of its that we grant is permission to use
its own tools, which run inside the sandbox.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from navigator.client.errors import ServingError
from navigator.model.errors import NavigatorError
from navigator.model.json_text import read_json
from navigator.model.text import safe_line, safe_text

PROTOCOL = 1
LONGEST_MESSAGE = 4 << 20
"""Bytes; agents send half a megabyte in one message. Longer ones would hold up everything else while they are read."""

MOST_OUTPUT = 512 << 20
KEPT_TEXT = 200_000
_LOGIN = -32000
_CHUNK = 1 << 16


class RpcError(Exception):
    """The agent's answer to a request was an error; what it says, in one safe line."""


# Why an agent wrote nothing. `AgentUnavailable` is about every task, `AgentFailed` about one turn.


class AgentUnavailable(ServingError):
    """No turn can begin: no sandbox, no program, no protocol, or a login that nobody can give."""

    code = "agent_unavailable"
    default_hint = "`navigator doctor` starts the agent and says what it lacks."

    @property
    def needs_settings(self) -> bool:
        """Always: the next task would meet the same."""
        return True


class AgentFailed(NavigatorError):
    """A turn that ended without a result: the agent died, said something that is not its protocol, or met a limit.

    `final`: another run would meet the same.
    """

    code: ClassVar[str] = "agent_failed"

    def __init__(self, message: str, *, hint: str = "", final: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.final = final


def _refused(error: Any) -> Exception:
    """What the error in an agent's answer is: `AgentUnavailable` where it asks for a login, else `RpcError`."""
    told = error if isinstance(error, dict) else {}
    data = told.get("data")
    more = data if isinstance(data, str) else json.dumps(data) if data else ""
    said = str(told.get("message") or "no reason given")
    words = safe_line(f"{said}: {more}" if more and more not in said else said)[:400]
    if told.get("code") != _LOGIN:
        return RpcError(words)
    hint = "It was not told about the generator's server: see `env` in docs/agents.md."
    return AgentUnavailable(f"The agent asks for a login: {words}", hint=hint)


def grant(params: Mapping[str, Any]) -> dict[str, Any]:
    """Grant a permission, once if that is offered, else always. The sandbox decides what the agent's tools can reach."""
    options = params.get("options")
    known = [option for option in options if isinstance(option, dict)] if isinstance(options, list) else []
    for wanted in ("allow_once", "allow_always"):
        for option in known:
            if option.get("kind") == wanted:
                return {"outcome": {"outcome": "selected", "optionId": option.get("optionId")}}
    return {"outcome": {"outcome": "cancelled"}}


class AgentConnection:
    """One agent's pipes. Belongs to one event loop; `listen` runs beside whoever asks.

    Args:
        on_text: called with the characters it has written so far, after each piece.

    Attributes:
        text: the agent's words in this turn, without its thoughts.
    """

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_text: Callable[[int], None] = lambda characters: None,
    ) -> None:
        self.text = ""
        self._reader, self._writer = reader, writer
        self._on_text = on_text
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._last = 0
        self._over: BaseException | None = None

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and wait for its result; empty where that is no object.

        Raises:
            RpcError: the agent's error. AgentUnavailable: it asks for a login.
            AgentFailed: its output ended or could not be read.
        """
        if self._over is not None:
            raise AgentFailed(str(self._over))
        self._last += 1
        number = self._last
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            await self._send({"id": number, "method": method, "params": params})
            return await future
        finally:
            self._waiting.pop(number, None)

    async def listen(self) -> None:
        """Read until the agent's output ends; then every open request fails."""
        reason = "The agent closed its output."
        try:
            await self._read()
        except AgentFailed as error:
            reason = error.message
        except (OSError, ValueError) as error:
            reason = f"The agent's output cannot be read: {safe_line(str(error))[:200]}"
        self._over = AgentFailed(reason)
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(AgentFailed(reason))

    async def _read(self) -> None:
        line, total = bytearray(), 0
        while chunk := await self._reader.read(_CHUNK):
            total += len(chunk)
            if total > MOST_OUTPUT:
                raise AgentFailed(f"The agent wrote more than {MOST_OUTPUT >> 20} MiB of messages.")
            *whole, rest = chunk.split(b"\n")
            for piece in whole:
                line += piece
                await self._line(bytes(line))
                line.clear()
            line += rest
            if len(line) > LONGEST_MESSAGE:
                raise AgentFailed(f"The agent sent a message of more than {LONGEST_MESSAGE >> 20} MiB.")

    async def _line(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = read_json(line)
        except ValueError:
            return  # some print a line for people before they begin to speak the protocol
        if isinstance(message, dict):
            await self._take(message)

    async def _take(self, message: dict[str, Any]) -> None:
        method, number = message.get("method"), message.get("id")
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if not isinstance(method, str):
            self._answered(number, message)
        elif number is None:
            update = params.get("update")
            if method == "session/update" and isinstance(update, dict):
                self._told(update)
        elif method == "session/request_permission":
            await self._send({"id": number, "result": grant(params)})
        else:
            await self._send({"id": number, "error": {"code": -32601, "message": "method not found"}})

    def _told(self, update: Mapping[str, Any]) -> None:
        content = update.get("content")
        if update.get("sessionUpdate") == "agent_message_chunk" and isinstance(content, dict):
            if len(self.text) < KEPT_TEXT:
                self.text += safe_text(str(content.get("text") or ""))
            self._on_text(len(self.text))

    def _answered(self, number: Any, message: Mapping[str, Any]) -> None:
        future = self._waiting.get(number) if isinstance(number, int) else None
        if future is None or future.done():
            return
        if "error" in message:
            future.set_exception(_refused(message["error"]))
        else:
            result = message.get("result")
            future.set_result(result if isinstance(result, dict) else {})

    async def _send(self, message: Mapping[str, Any]) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode() + b"\n"
        try:
            self._writer.write(line)
            await self._writer.drain()
        except OSError as error:
            raise AgentFailed("The agent closed its input.") from error


async def initialize(connection: AgentConnection) -> str:
    """Agree on the protocol; returns the agent's name and version, as in `Qwen Code 0.24.4`.

    Raises:
        AgentUnavailable: it refuses, or speaks another version.
        AgentFailed: its output ended.
    """
    capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    try:
        told = await connection.ask(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "clientCapabilities": capabilities,
                "clientInfo": {"name": "navigator", "version": "1"},
            },
        )
    except RpcError as error:
        raise AgentUnavailable(f"The agent refused to begin: {error}") from None
    if told.get("protocolVersion") != PROTOCOL:
        spoken = safe_line(str(told.get("protocolVersion")))[:20]
        raise AgentUnavailable(
            f"The agent speaks version {spoken} of the Agent Client Protocol, not {PROTOCOL}.",
            hint=f"Install a version of the agent that speaks version {PROTOCOL}.",
        )
    info = told.get("agentInfo")
    info = info if isinstance(info, dict) else {}
    name = safe_line(str(info.get("title") or info.get("name") or ""))[:60].strip()
    version = safe_line(str(info.get("version") or ""))[:30].strip()
    return f"{name or 'unnamed'} {version}".strip()


async def new_session(connection: AgentConnection, cwd: str) -> str:
    """Open a session in a folder; returns its id.

    Raises:
        AgentUnavailable: it wants a login, or refuses.
    """
    try:
        told = await connection.ask("session/new", {"cwd": cwd, "mcpServers": []})
    except RpcError as error:
        raise AgentUnavailable(f"The agent opens no session: {error}") from None
    name = told.get("sessionId")
    if not isinstance(name, str) or not name:
        raise AgentUnavailable("The agent opened a session without a name.")
    return name


async def prompt(connection: AgentConnection, session: str, text: str) -> str:
    """One turn; returns why it stopped (`end_turn`, `max_tokens`, `max_turn_requests`, `refusal`, `cancelled`).

    Raises:
        AgentFailed: the agent reports an error.
        AgentUnavailable: it asks for a login.
    """
    try:
        told = await connection.ask(
            "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
        )
    except RpcError as error:
        raise AgentFailed(f"The agent reports an error: {error}") from None
    return safe_line(str(told.get("stopReason") or ""))[:40]
