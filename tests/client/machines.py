"""Model servers of five kinds on one pretended GPU: each speaks its own wire, and dies where the real one would.

Real HTTP on the loopback; the models and the GPU are pretended. `Gpu` holds who occupies it, so that a test sees at once when
two models are there that do not fit. SGLang's ways of dying are those of its sources (0.5.9, 0.5.23).
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from navigator.client.body import ChatRequest
from navigator.client.client import ModelClient
from navigator.config.settings import ServerSettings, Settings
from navigator.swap.base import PhaseEvent, SwapResult
from tests.client.scripted import DONE, Request, Wire, _read, delta, usage

ANSWER = ("app.py", "\n", "fine")


class Died(Exception):
    """The process is gone: every connection with it."""


@dataclass
class Gpu:
    """MiB in all, and what each server holds of them."""

    total: int = 100
    held: dict[str, int] = field(default_factory=dict)

    @property
    def free(self) -> int:
        return self.total - sum(self.held.values())

    def take(self, who: str, size: int) -> None:
        if size - self.held.get(who, 0) > self.free:
            raise Died(f"{who}: CUDA out of memory")
        self.held[who] = size


class Machine:
    """A server process. `log` holds every request as `METHOD /path?query`."""

    owner: ClassVar[str] = "openai"

    def __init__(self, gpu: Gpu, *models: str) -> None:
        self.gpu = gpu
        self.models = models
        self.log: list[str] = []
        self.bodies: list[Any] = []
        self.running: dict[str, asyncio.Event] = {}
        self.aborted: list[str] = []
        self.says: dict[str, str] = {}
        """What a model answers in place of `ANSWER`."""
        self.hold = asyncio.Event()
        self.hold.set()
        self.death = ""
        self.url = ""
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._numbers = itertools.count(1)

    async def start(self, port: int = 0) -> None:
        self.death = ""
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", port)
        self.url = f"http://127.0.0.1:{self._listener.sockets[0].getsockname()[1]}"

    async def restart(self) -> None:
        """A new process at the old address."""
        port = int(self.url.rpartition(":")[2])
        await self.stop()
        self.fresh()
        await self.start(port)

    def fresh(self) -> None:
        """What a new process knows: nothing."""

    async def stop(self) -> None:
        if self._listener is not None:
            self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.running.clear()

    def die(self, why: str) -> None:
        self.death = why
        self.gpu.held.pop(self.models[0], None)
        if self._listener is not None:
            self._listener.close()
        for task in list(self._tasks):
            if task is not asyncio.current_task():
                task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            request = await _read(reader)
            if request is None:
                return
            self.log.append(f"{request.method} {request.path}")
            self.bodies.append(request.json if request.body else None)
            await self.answer(request, Wire(reader, writer))
        except Died as why:
            self.die(str(why))
            writer.transport.abort()
        except (ConnectionError, asyncio.CancelledError):
            writer.transport.abort()
        finally:
            self._tasks.discard(task)
            with contextlib.suppress(ConnectionError):
                writer.close()

    async def answer(self, request: Request, wire: Wire) -> None:
        path = request.path.partition("?")[0]
        if path == "/v1/models":
            await wire.json({"object": "list", "data": self.listed()})
        elif path == "/v1/chat/completions":
            await self.chat(request, wire)
        else:
            await self.other(path, request, wire)

    async def other(self, path: str, request: Request, wire: Wire) -> None:
        await wire.json({"detail": "Not Found"}, 404)

    def listed(self) -> list[dict[str, Any]]:
        return [{"id": name, "object": "model", "owned_by": self.owner} for name in self.models]

    async def before(self, model: str) -> None:
        """What happens to a request before it runs."""

    async def between(self, rid: str) -> None:
        """What happens between two tokens."""

    async def chat(self, request: Request, wire: Wire) -> None:
        """One answer token by token; it stops while `hold` is clear, and ends with "abort" once it was aborted."""
        model = request.json["model"]
        rid = request.json.get("rid") or f"r{next(self._numbers)}"
        await self.before(model)
        gone = self.running[rid] = asyncio.Event()
        try:
            await wire.head()
            for piece in (self.says[model],) if model in self.says else ANSWER:
                await self.between(rid)
                await self._held(gone)
                if gone.is_set():
                    await wire.send(delta(model=model, finish="abort"), DONE)
                    return
                await wire.send(delta(piece, model=model))
            await wire.send(delta(model=model, finish="stop"), usage().replace("org/model", model), DONE)
        finally:
            self.running.pop(rid, None)

    async def _held(self, gone: asyncio.Event) -> None:
        waits = [asyncio.create_task(event.wait()) for event in (self.hold, gone)]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


class Sglang(Machine):
    """With the memory saver. Ends itself on a wrong release or resume, and on a health question while it is released."""

    owner = "sglang"

    def __init__(
        self,
        gpu: Gpu,
        model: str,
        size: int,
        *,
        version: str = "0.5.23",
        asleep: bool = False,
        lag: float = 0.0,
    ) -> None:
        super().__init__(gpu, model)
        self.size = size
        self.version = version
        self.lag = lag
        self.paused = False
        self.released: set[str] = set()
        self.seeds = itertools.count(hash(model) & 0xFFFF)
        self.refusing: dict[str, int] = {}
        self.fresh()
        if asleep:
            self.paused, self.released = True, {"weights", "kv_cache", "cuda_graph"}
        else:
            gpu.take(model, size)

    def fresh(self) -> None:
        self.paused, self.released, self.seed = False, set(), next(self.seeds)

    async def restart(self) -> None:
        await super().restart()
        self.gpu.take(self.models[0], self.size)

    async def other(self, path: str, request: Request, wire: Wire) -> None:
        if path in self.refusing:
            await wire.json({"error": {"message": "no"}}, self.refusing[path])
        elif path == "/model_info":
            await wire.json({"model_path": self.models[0]})
        elif path == "/server_info":
            await wire.json({"random_seed": self.seed, "internal_states": [{}]})
        elif path == "/ready" and self.version != "0.5.9":
            await wire.head(503 if self.paused else 200, "text/plain")
        elif path == "/health":
            if self.released:
                raise Died("a token was generated without weights")
            await wire.head(200, "text/plain")
        elif path == "/v1/loads":
            count = 0 if self.paused else len(self.running)
            load = {"num_running_reqs": count, "num_waiting_reqs": 0, "queues": {"grammar": 0}}
            await wire.json({"loads": [load]})
        elif path == "/abort_request":
            self.aborted.append(request.json["rid"])
            self.running[request.json["rid"]].set()
            await wire.json({})
        elif path == "/pause_generation":
            assert request.json == {"mode": "retract"}
            self.paused = True
            await wire.json({"status": "ok"})
        elif path == "/continue_generation":
            self.paused = False
            await wire.json({"status": "ok"})
        elif path == "/release_memory_occupation":
            await self._release(set(request.json["tags"]), wire)
        elif path == "/resume_memory_occupation":
            await self._resume(set(request.json["tags"]), wire)
        else:
            await super().other(path, request, wire)

    async def _release(self, tags: set[str], wire: Wire) -> None:
        if self.running and not self.paused:
            raise Died("release_memory_occupation should be called only when server is idle")
        if tags & self.released:
            raise Died("cannot pause an allocation that is not active")
        self.released |= tags
        if self.lag:
            asyncio.get_running_loop().call_later(self.lag, self.gpu.held.pop, self.models[0], None)
        else:
            self.gpu.held.pop(self.models[0], None)
        await wire.head(200, "text/plain")

    async def _resume(self, tags: set[str], wire: Wire) -> None:
        if not tags <= self.released:
            raise Died(f"KeyError: {sorted(tags - self.released)[0]}")
        self.gpu.take(self.models[0], self.size)
        self.released -= tags
        await wire.head(200, "text/plain")

    async def before(self, model: str) -> None:
        if self.released and not self.paused:
            raise Died("a request ran without weights")
        while self.paused:
            await asyncio.sleep(0.005)

    async def between(self, rid: str) -> None:
        while self.paused:
            await asyncio.sleep(0.005)


class Vllm(Machine):
    """With its sleep mode. Its default mode aborts what runs."""

    owner = "vllm"

    def __init__(self, gpu: Gpu, model: str, size: int, *, asleep: bool = False, mode: bool = True) -> None:
        super().__init__(gpu, model)
        self.size = size
        self.asleep = asleep
        self.mode = mode
        if not asleep:
            gpu.take(model, size)

    async def other(self, path: str, request: Request, wire: Wire) -> None:
        if path == "/health":
            await wire.head(200, "text/plain")
        elif path == "/load":
            await wire.json({"server_load": len(self.running)})
        elif path == "/is_sleeping" and self.mode:
            await wire.json({"is_sleeping": self.asleep})
        elif path == "/sleep" and self.mode:
            assert request.path.endswith("?level=1")
            for gone in self.running.values():
                gone.set()
            self.asleep = True
            self.gpu.held.pop(self.models[0], None)
            await wire.head(200, "text/plain")
        elif path == "/wake_up" and self.mode:
            self.gpu.take(self.models[0], self.size)
            self.asleep = False
            await wire.head(200, "text/plain")
        else:
            await super().other(path, request, wire)

    async def before(self, model: str) -> None:
        if self.asleep:
            raise Died("a request ran without weights")


class Manager(Machine):
    """What Ollama, llama-swap and llama.cpp's router have in common: a request loads its model in place of the other one."""

    def __init__(self, gpu: Gpu, sizes: dict[str, int]) -> None:
        super().__init__(gpu, *sizes)
        self.sizes = sizes
        self.loaded = ""
        self.loads: list[str] = []
        self.refusal: dict[str, tuple[int, str]] = {}

    async def before(self, model: str) -> None:
        if model == self.loaded:
            return
        while self.running:  # it waits for what runs on the other model
            await asyncio.sleep(0.005)
        self.gpu.held.clear()
        self.loaded = ""
        await asyncio.sleep(0)
        self.gpu.take(model, self.sizes[model])
        self.loaded = model
        self.loads.append(model)

    async def chat(self, request: Request, wire: Wire) -> None:
        model = request.json["model"]
        if model in self.refusal:
            status, words = self.refusal[model]
            await wire.json({"error": {"message": words}}, status)
            return
        if model not in self.sizes:
            await wire.json({"error": {"message": f"model '{model}' not found"}}, 404)
            return
        await super().chat(request, wire)

    def unload(self) -> None:
        self.loaded = ""
        self.gpu.held.clear()


