"""Chunks of a streamed answer become one answer, or the error that says why not. No I/O.

Nothing a server sends is trusted: every field is checked before it is used, and everything is bounded.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from navigator.client.errors import Aborted, BadAnswer, CutByLength, ServingError, StreamCut, error_for_status
from navigator.model.json_text import read_json
from navigator.model.models import Usage
from navigator.model.text import safe_line

# How unsure a model was, from the probabilities that a server tells beside its tokens (`top_logprobs` of the OpenAI format).

_MOST = 64
"""Alternatives of one token that are looked at; servers tell 20 at most."""


@dataclass(slots=True)
class EntropySum:
    """Entropies of tokens, added up as they come. Nothing that a server sends here can fail an answer."""

    tokens: int = 0
    total: float = 0.0

    def add(self, logprobs: Any) -> None:
        """Take the `logprobs` of one chunk."""
        entries = logprobs.get("content") if isinstance(logprobs, dict) else None
        for entry in entries if isinstance(entries, list) else ():
            told = entry.get("top_logprobs") if isinstance(entry, dict) else None
            if isinstance(told, list) and (bits := entropy(told[:_MOST])) is not None:
                self.tokens += 1
                self.total += bits

    def mean(self) -> float | None:
        """In bits; None where no token came with probabilities."""
        return self.total / self.tokens if self.tokens else None


def entropy(told: list[Any]) -> float | None:
    """The entropy of one token in bits, from its most likely alternatives; None where they are no probabilities.

    What is left of the probability counts as one more alternative, so this is the least that it can be.
    """
    shares = []
    for one in told:
        log = one.get("logprob") if isinstance(one, dict) else None
        if isinstance(log, bool) or not isinstance(log, int | float) or math.isnan(log):
            return None
        shares.append(math.exp(min(0.0, max(-700.0, log))))
    known = sum(shares)
    if not shares or known > 1.05:
        return None
    shares.append(max(0.0, 1.0 - known))
    return max(0.0, -sum(share * math.log2(share) for share in shares if share > 0))


DONE = "[DONE]"
_WORDS = 400


def load_json(text: str) -> Any:
    """Parse JSON as servers write it: raw control characters inside strings are let through.

    Raises:
        ValueError: no JSON, or nested or numbered beyond reason.
    """
    return read_json(text, strict=False)


def mended(text: str) -> str:
    """`text` with surrogate halves joined (a pair may be cut between two chunks) and lone ones replaced."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def server_words(payload: Any, limit: int = _WORDS) -> str:
    """What a server says in an error body, in one safe line of at most `limit` characters."""
    found = _error_words(payload)
    line = safe_line(" ".join(mended(found).split()))
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _error_words(payload: Any) -> str:
    if isinstance(payload, str):
        return payload
    if isinstance(payload, list):
        return "; ".join(_error_words(item) for item in payload[:5])
    if not isinstance(payload, dict):
        return ""
    if "loc" in payload:  # a validation error of pydantic or FastAPI
        place = payload["loc"] if isinstance(payload["loc"], list) else []
        words = f"{'.'.join(str(part) for part in place)}: {_error_words(payload.get('msg', ''))}"
        return f"{words} ({_error_words(payload.get('type', ''))})"
    for key in ("error", "message", "detail", "error_msg"):
        if payload.get(key):
            return _error_words(payload[key])
    return ""


