"""The body of a request, read and checked as SGLang does: which fields, which defaults, which refusals.

A wrong shape is refused before anything else ("Bad Request"), what the model cannot do afterwards ("BadRequestError").
The model's name is not checked: an SGLang server serves one model and answers to any name.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from navigator.model.json_text import read_json
from navigator.rehearsal.engine import CHARACTERS_PER_TOKEN, EngineJob, estimate_tokens
from navigator.rehearsal.http import HttpRequest, Response, json_response
from navigator.rehearsal.tool_calls import ToolCall, call_text, tools_text


class RequestProblem(Exception):
    """A request that cannot be served, refused with SGLang's flat error object.

    Args:
        message: for people; SGLang's own words where clients look for them.
        kind: the error's `type`. "BadRequestError" says that the request makes no sense to the model, "Bad Request"
            that its body has not the right shape.
        status: the HTTP status, which is also the error's `code`.
    """

    def __init__(self, message: str, *, kind: str = "BadRequestError", status: int = 400) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.status = status

    def response(self) -> Response:
        """The error as it goes over the wire."""
        error = {
            "object": "error",
            "message": self.message,
            "type": self.kind,
            "param": None,
            "code": self.status,
        }
        return json_response(error, self.status)


def misshapen(field: str, wanted: str) -> RequestProblem:
    """A body whose field has the wrong type."""
    return RequestProblem(f"1 validation error: body.{field}: {wanted}", kind="Bad Request")


@dataclass(frozen=True, slots=True)
class ChatBody:
    """One chat request. `max_tokens` fits into the context; `top_logprobs` is None where none are wanted.

    `tools` says whether there are some that may be called; they are in the messages.
    """

    messages: tuple[dict[str, str], ...]
    prompt: str
    prompt_tokens: int
    max_tokens: int
    schema: dict[str, Any] | None
    temperature: float
    rid: str
    stream: bool
    usage_at_end: bool
    top_logprobs: int | None
    tools: bool


class _Function(BaseModel):
    name: str
    arguments: str = "{}"


class _Call(BaseModel):
    function: _Function


class _Part(BaseModel):
    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    role: Literal["system", "user", "assistant", "tool", "function", "developer"]
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None

    def plain(self) -> dict[str, str]:
        """Its role and its text, calls of tools included.

        Raises:
            RequestProblem: the arguments of a call are no JSON.
        """
        parts = self.content
        content = parts if isinstance(parts, str) else "".join(part.text for part in parts or ())
        return {"role": self.role, "content": content + "".join(map(self._call, self.tool_calls or ()))}

    def _call(self, call: _Call) -> str:
        try:
            arguments = read_json(call.function.arguments)
        except ValueError:
            raise misshapen("messages.tool_calls", "arguments: Input should be JSON") from None
        given = arguments if isinstance(arguments, dict) else {}
        return f"\n{call_text(ToolCall(call.function.name, given))}"


class _Tool(BaseModel):
    model_config = ConfigDict(extra="allow")

    function: dict[str, Any]


class _Schema(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: dict[str, Any] | None = None


class _Request(BaseModel):
    """What of a request is read; null is as if it was not there."""

    model_config = ConfigDict(strict=True)

    messages: list[ChatMessage]
    model: str | None = None
    stream: bool | None = None
    stream_options: dict[str, Any] | None = None
    rid: str | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    max_completion_tokens: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    response_format: _Schema | None = None
    tools: list[_Tool] | None = None
    tool_choice: Any = None


def json_body(request: HttpRequest) -> dict[str, Any]:
    """The body as an object.

    Raises:
        RequestProblem: another content type, or no JSON object.
    """
    if request.content_type.partition(";")[0].strip().lower() != "application/json":
        raise misshapen("content-type", "Unsupported Media Type: Only 'application/json' is allowed")
    try:
        value = read_json(request.body)
    except ValueError as error:
        raise misshapen("", f"JSON decode error: {error}") from error
    if not isinstance(value, dict):
        raise misshapen("", "Input should be a valid dictionary")
    return value


def read_chat(body: Mapping[str, Any], context: int) -> ChatBody:
    """Check a chat request against a model that takes `context` tokens.

    Raises:
        RequestProblem: it cannot be served.
    """
    try:
        asked = _Request.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise misshapen(".".join(map(str, first["loc"])), first["msg"]) from error
    tools = [] if asked.tool_choice == "none" else [tool.model_dump() for tool in asked.tools or ()]
    messages = _with_tools(tuple(message.plain() for message in asked.messages), tools)
    options = asked.stream_options or {}
    limit = asked.max_tokens if asked.max_completion_tokens is None else asked.max_completion_tokens
    if not messages:
        raise RequestProblem("Messages cannot be empty.")
    if limit is not None and limit < 0:
        raise RequestProblem(f"max_new_tokens must be at least 0, got {limit}.")
    temperature = asked.temperature or 0.0
    if temperature < 0:
        raise RequestProblem(f"temperature must be a non-negative finite number, got {temperature}.")
    prompt = render(messages)
    tokens = estimate_tokens(prompt)
    _require_room(tokens, limit, context)
    return ChatBody(
        messages=messages,
        prompt=prompt,
        prompt_tokens=tokens,
        max_tokens=context - tokens if limit is None else limit,
        schema=_schema(asked.response_format),
        temperature=temperature,
        rid=asked.rid or "",
        stream=bool(asked.stream),
        usage_at_end=bool(options.get("include_usage")),
        top_logprobs=max(0, asked.top_logprobs or 0) if asked.logprobs else None,
        tools=bool(tools),
    )


def render(messages: Sequence[Mapping[str, str]]) -> str:
    """The messages as one prompt, in the chat format of Qwen's models."""
    return "".join(f"<|im_start|>{m['role']}\n{m['content']}<|im_end|>\n" for m in messages)


