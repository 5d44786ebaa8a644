"""What a server says about itself: models, load, information, metrics. Names and shapes are those of SGLang 0.5.23."""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from navigator.model.states import Role
from navigator.rehearsal.server.engine import Engine
from navigator.rehearsal.server.timing import MODEL_NAMES, Pace

VERSION = "rehearsal"

WEIGHT_GB = {Role.GENERATOR: 22.0, Role.REVIEWER: 69.0}
"""Size of the published checkpoints; simulated as loaded."""

CACHE_GB = {Role.GENERATOR: 60.0, Role.REVIEWER: 15.0}
"""Assumed room for keys and values on a GPU of 96 GB. Nothing is allocated."""

SIMULATED = {
    "logprobs": "from a hash of prompt and text; there is no model that has probabilities",
    "tokens": "estimated at four characters each; their numbers are no tokenizer's",
    "memory": "the published size of the weights, an assumed one of the cache",
}


class Reports:
    """The answers of one server's `GET` routes.

    Args:
        role: whose part it plays.
        engine: whose counts are reported.
        pace: whose assumptions are reported.
        context: tokens that prompt and answer may have together.
    """

    def __init__(self, role: Role, engine: Engine, pace: Pace, context: int) -> None:
        self._role = role
        self._model = MODEL_NAMES[role]
        self._engine = engine
        self._pace = pace
        self._context = context

    def card(self) -> dict[str, Any]:
        """One entry of `/v1/models`."""
        return {
            "id": self._model,
            "object": "model",
            "created": int(time.time()),
            "owned_by": "rehearsal",
            "root": self._model,
            "parent": None,
            "max_model_len": self._context,
        }

    def model_info(self) -> dict[str, Any]:
        """`/model_info`."""
        return {
            "model_path": self._model,
            "served_model_name": self._model,
            "tokenizer_path": "",
            "is_generation": True,
            "preferred_sampling_params": None,
            "weight_version": "default",
            "load_format": "auto",
            "reasoning_parser": None,
            "tool_call_parser": "qwen25",
            "disaggregation_mode": "null",
            "has_image_understanding": False,
            "has_audio_understanding": False,
            "model_type": "rehearsal",
            "architectures": ["Rehearsal"],
        }

    def loads(self, include: str = "") -> dict[str, Any]:
        """`/v1/loads`; `include` names the sections, all of them where it is empty."""
        wanted = {section.strip() for section in include.split(",") if section.strip()} or {"all"}
        engine = self._engine
        load: dict[str, Any] = {
            "timestamp": time.time(),
            "dp_rank": 0,
            "num_running_reqs": engine.running,
            "num_waiting_reqs": engine.waiting,
            "num_used_tokens": engine.cache.used_tokens,
            "num_total_tokens": engine.cache.used_tokens,
            "max_total_num_tokens": engine.cache.capacity_tokens,
            "max_running_requests": engine.max_running,
            "token_usage": round(engine.cache.usage, 4),
            "gen_throughput": round(engine.throughput, 2),
            "cache_hit_rate": round(engine.cache.hit_rate, 4),
            "utilization": round(engine.running / engine.max_running, 4),
        }
        if wanted & {"memory", "all"}:
            load["memory"] = {
                "weight_gb": WEIGHT_GB[self._role],
                "kv_cache_gb": CACHE_GB[self._role],
                "graph_gb": 0.0,
                "token_capacity": engine.cache.capacity_tokens,
            }
        if wanted & {"queues", "all"}:
            load["queues"] = {
                "waiting": engine.waiting,
                "grammar": 0,
                "paused": 0,
                "retracted": 0,
                "prealloc_ready": 0,
            }
        return {
            "timestamp": datetime.now(UTC).isoformat(),
            "version": VERSION,
            "accelerator": None,
            "num_accelerators": 1,
            "loads": [load],
        }

    def server_info(self, *, ready: bool) -> dict[str, Any]:
        """`/server_info`: SGLang's fields that mean something here, and what is simulated and how."""
        engine = self._engine
        startup = self._startup(ready=ready)
        return {
            "rehearsal": True,
            "role": self._role.value,
            "timing": self._pace.described(),
            "simulated": SIMULATED,
            "model_path": self._model,
            "served_model_name": self._model,
            "version": VERSION,
            "status": "ready" if ready else "loading",
            "max_running_requests": engine.max_running,
            "max_total_num_tokens": engine.cache.capacity_tokens,
            "max_req_input_len": self._context - 1,
            "context_length": self._context,
            "enable_metrics": True,
            "enable_cache_report": True,
            "startup_time": startup,
            "speculative_algorithm": None,
            "internal_states": [
                {
                    "model_path": self._model,
                    "last_gen_throughput": round(engine.throughput, 2),
                    "effective_max_running_requests_per_dp": engine.max_running,
                    "memory_usage": {
                        "weight": WEIGHT_GB[self._role],
                        "kvcache": CACHE_GB[self._role],
                        "token_capacity": engine.cache.capacity_tokens,
                    },
                    "startup_time": startup,
                }
            ],
        }

    def metrics(self, *, ready: bool) -> str:
        """`/metrics` in Prometheus' text format."""
        engine = self._engine
        lines: list[str] = []

        def metric(name: str, kind: str, words: str, samples: Mapping[str, float]) -> None:
            lines.extend((f"# HELP sglang:{name} {words}", f"# TYPE sglang:{name} {kind}"))
            lines.extend(f"sglang:{name}{{{labels}}} {value!r}" for labels, value in samples.items())

        common = f'engine_type="unified",model_name="{self._model}"'
        rank = f'{common},moe_ep_rank="0",pp_rank="0",tp_rank="0"'
        for name, words, value in (
            ("num_running_reqs", "The number of running requests.", engine.running),
            ("num_queue_reqs", "The number of requests in the waiting queue.", engine.waiting),
            ("num_used_tokens", "The number of used tokens.", engine.cache.used_tokens),
            ("token_usage", "The token usage.", engine.cache.usage),
            ("cache_hit_rate", "The prefix cache hit rate.", engine.cache.hit_rate),
            ("gen_throughput", "The generation throughput (token/s).", engine.throughput),
            ("max_total_num_tokens", "Tokens that the cache can hold.", engine.cache.capacity_tokens),
            ("weight_memory_usage_gb", "Memory of the weights in GB (simulated).", WEIGHT_GB[self._role]),
        ):
            metric(name, "gauge", words, {rank: float(value)})
        startup = self._startup(ready=ready)
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

    def _startup(self, *, ready: bool) -> dict[str, float]:
        """Simulated seconds; the published figure is not broken down, so all of it is reported as loading."""
        seconds = self._pace.model.mid.load_seconds
        return {"load_weight": seconds, "scheduler_e2e": seconds} if ready else {}
