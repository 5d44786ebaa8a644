"""What SGLang's servers have and Navigator does not ask a rehearsal for: `/metrics`, `/tokenize`, `/flush_cache`, `meta_info`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from navigator.rehearsal.server.api import WEIGHT_GB, Api
from navigator.rehearsal.server.chat import (
    END_TOKEN,
    ChatBody,
    json_body,
    misshapen,
    read_message,
    render,
    token_texts,
)
from navigator.rehearsal.server.engine import EngineJob
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
            ("weight_memory_usage_gb", "Memory of the weights in GB (simulated).", WEIGHT_GB[self.role]),
        ):
            metric(name, "gauge", words, {rank: float(value)})
        startup = self._reports.startup(ready=self.ready)
        metric(
            "startup_time_seconds",
            "gauge",
            "Engine startup duration by phase in seconds (simulated).",
            {f'{common},phase="{phase}"': seconds for phase, seconds in startup.items()},
        )
        told = engine.totals
        for name, words, count in (
            ("prompt_tokens_total", "Number of prefill tokens processed.", told.prompt_tokens),
            ("generation_tokens_total", "Number of generation tokens processed.", told.completion_tokens),
            ("cached_tokens_total", "Number of cached prompt tokens.", told.cached_tokens),
            ("num_requests_total", "Number of requests processed.", told.requests),
            ("num_aborted_requests_total", "Number of requests aborted.", told.aborted),
        ):
            metric(name, "counter", words, {common: float(count)})
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
        self.engine.cache.clear()
        return Response(body=FLUSHED.encode())

    def _ended(self, body: ChatBody, job: EngineJob, answer: dict[str, Any]) -> dict[str, Any]:
        if body.meta_info:
            answer["choices"][0]["meta_info"] = _meta_info(job, answer["metadata"]["weight_versions"])
        return answer


def _meta_info(job: EngineJob, versions: list[dict[str, Any]]) -> dict[str, Any]:
    """What `return_meta_info` adds (SGLang 0.5.23); seconds are those of the wall."""
    clock = job.clock
    writing = clock.finished - clock.first_token
    ended = {"stop": {"matched": END_TOKEN}, "length": {"length": job.completion_tokens}}
    return {
        "id": job.rid,
        "finish_reason": {"type": job.finish_reason, **ended.get(job.finish_reason, {})},
        "prompt_tokens": job.prompt_tokens,
        "weight_version": "default",
        "num_retractions": 0,
        "queue_time": clock.started - clock.queued,
        "reasoning_tokens": job.reasoning_tokens,
        "completion_tokens": job.completion_tokens,
        "cached_tokens": job.cached_tokens,
        "weight_versions": versions,
        "cached_tokens_details": {"device": job.cached_tokens, "host": 0},
        "dp_rank": None,
        "e2e_latency": clock.finished - clock.queued,
        "first_token_latency": clock.first_token - clock.queued,
        "decode_throughput": job.completion_tokens / writing if writing > 0 else 0.0,
    }


def tokenize_texts(body: Mapping[str, Any]) -> list[str] | str:
    """What `/tokenize` is to count: one text, several, or messages rendered.

    Raises:
        RequestProblem: neither or both of `prompt` and `messages`, or of the wrong type.
    """
    prompt, messages = body.get("prompt"), body.get("messages")
    if (prompt is None) == (messages is None):
        raise misshapen("", "Value error, Exactly one of 'prompt' or 'messages' must be provided.")
    if isinstance(messages, list):
        return render([read_message(message) for message in messages])
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