class Ollama(Manager):
    owner = "library"

    async def other(self, path: str, request: Request, wire: Wire) -> None:
        if path == "/api/ps":
            held = [{"name": f"{self.loaded}:latest", "model": f"{self.loaded}:latest", "size_vram": 9}]
            await wire.json({"models": held if self.loaded else []})
        else:
            await super().other(path, request, wire)


class LlamaSwap(Manager):
    owner = "llama-swap"

    async def other(self, path: str, request: Request, wire: Wire) -> None:
        if path == "/running":
            held = [{"model": self.loaded, "state": "ready"}]
            await wire.json({"running": held if self.loaded else []})
        else:
            await super().other(path, request, wire)


class LlamaRouter(Manager):
    owner = "llamacpp"

    def listed(self) -> list[dict[str, Any]]:
        return [
            entry | {"status": {"value": "loaded" if entry["id"] == self.loaded else "unloaded"}}
            for entry in super().listed()
        ]


def two_roles(writer: tuple[str, str], reader: tuple[str, str], **swap: Any) -> Settings:
    """Settings of two models with their addresses, and how they are swapped."""
    servers = {"generator": writer, "reviewer": reader}
    roles = {role: {"model": model, "base_url": url} for role, (model, url) in servers.items()}
    return Settings.model_validate({**roles, "swap": swap})


