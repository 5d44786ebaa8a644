"""The streaming client: one question in, one whole answer or one typed error out.

An answer counts only with finish_reason "stop" and [DONE]. Before its first character a call is repeated
where that may help; after it, never: the caller decides. httpx is imported when a client is made, not with
this module.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from navigator.client.assemble import DONE, Assembly, RetryPolicy, SSEOverflow, SSEParser
from navigator.client.body import (
    ChatAnswer,
    ChatRequest,
    Dialect,
    Keys,
    Load,
    ModelInfo,
    Progress,
    ServerKind,
    Timeouts,
    build_body,
    keys_by_list,
    keys_by_number,
    kind_by_owner,
    listed_models,
    read_load,
    require_mergeable,
    same_model,
)
from navigator.client.errors import (
    BadAnswer,
    FirstTokenTimeout,
    NotReady,
    Overloaded,
    ServerFault,
    ServingError,
    Stalled,
    StreamCut,
    TotalTimeout,
    Unreachable,
    WrongModel,
)
from navigator.client.transport import Transport
from navigator.model.errors import NavigatorError
from navigator.model.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx

    from navigator.config.settings import ServerSettings

_MAX_STREAM_BYTES = 64 << 20
_MAX_ANSWER_CHARS = 4 << 20
_ABORT_SECONDS = 2.0


class ModelClient:
    """A client of one model server. It belongs to one event loop; `aclose` it, or use it in `async with`.

    Args:
        settings: the server's address, model and limits.
        timeouts: the defaults of `Timeouts` where None.
        retry: how often and how patiently a call is repeated before its first character.

    Raises:
        ConfigError: `extra_body` sets a key that only Navigator may set.
    """

    def __init__(
        self,
        settings: ServerSettings,
        *,
        timeouts: Timeouts | None = None,
        retry: RetryPolicy | None = None,
    ) -> None:
        require_mergeable(settings.extra_body, "extra_body")
        self.settings = settings
        self.timeouts = timeouts or Timeouts()
        self._slots = asyncio.Semaphore(settings.max_inflight)
        self._retry = retry or RetryPolicy()
        self._dialect = Dialect()
        self._transport = Transport(settings, self.timeouts)
        self._kind: ServerKind | None = None
        self._kind_lock = asyncio.Lock()
        self._adapter: Keys | None = None  # None: not known to be served
        self._in_flight: set[str] = set()

    async def __aenter__(self) -> ModelClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    @property
    def in_flight(self) -> frozenset[str]:
        """The ids of the requests that run right now."""
        return frozenset(self._in_flight)

    async def aclose(self) -> None:
        """Close every connection; calls under way, in a pause or at the gate fail with a `ServingError`."""
        await self._transport.aclose()

    async def chat(self, request: ChatRequest, on_progress: Progress | None = None) -> ChatAnswer:
        """Ask, and wait for the whole answer.

        Cancelling is safe: the stream is closed, and SGLang is told to abort the request.

        Args:
            request: the question.
            on_progress: called as text arrives.

        Raises:
            ServingError: one of `navigator.client.errors`, with the partial text and the number of
            repetitions. MissingPart, ConfigError: the key's variable is unset or unusable.
        """
        require_mergeable(request.extra, "extra")
        clock = asyncio.get_running_loop().time
        kind = await self._kind_or_guess()
        deadline = 0.0  # set when the first slot is ours: waiting in our own queue is not the server's time
        retries = 0
        while True:
            rid = uuid.uuid4().hex
            try:
                async with self._slots:
                    deadline = deadline or clock() + self.timeouts.total
                    await self._choose(kind)
                    return await self._attempt(request, rid, kind, deadline, retries, on_progress)
            except ServingError as error:
                error.retries = retries
                again = _repeats(error, retries) and not self._transport.closed
                delay = self._retry.delay(retries, error.retry_after) if again else None
                if delay is None or clock() + delay >= deadline:
                    raise
            await asyncio.sleep(delay)
            retries += 1

    @asynccontextmanager
    async def passed_on(self, body: Mapping[str, Any]) -> AsyncIterator[httpx.Response]:
        """Send a request that another program made, within `max_inflight`, and hand out the response with its body unread.

        Raises:
            ServingError: no connection; whatever the server answered is the caller's to read.
        """
        rid = uuid.uuid4().hex
        sglang = await self._kind_or_guess() == "sglang"
        ended = False
        async with self._slots:
            self._in_flight.add(rid)
            url = f"{self._transport.api}/chat/completions"
            fitted = self._dialect.apply({**body, "rid": rid} if sglang else dict(body))
            try:
                async with self._transport.post(url, fitted, rid) as response:
                    yield response
                ended = True
            finally:
                self._in_flight.discard(rid)
                if not ended:
                    await self.abort(rid)

    async def refusal(self, response: httpx.Response) -> ServingError:
        """What an answer other than 200 that was handed out says, as the error it is."""
        return await self._transport.refusal(response)

    def clean(self, words: str) -> str:
        """`words` without this server's keys."""
        return self._transport.clean(words)

    async def health(self) -> bool:
        """Whether the server is ready to answer. SGLang generates a token for it: allow a second or more."""
        try:
            status, _ = await self._transport.get(f"{self._transport.root}/health", self.timeouts.health)
            if status in (401, 403, 404, 405):  # Ollama, LM Studio and clouds have no /health
                status, _ = await self._transport.get(f"{self._transport.api}/models", self.timeouts.probe)
        except ServingError:
            return False
        return status == 200

    async def kind(self) -> ServerKind:
        """What software answers; asked once, then remembered.

        Raises:
            Unreachable: it cannot be asked.
        """
        async with self._kind_lock:
            if self._kind is None:
                self._kind = await self._detect((await self._list())[1])
            return self._kind

    async def model_info(self) -> ModelInfo:
        """What the server says it serves.

        Raises:
            ServingError: it cannot be asked or does not list any.
        """
        status, listed = await self._list()
        async with self._kind_lock:
            kind = self._kind = self._kind or await self._detect(listed)
        self._require_listed(status, listed)
        path = await self._weights_path() if kind == "sglang" else ""
        return ModelInfo(kind, tuple(entry["id"] for entry in listed), path)

    async def require_model(self) -> ModelInfo:
        """`model_info`, if the wanted model is among what is served.

        Raises:
            WrongModel: it is not.
            ServingError: the server cannot be asked.
        """
        info = await self.model_info()
        served = (*info.names, info.path) if info.path else info.names
        if any(same_model(self.settings.model, name) for name in served):
            return info
        if info.kind == "llamacpp" and await self._numbered_adapter():
            return info
        raise self._wrong_model(", ".join(served[:3]))

    async def load(self) -> Load | None:
        """How busy the server is; None where it does not say or cannot be asked."""
        try:
            return await read_load(await self.kind(), self._ask, self.settings.model)
        except ServingError:
            return None

    async def server_info(self) -> dict[str, Any]:
        """What an SGLang server tells of itself at /server_info; empty where there is no such thing."""
        try:
            status, payload = await self._ask("/server_info")
        except ServingError:
            return {}
        return payload if status == 200 and isinstance(payload, dict) else {}

    async def abort(self, request_id: str) -> None:
        """Tell SGLang to drop a request; other servers drop it when the stream closes.

        A server with two keys wants the administrator's. A failure is no error: the closed stream has the same
        effect a little later.
        """
        if self._kind != "sglang" or not request_id:
            return
        url, body = f"{self._transport.root}/abort_request", {"rid": request_id}
        with suppress(NavigatorError):
            await self._transport.ask(url, body, _ABORT_SECONDS, admin=True)

    async def _attempt(
        self,
        request: ChatRequest,
        rid: str,
        kind: ServerKind,
        deadline: float,
        retries: int,
        on_progress: Progress | None,
    ) -> ChatAnswer:
        """One try, and a second one at once where the server named a key that it does not want."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        body = build_body(
            request,
            model=self.settings.model,
            extra_body={**(self._adapter or {}), **self.settings.extra_body},
            rid=rid if kind == "sglang" else "",
        )
        assembly = Assembly(_MAX_ANSWER_CHARS, thinking=request.thinking)
        whole = False
        self._in_flight.add(rid)
        try:
            async with asyncio.timeout_at(min(started + self.timeouts.first_token, deadline)) as limit:
                while not await self._exchange(body, rid, assembly, deadline, limit.reschedule, on_progress):
                    pass
            whole = assembly.done
            text, reasoning = assembly.result()
        except TimeoutError:
            error = self._timed_out(assembly, loop.time() >= deadline)
            raise _completed(error, assembly, loop.time() - started) from None
        except ServingError as error:
            raise _completed(error, assembly, loop.time() - started) from None
        finally:
            self._in_flight.discard(rid)
            if not whole:
                await self.abort(rid)
        return ChatAnswer(
            text=text,
            reasoning=reasoning,
            usage=assembly.usage(loop.time() - started),
            model=(not self._numbered and assembly.model) or self.settings.model,
            retries=retries,
            entropy=assembly.entropy.mean(),
        )

    async def _exchange(
        self,
        body: dict[str, Any],
        rid: str,
        assembly: Assembly,
        deadline: float,
        reschedule: Callable[[float], None],
        on_progress: Progress | None,
    ) -> bool:
        """Send the body and read the answer into `assembly`; False: send again, the dialect has changed."""
        import httpx

        fitted = self._dialect.apply(body)
        async with self._transport.post(f"{self._transport.api}/chat/completions", fitted, rid) as response:
            if response.status_code != 200:
                refusal = await self._transport.refusal(response)
                if self._dialect.learn(response.status_code, refusal.said, fitted):
                    return False
                raise refusal
            try:
                await self._read(response, assembly, deadline, reschedule, on_progress)
            except httpx.DecodingError:
                raise BadAnswer("The server compressed its answer in a way that cannot be read.") from None
            except httpx.RequestError as error:
                words = safe_line(self._transport.clean(str(error))) or type(error).__name__
                raise StreamCut(f"The connection to {self._transport.address} broke: {words}.") from None
        return True

    async def _read(
        self,
        response: httpx.Response,
        assembly: Assembly,
        deadline: float,
        reschedule: Callable[[float], None],
        on_progress: Progress | None,
    ) -> None:
        kind = response.headers.get("content-type", "").lower()
        clock = asyncio.get_running_loop().time
        parser = SSEParser()
        received = 0
        events = 0
        async for chunk in response.aiter_bytes():
            received += len(chunk)
            if received > _MAX_STREAM_BYTES:
                raise BadAnswer(f"The answer is longer than {_MAX_STREAM_BYTES} bytes.")
            before = assembly.chars
            fresh = 0
            try:
                for data in parser.feed(chunk):
                    self._take(assembly, data)
                    fresh += 1
            except SSEOverflow as error:
                raise BadAnswer(f"The server sent {error}.") from None
            events += fresh
            if on_progress is not None and assembly.chars > before:
                on_progress(assembly.chars)
            if assembly.done:
                return
            # Comments keep a connection alive but are no sign that the model writes.
            if fresh and assembly.started:
                reschedule(min(clock() + self.timeouts.between_tokens, deadline))
        last = parser.close()
        if last is not None and last.strip() == DONE:
            self._take(assembly, last)
            return
        if not events and "event-stream" not in kind:
            said = safe_line(kind[:60]) or "something else"
            raise BadAnswer(f"{self._transport.address} answered with {said}, not with an event stream.")

    def _take(self, assembly: Assembly, data: str) -> None:
        known = assembly.model
        # Some servers repeat the key that they were sent. It goes before anything is cut or kept.
        assembly.event(self._transport.clean(data))
        if (
            assembly.model != known
            and not self._numbered
            and not same_model(self.settings.model, assembly.model)
        ):
            raise self._wrong_model(assembly.model)

    def _wrong_model(self, answered: str) -> WrongModel:
        named = safe_line(self._transport.clean(answered)[:200]) or "nothing"
        error = WrongModel(f"{self._transport.address} serves {named}, not {safe_line(self.settings.model)}.")
        error.served = named
        return error

    def _timed_out(self, assembly: Assembly, total: bool) -> ServingError:
        where = self._transport.address
        if total:
            return TotalTimeout(f"{where} did not finish within {self.timeouts.total:g} s.")
        if assembly.started:
            return Stalled(
                f"{where} stopped for {self.timeouts.between_tokens:g} s after {assembly.chars} characters."
            )
        return FirstTokenTimeout(f"{where} wrote nothing within {self.timeouts.first_token:g} s.")

    async def _kind_or_guess(self) -> ServerKind:
        """The kind, or "openai" for this call where it cannot be asked: then the call itself says why."""
        try:
            return await self.kind()
        except ServingError:
            return "openai"

    @property
    def _numbered(self) -> bool:
        """Whether the model is an adapter of llama.cpp, which answers under the name of its base."""
        return "lora" in (self._adapter or ())

    async def _choose(self, kind: ServerKind) -> None:
        """Find out how a request picks the wanted model, until the server lists it.

        Raises:
            ServingError: the server cannot be asked.
        """
        if self._adapter is None and kind in ("sglang", "llamacpp"):
            status, listed = await self._list()
            self._require_listed(status, listed)
            keys = keys_by_list(listed, self.settings.model)
            if keys is not None:
                self._adapter = keys
            elif kind == "llamacpp":  # another request may have found it meanwhile, and be under way with it
                await self._numbered_adapter()

    async def _numbered_adapter(self) -> bool:
        """Whether the wanted model is an adapter of this llama.cpp server, remembered for requests."""
        self._adapter = keys_by_number((await self._ask("/lora-adapters"))[1], self.settings.model)
        return self._adapter is not None

    async def _list(self) -> tuple[int, list[dict[str, Any]]]:
        """The HTTP status of `/v1/models`, and its entries.

        Raises:
            Unreachable: it cannot be asked, or is not ready.
        """
        status, payload = await self._transport.get(f"{self._transport.api}/models", self.timeouts.probe)
        if status >= 500:
            raise NotReady(f"{self._transport.address} is not ready (HTTP {status}).", status=status)
        return status, listed_models(payload)

    async def _detect(self, listed: list[dict[str, Any]]) -> ServerKind:
        self._adapter = keys_by_list(listed, self.settings.model)
        by_owner = kind_by_owner(listed)
        if by_owner is not None:
            return by_owner
        return "sglang" if await self._weights_path() else "openai"

    def _require_listed(self, status: int, listed: list[dict[str, Any]]) -> None:
        if status in (401, 403):  # the key: the address is right
            raise self._transport.failure(status, "")
        if status != 200 or not listed:
            raise BadAnswer(
                f"{self._transport.address} does not list its models (HTTP {status}).", status=status
            )

    async def _weights_path(self) -> str:
        status, payload = await self._ask("/model_info")
        path = payload.get("model_path") if status == 200 and isinstance(payload, dict) else None
        return path if isinstance(path, str) else ""

    async def _ask(self, path: str) -> tuple[int, Any]:
        return await self._transport.get(f"{self._transport.root}{path}", self.timeouts.probe)


def _repeats(error: ServingError, retries: int) -> bool:
    """Whether a failed try may be followed by another. A fault inside the server gets one more chance."""
    if error.begun:
        return False
    if isinstance(error, ServerFault):
        return retries == 0
    return isinstance(error, Unreachable | Overloaded | StreamCut)


def _completed(error: ServingError, assembly: Assembly, seconds: float) -> ServingError:
    error.partial = assembly.content
    error.usage = assembly.usage(seconds)
    error.begun = assembly.started
    return error
