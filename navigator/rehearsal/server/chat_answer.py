"""The answer to a chat request as SGLang words it: the whole, its chunks, the counts and the simulated logprobs.

Every object carries `system_fingerprint: "rehearsal"` and the rehearsal's own model name, whatever name the request gave:
nothing that came from here can pass for a model's work.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from navigator.exam.faults.chance import fraction
from navigator.rehearsal.server.engine import EngineJob
from navigator.rehearsal.server.timing import CHARACTERS_PER_TOKEN
from navigator.rehearsal.server.tool_calls import ToolCall

FINGERPRINT = "rehearsal"
END_TOKEN = 151_645
"""What an answer that ends normally stopped at; the number of Qwen3's `<|im_end|>`. Nothing reads it."""


class Wording:
    """The wording of one answer.

    Args:
        telling: the simulated probabilities are lower, as a rule, where a fault was planted; else they tell nothing.
        seed: of the simulated probabilities.
    """

    def __init__(
        self, job: EngineJob, model: str, *, top_logprobs: int | None, telling: bool = False, seed: int = 0
    ) -> None:
        self._telling = telling
        self._seed = seed
        self._job = job
        self._model = model
        self._top = top_logprobs
        self._created = int(time.time())
        self._written = 0

    def whole(self, content: str, reasoning: str, calls: Sequence[ToolCall] = ()) -> dict[str, Any]:
        """The body of an answer that is not streamed."""
        job = self._job
        message: dict[str, Any] = {
            "role": "assistant",
            "content": content,
            "reasoning_content": reasoning or None,
        }
        if calls:
            message["tool_calls"] = [_call(number, call) for number, call in enumerate(calls)]
        choice: dict[str, Any] = {
            "index": 0,
            "message": message,
            "logprobs": self._logprobs(reasoning + content),
            "finish_reason": _reason(job, called=bool(calls)),
            # As SGLang has it: null with calls here, and not in a stream.
            "matched_stop": None if calls else _matched(job),
        }
        return {
            **self._head("chat.completion"),
            "choices": [choice],
            "usage": usage(job),
            "metadata": {"weight_version": "default", "weight_versions": self._versions()},
        }

    def opening(self) -> bytes:
        """The first chunk: who speaks."""
        return self._chunk({"role": "assistant", "content": ""})

    def piece(self, channel: str, text: str, *, with_usage: bool) -> bytes:
        """A chunk of `content` or `reasoning`."""
        delta = {"content" if channel == "content" else "reasoning_content": text}
        return self._chunk(delta, logprobs=self._logprobs(text), with_usage=with_usage)

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
        return self._chunk({}, finish_reason=_reason(job, called=called), matched_stop=_matched(job))

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

    def _chunk(
        self,
        delta: dict[str, Any],
        *,
        logprobs: dict[str, Any] | None = None,
        finish_reason: str | None = None,
        matched_stop: int | None = None,
        with_usage: bool = False,
    ) -> bytes:
        extra = {"usage": usage(self._job)} if with_usage else {}
        whole = self._whole_chunk(
            delta, logprobs=logprobs, finish_reason=finish_reason, matched_stop=matched_stop
        )
        return _event({**whole, **extra})

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

    def _versions(self) -> list[dict[str, Any]]:
        return [{"version": "default", "start": 0, "end": self._job.completion_tokens}]

    def _logprobs(self, text: str) -> dict[str, Any] | None:
        """Simulated ones, token by token: there is no model that has probabilities."""
        if self._top is None:
            return None
        content = []
        doubt = 1.0 + 1.5 * fraction(
            "doubt", *([self._seed] if self._seed else []), self._job.prompt, self._job.repeat
        )
        if self._telling and self._job.spoilt:
            doubt += 1.5
        for token in token_texts(text):
            content.append(_simulated(token, self._written, self._top, doubt))
            self._written += 1
        return {"content": content}


def usage(job: EngineJob) -> dict[str, Any]:
    """The counts, cached tokens included (what SGLang tells with `--enable-cache-report`)."""
    thought = job.reasoning_tokens
    return {
        "prompt_tokens": job.prompt_tokens,
        "total_tokens": job.prompt_tokens + job.completion_tokens,
        "completion_tokens": job.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": job.cached_tokens},
        "reasoning_tokens": thought,
        "completion_tokens_details": {"reasoning_tokens": thought} if thought else None,
    }


def token_texts(text: str) -> Iterator[str]:
    """The text cut as the estimate of its tokens counts it."""
    for start in range(0, len(text), CHARACTERS_PER_TOKEN):
        yield text[start : start + CHARACTERS_PER_TOKEN]


def _simulated(token: str, position: int, top: int, doubt: float) -> dict[str, Any]:
    """One entry of `logprobs.content`: likely tokens mostly, and alternatives that share what is left by halves.

    Args:
        doubt: of the whole answer, from 1 on; more makes each token less likely.
    """
    seed = hashlib.blake2b(f"{position} {token}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    likely = (0.5 + 0.4999 * (seed[0] / 255) ** 0.25) ** doubt
    alternatives = [(token, likely)]
    left = 1.0 - likely
    for n in range(1, top):
        left /= 2
        alternatives.append((f"{token[:1]}{chr(97 + seed[n % 8] % 26)}{n}", left))
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
