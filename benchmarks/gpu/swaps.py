"""Swaps by Navigator's strategies between two models, beside the same change without Navigator.

`managed` goes through llama.cpp's router: one request of one token loads the other model. Beside it is that same
request without Navigator. `command` runs change.py, which ends one server, starts the other and says how long that
took since the kernel started it; the rest is Navigator's share. In each round both ways are measured by
each means, so that a machine that slows down slows all of them.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.gpu.servers import CONTEXT, Server, command
from navigator.config.settings import Settings
from navigator.model.states import Role
from navigator.swap.base import SwapResult
from navigator.swap.strategies.command import CommandStrategy
from navigator.swap.strategies.managed import ManagedStrategy

WAYS = (Role.REVIEWER, Role.GENERATOR)
CHANGE = Path(__file__).with_name("change.py")
PATIENCE = 600.0
PLAIN = "plain request"


def measure(
    folder: Path, pair: tuple[str, str], count: int, layers: int, threads: int
) -> Iterator[dict[str, Any]]:
    """`count` swaps each way and means; a row each."""
    yield from by_router(folder, pair, count, layers, threads)
    yield from by_command(folder, pair, count, layers, threads)


def by_router(
    folder: Path, pair: tuple[str, str], count: int, layers: int, threads: int
) -> Iterator[dict[str, Any]]:
    """Strategy managed, and the plain request."""
    names = dict(zip((Role.GENERATOR, Role.REVIEWER), pair, strict=True))
    with tempfile.TemporaryDirectory(prefix="navigator-gpu-") as place:
        for name in pair:
            (Path(place) / f"{name}.gguf").symlink_to(folder / f"{name}.gguf")
        words = ["--models-dir", place, "--models-max", "1"]
        with Server(folder, words, layers, threads) as router:
            if not router.ready(60):
                yield failed("managed", router.last_words())
                return
            with asyncio.Runner() as runner:
                strategy = ManagedStrategy(settings(pair, router.url, {"strategy": "managed"}))
                runner.run(strategy.swap(Role.GENERATOR, lambda event: None))
                for _ in range(count):
                    for to in WAYS:
                        yield row("managed", to, runner.run(strategy.swap(to, lambda event: None)))
                    for to in WAYS:
                        began = time.perf_counter()
                        ask(router.url, names[to])
                        took = round(time.perf_counter() - began, 4)
                        yield {"strategy": PLAIN, "to": to.value, "outcome": "done", "seconds": took}


def by_command(
    folder: Path, pair: tuple[str, str], count: int, layers: int, threads: int
) -> Iterator[dict[str, Any]]:
    """Strategy command."""
    with tempfile.TemporaryDirectory(prefix="navigator-gpu-") as place:
        url, words = command(folder, layers, threads)
        state, log = Path(place) / "server.json", Path(place) / "took.jsonl"
        state.write_text(
            json.dumps(
                {
                    "command": words,
                    "url": url,
                    "pid": 0,
                    "models": {
                        role: {"file": str(folder / f"{name}.gguf"), "alias": name}
                        for role, name in zip(("generator", "reviewer"), pair, strict=True)
                    },
                }
            ),
            encoding="utf-8",
        )
        argv = (sys.executable, str(CHANGE), str(state), str(log), "{role}")
        swap = {"strategy": "command", "command": {"argv": argv}}
        strategy = CommandStrategy(settings(pair, url, swap))
        try:
            with asyncio.Runner() as runner:
                runner.run(strategy.swap(Role.GENERATOR, lambda event: None))
                for _ in range(count):
                    for to in WAYS:
                        found = row("command", to, runner.run(strategy.swap(to, lambda event: None)))
                        if found["outcome"] == "done":
                            said = json.loads(log.read_text("utf-8").splitlines()[-1])
                            found |= said
                            found["own_seconds"] = round(found["seconds"] - said["program_seconds"], 4)
                        yield found
        finally:
            subprocess.run([*argv[:-1], "none"], check=False, timeout=60)


def settings(pair: tuple[str, str], url: str, swap: dict[str, Any]) -> Settings:
    """Both roles at one address."""
    server = {"base_url": url, "context_tokens": CONTEXT, "max_tokens": CONTEXT // 2}
    return Settings.model_validate(
        {
            "generator": server | {"model": pair[0]},
            "reviewer": server | {"model": pair[1]},
            "swap": swap,
        }
    )


def row(strategy: str, to: Role, result: SwapResult) -> dict[str, Any]:
    """One swap as it is kept."""
    return {
        "strategy": strategy,
        "to": to.value,
        "outcome": result.outcome,
        "reason": result.reason[:300],
        "seconds": round(result.seconds, 4),
        **{f"{phase.name}_seconds": phase.seconds for phase in result.phases},
    }


def failed(strategy: str, reason: str) -> dict[str, Any]:
    """A row for a means that did not work at all."""
    return {"strategy": strategy, "to": "", "outcome": "failed", "reason": reason}


def ask(url: str, model: str) -> None:
    """The request that Navigator sends, by the standard library."""
    body = {
        "model": model,
        "messages": [{"role": "user", "content": "Say: yes"}],
        "max_tokens": 1,
        "temperature": 0.0,
        "top_p": 1.0,
    }
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        answer.read()
