"""How many requests in flight: the limit that is found, beside fixed ones, on the rehearsal's server.

    python -m benchmarks.inflight [--tiny | --full] [--requests N] [--seeds N]

Every answer and every second is simulated. Three servers, each an assumption of its own: `timing model` batches as
docs/scheduling.md says, so that more streams always write more; `runs 4` does the same and runs no more than four at once,
which it tells; `shares after 6` has streams that share what six get, and tells of no queue: only latency shows it. Prints tokens
a simulated second and the mean seconds of one answer, for fixed limits (1, the upper limit of 16, the best of all) and for the
limit that is found.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from benchmarks.size import sized
from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.config.settings import ServerSettings, Settings
from navigator.journey import requests as asking
from navigator.journey.requests import Requests
from navigator.model.states import Role
from navigator.model.timing import StepTimes
from navigator.rehearsal.server.api import Api
from navigator.rehearsal.server.engine import CHARACTERS_PER_TOKEN, MODEL_NAMES, Completion, Pace, pace_of
from navigator.rehearsal.server.http import HttpServer

SCALE = sized(0.001, 0.03, 0.1)
MOST = 16
ROLE = Role.GENERATOR


@dataclass(frozen=True, slots=True)
class Shared(StepTimes):
    """Streams beyond `knee` share what that many get."""

    knee: int = 6

    def step_seconds(self, streams: int) -> float:
        """As `StepTimes`."""
        alone = StepTimes(self.load_seconds, self.decode, self.prefill)
        return alone.step_seconds(1) * max(1.0, streams / self.knee)


def server(kind: str) -> tuple[Pace, int]:
    """The pace of a kind of server, and how many requests it runs at once."""
    pace = pace_of(ROLE, SCALE)
    if kind != "shares after 6":
        return pace, 4 if kind == "runs 4" else 64
    mid = pace.model.mid
    shared = Shared(mid.load_seconds, mid.decode, mid.prefill)
    return replace(pace, model=replace(pace.model, mid=shared)), 64


class Fixed(Requests):
    """The same limit all the time."""

    def __init__(self, settings: Settings, limit: int) -> None:
        super().__init__(settings)
        self._fixed = limit

    def limit(self, role: Role) -> int:
        """As `Requests`."""
        return self._fixed


class _OneClient:
    """What `Requests` asks of its dependencies."""

    def __init__(self, client: ModelClient) -> None:
        self._client = client

    @asynccontextmanager
    async def lent_client(self, role: Role) -> AsyncIterator[ModelClient]:
        """The one client."""
        yield self._client


async def run(kind: str, fixed: int | None, count: int, seed: int) -> tuple[float, float, list[int]]:
    """Tokens a simulated second, mean simulated seconds of an answer, and the limits from answer to answer."""
    rng = random.Random(seed)
    sizes = [max(40, int(rng.lognormvariate(6.0, 0.5))) for _ in range(count)]
    pace, most = server(kind)

    def brain(messages, schema=None, repeat=0, temperature=0.0):  # type: ignore[no-untyped-def]
        return Completion("x" * CHARACTERS_PER_TOKEN * sizes[int(messages[-1]["content"])])

    api = Api(ROLE, replace(pace, scale=0.0), brain, max_running=most)
    await api.load()
    api.engine.pace = pace
    http = HttpServer(api)
    await http.start("127.0.0.1", 0)
    settings = ServerSettings(
        model=MODEL_NAMES[ROLE], base_url=f"http://127.0.0.1:{http.port}", max_inflight=MOST
    )
    whole = Settings.model_validate({"generator": settings.model_dump()})
    requests = Requests(whole) if fixed is None else Fixed(whole, fixed)
    took: list[float] = []
    limits: list[int] = []
    async with ModelClient(settings) as client:
        looking = asyncio.create_task(requests.keep_looking(_OneClient(client)))
        if kind == "shares after 6":
            looking.cancel()
        left, running = list(range(count)), set[asyncio.Task[None]]()

        async def ask(number: int) -> None:
            began = time.monotonic()
            with requests.asking(ROLE) as one:
                messages = [{"role": "user", "content": str(number)}]
                one.usage = (await client.chat(ChatRequest(messages, 8000, 0.0, 1.0))).usage
            took.append((time.monotonic() - began) / SCALE)
            limits.append(requests.limit(ROLE))

        begun = time.monotonic()
        while left or running:
            while left and len(running) < requests.limit(ROLE):
                running.add(asyncio.create_task(ask(left.pop())))
            done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for one in done:
                one.result()
        seconds = (time.monotonic() - begun) / SCALE
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
    await http.close()
    return sum(sizes) / seconds, statistics.fmean(took), limits


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=sized(2, 60, 160))
    parser.add_argument("--seeds", type=int, default=sized(1, 1, 3))
    options = parser.parse_args()
    asking._LOOKS = SCALE
    print(f"SIMULATED: {options.requests} answers, upper limit {MOST}, mean of {options.seeds} seeds")
    print(f"{'server':15} {'limit':>12} {'tok/s':>7} {'s each':>7}  {'ends at':>7}")
    for kind in ("timing model", "runs 4", "shares after 6"):
        rows: dict[str, tuple[float, float, str]] = {}
        for fixed in (1, 2, 4, 6, 8, 12, MOST, None):
            runs = [asyncio.run(run(kind, fixed, options.requests, seed)) for seed in range(options.seeds)]
            ends = "/".join(str(limits[-1]) for _, _, limits in runs) if fixed is None else ""
            rows[str(fixed or "found")] = (
                statistics.fmean(speed for speed, _, _ in runs),
                statistics.fmean(each for _, each, _ in runs),
                ends,
            )
        best = max((name for name in rows if name != "found"), key=lambda name: rows[name][0])
        for name in dict.fromkeys(("1", str(MOST), best, "found")):
            shown = f"best, {name}" if name == best else name
            speed, each, ends = rows[name]
            print(f"{kind:15} {shown:>12} {speed:7.0f} {each:7.1f}  {ends:>7}", flush=True)


if __name__ == "__main__":
    main()
