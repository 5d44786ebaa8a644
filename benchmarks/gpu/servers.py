"""Start and end llama-server, and look at the card's memory."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CONTEXT = 4096


def command(folder: Path, layers: int, threads: int) -> tuple[str, list[str]]:
    """The address and the words of a server with one slot on a free port; which model it serves is left to add."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    return f"http://127.0.0.1:{port}", [
        *(str(folder / "llama-server"), "--host", "127.0.0.1", "--port", str(port), "--parallel", "1"),
        *("--ctx-size", str(CONTEXT), "--gpu-layers", str(layers), "--threads", str(threads)),
        # --fit would put fewer layers on the card while another process still holds memory there.
        *("--no-ui", "--offline", "--cache-ram", "0", "--fit", "off"),
    ]


class Server:
    """A llama-server on loopback while the block lasts; killed at its end if it does not end by itself."""

    def __init__(self, folder: Path, words: list[str], layers: int, threads: int) -> None:
        self.url, self._command = command(folder, layers, threads)
        self._command += words
        self._home = tempfile.TemporaryDirectory(prefix="navigator-gpu-")
        self._log = Path(self._home.name) / "log"

    def __enter__(self) -> Self:
        self._began = time.monotonic()
        with self._log.open("wb") as stream:
            self.process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                env=os.environ | {"HOME": self._home.name},
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._home.cleanup()

    def seconds(self) -> float:
        """Since the start."""
        return time.monotonic() - self._began

    def ready(self, patience: float) -> bool:
        """Wait until /health is 200; False where the server ended or took too long."""
        while self.seconds() < patience and self.process.poll() is None:
            if healthy(self.url):
                return True
            time.sleep(0.01)
        return False

    def last_words(self) -> str:
        """The end of its log."""
        return self._log.read_text("utf-8", "replace")[-600:]


def healthy(url: str) -> bool:
    """Whether a server says that its model is loaded."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5):
            return True
    except (OSError, urllib.error.URLError):
        return False


def card() -> dict[str, Any] | None:
    """The card's name, driver and memory; None where there is none."""
    said = _ask("name,driver_version,memory.total")
    if said is None:
        return None
    name, driver, mib = said
    nvcc = shutil.which("nvcc")
    cuda = ""
    if nvcc is not None:
        done = subprocess.run([nvcc, "--version"], capture_output=True, text=True, timeout=30, check=False)
        cuda = next((line.strip() for line in done.stdout.splitlines() if "release" in line), "")
    return {"name": name, "driver": driver, "mib": int(mib), "cuda": cuda}


def card_mib() -> int | None:
    """MiB of the card's memory that are taken; None where there is no card."""
    said = _ask("memory.used")
    return None if said is None else int(said[0])


def _ask(what: str) -> list[str] | None:
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    words = [program, f"--query-gpu={what}", "--format=csv,noheader,nounits", "--id=0"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    if done.returncode:
        return None
    return [part.strip() for part in done.stdout.strip().split(",")]
