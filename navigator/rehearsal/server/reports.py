"""What a server says about itself: models, load, information, metrics. Names and shapes are those of SGLang 0.5.23."""

from __future__ import annotations

import time
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
        startup = self.startup(ready=ready)
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

    def startup(self, *, ready: bool) -> dict[str, float]:
        """Simulated seconds; the published figure is not broken down, so all of it is reported as loading."""
        seconds = self._pace.model.mid.load_seconds
        return {"load_weight": seconds, "scheduler_e2e": seconds} if ready else {}
