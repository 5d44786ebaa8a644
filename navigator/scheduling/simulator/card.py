"""One model on one GPU: prompts are read one after the other, answers grow together. The model of `domain.timing`."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from navigator.domain.timing import StepTimes
from navigator.scheduling.simulator.scenario import Request

_DONE = 1e-9


@dataclass(slots=True)
class _Stream:
    key: str
    reading: float
    tokens: float


@dataclass
class Card:
    """Requests in the order they came. `busy` adds up the seconds in which it worked."""

    times: StepTimes
    busy: float = 0.0
    _streams: list[_Stream] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._streams)

    def add(self, key: str, request: Request) -> None:
        """Send a request."""
        self._streams.append(
            _Stream(key, self.times.read_seconds(int(request.prompt_tokens)), request.tokens)
        )

    def drop(self, key: str) -> bool:
        """Cut a request off; False where it is not here."""
        before = len(self._streams)
        self._streams = [stream for stream in self._streams if stream.key != key]
        return len(self._streams) < before

    def next_event(self) -> float:
        """Seconds until a prompt is read or an answer ends; infinity when idle."""
        if not self._streams:
            return math.inf
        reading = next((stream.reading for stream in self._streams if stream.reading > _DONE), None)
        if reading is not None:
            return reading
        return min(stream.tokens for stream in self._streams) * self.times.step_seconds(len(self._streams))

    def advance(self, seconds: float) -> list[str]:
        """Let at most `next_event` seconds pass; returns the keys of the answers that ended."""
        if not self._streams:
            return []
        self.busy += seconds
        reading = next((stream for stream in self._streams if stream.reading > _DONE), None)
        if reading is not None:
            reading.reading -= seconds
        else:
            written = seconds / self.times.step_seconds(len(self._streams))
            for stream in self._streams:
                stream.tokens -= written
        ended = [stream.key for stream in self._streams if stream.reading <= _DONE and stream.tokens <= 1e-6]
        if ended:
            self._streams = [stream for stream in self._streams if stream.key not in ended]
        return ended
