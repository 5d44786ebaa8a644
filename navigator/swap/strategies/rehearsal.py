"""Strategy `rehearsal`: the embedded stand-in plays both servers, as real processes, one at a time.

So this is a real swap: the old process is drained, ended and waited for; the new one is started, loads, answers its health
check and is asked for its model. The process ends with the one that started it, however that ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import navigator
from navigator.client.body import Timeouts
from navigator.client.client import ModelClient
from navigator.client.errors import Unreachable
from navigator.config.paths import write_private
from navigator.config.settings import ServerSettings, Settings
from navigator.model.json_text import read_json
from navigator.model.states import Role
from navigator.model.text import safe_line
from navigator.process.runner import Process, start
from navigator.swap.base import PhaseLog, Setup, Sighting, SwapStrategy
from navigator.swap.failures import SwapFailed, until
from navigator.swap.status import ServerLook, look_at

MODULE_VARIABLE = "NAVIGATOR_REHEARSAL"
"""Names another module to start in place of `navigator.rehearsal`, which only plays the sample tasks. For tests."""

COMMAND = (sys.executable, "-m", os.environ.get(MODULE_VARIABLE, "navigator.rehearsal"))
MODELS = {
    Role.GENERATOR: "rehearsal/Qwen3.5-35B-A3B",
    Role.REVIEWER: "rehearsal/Qwen3.5-122B-A10B",
}
_KEPT_ENVIRONMENT = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "PYTHONPATH",
    "PYTHONHASHSEED",
    "VIRTUAL_ENV",
)
_POLL = 0.02
_LONGEST_POLL = 0.3


class RehearsalStrategy(SwapStrategy):
    """Starts and ends `python -m navigator.rehearsal`.

    Args:
        folder: where the process's output is kept, and where it listens for others to ask; made if absent. One strategy per
            folder at a time (the conductor's lock ensures that).
        settings: the roles' limits; addresses, models and keys are the stand-in's own.
        time_scale: factor on every simulated second.
        command: the program and its first arguments; `--role`, `--port` and the rest are added.
        boot_seconds: seconds for a process to listen, and to answer beyond its simulated load time.
    """

    name = "rehearsal"
    about = "the embedded stand-in plays both servers; what it writes lands only in the demo's repositories"
    embedded = True
    restarts_servers = True
    checks_files = False

    def __init__(
        self,
        folder: Path,
        settings: Settings | None = None,
        *,
        time_scale: float = 1.0,
        command: Sequence[str] = COMMAND,
        boot_seconds: float = 60.0,
    ) -> None:
        super().__init__(settings or Settings())
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder.resolve()
        self._listens = self._folder / "server.json"
        self._command = tuple(command)
        self._options: tuple[str, ...] = ("--time-scale", f"{time_scale:g}")
        self._time_scale = time_scale
        self._drain_seconds = 10.0 + 30.0 * min(time_scale, 4.0)
        self._boot_seconds = boot_seconds
        self._load_seconds = boot_seconds + 60.0 * time_scale
        self._process: Process | None = None
        self._role: Role | None = None
        self._port = 0

    @property
    def recorded(self) -> str:
        """The name recorded with swaps, with the time scale if that is not 1."""
        return self.name if self._time_scale == 1 else f"{self.name} ×{self._time_scale:g}"

    @classmethod
    def create(cls, setup: Setup) -> RehearsalStrategy:
        """Build the strategy; its folder lies in the state folder."""
        return cls(
            setup.paths.rehearsal,
            setup.settings,
            time_scale=setup.time_scale,
        )

    def server(self, role: Role) -> ServerSettings:
        """The stand-in that plays `role`: it needs no key, and gets none.

        Raises:
            Unreachable: it does not run now. A rehearsal never falls back to a real server.
        """
        if role not in MODELS:
            return super().server(role)
        if role is not self._role or not self._runs:
            raise Unreachable(f"The rehearsal's {role.value} is not running.", hint="Swap to it first.")
        return self._played(role, self._port)

    async def look_at(self, role: Role) -> ServerLook:
        """Look at the role's process, be it one that another session started."""
        if role not in MODELS:
            return await super().look_at(role)
        port = self._port_of(role)
        look = await look_at(role, self._played(role, port)) if port else None
        if look is None or look.down:  # its file is out of date: the process has ended
            return ServerLook(role, MODELS[role], "separate process", "not loaded")
        return look

    async def _is_resident(self, role: Role) -> bool:
        return role is self._role and self._runs and await super()._is_resident(role)

    async def look(self, believed: Role | None) -> Sighting:
        """Whether the process runs, without asking it; if it died, the last line of its log."""
        if self._runs:
            return Sighting(self._role)
        if believed is None or believed is not self._role:
            return Sighting(None)
        return Sighting(None, dead=True, failure="crashed", detail=self._last_words(believed))

    async def close(self) -> None:
        """End the process, so that nothing stays behind."""
        async with self._lock:
            await self._end()

    async def _change(self, to: Role, previous: Role | None, log: PhaseLog, detail: str) -> None:
        await self._stop(log, detail)
        with log.phase("start", detail):
            self._spawn(to)
            await self._listening(to)
        async with self._client(to) as client:
            with log.phase("load", detail):
                await self._loaded(to, client)
            with log.phase("health", detail):
                if not await client.health():
                    raise SwapFailed(
                        f"The {to.value} answered its health check once and then stopped answering."
                    )
            with log.phase("verify", detail):
                await client.require_model()

    async def _clean_up(self, log: PhaseLog) -> None:
        await self._stop(log, detail="clearing up")

    async def _stop(self, log: PhaseLog, detail: str = "") -> None:
        """Drain, then end. Nothing is reported where nothing runs."""
        if self._process is None or self._process.poll() is not None:
            await self._end()
            return
        with log.phase("drain", detail):
            await self._drained()
        with log.phase("stop", detail):
            await self._end()

    async def _drained(self) -> None:
        """Wait, within bounds, until no request runs. A process that cannot be asked is not waited for."""
        if self._role is None or not self._port:
            return
        async with self._client(self._role) as client:
            async for _ in until(self._drain_seconds, first=_POLL, longest=_LONGEST_POLL):
                load = await client.load()
                if load is None or load.idle:
                    return

    async def _end(self) -> None:
        self._listens.unlink(missing_ok=True)
        process, self._process, self._role, self._port = self._process, None, None, 0
        if process is not None:
            await asyncio.to_thread(process.end)

    def _spawn(self, role: Role) -> None:
        argv = (*self._command, "--role", role.value, "--port", "0", *self._options)
        output = self._output(role)
        with output.open("wb") as out, output.with_suffix(".err").open("wb") as err:
            self._process = start(
                argv, stdout=out, stderr=err, cwd=self._folder, env=self._environment(), kept=True
            )
        self._role = role

    async def _listening(self, role: Role) -> None:
        """Wait for the line that names the port, and write it down for others."""
        async for _ in until(self._boot_seconds, first=_POLL, longest=_LONGEST_POLL):
            line, end, _rest = self._output(role).read_text("utf-8", "replace").partition("\n")
            if end:
                try:
                    self._port = int(read_json(line)["port"])
                except (ValueError, KeyError, TypeError) as error:
                    raise SwapFailed(
                        f"The {role.value} does not say where it listens.", failure="crashed"
                    ) from error
                write_private(self._listens, json.dumps({role.value: self._port}).encode())
                return
            self._require_alive(role)
        raise SwapFailed(
            f"The {role.value} did not listen within {self._boot_seconds:g} s.", failure="timeout"
        )

    async def _loaded(self, role: Role, client: ModelClient) -> None:
        async for _ in until(self._load_seconds, first=_POLL, longest=_LONGEST_POLL):
            if await client.health():
                return
            self._require_alive(role)
        raise SwapFailed(
            f"The {role.value} was not healthy within {self._load_seconds:g} s.", failure="timeout"
        )

    def _require_alive(self, role: Role) -> None:
        if self._process is None or (code := self._process.poll()) is None:
            return
        if error := self._process.start_error():
            raise SwapFailed(f"The rehearsal cannot be started: {os.strerror(error)}.")
        raise SwapFailed(
            f"The {role.value} ended with code {code}: {self._last_words(role) or 'no output'}.",
            failure="crashed",
        )

    def _last_words(self, role: Role) -> str:
        """The last line that a role's process wrote to its error output."""
        said = self._output(role).with_suffix(".err").read_text("utf-8", "replace")
        return safe_line(said.strip().rpartition("\n")[2][:300])

    @property
    def _runs(self) -> bool:
        """Whether the process runs and listens."""
        return self._process is not None and self._port > 0 and self._process.poll() is None

    def _port_of(self, role: Role) -> int:
        """Where a role's process listens, this session's or another's, as it was written down; 0 where it is not."""
        try:
            port = read_json(self._listens.read_bytes()).get(role.value, 0)
        except (OSError, ValueError):
            return 0
        return int(port)

    def _played(self, role: Role, port: int) -> ServerSettings:
        own = {"base_url": f"http://127.0.0.1:{port}", "model": MODELS[role], "api_key_env": ""}
        return super().server(role).model_copy(update=own)

    def _client(self, role: Role) -> ModelClient:
        return ModelClient(self.server(role), timeouts=Timeouts(health=5.0))

    def _output(self, role: Role) -> Path:
        return self._folder / f"server-{role.value}.out"

    def _environment(self) -> dict[str, str]:
        """The process's environment: no keys, no settings, and this program's modules."""
        kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        package = str(Path(navigator.__file__).resolve().parent.parent)
        if package not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
            # Run from a checkout: the process must find this program, and no other of the same name.
            kept["PYTHONPATH"] = os.pathsep.join(filter(None, (package, kept.get("PYTHONPATH"))))
        return kept | {"PYTHONSAFEPATH": "1"}


STRATEGY = RehearsalStrategy
