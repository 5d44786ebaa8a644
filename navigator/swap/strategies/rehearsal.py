"""Strategy `rehearsal`: the embedded stand-in plays both servers, as real processes, one at a time.

So this is a real swap: the old process is drained, ended and waited for; the new one is started, loads, answers its health
check and is asked for its model. The process is recorded in the state folder and survives a conductor that dies; the next
conductor uses it again, or ends it.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import sysconfig
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import navigator
from navigator.client.body import Timeouts
from navigator.client.client import ModelClient
from navigator.client.errors import Unreachable
from navigator.client.status import ServerLook, look_at
from navigator.config.settings import ServerSettings, Settings
from navigator.model.json_text import read_json
from navigator.model.states import Role
from navigator.model.text import safe_line
from navigator.process.runner import Process, start
from navigator.swap import processes
from navigator.swap.base import PhaseLog, Setup, Sighting, SwapStrategy
from navigator.swap.failures import SwapFailed, until
from navigator.swap.processes import ProcessRecord

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
        folder: where the record and the processes' output are kept; made if absent. One strategy per folder at a time
            (the conductor's lock ensures that).
        settings: the roles' limits; addresses, models and keys are the stand-in's own.
        time_scale: factor on every simulated second.
        seed: of what the stand-in writes.
        command: the program and its first arguments; `--role`, `--port` and the rest are added.
        patience: seconds for a process to drain and end before it is killed, beyond the simulated time.
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
        seed: int = 0,
        command: Sequence[str] = COMMAND,
        patience: float = 10.0,
        boot_seconds: float = 60.0,
    ) -> None:
        super().__init__(settings or Settings())
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder.resolve()
        self._record = self._folder / "server.json"
        self._command = tuple(command)
        self._options: tuple[str, ...] = ("--time-scale", f"{time_scale:g}", "--seed", str(seed))
        self._time_scale = time_scale
        self._drain_seconds = patience + 30.0 * min(time_scale, 4.0)
        self._patience = patience
        self._boot_seconds = boot_seconds
        self._load_seconds = boot_seconds + 60.0 * time_scale
        self._children: dict[int, Process] = {}

    @property
    def recorded(self) -> str:
        """With the factor on its simulated seconds, where that is not 1."""
        return self.name if self._time_scale == 1 else f"{self.name} ×{self._time_scale:g}"

    @classmethod
    def create(cls, setup: Setup) -> RehearsalStrategy:
        """With its folder in the state folder."""
        return cls(
            setup.paths.rehearsal,
            setup.settings,
            time_scale=setup.time_scale,
            seed=setup.seed,
        )

    def _stamp(self, role: Role) -> str:
        """Another seed or scale, or another version of the program, is another server."""
        words = "\0".join((navigator.__version__, *self._command, *self._options))
        return hashlib.sha256(words.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def server(self, role: Role) -> ServerSettings:
        """The stand-in that plays `role`: it needs no key, and gets none.

        Raises:
            Unreachable: it does not run now. A rehearsal never falls back to a real server.
        """
        if role not in MODELS:
            return super().server(role)
        record = self._usable()
        if record is None or record.role != role.value:
            raise Unreachable(f"The rehearsal's {role.value} is not running.", hint="Swap to it first.")
        return self._played(record)

    async def look_at(self, role: Role) -> ServerLook:
        """Also of a process that another seed or time scale started."""
        record = self._running()
        if role in MODELS and (record is None or record.role != role.value or not record.port):
            return ServerLook(role, MODELS[role], "separate process", "not loaded")
        return await look_at(
            role, self._played(record) if record is not None and role in MODELS else super().server(role)
        )

    async def _is_resident(self, role: Role) -> bool:
        """Also finds a process that an earlier conductor left."""
        record = self._usable()
        return record is not None and record.role == role.value and await super()._is_resident(role)

    async def look(self, believed: Role | None) -> Sighting:
        """Whether the process is alive, from the process table alone; if it died, the last line of its log."""
        record = self._usable()
        if record is not None:
            return Sighting(Role(record.role))
        kept = processes.load(self._record)
        if (
            believed is None
            or kept is None
            or kept.role != believed.value
            or kept.stamp != self._stamp(believed)
        ):
            return Sighting(None)
        return Sighting(None, dead=True, failure="crashed", detail=self._last_words(believed))

    async def close(self) -> None:
        """End the process, so that nothing stays behind."""
        async with self._lock:
            for record in self._ours():
                await self._end(record, self._patience)
            self._record.unlink(missing_ok=True)

    async def _change(self, to: Role, previous: Role | None, log: PhaseLog, detail: str) -> None:
        await self._stop(log, detail)
        with log.phase("start", detail):
            record = await self._listening(self._spawn(to))
        async with self._connect(record) as client:
            with log.phase("load", detail):
                await self._loaded(record, client)
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
        """Drain, then SIGTERM, a bounded wait, SIGKILL. Nothing is reported where nothing runs."""
        running = self._ours()
        if not running:
            return
        with log.phase("drain", detail):
            for record in running:
                await self._drained(record)
        with log.phase("stop", detail):
            for record in running:
                if not await self._end(record, self._patience):
                    raise SwapFailed(
                        f"The rehearsal process {record.pid} does not stop.",
                        hint="Stop it manually, then try again.",
                    )
            self._record.unlink(missing_ok=True)

    async def _drained(self, record: ProcessRecord) -> None:
        """Wait, within bounds, until no request runs. A process that cannot be asked is not waited for."""
        if not record.port:
            return
        async with self._connect(record) as client:
            async for _ in until(self._drain_seconds, first=_POLL, longest=_LONGEST_POLL):
                load = await client.load()
                if load is None or load.idle:
                    return

    def _spawn(self, role: Role) -> ProcessRecord:
        """Start the process and record it at once; its port is added when the process prints it."""
        argv = (*self._command, "--role", role.value, "--port", "0", *self._options)
        output = self._output(role)
        # Files, not pipes: the process has to survive a conductor that dies.
        try:
            with output.open("wb") as out, output.with_suffix(".err").open("wb") as err:
                child = start(argv, stdout=out, stderr=err, cwd=self._folder, env=self._environment())
        except OSError as error:
            raise SwapFailed(f"The rehearsal cannot be started: {error.strerror}.") from error
        self._children[child.pid] = child
        record = ProcessRecord(
            pid=child.pid,
            started=processes.start_ticks(child.pid) or 0,
            boot=processes.boot_id(),
            argv=argv,
            home=str(self._folder),
            role=role.value,
            port=0,
            stamp=self._stamp(role),
        )
        processes.save(self._record, record)
        return record

    async def _listening(self, record: ProcessRecord) -> ProcessRecord:
        """Wait for the line that names the port, and record it."""
        output = self._output(Role(record.role))
        async for _ in until(self._boot_seconds, first=_POLL, longest=_LONGEST_POLL):
            port = _port_in(output)
            if port:
                listening = replace(record, port=port)
                processes.save(self._record, listening)
                return listening
            self._require_alive(record)
        raise SwapFailed(
            f"The {record.role} did not listen within {self._boot_seconds:g} s.", failure="timeout"
        )

    async def _loaded(self, record: ProcessRecord, client: ModelClient) -> None:
        async for _ in until(self._load_seconds, first=_POLL, longest=_LONGEST_POLL):
            if await client.health():
                return
            self._require_alive(record)
        raise SwapFailed(
            f"The {record.role} was not healthy within {self._load_seconds:g} s.", failure="timeout"
        )

    def _require_alive(self, record: ProcessRecord) -> None:
        child = self._children.get(record.pid)
        code = child.poll() if child is not None else None
        if code is None:
            return
        last = self._last_words(Role(record.role))
        raise SwapFailed(
            f"The {record.role} ended with code {code}: {last or 'no output'}.", failure="crashed"
        )

    def _last_words(self, role: Role) -> str:
        """The last line that a role's process wrote to its error output."""
        try:
            said = self._output(role).with_suffix(".err").read_text("utf-8", "replace")
        except OSError:
            return ""
        return safe_line(said.strip().rpartition("\n")[2][:300])

    async def _end(self, record: ProcessRecord, patience: float) -> bool:
        """SIGTERM, wait, SIGKILL, wait. True if it is gone."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if not processes.send(record, number):
                break
            async for _ in until(patience, first=_POLL, longest=_LONGEST_POLL):
                if not self._exists(record):
                    return True
        return not self._exists(record)

    def _exists(self, record: ProcessRecord) -> bool:
        child = self._children.get(record.pid)
        if child is not None and child.poll() is not None:
            del self._children[record.pid]
        return processes.is_alive(record)

    def _running(self) -> ProcessRecord | None:
        """The recorded process, if it is alive and ours."""
        record = processes.load(self._record)
        if record is None or record.home != str(self._folder) or not processes.is_alive(record):
            return None
        return record if record.role in MODELS else None

    def _usable(self) -> ProcessRecord | None:
        """The running process, if it listens and was started with the same options."""
        record = self._running()
        if record is None or not record.port or record.stamp != self._stamp(Role(record.role)):
            return None
        return record

    def _ours(self) -> list[ProcessRecord]:
        """Every live process that was started for this folder, recorded or not."""
        recorded = self._running()
        found = {} if recorded is None else {recorded.pid: recorded}
        for stray in processes.strays(str(self._folder), self._command):
            found.setdefault(stray.pid, stray)
        return list(found.values())

    def _played(self, record: ProcessRecord) -> ServerSettings:
        role = Role(record.role)
        url = f"http://127.0.0.1:{record.port}"
        own = {"base_url": url, "model": MODELS[role], "api_key_env": "", "admin_key_env": ""}
        return super().server(role).model_copy(update=own)

    def _connect(self, record: ProcessRecord) -> ModelClient:
        return ModelClient(self._played(record), timeouts=Timeouts(health=5.0))

    def _client(self, role: Role) -> ModelClient:
        return ModelClient(self.server(role), timeouts=Timeouts(health=5.0))

    def _output(self, role: Role) -> Path:
        return self._folder / f"server-{role.value}.out"

    def _environment(self) -> dict[str, str]:
        """The process's environment: no keys, no settings, the mark, and this program's modules."""
        kept = {name: os.environ[name] for name in _KEPT_ENVIRONMENT if name in os.environ}
        package = str(Path(navigator.__file__).resolve().parent.parent)
        if package not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
            # Run from a checkout: the process must find this program, and no other of the same name.
            kept["PYTHONPATH"] = os.pathsep.join(filter(None, (package, kept.get("PYTHONPATH"))))
        return kept | {processes.MARK: str(self._folder), "PYTHONSAFEPATH": "1"}


def _port_in(output: Path) -> int:
    """The port in the first whole line that is `{"port": N}`; 0 while there is none."""
    try:
        lines = output.read_text("utf-8", "replace").split("\n")[:-1]
    except OSError:
        return 0
    for line in lines[:20]:
        try:
            said = read_json(line)
        except ValueError:
            continue
        port = said.get("port") if isinstance(said, dict) else None
        if type(port) is int and 0 < port < 65536:
            return port
    return 0


STRATEGY = RehearsalStrategy
