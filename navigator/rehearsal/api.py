"""SGLang's HTTP surface, as far as Navigator and its users speak it: routes, health, chat.

Behaviour and names follow SGLang 0.5.9 to 0.5.23, answers the newest of them. tests/engines holds this against a real server
and lists what differs, and why.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from navigator.model.states import Role
from navigator.rehearsal.chat import ChatBody, RequestProblem, Wording, json_body, misshapen, read_chat
from navigator.rehearsal.engine import MODEL_NAMES, Completion, EngineJob, Pace, SimulatedEngine
from navigator.rehearsal.http import HttpRequest, Response, json_response
from navigator.rehearsal.tool_calls import CallReader, ToolCall, calls_in

HEALTH_SECONDS = 1.0
"""SGLang generates a token and looks a second later whether it came."""

VERSION = "rehearsal"
SIMULATED = {
    "logprobs": "from a hash of prompt and text; there is no model that has probabilities",
    "tokens": "estimated at four characters each; their numbers are no tokenizer's",
}

Player = Callable[[Sequence[Mapping[str, str]], "dict[str, Any] | None", int, float], Completion]
"""`(messages, JSON schema or None, earlier requests with the same prompt, temperature) -> answer`. Pure; runs in a thread."""

Route = Callable[[HttpRequest], Awaitable[Response]]


class Api:
    """One model server: the player behind the routes.

    Args:
        role: generator or reviewer.
        pace: the simulated time.
        player: what answers.
        max_running: requests served at once; more wait.
        context_tokens: prompt and answer together may not be longer.
    """

    def __init__(
        self,
        role: Role,
        pace: Pace,
        player: Player,
        *,
        max_running: int = 8,
        context_tokens: int = 131_072,
    ) -> None:
        self.role = role
        self.model = MODEL_NAMES[role]
        self.pace = pace
        self.engine = SimulatedEngine(pace, max_running=max_running)
        self.ready = False
        self.draining = False
        self._player = player
        self._context = context_tokens
        self._seen: Counter[bytes] = Counter()
        self._routes: dict[str, dict[str, Route]] = {
            "/": {"GET": self._root},
            "/health": {"GET": self._health},
            "/ready": {"GET": self._ready},
            "/v1/models": {"GET": self._models},
            "/model_info": {"GET": self._model_info},
            "/v1/loads": {"GET": self._loads},
            "/server_info": {"GET": self._server_info},
            "/v1/chat/completions": {"POST": self._chat},
            "/abort_request": {"POST": self._abort},
        }

    async def load(self) -> None:
        """Simulate loading; `/health` is 503 until it ends."""
        if self.pace.load_wait() > 0:
            await asyncio.sleep(self.pace.load_wait())
        self.ready = True

    async def __call__(self, request: HttpRequest) -> Response:
        """Route one request."""
        methods = self._routes.get(request.path)
        if methods is None:
            return json_response({"detail": "Not Found"}, 404)
        route = methods.get(request.method)
        if route is None:
            refusal = json_response({"detail": "Method Not Allowed"}, 405)
            refusal.headers.append(("Allow", ", ".join(methods)))
            return refusal
        try:
            return await route(request)
        except RequestProblem as problem:
            return problem.response()

    async def _root(self, request: HttpRequest) -> Response:
        return json_response("This is a rehearsal of SGLang")

    async def _health(self, request: HttpRequest) -> Response:
        if not self.ready or self.draining:
            return Response(status=503)
        await asyncio.sleep(self.pace.wait(HEALTH_SECONDS))
        return Response()

    async def _ready(self, request: HttpRequest) -> Response:
        return Response(status=200 if self.ready and not self.draining else 503)

    # What the server says of itself, in names and shapes of SGLang 0.5.23.

    async def _models(self, request: HttpRequest) -> Response:
        card = {
            "id": self.model,
            "object": "model",
            "created": int(time.time()),
            "owned_by": "rehearsal",
            "root": self.model,
            "parent": None,
            "max_model_len": self._context,
        }
        return json_response({"object": "list", "data": [card]})

    async def _model_info(self, request: HttpRequest) -> Response:
        return json_response({**self._named(), "is_generation": True})

    async def _loads(self, request: HttpRequest) -> Response:
        load = {
            "num_running_reqs": self.engine.running,
            "num_waiting_reqs": self.engine.waiting,
            "max_running_requests": self.engine.max_running,
            "token_usage": round(self.engine.cache.usage, 4),
        }
        return json_response({"version": VERSION, "loads": [load]})

    async def _server_info(self, request: HttpRequest) -> Response:
        """The fields that mean something here, and what is simulated and how."""
        said = {
            "rehearsal": True,
            "role": self.role.value,
            "timing": self.pace.described(),
            "simulated": SIMULATED,
            "version": VERSION,
            "status": "ready" if self.ready else "loading",
            "max_running_requests": self.engine.max_running,
            "context_length": self._context,
        }
        return json_response({**self._named(), **said})

    def _named(self) -> dict[str, str]:
        return {"model_path": self.model, "served_model_name": self.model}

    async def _abort(self, request: HttpRequest) -> Response:
        body = json_body(request)
        rid = body.get("rid")
        if rid is not None and not isinstance(rid, str):
            raise misshapen("rid", "Input should be a valid string")
        if body.get("abort_all"):
            self.engine.abort_all()
        elif rid:
            self.engine.abort(rid)
        return Response()

    async def _chat(self, request: HttpRequest) -> Response:
        body = read_chat(json_body(request), self._context)
        if not self.ready:
            raise RequestProblem("The model is still loading.", kind="ServiceUnavailable", status=503)
        if self.engine.knows(body.rid):
            raise RequestProblem(f"Duplicate request ID detected: {body.rid}")
        job = self._job(body)
        wording = Wording(job, self.model, top_logprobs=body.top_logprobs)
        if body.stream:
            return await self._streamed(body, job, wording)
        content = "".join([piece async for piece in self.engine.run(job)])
        content, calls = calls_in(content) if body.tools else (content, [])
        return json_response(wording.whole(content, calls))

    async def _streamed(self, body: ChatBody, job: EngineJob, wording: Wording) -> Response:
        """The status goes out with the first chunk, and that with the first token: as SGLang has it."""
        pieces = self.engine.run(job)
        first = await anext(pieces, None)

        async def events() -> AsyncIterator[bytes]:
            try:
                yield wording.opening()
                text = first
                reader, called = CallReader(), 0
                while text is not None:
                    calls: list[ToolCall] = []
                    if body.tools:
                        text, calls = reader.feed(text)
                    if text:
                        yield wording.piece(text)
                    for call in calls:
                        yield wording.call(called, call)
                        called += 1
                    text = await anext(pieces, None)
                if rest := reader.rest():
                    yield wording.piece(rest)
                yield wording.closing(called=called > 0)
                if body.usage_at_end:
                    yield wording.counts()
                yield b"data: [DONE]\n\n"
            finally:
                await pieces.aclose()

        return Response(content_type="text/event-stream; charset=utf-8", body=events())

    def _job(self, body: ChatBody) -> EngineJob:
        mark = hashlib.blake2b(body.prompt.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        repeat = self._seen[mark]
        self._seen[mark] += 1

        return EngineJob(
            rid=body.rid or uuid.uuid4().hex,
            prompt=body.prompt,
            prompt_tokens=body.prompt_tokens,
            max_tokens=body.max_tokens,
            compute=partial(self._player, body.messages, body.schema, repeat, body.temperature),
            repeat=repeat,
        )