def _require_room(tokens: int, limit: int | None, context: int) -> None:
    if tokens >= context:
        raise RequestProblem(
            f"The input ({tokens} tokens) is longer than the model's context length ({context} tokens)."
        )
    if limit is not None and tokens + limit > context:
        raise RequestProblem(
            f"Requested token count exceeds the model's maximum context length of {context} tokens. You requested a "
            f"total of {tokens + limit} tokens: {tokens} tokens from the input messages and {limit} tokens for the "
            "completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit."
        )


def _with_tools(
    messages: tuple[dict[str, str], ...], tools: Sequence[Mapping[str, Any]]
) -> tuple[dict[str, str], ...]:
    """The messages with the tools in the system text, where the chat template puts them."""
    if not tools or not messages:
        return messages
    first = messages[0] if messages[0]["role"] == "system" else {"role": "system", "content": ""}
    rest = messages[1:] if first is messages[0] else messages
    return ({**first, "content": f"{first['content']}\n\n{tools_text(tools)}"}, *rest)


def _schema(wanted: _Schema | None) -> dict[str, Any] | None:
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return {"type": "object"}
    schema = (wanted.json_schema or {}).get("schema")
    if not isinstance(schema, dict):
        raise RequestProblem("schema_ is required for json_schema response format request.")
    return schema


# The answer to a chat request as SGLang words it: the whole, its chunks, the counts and the simulated logprobs.
#
# Every object carries `system_fingerprint: "rehearsal"` and the rehearsal's own model name, whatever name the request gave:
# nothing that came from here can pass for a model's work.

FINGERPRINT = "rehearsal"
END_TOKEN = 151_645
"""What an answer that ends normally stopped at; the number of Qwen3's `<|im_end|>`. Nothing reads it."""


