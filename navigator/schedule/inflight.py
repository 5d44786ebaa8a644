"""How many requests of one role are worth having in flight. Pure: each observation gives the next state.

Additive increase, multiplicative decrease, within 1 and a limit that the user set. A window is as many answers as may be in
flight, at least `LEAST_ANSWERS`, with that many in flight; it says how many tokens a second all of them got together.

- Requests that wait at the server in two looks in a row: down to three quarters, but no further than what empties that queue.
- More requests that bring less than a quarter of their share more tokens, so that each only takes longer: down to the
  fewer ones, by a quarter at most. Limits are compared that are a fifth apart, since answers differ.
- A server that tells of no queue is tried with a quarter less once, since only a comparison says what more requests bring.
- Else one more after each window, once the windows that each decrease holds it back for are over: 2, 4, 8, 16.
- A window at the same limit that brings less than two thirds of what it did, or more than three halves: what was known of
  other limits is forgotten, and the comparison begins anew. What is older than 24 windows is forgotten in any case.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

DECREASE = 0.75
LEAST_GAIN = 0.25
APART = 0.8
CHANGED = 1.5
LEAST_ANSWERS = 4
_FIRST_PAUSE, _LONGEST_PAUSE = 2, 16
_REMEMBERED = 24
_FILLED = 0.75
"""Share of the limit that has to be in flight for a window to say anything about it."""


@dataclass(frozen=True, slots=True)
class TimedAnswer:
    """One whole answer: seconds by the client's clock, the server's queue included, and the mean of requests in flight."""

    tokens: int
    seconds: float
    streams: float


@dataclass(frozen=True, slots=True)
class ServerQueue:
    """One look at a server: the role's requests in flight, how many wait there, and how many it runs at once (None: untold)."""

    ours: int
    waiting: int
    room: int | None = None


@dataclass(frozen=True, slots=True)
class Inflight:
    """The limit of one role, and what is known of others, for as long as its model stays loaded.

    Attributes:
        most: the upper limit, at least 1.
        limit: requests that may be in flight now.
        why: why the limit is lower than `most`, in words; "" where it is not.
        rates: tokens a second of all streams together, by limit; with the number of the window that said so.
        tells: the server says how many requests wait.
    """

    most: int
    limit: int
    why: str = ""
    rates: Mapping[int, tuple[float, int]] = field(default_factory=dict)
    tells: bool = False
    _windows: int = 0
    _answers: int = 0
    _tokens: int = 0
    _seconds: float = 0.0
    _stream_seconds: float = 0.0
    _queued: int = 0
    _hold: int = 0
    _pause: int = _FIRST_PAUSE

    @classmethod
    def begin(cls, most: int) -> Inflight:
        """A residency begins: with as many as the user allows."""
        if most < 1:
            raise ValueError("at least one request has to be allowed")
        return cls(most=most, limit=most)

    def answered(self, answer: TimedAnswer) -> Inflight:
        """The state after an answer; one without tokens says nothing."""
        if answer.tokens <= 0 or answer.seconds <= 0 or answer.streams < _FILLED * self.limit:
            return self
        taken = replace(
            self,
            _answers=self._answers + 1,
            _tokens=self._tokens + answer.tokens,
            _seconds=self._seconds + answer.seconds,
            _stream_seconds=self._stream_seconds + answer.seconds * answer.streams,
        )
        return taken._judged() if taken._answers >= max(LEAST_ANSWERS, self.limit) else taken

    def looked(self, seen: ServerQueue) -> Inflight:
        """The state after a look at the server's queue."""
        if seen.room is not None and seen.room < self.limit:
            room = max(1, seen.room)
            return replace(self._at(room, ""), most=room, tells=True)
        flying = min(self.limit, seen.ours)
        # Those asked before the limit was lowered may still wait; that says nothing about the limit.
        waiting = seen.waiting - (seen.ours - flying)
        told = replace(self, tells=True, _queued=self._queued + 1 if waiting > 0 else 0)
        if told._queued < 2 or flying < 2:
            return told
        down = max(1, flying - waiting, int(DECREASE * flying))
        return told._at(min(down, flying - 1), f"{waiting} waited at the server", held=True)

    def _judged(self) -> Inflight:
        """A window is over."""
        rate = self._tokens * self._stream_seconds / self._seconds**2
        now = self._windows + 1
        before = self.rates.get(self.limit)
        changed = before is not None and not 1 / CHANGED <= rate / before[0] <= CHANGED
        young = (
            {} if changed else {at: held for at, held in self.rates.items() if now - held[1] < _REMEMBERED}
        )
        told = replace(self, rates={**young, self.limit: (rate, now)}, _windows=now)
        if fewer := [at for at in young if at < self.limit and told._pays(at, self.limit) is False]:
            down = max(*fewer, int(DECREASE * self.limit))
            return told._at(down, f"{self.limit} wrote no more than {max(fewer)}", held=True)
        if more := [at for at in young if at > self.limit and told._pays(self.limit, at)]:
            return told._at(min(more), self.why)
        if self.limit > 1 and not self.tells and min(told.rates) == self.limit:
            return told._at(int(DECREASE * self.limit), "fewer are tried for comparison")
        if self._hold > 0:
            return replace(told._at(self.limit, self.why), _hold=self._hold - 1)
        return told._at(min(self.most, self.limit + 1), self.why)

    def _pays(self, few: int, many: int) -> bool | None:
        """Whether `many` requests bring enough more than `few`, both known; None where they are too close to tell."""
        if few > APART * many:
            return None
        return self.rates[many][0] >= self.rates[few][0] * (1 + LEAST_GAIN * (many / few - 1))

    def _at(self, limit: int, why: str, *, held: bool = False) -> Inflight:
        """Another limit, with an empty window; `held` where it is not to be raised again soon."""
        return replace(
            self,
            limit=limit,
            why=why if limit < self.most else "",
            _answers=0,
            _tokens=0,
            _seconds=0.0,
            _stream_seconds=0.0,
            _queued=0,
            _hold=self._pause if held else self._hold,
            _pause=min(_LONGEST_PAUSE, 2 * self._pause) if held else self._pause,
        )
