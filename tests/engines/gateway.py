"""Starts and ends the model gateway `smg`, which `engines/build_gateway.sh` put into a cache, before two real llama-servers."""

from __future__ import annotations

import contextlib
import json
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.engines import llama
from tests.engines.llama import Server, cached, end, free_port, lacking, llama_server

_PATIENCE = 60.0


def home() -> Path:
    """The folder that the build script fills."""
    return cached("smg", "gateway.txt", "smg")


def missing() -> str:
    """Why the tests cannot run; "" where they can."""
    return lacking(home(), ".complete") or llama.missing()


@dataclass(frozen=True)
class Gateway:
    """A gateway that runs before its workers."""

    url: str
    workers: tuple[Server, ...]

    def get(self, path: str) -> Any:
        """One of its own pages, as JSON."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.url}{path}", timeout=10) as answer:
            return json.load(answer)

    def healthy(self) -> int:
        """How many of its workers it thinks well of."""
        with contextlib.suppress(OSError):
            return int(self.get("/readiness")["healthy_workers"])
        return 0


@contextlib.contextmanager
def gateway(folder: Path, workers: int = 2) -> Iterator[Gateway]:
    """A gateway on the loopback, as soon as every worker is registered."""
    with contextlib.ExitStack() as stack:
        servers = []
        for number in range(workers):
            place = folder / f"worker{number}"
            place.mkdir(parents=True)
            servers.append(stack.enter_context(llama_server(place)))
        port, metrics = free_port(), free_port()
        words = [
            *(str(home() / "bin" / "smg"), "launch", "--host", "127.0.0.1", "--port", str(port)),
            *("--worker-urls", *(server.url for server in servers)),
            *("--prometheus-host", "127.0.0.1", "--prometheus-port", str(metrics)),
            *("--policy", "round_robin", "--disable-tokenizer-autoload"),
            *("--health-check-interval-secs", "1", "--shutdown-grace-period-secs", "1"),
        ]
        with (folder / "gateway.log").open("wb") as log:
            process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        stack.callback(end, process, 10)
        made = Gateway(f"http://127.0.0.1:{port}", tuple(servers))
        deadline = time.monotonic() + _PATIENCE
        while made.healthy() < workers:
            assert process.poll() is None, (folder / "gateway.log").read_text("utf-8")[-3000:]
            assert time.monotonic() < deadline, (folder / "gateway.log").read_text("utf-8")[-3000:]
            time.sleep(0.05)
        yield made
