"""What can go wrong between Navigator and a model server: one class for each, each with the next step.

`code` is what the store and `--json` show; `retryable` says whether the same request may succeed later
without anybody changing anything.
"""

from __future__ import annotations

from typing import ClassVar

from navigator.domain.errors import NavigatorError
from navigator.domain.models import Usage


class ServingError(NavigatorError):
    """Base of every failure of a model call.

    Attributes:
        partial: the text that arrived before the failure. It is shown to people, never parsed as an answer.
        begun: whether the answer had begun; after that a call is never repeated by itself.
        retries: how often this call was repeated before it was given up.
        status: the HTTP status, 0 where no answer came.
        retry_after: seconds the server asked to wait, None where it did not say.
        usage: tokens as far as the server told them.
        request_id: the id under which the server knew the call, "" where none was sent.
    """

    code: ClassVar[str] = "serving"
    retryable: ClassVar[bool] = False
    default_hint: ClassVar[str] = ""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        partial: str = "",
        status: int = 0,
        retry_after: float | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message, hint=hint or self.default_hint)
        self.partial = partial
        self.status = status
        self.retry_after = retry_after
        self.usage = usage or Usage()
        self.begun = False
        self.retries = 0
        self.request_id = ""


class Unreachable(ServingError):
    """No connection, or it ended before the server answered anything."""

    code = "unreachable"
    retryable = True
    default_hint = "Start the server or correct base_url; `navigator doctor` tries every server."


class Refused(ServingError):
    """The server read the request and said no (4xx): repeating it unchanged is useless."""

    code = "refused"
    default_hint = "The server's own words name the cause; `navigator config show` shows what is sent."


class Overloaded(ServingError):
    """The server asks for patience (408, 429, 502, 503, 504), and kept asking."""

    code = "overloaded"
    retryable = True
    default_hint = "Wait, or lower max_inflight for this role."


class ServerFault(ServingError):
    """The server failed inside (5xx without a promise that it passes)."""

    code = "server_fault"
    retryable = True
    default_hint = "Look at the server's own log; restart it if it stays so."


class StreamCut(ServingError):
    """The stream ended without a finish_reason or without [DONE]: what came does not count."""

    code = "stream_cut"
    retryable = True
    default_hint = (
        "The task is tried again; if it goes on, look at the server's log and at proxies in between."
    )


class FirstTokenTimeout(ServingError):
    """The server took the request and wrote nothing in time."""

    code = "first_token_timeout"
    retryable = True
    default_hint = "The server may be stuck or its queue too long: look at its log, or lower max_inflight."


class Stalled(ServingError):
    """The answer began and then nothing more came."""

    code = "stalled"
    retryable = True
    default_hint = "The server may be stuck: look at its log, and restart it if it stays so."


class TotalTimeout(ServingError):
    """The whole call took longer than it may."""

    code = "total_timeout"
    retryable = True
    default_hint = "Lower max_tokens, or make the task smaller."


class CutByLength(ServingError):
    """finish_reason "length": the answer hit max_tokens. `partial` holds what was written."""

    code = "cut_by_length"
    default_hint = "Raise max_tokens for this role, or make the task smaller."


class Aborted(ServingError):
    """finish_reason "abort": somebody or the server itself ended the request."""

    code = "aborted"
    retryable = True
    default_hint = "The task is tried again; a server that is being stopped does this."


class WrongModel(ServingError):
    """Another model answered than the one that was asked for."""

    code = "wrong_model"
    default_hint = "Correct `model` or base_url in the settings, or start the right server."


class BadAnswer(ServingError):
    """The answer cannot be read: not an event stream, not JSON, too large, or without a choice."""

    code = "bad_answer"
    default_hint = (
        "Check that base_url names an OpenAI-compatible server (SGLang, vLLM, llama.cpp, Ollama, LM Studio)."
    )