class Wording:
    """The wording of one answer."""

    def __init__(self, job: EngineJob, model: str, *, top_logprobs: int | None) -> None:
        self._job = job
        self._model = model
        self._top = top_logprobs
        self._created = int(time.time())
        self._written = 0

    def whole(self, content: str, calls: Sequence[ToolCall] = ()) -> dict[str, Any]:
        """The body of an answer that is not streamed."""
        job = self._job
        message: dict[str, Any] = {
            "role": "assistant",
            "content": content,
            "reasoning_content": None,
        }
        if calls:
            message["tool_calls"] = [_call(number, call) for number, call in enumerate(calls)]
        choice: dict[str, Any] = {
            "index": 0,
            "message": message,
            "logprobs": self._logprobs(content),
            "finish_reason": _reason(job, called=bool(calls)),
            # As SGLang has it: null with calls here, and not in a stream.
            "matched_stop": None if calls else _matched(job),
        }
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": usage(job),
            "metadata": {
                "weight_version": "default",
                "weight_versions": [{"version": "default", "start": 0, "end": job.completion_tokens}],
            },
        }

    def opening(self) -> bytes:
        """The first chunk: who speaks."""
        return _event(self._whole_chunk({"role": "assistant", "content": ""}))

    def piece(self, text: str) -> bytes:
        """A chunk of the text."""
        return _event(self._whole_chunk({"content": text}, logprobs=self._logprobs(text)))

    def call(self, number: int, call: ToolCall) -> bytes:
        """The chunks of one call: its name, then its arguments."""
        whole = _call(number, call)
        function = whole["function"]
        named = {**whole, "function": {**function, "arguments": ""}}
        told = {**whole, "id": None, "function": {**function, "name": None}}
        return b"".join(
            _event({**self._whole_chunk({"role": None, "content": None, "tool_calls": [one]}), "usage": None})
            for one in (named, told)
        )

    def closing(self, *, called: bool = False) -> bytes:
        """The chunk that says why the answer ended."""
        job = self._job
        ended = {"finish_reason": _reason(job, called=called), "matched_stop": _matched(job)}
        return _event(self._whole_chunk({}, **ended))

    def counts(self) -> bytes:
        """The last chunk before `[DONE]`, where usage was asked for: no choice, only counts."""
        return _event({**self._head("chat.completion.chunk"), "choices": [], "usage": usage(self._job)})

    def _head(self, kind: str) -> dict[str, Any]:
        return {
            "id": self._job.rid,
            "object": kind,
            "created": self._created,
            "model": self._model,
            "system_fingerprint": FINGERPRINT,
        }

    def _whole_chunk(self, delta: dict[str, Any], **more: Any) -> dict[str, Any]:
        choice = {
            "index": 0,
            "delta": {"reasoning_content": None, **delta},
            "logprobs": None,
            "finish_reason": None,
            "matched_stop": None,
            **more,
        }
        return {**self._head("chat.completion.chunk"), "choices": [choice]}

    def _logprobs(self, text: str) -> dict[str, Any] | None:
        """Simulated ones, token by token: there is no model that has probabilities."""
        if self._top is None:
            return None
        content = []
        doubt = 1.0 + self._job.doubt + 1.5 * fraction("doubt", self._job.prompt, self._job.repeat)
        for token in token_texts(text):
            content.append(_simulated(token, self._written, self._top, doubt))
            self._written += 1
        return {"content": content}


def usage(job: EngineJob) -> dict[str, Any]:
    """The counts, cached tokens included (what SGLang tells with `--enable-cache-report`)."""
    return {
        "prompt_tokens": job.prompt_tokens,
        "total_tokens": job.prompt_tokens + job.completion_tokens,
        "completion_tokens": job.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": job.cached_tokens},
        "reasoning_tokens": 0,
        "completion_tokens_details": None,
    }


def token_texts(text: str) -> Iterator[str]:
    """The text cut as the estimate of its tokens counts it."""
    for start in range(0, len(text), CHARACTERS_PER_TOKEN):
        yield text[start : start + CHARACTERS_PER_TOKEN]


def fraction(*parts: object) -> float:
    """A number in [0, 1) that depends on `parts` alone."""
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(str(part).encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
    return int.from_bytes(digest.digest(), "big") / 2**64


def _simulated(token: str, position: int, top: int, doubt: float) -> dict[str, Any]:
    """One entry of `logprobs.content`: likely tokens mostly, and alternatives that share what is left by halves.

    Args:
        doubt: of the whole answer, from 1 on; more makes each token less likely.
    """
    drawn = hashlib.blake2b(f"{position} {token}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    likely = (0.5 + 0.4999 * (drawn[0] / 255) ** 0.25) ** doubt
    alternatives = [(token, likely)]
    left = 1.0 - likely
    for n in range(1, top):
        left /= 2
        alternatives.append((f"{token[:1]}{chr(97 + drawn[n % 8] % 26)}{n}", left))
    return {
        **_entry(token, likely),
        "top_logprobs": [
            _entry(text, share) for text, share in sorted(alternatives[:top], key=lambda one: -one[1])
        ],
    }


def _entry(token: str, share: float) -> dict[str, Any]:
    return {
        "token": token,
        "bytes": list(token.encode("utf-8", "surrogatepass")),
        "logprob": round(math.log(share), 6),
    }


def _call(number: int, call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": f"call_{uuid.uuid4().hex[:24]}", "index": number, "type": "function", "function": function}


def _reason(job: EngineJob, *, called: bool) -> str:
    return "tool_calls" if called and job.finish_reason == "stop" else job.finish_reason


def _matched(job: EngineJob) -> int | None:
    return END_TOKEN if job.finish_reason == "stop" else None


def _event(value: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n\n"
