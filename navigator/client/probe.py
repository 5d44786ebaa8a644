"""Small questions to a server, and what the answers mean: which software, which models, how busy.

Sources: SGLang (/model_info, /v1/loads, /get_load of 0.5.9), vLLM (/load), llama.cpp (/slots), Ollama and
LM Studio (/v1/models only).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

from navigator.client.body import Load, ServerKind

Ask = Callable[[str], Awaitable[tuple[int, Any]]]
"""GET a path below the server's root: the status, and the JSON body or None."""

_OWNERS: dict[str, ServerKind] = {
    "sglang": "sglang",
    "vllm": "vllm",
    "llamacpp": "llamacpp",
    "library": "ollama",
}
_MAX_MODELS = 1000


def listed_models(payload: Any) -> list[dict[str, Any]]:
    """The entries of a `/v1/models` answer that have a usable id."""
    data = payload.get("data") if isinstance(payload, dict) else None
    if not isinstance(data, list):
        return []
    return [
        entry for entry in data[:_MAX_MODELS] if isinstance(entry, dict) and isinstance(entry.get("id"), str)
    ]


def kind_by_owner(models: list[dict[str, Any]]) -> ServerKind | None:
    """The software, by `owned_by` of what it lists."""
    for entry in models:
        owner = entry.get("owned_by")
        if isinstance(owner, str) and owner.casefold() in _OWNERS:
            return _OWNERS[owner.casefold()]
    return None


async def read_load(kind: ServerKind, ask: Ask, model: str = "") -> Load | None:
    """How busy a server is; None where it does not say.

    Args:
        model: whose slots are asked for, if one llama.cpp router serves several; this does not load it.

    Raises:
        Unreachable: it does not answer at all.
    """
    if kind in ("ollama", "openai"):
        return None
    if kind == "llamacpp":
        status, payload = await ask(f"/slots?{urlencode({'model': model, 'autoload': 'false'})}")
        return _slots(payload) if status == 200 else None
    if kind == "vllm":
        status, payload = await ask("/load")
        running = payload.get("server_load") if status == 200 and isinstance(payload, dict) else None
        return Load(running, 0) if isinstance(running, int) else None
    status, payload = await ask("/v1/loads?include=core,queues")
    if status == 200:
        return _loads(payload)
    status, payload = await ask("/get_load")
    return _old_loads(payload) if status == 200 else None


def _loads(payload: Any) -> Load | None:
    ranks = payload.get("loads") if isinstance(payload, dict) else None
    if not isinstance(ranks, list):
        return None
    rows = [rank for rank in ranks if isinstance(rank, dict)]
    if not rows:
        return None
    usages = [float(row["token_usage"]) for row in rows if _is_amount(row.get("token_usage"))]
    return Load(
        running=sum(_int(row.get("num_running_reqs")) for row in rows),
        waiting=sum(_int(row.get("num_waiting_reqs")) + _grammar(row) for row in rows),
        token_usage=max(usages) if usages else None,
        room=sum(_int(row.get("max_running_requests")) for row in rows) or None,
    )


def _grammar(row: dict[str, Any]) -> int:
    """Requests whose schema is being compiled: they are in no other queue, and end with a server that is stopped."""
    queues = row.get("queues")
    return _int(queues.get("grammar")) if isinstance(queues, dict) else 0


def _old_loads(payload: Any) -> Load | None:
    """0.5.9: a list, one entry a rank; `num_reqs` counts the waiting ones too."""
    rows = [row for row in payload if isinstance(row, dict)] if isinstance(payload, list) else []
    if not rows:
        return None
    waiting = sum(_int(row.get("num_waiting_reqs")) for row in rows)
    return Load(max(0, sum(_int(row.get("num_reqs")) for row in rows) - waiting), waiting)


def _slots(payload: Any) -> Load | None:
    if not isinstance(payload, list):
        return None
    running = sum(isinstance(slot, dict) and slot.get("is_processing") is True for slot in payload)
    return Load(running, 0, room=len(payload) or None)


def _int(value: Any) -> int:
    return value if _is_count(value) else 0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**9


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
