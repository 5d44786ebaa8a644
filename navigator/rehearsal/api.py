"""SGLang's HTTP surface, as far as Navigator speaks it.

Field names follow `sglang.srt.entrypoints` 0.5.9 to 0.5.23. Errors are OpenAI error objects.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from navigator.domain.states import Role
from navigator.rehearsal.engine import Answer, Engine, Job
from navigator.rehearsal.http import Request, Response, json_response
from navigator.rehearsal.timing import MODEL_NAMES, Pace, estimate_tokens

FINGERPRINT = "rehearsal"

Brain = Callable[[Sequence[Mapping[str, str]], "dict[str, Any] | None", int], Answer]
"""`(messages, JSON schema or None, how often this very prompt came before) -> answer`. Pure; runs in a thread."""


class RequestProblem(Exception):
    """A request that cannot be served: becomes an OpenAI error object."""

    def __init__(self, message: str, *, status: int = 400, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.param = param

    def response(self) -> Response:
        """The error as it goes over the wire."""
        kind = "BadRequestError" if self.status < 500 else "ServiceUnavailableError"
        error = {
            "object": "error",
            "message": self.message,
            "type": kind,
            "param": self.param,
            "code": self.status,
        }
        return json_response({**error, "error": error}, self.status)


class Api:
    """One model server: a role's brain behind the routes.

    Args:
        role: generator or reviewer.
        pace: the simulated time.
        brain: what answers.
        max_running: requests served at once; more wait.
        context_tokens: prompt and answer together may not be longer.
    """

    def __init__(
        self,
        role: Role,
        pace: Pace,
        brain: Brain,
        *,
        max_running: int = 8,
        context_tokens: int = 131_072,
    ) -> None:
        self.role = role
        self.model = MODEL_NAMES[role]
        self.pace = pace
        self.engine = Engine(pace, max_running=max_running)
        self.ready = False
        self.draining = False
        self._brain = brain
        self._context = context_tokens
        self._started = int(time.time())
        self._count = 0
        self._seen: Counter[bytes] = Counter()
        self._routes: dict[tuple[str, str], Callable[[Request], Awaitable[Response]]] = {
            ("GET", "/health"): self._health,
            ("GET", "/health_generate"): self._health,
            ("GET", "/ready"): self._health,
            ("GET", "/v1/models"): self._models,
            ("GET", "/model_info"): self._model_info,
            ("GET", "/get_model_info"): self._model_info,
            ("GET", "/v1/loads"): self._loads,
            ("GET", "/server_info"): self._server_info,
            ("GET", "/get_server_info"): self._server_info,
            ("POST", "/v1/chat/completions"): self._chat,
            ("POST", "/abort_request"): self._abort,
            ("POST", "/flush_cache"): self._flush,
            ("GET", "/flush_cache"): self._flush,
        }

    async def load(self) -> None:
        """Simulate loading; `/health` is 503 until it ends."""
        if self.pace.load_wait() > 0:
            await asyncio.sleep(self.pace.load_wait())
        self.ready = True

    async def __call__(self, request: Request) -> Response:
        """Route one request."""
        method = "GET" if request.method == "HEAD" else request.method
        route = self._routes.get((method, request.path))
        if route is None:
            known = any(path == request.path for _, path in self._routes)
            return RequestProblem(
                f"{request.method} {request.path} is not served here.", status=405 if known else 404
            ).response()
        try:
            return await route(request)
        except RequestProblem as problem:
            return problem.response()

    async def _health(self, request: Request) -> Response:
        status = 200 if self.ready and not self.draining else 503
        return Response(status=status, content_type="text/plain")

    async def _models(self, request: Request) -> Response:
        card = {
            "id": self.model,
            "object": "model",
            "created": self._started,
            "owned_by": "rehearsal",
            "root": self.model,
            "parent": None,
            "max_model_len": self._context,
        }
        return json_response({"object": "list", "data": [card]})

    async def _model_info(self, request: Request) -> Response:
        return json_response(
            {
                "model_path": self.model,
                "tokenizer_path": "",
                "is_generation": True,
                "preferred_sampling_params": None,
                "weight_version": "default",
                "has_image_understanding": False,
                "has_audio_understanding": False,
                "model_type": "rehearsal",
                "architectures": ["Rehearsal"],
            }
        )

    async def _loads(self, request: Request) -> Response:
        load = {
            "dp_rank": 0,
            "num_running_reqs": self.engine.running,
            "num_waiting_reqs": self.engine.waiting,
            "num_total_reqs": self.engine.running + self.engine.waiting,
            "gen_throughput": round(self.engine.throughput, 2),
            "token_usage": round(self.engine.cache.usage, 4),
            "cache_hit_rate": round(self.engine.cache.hit_rate, 4),
            "max_running_requests": self.engine.max_running,
            "queues": {"waiting": self.engine.waiting, "grammar": 0, "paused": 0, "retracted": 0},
        }
        aggregate = {
            "total_running_reqs": self.engine.running,
            "total_waiting_reqs": self.engine.waiting,
        }
        return json_response(
            {
                "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "version": "rehearsal",
                "dp_rank_count": 1,
                "loads": [load],
                "aggregate": aggregate,
            }
        )

    async def _server_info(self, request: Request) -> Response:
        return json_response(
            {
                "rehearsal": True,
                "role": self.role.value,
                "model_path": self.model,
                "version": "rehearsal",
                "status": "ready" if self.ready else "loading",
                "max_running_requests": self.engine.max_running,
                "context_length": self._context,
                "timing": self.pace.described(),
                "internal_states": [
                    {
                        "last_gen_throughput": round(self.engine.throughput, 2),
                        "effective_max_running_requests_per_dp": self.engine.max_running,
                    }
                ],
            }
        )

    async def _abort(self, request: Request) -> Response:
        body = _object(request.body or b"{}")
        if body.get("abort_all"):
            self.engine.abort_all()
        elif isinstance(body.get("rid"), str):
            self.engine.abort(body["rid"])
        return Response()

    async def _flush(self, request: Request) -> Response:
        if self.engine.running or self.engine.waiting:
            return Response(
                status=400, content_type="text/plain", body=b"Requests are running: not flushed.\n"
            )
        self.engine.cache.clear()
        return Response(content_type="text/plain", body=b"Cache flushed.\n")

    async def _chat(self, request: Request) -> Response:
        body = _object(request.body)
        if not self.ready:
            raise RequestProblem("The model is still loading.", status=503)
        if self.draining:
            raise RequestProblem("The server is shutting down.", status=503)
        job = self._job(body)
        options = body.get("stream_options")
        with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
        created = int(time.time())
        if body.get("stream"):
            return Response(
                content_type="text/event-stream; charset=utf-8",
                headers=[("Cache-Control", "no-cache"), ("X-Request-Id", job.rid)],
                body=self._stream(job, created, with_usage=with_usage),
            )
        content: list[str] = []
        reasoning: list[str] = []
        async for channel, piece in self.engine.run(job):
            (content if channel == "content" else reasoning).append(piece)
        message = {
            "role": "assistant",
            "content": "".join(content),
            "reasoning_content": "".join(reasoning) or None,
            "tool_calls": None,
        }
        choice = {
            "index": 0,
            "message": message,
            "logprobs": None,
            "finish_reason": job.finish_reason,
            "matched_stop": None,
        }
        return json_response(
            {**self._envelope(job, created, "chat.completion"), "choices": [choice], "usage": _usage(job)}
        )

    async def _stream(self, job: Job, created: int, *, with_usage: bool) -> AsyncIterator[bytes]:
        head = self._envelope(job, created, "chat.completion.chunk")

        def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
            choice = {
                "index": 0,
                "delta": delta,
                "logprobs": None,
                "finish_reason": finish,
                "matched_stop": None,
            }
            return _event({**head, "choices": [choice], "usage": None})

        yield chunk({"role": "assistant", "content": ""})
        async for channel, piece in self.engine.run(job):
            yield chunk({"content" if channel == "content" else "reasoning_content": piece})
        yield chunk({}, job.finish_reason)
        if with_usage:
            yield _event({**head, "choices": [], "usage": _usage(job)})
        yield b"data: [DONE]\n\n"

    def _envelope(self, job: Job, created: int, kind: str) -> dict[str, Any]:
        return {
            "id": job.rid,
            "object": kind,
            "created": created,
            "model": self.model,
            "system_fingerprint": FINGERPRINT,
        }

    def _job(self, body: dict[str, Any]) -> Job:
        messages = _messages(body.get("messages"))
        model = body.get("model")
        if model not in {self.model, "default"}:
            raise RequestProblem(
                f"The model {model!r} does not exist; here is {self.model!r}.", param="model"
            )
        limit = body.get("max_completion_tokens", body.get("max_tokens"))
        if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
            raise RequestProblem("max_tokens has to be a whole number of at least 1.", param="max_tokens")
        prompt = "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)
        tokens = estimate_tokens(prompt)
        room = self._context - tokens
        if room < (limit or 1):
            raise RequestProblem(
                f"Requested token count exceeds the model's maximum context length of {self._context} tokens: "
                f"about {tokens} tokens in the messages and {limit or 1} in the completion.",
                param="messages",
            )
        self._count += 1
        wanted = body.get("rid")
        rid = wanted if isinstance(wanted, str) and wanted and not self.engine.knows(wanted) else ""
        schema = _schema(body.get("response_format"))
        mark = hashlib.blake2b(prompt.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        repeat = self._seen[mark]
        self._seen[mark] += 1
        thinking = bool((body.get("chat_template_kwargs") or {}).get("enable_thinking"))

        def compute() -> Answer:
            answer = self._brain(messages, schema, repeat)
            if not thinking:
                return answer
            return Answer(
                answer.text, answer.finish_reason, "The rehearsal works by rule; it does not think.\n"
            )

        return Job(
            rid=rid or f"rehearsal-{self.role.value}-{self._count}",
            prompt=prompt,
            prompt_tokens=tokens,
            max_tokens=min(limit or 8192, room),
            compute=compute,
        )


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n\n"


def _usage(job: Job) -> dict[str, Any]:
    return {
        "prompt_tokens": job.prompt_tokens,
        "completion_tokens": job.completion_tokens,
        "total_tokens": job.prompt_tokens + job.completion_tokens,
        "reasoning_tokens": job.reasoning_tokens,
        "prompt_tokens_details": {"cached_tokens": job.cached_tokens},
    }


def _object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError as error:
        raise RequestProblem(f"The body is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise RequestProblem("The body has to be a JSON object.")
    return value


def _messages(value: object) -> list[dict[str, str]]:
    if not isinstance(value, list) or not value:
        raise RequestProblem("messages has to be a list with at least one message.", param="messages")
    messages = []
    for message in value:
        if not isinstance(message, dict) or message.get("role") not in {"system", "user", "assistant"}:
            raise RequestProblem("Every message needs a role: system, user or assistant.", param="messages")
        messages.append({"role": message["role"], "content": _text(message.get("content"))})
    return messages


def _text(content: object) -> str:
    """A message's text: a string, or OpenAI's list of text parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [
            part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"
        ]
        if len(texts) == len(content) and all(isinstance(text, str) for text in texts):
            return "".join(str(text) for text in texts)
    raise RequestProblem("content has to be text.", param="messages")


def _schema(response_format: object) -> dict[str, Any] | None:
    if response_format is None:
        return None
    if not isinstance(response_format, dict):
        raise RequestProblem("response_format has to be an object.", param="response_format")
    kind = response_format.get("type")
    if kind == "text":
        return None
    if kind == "json_object":
        return {"type": "object"}
    wrapped = response_format.get("json_schema")
    schema = wrapped.get("schema") if isinstance(wrapped, dict) else None
    if kind != "json_schema" or not isinstance(schema, dict):
        raise RequestProblem("response_format has to carry json_schema.schema.", param="response_format")
    return schema
