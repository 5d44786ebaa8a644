"""Servers that can release the GPU and take it back while their process runs: SGLang and vLLM.

SGLang ends itself when it is asked to release twice, to resume what it did not release, or to release while it works, and it
does not report whether it has released. So each request is written down before it is sent, with a mark that identifies the
process; a restarted server holds its weights. If neither the notes nor the server decide it, nothing is done. Its `/health`
generates a token and is never asked while the memory is released.

Sources: SGLang 0.5.9 and 0.5.23 (`release_memory_occupation`, `pause_generation`, `/ready`); vLLM's sleep mode
(`/sleep`, `/wake_up`, `/is_sleeping`, all behind VLLM_SERVER_DEV_MODE=1).
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from navigator.client.body import Timeouts
from navigator.client.client import ModelClient
from navigator.client.errors import NoAnswer, Overloaded, Unreachable
from navigator.client.transport import Transport
from navigator.config.paths import write_private
from navigator.config.settings import ServerSettings
from navigator.model.errors import MissingPart
from navigator.model.json_text import read_json
from navigator.model.states import Role
from navigator.swap.failures import SwapFailed, class_of_words, until

State = Literal["awake", "paused", "asleep", "loading", "unsure", "gone"]
"""paused: it holds its weights and takes no work. loading: its process is up and does not answer yet. gone: no process."""

RELEASE_SECONDS = 60.0
"""Longest wait for a server to release, and for its memory to be free: it only copies to the host's memory."""
WAKE_SECONDS = 180.0
"""Longest wait for a server to wake: its weights are in the host's memory."""
_TAGS = ["weights", "kv_cache", "cuda_graph"]
"""What SGLang releases; with less released the other model has no room."""

Step = Literal["awake", "pausing", "releasing", "released", "waking"]


@dataclass(frozen=True, slots=True)
class Note:
    """What was last asked of one server.

    Attributes:
        step: the step that was begun ("pausing", "releasing", "waking") or done ("awake", "released").
        url: where it was.
        mark: identifies the process; "" if the server shows nothing to identify it by.
        mib: GPU memory it took when it last woke; 0 if unknown.
    """

    step: Step = "awake"
    url: str = ""
    mark: str = ""
    mib: int = 0


class Ledger:
    """The notes of both servers in one file of the state folder, written before each request."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, role: Role) -> Note:
        """The role's note; a blank one if none can be read."""
        try:
            fields = read_json(self._path.read_bytes())[role.value]
            note = Note(**fields)
        except (OSError, ValueError, TypeError, KeyError):
            return Note()
        fits = note.step in ("awake", "pausing", "releasing", "released", "waking") and type(note.mib) is int
        return note if fits and isinstance(note.url, str) and isinstance(note.mark, str) else Note()

    def write(self, role: Role, note: Note) -> None:
        """Keep it, whole or not at all."""
        kept = {other.value: asdict(self.read(other)) for other in (Role.GENERATOR, Role.REVIEWER)}
        write_private(self._path, json.dumps(kept | {role.value: asdict(note)}).encode())


class _Http:
    """Small questions and commands to one server, with the admin key if there is one."""

    def __init__(self, server: ServerSettings) -> None:
        key = server.admin_key_env or server.api_key_env
        self.transport = Transport(server.model_copy(update={"api_key_env": key}), Timeouts(connect=5.0))
        self.address = self.transport.address

    async def get(self, path: str) -> tuple[int, Any]:
        """The status and the JSON body; (0, None) if something listens and does not answer in time."""
        try:
            return await self.transport.get(f"{self.transport.root}{path}", 5.0)
        except NoAnswer:
            return 0, None

    async def command(self, path: str, body: Mapping[str, Any], seconds: float) -> None:
        """POST, and accept nothing but a 200.

        Raises:
            SwapFailed: refused, timed out, or the server ended over it.
        """
        try:
            status, said = await self.transport.ask(f"{self.transport.root}{path}", body, seconds)
        except Unreachable as error:
            raise SwapFailed(
                f"{path}: {error.message}",
                hint="Check the server's log.",
                failure="timeout" if isinstance(error, NoAnswer) else "crashed",
            ) from error
        if status == 200:
            return
        words = json.dumps(said)[:300] if said is not None else ""
        hint = "Check the server's log."
        if status in (401, 403):
            hint = "Put its admin key into the variable that api_key_env names, with _ADMIN after it."
        raise SwapFailed(
            f"{self.address} refused {path} (HTTP {status}). {words}".strip(),
            hint=hint,
            failure=class_of_words(words) or "refused",
        )


class Sleeper(ABC):
    """One server that can sleep."""

    def __init__(self, server: ServerSettings) -> None:
        self._http = _Http(server)

    @abstractmethod
    async def state(self) -> State:
        """Its state, without waking it and without generating a token."""

    @abstractmethod
    async def sleep(self) -> None:
        """Release the GPU; only for one that is awake or paused and runs nothing."""

    @abstractmethod
    async def wake(self) -> None:
        """Take the GPU again; only for one that is asleep or paused."""

    async def aclose(self) -> None:
        """Close the connection."""
        await self._http.transport.aclose()


