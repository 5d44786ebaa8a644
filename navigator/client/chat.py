"""What goes to a model server and what comes back: plain frozen values, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from navigator.model.models import Uncertainty, Usage

ServerKind = Literal["sglang", "vllm", "llamacpp", "ollama", "openai"]
"""What software answers. "openai" is every server that none of the probes recognised."""

Progress = Callable[[int, str], None]
"""Called as text arrives: characters so far, and the newest few hundred of them (untrusted)."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds on the monotonic clock.

    Attributes:
        connect: until the connection is open.
        first_token: from sending the request to the first character of the answer; the server's queue and the
            prefill lie in it.
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
        schema_name: the schema's name on the wire.
        thinking: whether the model may reason before it answers.
        extra: keys for the request's body, merged after everything else.
        top_logprobs: of each token of the answer, how many of the most likely ones the server is to tell; 0: none.
    """

    messages: Sequence[Mapping[str, Any]]
    max_tokens: int
    temperature: float
    top_p: float
    schema: Mapping[str, Any] | None = None
    schema_name: str = "review"
    thinking: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    top_logprobs: int = 0


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """A whole answer: it ended with finish_reason "stop" and [DONE].

    `usage` is all zero but for the seconds where the server told no tokens. `model` is the name the server
    gave, or the wanted one where it gave none. `uncertainty` is empty where the server told no probabilities.
    """

    text: str
    reasoning: str
    finish_reason: str
    usage: Usage
    model: str
    retries: int
    request_id: str
    uncertainty: Uncertainty = field(default_factory=Uncertainty)


@dataclass(frozen=True, slots=True)
class Load:
    """What a server has to do now: requests running and waiting; how full its token memory is (0 to 1).

    `room` is how many requests it runs at once. `queue_told`: it tells the running ones from those that wait.
    """

    running: int
    waiting: int
    token_usage: float | None = None
    tokens_per_second: float | None = None
    room: int | None = None
    queue_told: bool = True

    @property
    def idle(self) -> bool:
        """Nothing runs and nothing waits."""
        return self.running == 0 and self.waiting == 0


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """What a server says it serves: the names it answers to, the path of the weights ("" where untold)."""

    kind: ServerKind
    names: tuple[str, ...] = ()
    path: str = ""
    context_tokens: int | None = None
