"""The only way out of an agent's sandbox: chat completions of the generator's server, one request per connection.

It listens inside the sandbox's network (`inside.py` hands the socket over) and asks outside, through the very client that
Navigator's own calls use. So `max_inflight` holds for all of them together, the key never enters the sandbox, and each
request is one call in the ledger. What the agent cannot choose is set here: the model, and that usage is reported.

A request that was answered before an interruption is answered again from the ledger (`CallJournal.replay`), not by the model.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.client import responses
from typing import Any

from navigator.agents.acp import AgentFailed
from navigator.client.assemble import Assembly, SSEParser, load_json
from navigator.client.body import same_model
from navigator.client.client import ModelClient
from navigator.client.errors import ServingError, Unauthorized, Unreachable, WrongModel
from navigator.model.errors import NavigatorError
from navigator.model.models import Usage
from navigator.model.text import safe_line

log = logging.getLogger(__name__)

Take = Callable[[int], bool]

_HEAD = 1 << 16
_BODY = 4 << 20
"""Bytes of a request. What takes longer to read as JSON would hold up everything else."""

_ANSWER = 16 << 20
CONNECTIONS = 32
"""Of one agent at once; one more is refused."""

MOST_HELD = 32 << 20
"""Bytes of requests and answers that are in memory at once for one agent."""

_KEPT = 4 << 20
"""Bytes of an answer that are kept for a replay; a longer one is asked again after an interruption."""

_SECONDS = 60.0
"""For an agent to send its request, and to take a piece of the answer."""

_REST = 1.0
"""Seconds for the rest of an answer after the agent hung up: some do once they have read its end, before the usage comes."""

_NOT_THE_QUESTION = frozenset({"user", "metadata", "prompt_cache_key", "safety_identifier", "stream_options"})
"""Keys that differ from run to run and do not change the answer."""

_SWITCHING = (Unreachable, Unauthorized, WrongModel)


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model's server answered: the body as it came, its type, and what it cost."""

    body: bytes
    kind: str
    usage: Usage = field(default_factory=Usage)
    model: str = ""
    outcome: str = "ok"
    error_code: str = ""


class CallJournal:
    """Where requests are recorded; this one keeps nothing."""

    def replay(self, digest: str) -> bytes | None:
        """The body that this request was answered with before an interruption; each is given once."""
        return None

    def begin(self, digest: str) -> int:
        """Record a request that is about to be sent; returns its number."""
        return 0

    def end(self, number: int, reply: Reply) -> None:
        """Record how it ended; without a body it was not answered."""


class BadRequest(Exception):
    """A request that is rejected; the message is sent to the agent."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


_TOO_LARGE = f"A request may have {_BODY >> 20} MiB."
_TOO_MANY = f"All requests and answers together may have {MOST_HELD >> 20} MiB at once."


def digest_of(body: Mapping[str, Any]) -> str:
    """What tells one question to the model from another."""
    asked = {key: value for key, value in body.items() if key not in _NOT_THE_QUESTION}
    text = json.dumps(asked, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class HeldBytes:
    """Counts the bytes that are in memory for one agent."""

    def __init__(self) -> None:
        self.bytes = 0

    @contextlib.contextmanager
    def share(self) -> Iterator[Take]:
        """One connection's: a function that takes so many more, False where there is no room. The end gives all back."""
        mine = 0

        def take(size: int) -> bool:
            nonlocal mine
            if self.bytes + size > MOST_HELD:
                return False
            mine += size
            self.bytes += size
            return True

        try:
            yield take
        finally:
            self.bytes -= mine