@dataclass(slots=True)
class Assembly:
    """One answer as it grows.

    Attributes:
        max_chars: most characters of text and reasoning together.
        thinking: the model was allowed to reason.
    """

    max_chars: int
    thinking: bool = False
    model: str = ""
    finish_reason: str = ""
    done: bool = False
    chars: int = 0
    _content: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _tokens: tuple[int, int, int] = (0, 0, 0)
    entropy: EntropySum = field(default_factory=EntropySum)

    @property
    def started(self) -> bool:
        """Whether a first character, or an ending, has come."""
        return self.chars > 0 or bool(self.finish_reason)

    @property
    def content(self) -> str:
        """The text so far."""
        return mended("".join(self._content))

    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return mended("".join(self._reasoning))

    def usage(self, seconds: float) -> Usage:
        """Tokens as the server told them (zero where it did not) and the given wall seconds."""
        prompt, completion, cached = self._tokens
        return Usage(
            prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached, seconds=seconds
        )

    def event(self, data: str) -> None:
        """Take the data of one event.

        Raises:
            BadAnswer: it cannot be read, or the answer grows too long.
            Overloaded, ServerFault, BadAnswer, Refused: the server reports an error inside the stream.
        """
        if data.strip() == DONE:
            self.done = True
            return
        try:
            chunk = load_json(data)
        except ValueError:
            raise BadAnswer(f"The server sent an event that is not JSON: {safe_line(data[:80])!r}.") from None
        self.chunk(chunk)

    def chunk(self, chunk: Any) -> None:
        """Take one decoded chunk, or a whole answer that came in one piece; raises as `event` does."""
        if not isinstance(chunk, dict):
            raise BadAnswer("The server sent an event that is not a JSON object.")
        if chunk.get("error") or chunk.get("object") == "error":
            raise error_in_stream(chunk)
        if isinstance(chunk.get("model"), str) and chunk["model"]:
            self.model = mended(chunk["model"])
        self._read_usage(chunk.get("usage"))
        choices = chunk.get("choices")
        if not isinstance(choices, list) or not choices:
            return
        choice = choices[0]
        if not isinstance(choice, dict):
            raise BadAnswer("The server sent a choice that is not a JSON object.")
        delta = choice.get("delta") or choice.get("message")
        if isinstance(delta, dict):
            self._add(self._content, delta.get("content"))
            # One name or the other: servers that send both send the same text twice.
            self._add(self._reasoning, delta.get("reasoning_content") or delta.get("reasoning"))
            if delta.get("content"):  # what it thought before is no part of the answer
                self.entropy.add(choice.get("logprobs"))
        reason = choice.get("finish_reason")
        if isinstance(reason, str) and reason:
            self.finish_reason = reason

    def _add(self, parts: list[str], piece: Any) -> None:
        if not isinstance(piece, str) or not piece:
            return
        parts.append(piece)
        self.chars += len(piece)
        if self.chars > self.max_chars:
            raise BadAnswer(
                f"The answer is longer than {self.max_chars} characters.",
                hint="Lower max_tokens for this role.",
            )

    def _read_usage(self, usage: Any) -> None:
        if not isinstance(usage, dict):
            return
        details = usage.get("prompt_tokens_details")
        cached = details.get("cached_tokens") if isinstance(details, dict) else 0
        self._tokens = (
            amount(usage.get("prompt_tokens")),
            amount(usage.get("completion_tokens")),
            amount(cached),
        )

    def result(self) -> tuple[str, str]:
        """The answer's text and reasoning, once the stream has ended.

        Raises:
            CutByLength, Aborted: the server ended it early.
            StreamCut: it ended without finish_reason or without [DONE].
            BadAnswer: it ended in a way that text does not end in.
        """
        if not self.finish_reason or not self.done:
            missing = "a finish_reason" if not self.finish_reason else "[DONE]"
            raise StreamCut(f"The answer ended without {missing} after {self.chars} characters.")
        if self.finish_reason == "length":
            raise CutByLength(f"The answer was cut at max_tokens after {self.chars} characters.")
        if self.finish_reason == "abort":
            raise Aborted(f"The server aborted the answer after {self.chars} characters.")
        if self.finish_reason != "stop":
            raise BadAnswer(
                f"The answer ended with finish_reason {safe_line(self.finish_reason[:40])!r}, not 'stop'.",
                hint="A content filter or a tool call does this: look at the server's settings.",
            )
        if self.reasoning:
            return self.content, self.reasoning
        return _without_thoughts(self.content, assume_open=self.thinking)


def _without_thoughts(content: str, *, assume_open: bool) -> tuple[str, str]:
    """Cut off a `<think>…</think>` in front, as servers without a reasoning parser leave it in the text.

    `assume_open`: the chat template wrote the opening tag itself, so only the closing one is in the text.
    """
    stripped = content.lstrip()
    opened = stripped.startswith("<think>")
    if not opened and not assume_open:
        return content, ""
    thoughts, closing, rest = stripped.removeprefix("<think>").partition("</think>")
    if not closing:
        return content, ""
    return rest.lstrip("\r\n"), thoughts.strip()


