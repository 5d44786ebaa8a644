"""The request's body, and the keys that a particular server refuses.

Every server gets the same body. One that refuses a key by name (HTTP 400 or 422) is asked again without it,
once, and the key is left out of later requests: so no list of servers and versions has to be kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from navigator.client.chat import ChatRequest
from navigator.client.names import same_model
from navigator.model import patterns
from navigator.model.errors import ConfigError

PROTECTED = ("messages", "stream")
"""Keys that `extra_body` may not touch: without them an answer could not be understood."""

_OPTIONAL = (
    "chat_template_kwargs",
    "stream_options",
    "rid",
    "top_p",
    "temperature",
    "top_logprobs",
    "logprobs",
)
_UNWANTED = patterns.compile(
    r"unsupported|not\s+support|unrecogni[sz]ed|unknown|unexpected|not\s+permitted|not\s+allowed|extra_forbidden"
    r"|extra (?:inputs|fields)|invalid (?:field|argument|parameter)",
    patterns.IGNORECASE,
)
_RENAMED = patterns.compile(r"use\W+max_completion_tokens", patterns.IGNORECASE)


class Dialect:
    """What one server refuses, learned from its answers. Kept for the life of a client."""

    def __init__(self) -> None:
        self.dropped: set[str] = set()
        self.completion_tokens = False

    def apply(self, body: dict[str, Any]) -> dict[str, Any]:
        """`body` as this server accepts it."""
        fitted = {key: value for key, value in body.items() if key not in self.dropped}
        if self.completion_tokens and "max_tokens" in fitted:
            fitted["max_completion_tokens"] = fitted.pop("max_tokens")
        return fitted

    def learn(self, status: int, words: str, body: Mapping[str, Any]) -> bool:
        """Look for a key that the server refused by name.

        Args:
            status: the HTTP status of the refusal.
            words: the server's own words.
            body: what was sent.

        Returns:
            Whether something was learned, so that asking again makes sense. Each thing is learned once.
        """
        if status not in (400, 422):
            return False
        if "max_tokens" in body and not self.completion_tokens and _RENAMED.search(words):
            self.completion_tokens = True
            return True
        if not _UNWANTED.search(words):
            return False
        for key in _OPTIONAL:
            if key in body and key not in self.dropped and patterns.search(rf"\b{key}\b", words):
                self.dropped.add(key)
                return True
        return False


def build_body(
    request: ChatRequest, *, model: str, extra_body: Mapping[str, Any], rid: str = ""
) -> dict[str, Any]:
    """The body of `POST /v1/chat/completions`.

    Args:
        request: the question.
        model: the model's name as the server knows it.
        extra_body: from the settings; merged after our own keys and before `request.extra`.
        rid: the id by which SGLang can abort the request; "" leaves it out.
    """
    body: dict[str, Any] = {
        "model": model,
        "messages": [dict(message) for message in request.messages],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        # Templates that do not know the switch ignore it; servers that do not know the key refuse it by name.
        "chat_template_kwargs": {"enable_thinking": request.thinking},
    }
    if request.schema is not None:
        body["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": request.schema_name, "schema": dict(request.schema), "strict": True},
        }
    if request.top_logprobs:
        body |= {"logprobs": True, "top_logprobs": request.top_logprobs}
    if rid:
        body["rid"] = rid
    return _merged(_merged(body, extra_body), request.extra)


def require_mergeable(extra: Mapping[str, Any], where: str) -> None:
    """Raise `ConfigError` where `extra` holds a key that only Navigator may set."""
    for key in PROTECTED:
        if key in extra:
            raise ConfigError(
                f"{where} sets {key!r}, which Navigator sets itself.", hint=f"Remove {key!r} from {where}."
            )


def _merged(base: Mapping[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """`extra` over `base`; dictionaries are merged, so that one more template switch keeps ours."""
    merged = dict(base)
    for key, value in extra.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return merged


# How a request picks a LoRA adapter by name: every server does it differently. Pure.
#
# vLLM takes the adapter's name for the model's. SGLang answers any name with the base model unless the body has `lora_path`.
# llama.cpp lists its base model only; its adapters are numbered in the order of its command line, and named by their files.
#
# Sources: SGLang 0.5.23 (`serving_base.py`; an adapter's entry in `/v1/models` has a `parent`), llama.cpp (`/lora-adapters`).

Keys = Mapping[str, Any]
"""What a request's body needs beside the model's name."""


def keys_by_list(models: Sequence[Mapping[str, Any]], wanted: str) -> Keys | None:
    """By the entries of `/v1/models`: empty for a model, `lora_path` for an adapter of SGLang; None where it is not listed."""
    for entry in models:
        if same_model(wanted, entry["id"]):
            adapter = entry.get("owned_by") == "sglang" and entry.get("parent")
            return {"lora_path": entry["id"]} if adapter else {}
    return None


def keys_by_number(payload: object, wanted: str) -> Keys | None:
    """By llama.cpp's `/lora-adapters`: the one whose file has this name, all others off; None where there is none."""
    for entry in payload if isinstance(payload, list) else []:
        number, path = (entry.get("id"), entry.get("path")) if isinstance(entry, dict) else (None, None)
        if isinstance(number, int) and isinstance(path, str) and wanted in (path, PurePath(path).stem):
            return {"lora": [{"id": number, "scale": 1.0}]}
    return None
