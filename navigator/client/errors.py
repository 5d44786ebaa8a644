"""Failures of model servers, one class per cause. Each message names the address and the reason, each hint the remedy.

`code` is what the store and `--json` show.
"""

from __future__ import annotations

from typing import ClassVar

from navigator.model import patterns
from navigator.model.errors import NavigatorError
from navigator.model.models import Usage


class ServingError(NavigatorError):
    """Base of every failure of a model call.

    Attributes:
        partial: the text that arrived before the failure; never parsed as an answer.
        begun: whether the answer had begun; such a call is never repeated automatically.
        retries: how often this call was repeated before it failed.
        status: the HTTP status; 0 without a response.
        retry_after: seconds the server asked to wait; None if it named none.
        said: the server's own words, "" without any. Untrusted, already made safe for a terminal.
        usage: tokens as reported by the server.
    """

    code: ClassVar[str] = "serving"
    default_hint: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        status: int = 0,
        retry_after: float | None = None,
        said: str = "",
    ) -> None:
        super().__init__(message, hint=hint or self.default_hint)
        self.partial = ""
        self.status = status
        self.retry_after = retry_after
        self.said = said
        self.usage = Usage()
        self.begun = False
        self.retries = 0

    @property
    def needs_settings(self) -> bool:
        """Whether every request of the role fails until a key, an address or a model's name is corrected."""
        return self.status in (401, 403, 404)


class Unreachable(ServingError):
    """No connection, or it ended before the server answered anything."""

    code = "unreachable"
    default_hint = (
        "Start the server, or correct base_url in the settings; `navigator doctor` checks every server."
    )


class NoAnswer(Unreachable):
    """Something listens at the address and does not answer in time: a busy or stopped server."""

    default_hint = "The server may be busy, loading or stuck: check its log."


class NotReady(Unreachable):
    """The server answers with a 5xx to a question about itself: it is still starting."""

    default_hint = "It may still be loading its model: try again in a moment, or check its log."


class Refused(ServingError):
    """The server read the request and refused it (4xx). Repeating it unchanged is useless."""

    code = "refused"
    default_hint = "The server's message names the cause; `navigator config show` shows what is sent."


class Unauthorized(Refused):
    """The server wants an API key, or another one (401, 403)."""

    default_hint = "Set api_key_env of the role to the name of the variable that holds the server's key."


class Overloaded(ServingError):
    """The server is overloaded (408, 429, 502, 503, 504) and stayed so."""

    code = "overloaded"
    default_hint = "Wait, or lower max_inflight for this role."


class ServerFault(ServingError):
    """The server failed internally (another 5xx)."""

    code = "server_fault"
    default_hint = "Check the server's log; restart it if this continues."


class StreamCut(ServingError):
    """The stream ended without a finish_reason or without [DONE]: the answer does not count."""

    code = "stream_cut"
    default_hint = (
        "The task is tried again. If this continues, check the server's log and any proxy in between."
    )


class FirstTokenTimeout(ServingError):
    """The server accepted the request and wrote nothing in time."""

    code = "first_token_timeout"
    default_hint = "The server may be stuck or its queue too long: check its log, or lower max_inflight."


class Stalled(ServingError):
    """The answer began and then nothing more came."""

    code = "stalled"
    default_hint = "The server may be stuck: check its log; restart it if this continues."


class TotalTimeout(ServingError):
    """The whole call took too long."""

    code = "total_timeout"
    default_hint = "Lower max_tokens, or make the task smaller."


class CutByLength(ServingError):
    """finish_reason "length": the answer reached max_tokens. `partial` holds what was written."""

    code = "cut_by_length"
    default_hint = "Raise max_tokens for this role, or make the task smaller."


class Aborted(ServingError):
    """finish_reason "abort": the server ended the request, unasked or for another client."""

    code = "aborted"
    default_hint = "The task is tried again; a server that is being stopped does this."


class WrongModel(ServingError):
    """The server serves another model than the wanted one. `served` is what it names; "" where that is not known."""

    code = "wrong_model"
    served = ""
    default_hint = "Set `model` of the role to a name that the server lists, or start the right server."


class BadAnswer(ServingError):
    """The answer cannot be read: not an event stream, not JSON, too large, or without a choice."""

    code = "bad_answer"
    default_hint = (
        "Check that base_url names an OpenAI-compatible server (SGLang, vLLM, llama.cpp, Ollama, LM Studio)."
    )


BACKPRESSURE = frozenset({408, 429, 502, 503, 504})
"""HTTP statuses by which a server or a gateway in front of it asks for patience."""

_TOO_LONG = patterns.compile(r"[Cc]ontext (length|window|size)")
"""How servers say that a prompt, or all that they work on at a time, is too long; it only chooses a hint."""

_NOT_PARSED = patterns.compile(r"model produced output that does not match")
"""How llama.cpp says, with status 500, that it cannot take apart what its model wrote: the answer's fault, not its own."""


def error_for_status(
    status: int, words: str, retry_after: float | None = None, address: str = "The server"
) -> ServingError:
    """The typed error for an HTTP status other than 200 and the server's (safe) words."""
    kind: type[ServingError] = Refused
    does, said, hint = "refused the request", f": {words.rstrip('.')}." if words else ".", ""
    if _TOO_LONG.search(words):
        hint = "Lower max_inflight, max_tokens or context_tokens: prompts and answers have to fit together."
    if status in BACKPRESSURE:
        kind, does = Overloaded, "is busy"
    elif status >= 500 and _NOT_PARSED.search(words):
        kind, does = BadAnswer, "could not read the answer"
        hint = "The task is tried again. If this continues, check the model's chat template."
    elif status >= 500:
        kind, does = ServerFault, "failed"
    elif 300 <= status < 400:
        does, said = "redirects elsewhere", ", which Navigator does not follow."
        hint = "Set base_url to the address it redirects to."
    elif status in (401, 403):
        kind, does = Unauthorized, "rejected the API key"
    elif status == 404:
        hint = "Check `model` and base_url: the server does not know one, or has not loaded the model."
    message = f"{address} {does} (HTTP {status}){said}"
    return kind(message, hint=hint, status=status, retry_after=retry_after, said=words)
