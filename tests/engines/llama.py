"""Finds, starts and ends llama.cpp's `llama-server`, which `engines/build_llama_server.sh` put into a cache."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALIAS = "tiny-random"
CONTEXT = 16384
SLOTS = 4
TOKENIZER = ROOT / "tests" / "client" / "data" / "tokenizer"
_PATIENCE = 60.0


def cached(name: str, requirements: str, package: str) -> Path:
    """The folder that a build script fills, named after the version of a package that is pinned."""
    version = re.search(rf"^{package}==([0-9.]+)", (ROOT / "engines" / requirements).read_text("utf-8"), re.M)
    assert version is not None
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("NAVIGATOR_ENGINES") or caches / "navigator-engines")
    return cache / f"{name}-{version[1]}"


def lacking(folder: Path, *names: str) -> str:
    """Why the tests cannot run; "" where they can."""
    there = all((folder / name).exists() for name in names)
    return "" if there else "engines: `make engines` installs them"


def home() -> Path:
    """The folder that the build script fills."""
    return cached("llama-server", "llama-cpp-python.txt", "llama-cpp-python")


def missing() -> str:
    """Why the tests cannot run; "" where they can."""
    return lacking(home(), "llama-server", "tiny.gguf")


def end(process: subprocess.Popen[bytes], patience: float) -> None:
    """End a server; it is killed when it does not end by itself."""
    process.terminate()
    try:
        process.wait(patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@dataclass(frozen=True)
class Server:
    """A server that runs. `log` is its own."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path


_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS = iter(range(15_000 + _WORKER % 30 * 500, 15_500 + _WORKER % 30 * 500))


def free_port() -> int:
    """A port that nothing listens on. The server is asked while it still loads, so it cannot choose its own.

    Below those that the system gives out, and of this process's own hundreds: nobody takes it before the server does.
    """
    for port in _PORTS:
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no port is left")


@contextlib.contextmanager
def llama_server(folder: Path, *options: str) -> Iterator[Server]:
    """A server on loopback, as soon as its port is open; the model may still be loading.

    SIGTERM with a stream in flight can hang this server, so it is killed when it does not end by itself.
    """
    options = ("--model", str(home() / "tiny.gguf"), "--alias", ALIAS, *options)
    with _started(folder, options, CONTEXT * SLOTS, SLOTS) as server:
        yield server


@contextlib.contextmanager
def llama_router(folder: Path, *options: str, models: Path, most: int = 1) -> Iterator[Server]:
    """A router on loopback that starts one server for each model of a folder, `most` at a time, as each is asked for."""
    options = ("--models-dir", str(models), "--models-max", str(most), *options)
    with _started(folder, options, CONTEXT * 2, 2) as server:
        yield server


@contextlib.contextmanager
def _started(folder: Path, options: tuple[str, ...], context: int, slots: int) -> Iterator[Server]:
    log, port = folder / "llama-server.log", free_port()
    command = [
        *(str(home() / "llama-server"), "--host", "127.0.0.1", "--port", str(port)),
        *("--ctx-size", str(context), "--parallel", str(slots), "--threads", "1"),
        *("--no-ui", "--offline", "--cache-ram", "0"),
        *options,
    ]
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=stream,
            env={"PATH": os.defpath, "HOME": str(folder)},
        )
    try:
        _wait_for_port(process, port, log)
        yield Server(f"http://127.0.0.1:{port}", process, log)
    finally:
        end(process, 5)


def _wait_for_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.poll() is not None:
            break
        time.sleep(0.01)
    raise AssertionError(f"llama-server did not start:\n{log.read_text('utf-8', 'replace')[-3000:]}")
