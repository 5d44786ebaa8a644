"""Finds, starts and ends the SGLang server that `engines/build_sglang.sh` put into a cache.

HTTP, scheduler, grammar, streaming, metrics and shutdown are SGLang's own code. The compiled kernels are replaced by a
package whose functions cannot be called, attention runs on PyTorch's operations, and the model's weights are random: such
a server proves the wire and the drain, never quality or speed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.engines.llama import free_port

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "engines" / "sglang-requirements.txt"
SHIM = ROOT / "engines" / "sglang_cpu"
CONTEXT = 4096
_PATIENCE = 180.0


def home() -> Path:
    """The folder that the build script fills: named after the version and everything that is pinned."""
    pinned = REQUIREMENTS.read_bytes()
    version = re.search(rb"^sglang==([0-9.]+)", pinned, re.MULTILINE)
    assert version is not None
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("NAVIGATOR_ENGINES") or caches / "navigator-engines")
    return cache / f"sglang-{version[1].decode()}-{hashlib.sha256(pinned).hexdigest()[:12]}"


def missing() -> str:
    """Why the tests cannot run; "" where they can."""
    folder = home()
    for name in (".complete", "bin/python", "tiny/config.json"):
        if not (folder / name).exists():
            return "engines: `make engines` installs them"
    return ""


@dataclass(frozen=True)
class SglangServer:
    """A server that runs. `log` is its own."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path


def command(port: int, model: Path, *options: str) -> list[str]:
    """What starts a server of `model` on loopback."""
    return [
        *(str(home() / "bin" / "python"), str(SHIM / "serve.py"), "--model-path", str(model)),
        *("--device", "cpu", "--host", "127.0.0.1", "--port", str(port), "--skip-server-warmup"),
        "--sleep-on-idle",  # or it keeps a core busy while it waits
        *("--max-total-tokens", "8192", "--max-running-requests", "8", "--log-level", "warning"),
        *("--enable-metrics", "--enable-cache-report", "--constrained-json-disable-any-whitespace"),
        *options,
    ]


@contextlib.contextmanager
def sglang_server(folder: Path, *options: str) -> Iterator[SglangServer]:
    """A server on loopback whose `/health` has been 200. Takes half a minute to start, and 1.6 GB of memory."""
    port = free_port()
    log = folder / "sglang.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command(port, home() / "tiny", *options),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env=environment(folder),
            start_new_session=True,  # its children are ended with it
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_healthy(process, url, log)
        yield SglangServer(url, process, log)
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def environment(folder: Path) -> dict[str, str]:
    """Of the server: nothing of ours; no network; and of some 200 model files only the few that are needed are imported."""
    models = next((home() / "lib").glob("python3.*")) / "site-packages" / "sglang" / "srt" / "models"
    wanted = {"qwen2", "qwen3", "llama"}
    unneeded = sorted(path.stem for path in models.glob("*.py") if path.stem not in wanted | {"__init__"})
    return {
        "PATH": f"{home() / 'bin'}{os.pathsep}{os.defpath}",
        "HOME": str(folder),
        "PYTHONPATH": str(SHIM),
        "HF_HUB_OFFLINE": "1",
        "SGLANG_USE_CPU_ENGINE": "1",
        "SGLANG_DISABLED_MODEL_ARCHS": ",".join(unneeded),
    }


def _wait_until_healthy(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError), opener.open(f"{url}/health", timeout=30):
            return
        time.sleep(0.1)
    raise AssertionError(f"SGLang did not start:\n{log.read_text('utf-8', 'replace')[-3000:]}")
