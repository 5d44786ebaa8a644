"""Finds, starts and ends the SGLang server that `engines/build_sglang.sh` put into a cache.

HTTP, scheduler, grammar, streaming, metrics and shutdown are SGLang's own code. The compiled kernels are replaced by a
package whose functions cannot be called, attention runs on PyTorch's operations, and the model's weights are random: such
a server proves the wire and the drain, never quality or speed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.engines.llama import ROOT, Server, cached, free_port, lacking

REQUIREMENTS = ROOT / "engines" / "sglang-requirements.txt"
SHIM = ROOT / "engines" / "sglang_cpu"
CONTEXT = 4096
_PATIENCE = 300.0


def home() -> Path:
    """The folder that the build script fills: named after the version and everything that is pinned."""
    pinned = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:12]
    folder = cached("sglang", REQUIREMENTS.name, "sglang")
    return folder.with_name(f"{folder.name}-{pinned}")


def missing() -> str:
    """Why the tests cannot run; "" where they can."""
    return lacking(home(), ".complete", "bin/python", "tiny/config.json")


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
def sglang_server(folder: Path, *options: str) -> Iterator[Server]:
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
        yield Server(url, process, log)
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
        "OMP_NUM_THREADS": "1",  # more of them wait for each other where others use the cores
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