def error_in_stream(payload: dict[str, Any]) -> ServingError:
    """The typed error for an error object that came in place of a chunk."""
    error = payload.get("error")
    source = error if isinstance(error, dict) else payload
    code = source.get("code", source.get("status_code"))
    status = code if isinstance(code, int) and not isinstance(code, bool) else 0
    return error_for_status(status or 500, server_words(payload) or "no reason given")


def amount(value: Any) -> int:
    """A number of tokens or requests as a server tells it; 0 where it is none."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0 or value > 10**12:
        return 0
    return value


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how patiently.

    Attributes:
        retries: most repetitions after the first try.
        base: seconds of the first wait, doubled each time.
        cap: most seconds of a wait that we choose ourselves.
        longest: a Retry-After beyond this is not waited for: the call fails and says when to come back.
    """

    retries: int = 4
    base: float = 0.5
    cap: float = 15.0
    longest: float = 60.0
    rng: random.Random = field(default_factory=random.Random, compare=False, repr=False)

    def delay(self, attempt: int, retry_after: float | None) -> float | None:
        """Seconds before repetition number `attempt` (from 0); None when it should not be made.

        Our own wait is drawn from the upper half of its range ("equal jitter"), so that many requests refused
        at once do not come back at once. The server's word is a floor, jittered upwards.
        """
        if attempt >= self.retries:
            return None
        backoff = min(self.cap, self.base * 2.0**attempt)
        jittered = backoff / 2 + self.rng.uniform(0, backoff / 2)
        if retry_after is None:
            return jittered
        if retry_after > self.longest:
            return None
        return max(jittered, retry_after + self.rng.uniform(0, backoff / 4))


def parse_retry_after(value: str | None) -> float | None:
    """Seconds from a Retry-After header that is a number; None where it is absent or a date."""
    try:
        seconds = float(value or "")
    except ValueError:
        return None
    return max(0.0, seconds) if math.isfinite(seconds) else None


# Server-sent events, from any split of the stream.
#
# Lines end with LF or CRLF, as model servers send them; `data` lines of one event are joined by LF; a blank line sends the event;
# comments and other fields carry nothing for us. Lines and events are bounded, so that a broken or hostile server cannot fill
# the memory. (httpx also splits lines at U+2028 and similar characters, which JSON may contain.)


class SSEOverflow(ValueError):
    """A line or an event is longer than the parser was told to hold."""


class SSEParser:
    """Turns byte chunks into the data of events; where the chunks are cut makes no difference.

    Args:
        max_line: most bytes of one line, its LF not counted.
        max_event: most bytes of the `data` lines of one event together.
    """

    def __init__(self, *, max_line: int = 1 << 20, max_event: int = 4 << 20) -> None:
        self._max_line = max_line
        self._max_event = max_event
        self._partial = b""
        self._data: list[str] = []
        self._data_bytes = 0

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Yield the data of every event that `chunk` completes. The iterator has to be run to its end.

        Raises:
            SSEOverflow: a bound is passed; events before that point were yielded.
        """
        *lines, self._partial = (self._partial + chunk).split(b"\n")
        for line in lines:
            self._check_line(line)
            event = self._line(line.removesuffix(b"\r"))
            if event is not None:
                yield event
        self._check_line(self._partial)

    def close(self) -> str | None:
        """The data of the event whose lines all arrived but whose blank line did not, if there is one.

        The standard discards it; some servers close right after `data: [DONE]`, so the caller may look. A
        line cut in its middle is never part of it.
        """
        return self._dispatch()

    def _check_line(self, line: bytes) -> None:
        if len(line) > self._max_line:
            raise SSEOverflow(f"a line of more than {self._max_line} bytes")

    def _line(self, line: bytes) -> str | None:
        if not line:
            return self._dispatch()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            self._data_bytes += len(value) + 1
            if self._data_bytes > self._max_event:
                raise SSEOverflow(f"an event of more than {self._max_event} bytes")
            self._data.append(value.decode("utf-8", "replace"))
        return None

    def _dispatch(self) -> str | None:
        data, self._data, self._data_bytes = self._data, [], 0
        return "\n".join(data) if data else None
