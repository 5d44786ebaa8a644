"""What SGLang's servers have and Navigator does not ask a rehearsal for: `/metrics`, `/tokenize`, `/flush_cache`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from navigator.rehearsal.server.api import Api
from navigator.rehearsal.server.chat import (
    ChatMessage,
    json_body,
    misshapen,
    render,
    token_texts,
)
from navigator.rehearsal.server.engine import PrefixCache
from navigator.rehearsal.server.http import HttpRequest, Response, json_response

VOCABULARY = 248_320
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"

FLUSHED = (
    "Cache flushed.\nPlease check backend logs for more details. "
    "(When there are running or waiting requests, the operation will not be performed.)\n"
)


class WholeApi(Api):
    """A rehearsal's server with the rest of SGLang's routes."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._routes |= {
            "/metrics": {"GET": self._metrics},
            "/tokenize": {"POST": self._tokenize},
            "/v1/tokenize": {"POST": self._tokenize},
            "/flush_cache": {"POST": self._flush, "GET": self._flush},
        }

    async def _metrics(self, request: HttpRequest) -> Response:
        return Response(content_type=METRICS_TYPE, body=self.metrics().encode("utf-8"))

    def metrics(self) -> str:
        """`/metrics` in Prometheus' text format."""
        engine = self.engine
        lines: list[str] = []

        def metric(name: str, kind: str, words: str, samples: Mapping[str, float]) -> None:
            lines.extend((f"# HELP sglang:{name} {words}", f"# TYPE sglang:{name} {kind}"))
            lines.extend(f"sglang:{name}{{{labels}}} {value!r}" for labels, value in samples.items())

        common = f'engine_type="unified",model_name="{self.model}"'
        rank = f'{common},moe_ep_rank="0",pp_rank="0",tp_rank="0"'
        for name, words, value in (
            ("num_running_reqs", "The number of running requests.", engine.running),
            ("num_queue_reqs", "The number of requests in the waiting queue.", engine.waiting),
            ("num_used_tokens", "The number of used tokens.", engine.cache.used_tokens),
            ("token_usage", "The token usage.", engine.cache.usage),
            ("cache_hit_rate", "The prefix cache hit rate.", engine.cache.hit_rate),
            ("gen_throughput", "The generation throughput (token/s).", engine.throughput),
            ("max_total_num_tokens", "Tokens that the cache can hold.", engine.cache.capacity_tokens),
        ):
            metric(name, "gauge", words, {rank: float(value)})
        return "\n".join(lines) + "\n"

    async def _tokenize(self, request: HttpRequest) -> Response:
        texts = tokenize_texts(json_body(request))
        several = isinstance(texts, list)
        tokens = [token_ids(text) for text in ([texts] if isinstance(texts, str) else texts)]
        counts = [len(ids) for ids in tokens]
        return json_response(
            {
                "tokens": tokens if several else tokens[0],
                "count": counts if several else counts[0],
                "max_model_len": self._context,
            }
        )

    async def _flush(self, request: HttpRequest) -> Response:
        if self.engine.running or self.engine.waiting:
            return Response(status=400, body=b"Flush cache failed.\n")
        self.engine.cache = PrefixCache()
        return Response(body=FLUSHED.encode())


def tokenize_texts(body: Mapping[str, Any]) -> list[str] | str:
    """What `/tokenize` is to count: one text, several, or messages rendered.

    Raises:
        RequestProblem: neither or both of `prompt` and `messages`, or of the wrong type.
    """
    prompt, messages = body.get("prompt"), body.get("messages")
    if (prompt is None) == (messages is None):
        raise misshapen("", "Value error, Exactly one of 'prompt' or 'messages' must be provided.")
    if isinstance(messages, list):
        try:
            return render([ChatMessage.model_validate(message).plain() for message in messages])
        except ValidationError as error:
            raise misshapen("messages", str(error)) from error
    if isinstance(prompt, str):
        return prompt
    if isinstance(prompt, list) and all(isinstance(text, str) for text in prompt):
        return list(prompt)
    raise misshapen("prompt", "Input should be a valid string")


def token_ids(text: str) -> list[int]:
    """A number for each estimated token: the same text gives the same number. No tokenizer's numbers."""
    return [
        int.from_bytes(hashlib.blake2b(token.encode("utf-8", "surrogatepass"), digest_size=4).digest())
        % VOCABULARY
        for token in token_texts(text)
    ]
