"""Runs the requests of the simulated server: a limit on running ones, a first-come queue, paced output, aborts."""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import asdict, dataclass, field

from navigator.model.errors import UsageError
from navigator.model.states import Role
from navigator.model.timing import StepTimes

TIME_SCALE_VARIABLE = "NAVIGATOR_TIME_SCALE"
PAGE_TOKENS = 64

SHORTEST_WAIT = 0.002
"""Waits below this many seconds are carried over to the next piece: a timer is not more exact than that."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a role says: the text, and how it ended ("stop" or "length").

    `doubt` makes its simulated probabilities lower.
    """

    text: str
    finish_reason: str = "stop"
    doubt: float = 0.0


@dataclass(slots=True)
class EngineJob:
    """One request on its way through the engine. Token counts are estimates."""

    rid: str
    prompt: str
    prompt_tokens: int
    max_tokens: int
    compute: Callable[[], Completion]
    aborted: asyncio.Event = field(default_factory=asyncio.Event)
    cached_tokens: int = 0
    completion_tokens: int = 0
    finish_reason: str = ""
    doubt: float = 0.0
    repeat: int = 0


class PrefixCache:
    """Counts how much of a prompt earlier prompts have in common with it.

    Like a paged radix cache it shares whole pages from the first token on; one different character ends the match. The
    least recently used pages leave first.

    Args:
        capacity_tokens: how many tokens the cache holds.
    """

    def __init__(self, capacity_tokens: int = 600_000) -> None:
        self._capacity = max(1, capacity_tokens // PAGE_TOKENS)
        self._pages: OrderedDict[bytes, None] = OrderedDict()

    @property
    def usage(self) -> float:
        """Share of the capacity in use, 0 to 1."""
        return len(self._pages) / self._capacity

    def admit(self, prompt: str, tokens: int) -> int:
        """Take a prompt in and return how many of its first tokens were already there.

        The last token is never cached, as a server has to compute at least one.
        """
        width = PAGE_TOKENS * CHARACTERS_PER_TOKEN
        digest = b""
        matched = 0
        matching = True
        for start in range(0, len(prompt) - width + 1, width):
            page = prompt[start : start + width].encode("utf-8", "surrogatepass")
            digest = hashlib.blake2b(digest + page, digest_size=16).digest()
            if matching and digest in self._pages:
                matched += PAGE_TOKENS
            else:
                matching = False
            self._pages[digest] = None
            self._pages.move_to_end(digest)
        while len(self._pages) > self._capacity:
            self._pages.popitem(last=False)
        return max(0, min(matched, tokens - 1))


class SimulatedEngine:
    """Runs at most `max_running` jobs at once; the others wait in the order they came."""

    def __init__(self, pace: Pace, *, max_running: int) -> None:
        self.pace = pace
        self.max_running = max_running
        self.cache = PrefixCache()
        self._slots = asyncio.Semaphore(max_running)
        self._jobs: dict[str, EngineJob] = {}
        self._running: set[str] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._reading_until = 0.0
        self._reading = 0.0

    @property
    def running(self) -> int:
        """Requests that are being read or written."""
        return len(self._running)

    @property
    def waiting(self) -> int:
        """Requests that wait for a slot."""
        return len(self._jobs) - len(self._running)

    async def drained(self) -> None:
        """Return when no request is left."""
        await self._idle.wait()

    def knows(self, rid: str) -> bool:
        """Whether a request of that id is here."""
        return rid in self._jobs

    def abort(self, rid: str) -> bool:
        """Stop a request; its stream ends with finish_reason "abort".

        As with SGLang, an id that is here also stops every request whose id begins with it; one that is not stops none.
        """
        if rid not in self._jobs:
            return False
        for other, job in self._jobs.items():
            if other.startswith(rid):
                job.aborted.set()
        return True

    def abort_all(self) -> None:
        """Stop every request."""
        for job in self._jobs.values():
            job.aborted.set()

    async def run(self, job: EngineJob) -> AsyncGenerator[str, None]:
        """Yield pieces of the answer as simulated time passes; afterwards the job holds its counts.

        Closing the iterator early (the client went away) frees the slot.
        """
        self._jobs[job.rid] = job
        self._idle.clear()
        try:
            if not await self._slot(job):
                job.finish_reason = "abort"
                job.prompt_tokens = 0  # none was read, and so SGLang counts none
                return
            try:
                self._running.add(job.rid)
                async with aclosing(self._write(job)) as pieces:
                    async for piece in pieces:
                        yield piece
            finally:
                self._running.discard(job.rid)
                self._slots.release()
        finally:
            self._jobs.pop(job.rid, None)
            if not self._jobs:
                self._idle.set()

    async def _slot(self, job: EngineJob) -> bool:
        """Wait for a slot; False when the job was aborted first."""
        acquire = asyncio.ensure_future(self._slots.acquire())
        stop = asyncio.ensure_future(job.aborted.wait())
        try:
            await asyncio.wait({acquire, stop}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if acquire.done() and not acquire.cancelled():
                self._slots.release()
            raise
        finally:
            stop.cancel()
            if not acquire.done():
                acquire.cancel()
        return acquire.done() and not acquire.cancelled()

    async def _write(self, job: EngineJob) -> AsyncGenerator[str, None]:
        due = asyncio.get_running_loop().time()
        job.cached_tokens = self.cache.admit(job.prompt, job.prompt_tokens)
        answer = await asyncio.to_thread(job.compute)
        job.doubt = answer.doubt
        due = self._read(due, job.prompt_tokens - job.cached_tokens)
        before = self._reading
        await self._until(due, job)

        step = (8 if self.pace.scale else 128) * CHARACTERS_PER_TOKEN
        cut = answer.text[: job.max_tokens * CHARACTERS_PER_TOKEN]
        whole = len(cut) == len(answer.text)
        while cut:
            # The first token comes alone, so that the time until it is what the pace says.
            size = step if job.completion_tokens else CHARACTERS_PER_TOKEN
            piece, cut = cut[:size], cut[size:]
            count = estimate_tokens(piece)
            due += self.pace.decode_wait(count, self.running) + self._reading - before
            before = self._reading
            await self._until(due, job)
            if job.aborted.is_set():
                job.finish_reason = "abort"
                return
            job.completion_tokens += count
            yield piece
        ended = answer.finish_reason if whole else "length"
        job.finish_reason = "abort" if job.aborted.is_set() else ended

    def _read(self, now: float, tokens: int) -> float:
        """Queue a prompt behind those being read; return the loop time at which it is read.

        The GPU reads one prompt at a time and writes nothing meanwhile: `_reading` is all the time for which writing
        paused, and every stream adds to its own time what was added since it last looked.
        """
        wait = self.pace.prefill_wait(tokens)
        self._reading += wait
        self._reading_until = max(self._reading_until, now) + wait
        return self._reading_until

    async def _until(self, due: float, job: EngineJob) -> None:
        """Sleep until a loop time, or until the job is aborted. Past and very near times cost nothing."""
        wait = due - asyncio.get_running_loop().time()
        if wait < SHORTEST_WAIT:
            return
        try:
            await asyncio.wait_for(job.aborted.wait(), wait)
        except TimeoutError:
            return


# What the rehearsal assumes about time, in one place. All of it is simulated, and labelled so.
#
# Published for the cascade of Qwen3.5-35B-A3B and Qwen3.5-122B-A10B on one RTX PRO 6000 (SGLang 0.5.9): 32.7 s until the
# generator is back and 184 tokens/s in a single stream, 42.7 s until the reviewer is up and 48 tokens/s. What concurrency
# and reading cost is not published: it follows the model of `navigator.model.timing`, with the figures below.

CHARACTERS_PER_TOKEN = 4
"""Estimate: one token for every four characters of text, rounded up. No tokenizer is loaded."""

MODEL_NAMES = {
    Role.GENERATOR: "rehearsal/Qwen3.5-35B-A3B",
    Role.REVIEWER: "rehearsal/Qwen3.5-122B-A10B",
}

PEAK_BANDWIDTH = 1792e9
"""Bytes a second of an RTX PRO 6000."""

SUSTAINED_FLOPS = 50e12
"""Assumed for prefill: floating-point operations a second that 4-bit experts reach on that GPU. Not measured."""

CONTEXT = 8_000
"""Assumed tokens in a stream's cache while it writes."""

KV_BYTES = 2 * 2 * 256 * 2
"""A token's keys and values in one full-attention layer: 2 heads of 256 numbers of 2 bytes."""

NOTE = (
    "Simulated time, a model and no measurement. Load times and single-stream speeds are published figures; the share "
    "of the experts is what reading the active weights at peak bandwidth would take; prefill, the cache's share and "
    "the token estimate are assumptions."
)


def estimate_tokens(text: str) -> int:
    """The stated estimate: characters divided by four, rounded up."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Pace:
    """A timing model on a scaled clock. All that waits, waits by it.

    Attributes:
        model: the assumptions, in unscaled seconds.
        scale: factor on every duration; 0 means that nothing waits at all.
    """

    model: StepTimes
    scale: float = 1.0

    def wait(self, seconds: float) -> float:
        """Wall seconds for `seconds` of simulated time."""
        return seconds * self.scale

    def load_wait(self) -> float:
        """Wall seconds until loaded."""
        return self.wait(self.model.load_seconds)

    def prefill_wait(self, tokens: int) -> float:
        """Wall seconds to read `tokens` that no cache holds."""
        return self.wait(self.model.read_seconds(tokens))

    def stream_speed(self, streams: int) -> float:
        """Tokens a simulated second that each of `streams` concurrent streams writes."""
        return self.model.stream_speed(streams)

    def decode_wait(self, tokens: int, streams: int) -> float:
        """Wall seconds for one of `streams` streams to write `tokens`."""
        return self.wait(tokens * self.model.step_seconds(streams))

    def described(self) -> dict[str, object]:
        """The assumptions as `/server_info` states them."""
        return {
            "time_scale": self.scale,
            **asdict(self.model),
            "tokens_per_second_of_eight_streams": round(8 * self.stream_speed(8), 1),
            "characters_per_token": CHARACTERS_PER_TOKEN,
            "note": NOTE,
        }


def time_scale(flag: float | None) -> float:
    """The factor on every simulated duration: the flag, else `NAVIGATOR_TIME_SCALE`, else 1.

    Raises:
        UsageError: not a finite number of at least 0.
    """
    named = os.environ.get(TIME_SCALE_VARIABLE, "")
    where = "--time-scale" if flag is not None else TIME_SCALE_VARIABLE
    if flag is None and not named:
        return 1.0
    try:
        value = float(named) if flag is None else flag
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value < 0:
        shown = named if flag is None else flag
        raise UsageError(
            f"{where} is {shown!r}.", hint="It must be a number of at least 0, for example 0.01."
        )
    return value


def pace_of(role: Role, scale: float) -> Pace:
    """The pace of a role's model, times `scale`.

    The experts' share is that of reading all active weights once a step at peak bandwidth: 1.5 GB at 184 steps a
    second, and 5 GB at the 38 a second published for the reviewer without its compressed cache.
    """
    if role is Role.GENERATOR:
        share = 1.5e9 * 184 / PEAK_BANDWIDTH
        return Pace(_timing_model(load=32.7, decode=184.0, active=3e9, expert_share=share, layers=10), scale)
    share = 5e9 * 38 / PEAK_BANDWIDTH
    return Pace(_timing_model(load=42.7, decode=48.0, active=10e9, expert_share=share, layers=12), scale)


def _timing_model(
    *, load: float, decode: float, active: float, expert_share: float, layers: int
) -> StepTimes:
    """`active`: parameters a token uses; `layers`: those with full attention."""
    return StepTimes(
        load_seconds=load,
        decode=decode,
        prefill=round(SUSTAINED_FLOPS / (2 * active), 1),
        expert_share=round(expert_share, 6),
        kv_share=round(CONTEXT * KV_BYTES * layers * decode / PEAK_BANDWIDTH, 6),
    )