def quiet(event: PhaseEvent) -> None:
    """A report nobody reads."""


def ended(result: SwapResult) -> tuple[str, list[str]]:
    """How a swap ended, and its phases."""
    return result.outcome, [phase.name for phase in result.phases]


@asynccontextmanager
async def streaming(machine: Machine, server: ServerSettings) -> AsyncIterator[asyncio.Task[Any]]:
    """An answer of the machine under way, which stops until its `hold` is set."""
    machine.hold.clear()
    question = ChatRequest([{"role": "user", "content": "x"}], max_tokens=9, temperature=0.0, top_p=1.0)
    async with ModelClient(server) as client:
        stream = asyncio.create_task(client.chat(question))
        while not machine.running:
            await asyncio.sleep(0.005)
        yield stream


@asynccontextmanager
async def running(*machines: Machine) -> AsyncIterator[None]:
    """Have them listen until the block ends."""
    for machine in machines:
        await machine.start()
    try:
        yield
    finally:
        for machine in machines:
            await machine.stop()


def stand_ins(folder: Path, command: tuple[str, ...], role: str = "") -> dict[int, tuple[str, ...]]:
    """The living servers of a rehearsal in a folder, or those of one role: their command lines by process."""
    found = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            words = tuple((entry / "cmdline").read_text().split("\0")) if entry.name.isdecimal() else ()
            ours = words[: len(command)] == command and (not role or role in words)
            if ours and (entry / "cwd").readlink() == folder.resolve():
                found[int(entry.name)] = words
    return found