class Forwarder:
    """Serves one agent. Belongs to one event loop.

    Args:
        client: the generator's, whose settings name the model.
        journal: the ledger.
        most: requests of the whole run; the next one ends it.
        temperature: of every request, whatever the agent asks for; None leaves it to the agent.

    Attributes:
        made: chat requests, the one that exceeded `most` included.
        replayed: those of them that the model was not asked.
        refused: requests that are malformed, too large or for another route, and connections over the limit.
        held: the bytes of requests and answers that are in memory.
        fault: set when no further request can succeed: the server's error, the ledger's, or the limit that was met.
    """

    def __init__(
        self, client: ModelClient, journal: CallJournal, *, most: int, temperature: float | None = None
    ) -> None:
        self._client, self._journal, self._most = client, journal, most
        self._temperature = temperature
        self._server: asyncio.Server | None = None
        self._jobs: set[asyncio.Task[None]] = set()
        self.held = HeldBytes()
        self.made = self.replayed = self.refused = 0
        self.fault: asyncio.Future[NavigatorError] = asyncio.get_running_loop().create_future()

    def counts(self) -> dict[str, int]:
        """Its requests so far, by what became of them."""
        return {"requests": self.made, "replayed": self.replayed, "refused": self.refused}

    async def serve(self, listening: socket.socket) -> None:
        """Answer on a socket that listens inside the sandbox."""
        listening.setblocking(False)
        self._server = await asyncio.start_server(self._accept, sock=listening, limit=_HEAD)

    async def close(self) -> None:
        """Stop; requests under way are cut off, and the model stops writing."""
        if self._server is not None:
            self._server.close()
        for job in list(self._jobs):
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)

    def fail(self, error: NavigatorError) -> None:
        """Say that no further request can succeed."""
        if not self.fault.done():
            self.fault.set_result(error)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        job = asyncio.current_task()
        assert job is not None
        if len(self._jobs) >= CONNECTIONS:
            self.refused += 1
            _send(writer, 503, _error(f"An agent has at most {CONNECTIONS} connections at once."))
            writer.close()
            return
        self._jobs.add(job)
        try:
            with self.held.share() as take:
                await self._connection(reader, writer, take)
                writer.close()
                async with asyncio.timeout(_SECONDS):
                    await writer.wait_closed()
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            pass  # the agent went away
        except asyncio.CancelledError:
            pass  # by `close`; Python 3.11 logs a traceback of a handler that ends cancelled
        except NavigatorError as error:
            self.fail(error)  # the ledger cannot be written: nothing more is asked of the model
        finally:
            self._jobs.discard(job)
            writer.transport.abort()  # nothing waits for an agent that does not read

    async def _connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, take: Take
    ) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                method, path, body = await read_request(reader, take)
            path = path.partition("?")[0].rstrip("/")
            if method == "GET" and path.endswith("/models"):
                _send(writer, 200, self._models())
                return
            if method != "POST" or not path.endswith("/chat/completions"):
                raise BadRequest(404, f"{method} {path[:80]} is not offered: only /v1/chat/completions is.")
            asked = self._question(body)
        except BadRequest as refused:
            self.refused += 1
            _send(writer, refused.status, _error(str(refused)))
            return
        await self._answer(asked, reader, writer, take)

    def _models(self) -> bytes:
        model = self._client.settings.model
        entry = {"id": model, "object": "model", "owned_by": "local"}
        length = {"max_model_len": self._client.settings.context_tokens}
        return json.dumps({"object": "list", "data": [entry | length]}).encode()

    def _question(self, raw: bytes) -> dict[str, Any]:
        """The agent's body with what the settings decide: model, sampling where it names none, usage."""
        try:
            body = load_json(raw.decode("utf-8"))
        except ValueError:
            raise BadRequest(400, "The body is not JSON.") from None
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            raise BadRequest(400, "The body has no messages.")
        server = self._client.settings
        thinking = {"chat_template_kwargs": {"enable_thinking": server.thinking}}
        usual = {"temperature": server.temperature, "top_p": server.top_p, **thinking, **server.extra_body}
        fixed: dict[str, Any] = {"model": server.model}
        if self._temperature is not None:
            fixed["temperature"] = self._temperature
        if body.get("stream") is True:
            fixed["stream_options"] = {"include_usage": True}
        return {**usual, **body, **fixed}

    async def _answer(
        self, asked: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter, take: Take
    ) -> None:
        self.made += 1
        if self.made > self._most:
            words = f"The agent was ended: it made more than {self._most} requests to the model."
            self.fail(AgentFailed(words, final=True))
            _send(writer, 429, _error("The limit of requests is reached."))
            return
        digest = digest_of(asked)
        streams = asked.get("stream") is True
        known = self._journal.replay(digest)
        if known is not None:
            self.replayed += 1
            _send(writer, 200, known, "text/event-stream" if streams else "application/json")
            return
        number = self._journal.begin(digest)
        reply = Reply(b"", "", outcome="cancelled")
        asking = asyncio.create_task(self._ask(asked, writer, take))
        leaving = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({asking}, timeout=_REST)
            if asking.done():
                reply = asking.result()
        except ServingError as error:
            reply = self._failed(error, writer)
        finally:
            leaving.cancel()
            if not asking.done():
                asking.cancel()
                with contextlib.suppress(asyncio.CancelledError, ServingError, OSError):
                    await asking
            self._journal.end(number, reply)

    def _failed(self, error: ServingError, writer: asyncio.StreamWriter) -> Reply:
        """Report the server's error to the agent, and end the run where waiting would not help."""
        log.warning("an agent's request: %s", error)
        if isinstance(error, _SWITCHING):
            self.fail(error)
        with contextlib.suppress(OSError, RuntimeError):
            _send(writer, error.status if error.status >= 400 else 503, _error(error.said or str(error)))
        return Reply(b"", "", usage=error.usage, outcome="failed", error_code=error.code)

    async def _ask(self, asked: dict[str, Any], writer: asyncio.StreamWriter, take: Take) -> Reply:
        """Pass the request on, and the answer back as it comes.

        Raises:
            ServingError: nothing was sent to the agent yet.
        """
        import httpx

        clock = asyncio.get_running_loop().time
        began = clock()
        async with self._client.passed_on(asked) as response:
            kind = response.headers.get("content-type", "application/json")
            if response.status_code != 200:
                raise await self._client.refusal(response)
            _head(writer, 200, kind)
            whole = bytearray()
            try:
                async for chunk in response.aiter_bytes():
                    if len(whole) + len(chunk) > _ANSWER or not take(len(chunk)):
                        break
                    whole += chunk
                    writer.write(chunk)
                    with contextlib.suppress(ConnectionError):  # the agent went: see `_REST`
                        async with asyncio.timeout(_SECONDS):
                            await writer.drain()
            except httpx.HTTPError as error:
                log.warning("an agent's answer broke off: %s", safe_line(self._client.clean(str(error))))
        seconds = clock() - began
        read, ended = await asyncio.to_thread(read_whole, bytes(whole), streams="event-stream" in kind)
        usage, model = read.usage(seconds), read.model or self._client.settings.model
        if not same_model(self._client.settings.model, model):
            self.fail(WrongModel(f"The server answers as {safe_line(model)[:80]}."))
            return Reply(b"", kind, usage, model, "failed", "wrong_model")
        if not ended:
            return Reply(b"", kind, usage, read.model, "failed", "stream_cut")
        kept = bytes(whole) if len(whole) <= _KEPT else b""
        return Reply(kept, kind, usage, model)


