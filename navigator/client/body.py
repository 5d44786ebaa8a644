"""What goes to a model server and what comes back: types, the request's body, adapters, model names, probes.

Every server gets the same body. One that refuses a key by name (HTTP 400 or 422) is asked again without it,
once, and the key is left out of later requests: so no list of servers and versions has to be kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal
from urllib.parse import urlencode

from navigator.client.assemble import amount
from navigator.config.file import is_rehearsal
from navigator.model import patterns
from navigator.model.errors import ConfigError
from navigator.model.models import Usage

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
            "json_schema": {"name": "answer", "schema": dict(request.schema), "strict": True},
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


# Types

ServerKind = Literal["sglang", "vllm", "llamacpp", "ollama", "openai"]
"""What software answers. "openai" is every server that none of the probes recognised."""

Progress = Callable[[int], None]
"""Called with the number of characters so far, as text arrives."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds on the monotonic clock.

    Attributes:
        connect: until the connection is open.
        first_token: from sending the request to the first character of the answer; it includes the server's
            queue and the prefill.
        between_tokens: between two events of a stream that has begun.
        total: the whole call with its repetitions, from the moment it leaves the local queue.
        probe: one small question (models, load, kind).
        health: one health question. SGLang generates a token for it, polls once a second and may itself wait
            20 s.
    """

    connect: float = 5.0
    first_token: float = 300.0
    between_tokens: float = 60.0
    total: float = 1800.0
    probe: float = 5.0
    health: float = 25.0


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question.

    Attributes:
        messages: `{"role", "content"}` dictionaries, in order.
        max_tokens: most tokens of the answer, reasoning included.
        schema: a JSON schema the answer must fit; None for free text.
        thinking: whether the model may reason before it answers.
        extra: keys for the request's body, merged after everything else.
        top_logprobs: of each token of the answer, how many of the most likely ones to report; 0 for none.
    """

    messages: Sequence[Mapping[str, Any]]
    max_tokens: int
    temperature: float
    top_p: float
    schema: Mapping[str, Any] | None = None
    thinking: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    top_logprobs: int = 0


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A whole answer: it ended with finish_reason "stop" and [DONE].

    `usage` is all zero but for the seconds where the server reported no tokens. `model` is the name the server
    gave, or the wanted one where it gave none. `entropy` is how unsure the model was of a token, in bits on
    average: of the most likely few that servers tell, what is left of the probability counting as one more. None: not told.
    """

    text: str
    reasoning: str
    usage: Usage
    model: str
    retries: int
    entropy: float | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """What a server has to do now: requests running and waiting; how full its token memory is (0 to 1).

    `room` is how many requests it runs at once.
    """

    running: int
    waiting: int
    token_usage: float | None = None
    room: int | None = None

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return self.running == 0 and self.waiting == 0


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a server says it serves: the names it answers to, the path of the weights ("" if unknown)."""

    kind: ServerKind
    names: tuple[str, ...] = ()
    path: str = ""


_HUB_FOLDER = patterns.compile(r"(?:.*/)?models--([^/]+?)--([^/]+)(?:/.*)?")
_DATED = patterns.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
_ABSOLUTE = patterns.compile(r"[/~]|[A-Za-z]:/")


def same_model(wanted: str, answered: str) -> bool:
    """Whether `answered` is `wanted`.

    Names are compared without what does not identify a model: letter case, `@revision`, `:latest` and `.gguf`; a snapshot
    of the Hugging Face cache counts as its `owner/name`. Beyond that:

    - `answered` may add a date, as cloud services do: `gpt-x` answered by `gpt-x-2026-01-31`.
    - An absolute path that ends in the other's whole name is that model: `/models/Qwen/Qwen3-8B` is `Qwen/Qwen3-8B`, and
      `/models/qwen3` is `qwen3`. Servers that are started on a folder list it so.

    A name without an owner is not the same as a name with an owner: `X/gen-model` is not `gen-model`. An empty `answered`
    passes. A rehearsal never passes for a real model.
    """
    if not answered or answered == wanted:
        return True
    if is_rehearsal(wanted) != is_rehearsal(answered):
        return False
    left, right = _canonical(wanted), _canonical(answered)
    return left == right or left == _DATED.sub("", right) or _lies_at(left, right) or _lies_at(right, left)


def same_base(one: str, other: str) -> bool:
    """Whether two names may be the same weights, owners aside: a copy under another owner reviews its own work."""
    return _canonical(one).rpartition("/")[2] == _canonical(other).rpartition("/")[2]


def _lies_at(name: str, path: str) -> bool:
    return not _ABSOLUTE.match(name) and bool(_ABSOLUTE.match(path)) and path.endswith(f"/{name}")


def _canonical(model: str) -> str:
    path = model.strip().replace("\\", "/").rstrip("/")
    hub = _HUB_FOLDER.fullmatch(path)
    name = f"{hub[1]}/{hub[2]}" if hub else path
    name = name.partition("@")[0] or name
    return name.casefold().removesuffix(".gguf").removesuffix(":latest")


# Small questions to a server, and what the answers mean: which software, which models, how busy.
#
# Sources: SGLang (/model_info, /v1/loads), vLLM (/load), llama.cpp (/slots), Ollama and
# LM Studio (/v1/models only).

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
    return _loads(payload) if status == 200 else None


def _loads(payload: Any) -> Load | None:
    ranks = payload.get("loads") if isinstance(payload, dict) else None
    if not isinstance(ranks, list):
        return None
    rows = [rank for rank in ranks if isinstance(rank, dict)]
    if not rows:
        return None
    usages = [float(row["token_usage"]) for row in rows if _is_amount(row.get("token_usage"))]
    return Load(
        running=sum(amount(row.get("num_running_reqs")) for row in rows),
        waiting=sum(amount(row.get("num_waiting_reqs")) + _grammar(row) for row in rows),
        token_usage=max(usages) if usages else None,
        room=sum(amount(row.get("max_running_requests")) for row in rows) or None,
    )


def _grammar(row: dict[str, Any]) -> int:
    """Requests whose schema is being compiled: they are in no other queue, and end with a server that is stopped."""
    queues = row.get("queues")
    return amount(queues.get("grammar")) if isinstance(queues, dict) else 0


def _slots(payload: Any) -> Load | None:
    if not isinstance(payload, list):
        return None
    running = sum(isinstance(slot, dict) and slot.get("is_processing") is True for slot in payload)
    return Load(running, 0, room=len(payload) or None)


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12