class SglangSleeper(Sleeper):
    """SGLang with --enable-memory-saver and --enable-weights-cpu-backup (without the backup it wakes up to noise)."""

    def __init__(self, role: Role, server: ServerSettings, ledger: Ledger) -> None:
        super().__init__(server)
        self._role = role
        self._url = server.base_url
        self._ledger = ledger

    async def state(self) -> State:
        """From the last request to it and from what it shows: `/model_info`, `/ready` (0.5.23) and its mark."""
        try:
            status, _ = await self._http.get("/model_info")
        except Unreachable:
            return "gone"
        if status != 200:
            return "loading"
        ready, _ = await self._http.get("/ready")
        note = self._ledger.read(self._role)
        ours = note.url == self._url
        if ready == 200:
            # It takes work, so it is not paused, and Navigator has not released it.
            if ours and note.step != "awake":
                self._ledger.write(self._role, replace(note, step="awake"))
            return "awake"
        older = ready in (404, 405)  # 0.5.9 has no /ready
        if not ours or note.step == "awake" or await self._is_another(note):
            return "awake" if older else "loading"
        if note.step == "released":
            return "asleep"
        if note.step == "pausing":
            return "paused"
        return "unsure"

    async def sleep(self) -> None:
        """Retract what runs, so that it is computed again later and not lost, then release."""
        blank = replace(self._ledger.read(self._role), url=self._url, mark=await self._mark())
        seconds = RELEASE_SECONDS
        self._ledger.write(self._role, replace(blank, step="pausing"))
        await self._http.command("/pause_generation", {"mode": "retract"}, seconds)
        self._ledger.write(self._role, replace(blank, step="releasing"))
        await self._http.command("/release_memory_occupation", {"tags": _TAGS}, seconds)
        self._ledger.write(self._role, replace(blank, step="released"))

    async def wake(self) -> None:
        """Resume what was released, if anything was, and let it work."""
        note = self._ledger.read(self._role)
        seconds = WAKE_SECONDS
        if note.step == "released":
            self._ledger.write(self._role, replace(note, step="waking"))
            await self._http.command("/resume_memory_occupation", {"tags": _TAGS}, seconds)
            # Resumed and not continued is "paused": the next request must be continue, never resume.
            self._ledger.write(self._role, replace(note, step="pausing"))
        await self._http.command("/continue_generation", {}, seconds)
        self._ledger.write(self._role, replace(note, step="awake"))

    async def _is_another(self, note: Note) -> bool:
        """Whether a process answers that is not the one that was asked."""
        mark = await self._mark()
        return bool(mark and note.mark) and mark != note.mark

    async def _mark(self) -> str:
        """A digest of what differs between two starts of one server: its seed and how long its start took."""
        status, said = await self._http.get("/server_info")
        if status != 200 or not isinstance(said, dict):
            return ""
        known = {key: said.get(key) for key in ("random_seed", "startup_time") if said.get(key) is not None}
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:16] if known else ""


class VllmSleeper(Sleeper):
    """vLLM with --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1; it reports whether it sleeps."""

    async def state(self) -> State:
        """By `/is_sleeping`.

        Raises:
            MissingPart: the server was started without its sleep mode.
        """
        try:
            status, said = await self._http.get("/is_sleeping")
        except Unreachable:
            return "gone"
        if status in (404, 405):
            raise MissingPart(
                f"{self._http.address} has no sleep mode.",
                hint="Start vLLM with --enable-sleep-mode and VLLM_SERVER_DEV_MODE=1.",
            )
        if status != 200 or not isinstance(said, dict) or type(said.get("is_sleeping")) is not bool:
            return "loading"
        return "asleep" if said["is_sleeping"] else "awake"

    async def sleep(self) -> None:
        """Level 1: the weights go to the host's memory. The level is in the query; the server ignores a body."""
        await self._http.command("/sleep?level=1", {}, RELEASE_SECONDS)
        await self._until("asleep", RELEASE_SECONDS)

    async def wake(self) -> None:
        """Weights and cache at once."""
        await self._http.command("/wake_up", {}, WAKE_SECONDS)
        await self._until("awake", WAKE_SECONDS)

    async def _until(self, wanted: State, seconds: float) -> None:
        async for _ in until(seconds):
            if await self.state() == wanted:
                return
        raise SwapFailed(
            f"{self._http.address} was not {wanted} within {seconds:g} s.",
            hint="Check its log.",
            failure="timeout",
        )


async def sleeper_for(role: Role, server: ServerSettings, ledger: Ledger) -> Sleeper | None:
    """The client for a role's server; None if nothing answers.

    Raises:
        MissingPart: software that cannot sleep.
    """
    async with ModelClient(server, timeouts=Timeouts(connect=5.0)) as client:
        try:
            engine = await client.kind()
        except (Unreachable, Overloaded):
            return None
    if engine == "sglang":
        return SglangSleeper(role, server, ledger)
    if engine == "vllm":
        return VllmSleeper(server)
    raise MissingPart(
        f"The {role.value}'s server ({engine}) cannot release the GPU while it runs.",
        hint='Strategy "sleep" needs SGLang or vLLM; for Ollama, llama-swap and llama.cpp use "managed".',
    )