def read_whole(whole: bytes, *, streams: bool) -> tuple[Assembly, bool]:
    """An answer that passed by, with its usage and the model's name, and whether it came whole. CPU only: call it in a thread."""
    assembly = Assembly(_ANSWER)
    try:
        if streams:
            for data in SSEParser().feed(whole):
                assembly.event(data)
        else:
            assembly.chunk(load_json(whole.decode("utf-8", "replace")))
    except (ValueError, ServingError):
        return assembly, False
    return assembly, bool(assembly.finish_reason)


async def read_request(
    reader: asyncio.StreamReader, take: Take = lambda size: True
) -> tuple[str, str, bytes]:
    """One HTTP/1.1 request: method, path, body.

    Args:
        take: whether so many more bytes may be read.

    Raises:
        BadRequest: it is not a valid request, or too large.
    """
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except asyncio.LimitOverrunError:
        raise BadRequest(431, "The head of the request is too long.") from None
    first, *lines = head.split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest(400, "That is no HTTP request.")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    if "transfer-encoding" in headers:
        raise BadRequest(411, "A request says its length first: it is not taken in chunks.")
    size = headers.get("content-length", "0")
    if not size.isdecimal() or int(size) > _BODY:
        raise BadRequest(413, _TOO_LARGE)
    if not take(int(size)):
        raise BadRequest(429, _TOO_MANY)
    return words[0], words[1], await reader.readexactly(int(size))


def _head(writer: asyncio.StreamWriter, status: int, kind: str) -> None:
    """The head of an answer whose end is the connection's."""
    safe = kind if kind.isascii() and kind.isprintable() else "application/json"
    phrase = responses.get(status, "Error")  # a server may have a status of its own
    writer.write(f"HTTP/1.1 {status} {phrase}\r\ncontent-type: {safe}\r\nconnection: close\r\n\r\n".encode())


def _send(writer: asyncio.StreamWriter, status: int, body: bytes, kind: str = "application/json") -> None:
    _head(writer, status, kind)
    writer.write(body)


def _error(words: str) -> bytes:
    return json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode()
