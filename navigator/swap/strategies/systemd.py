"""Strategy `systemd`: each role is a unit, and `swap/model-swap.sh` makes one of them run, here or on another machine by ssh.

The script does the swap and bounds every phase. This file passes it what Navigator knows (addresses, models, keys, requests
in flight), passes its lines on as they come, and words how it ended. What is resident is observed, never remembered.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from navigator.config.paths import resource_dir
from navigator.config.settings import Settings
from navigator.model.errors import ConfigError, MissingPart, NavigatorError
from navigator.model.states import Role
from navigator.model.text import safe_line
from navigator.process.runner import Ended, running
from navigator.swap.base import (
    ROLES,
    Check,
    PhaseLog,
    Report,
    Sighting,
    SwapOutcome,
    SwapResult,
    SwapStrategy,
)
from navigator.swap.failures import InFlight, hint_for
from navigator.swap.lines import ScriptLog, failure_class
from navigator.swap.ssh import ConnectionLost, SshConnection
from navigator.swap.status import ServerLook

_SCRIPT = "model-swap.sh"
_NEEDED = ("bash", "systemctl", "curl", "flock", "timeout")
_RUNS = ("active", "activating", "reloading", "deactivating")
_OUTCOMES: dict[int, SwapOutcome] = {0: "done", 1: "went_back", 4: "failed"}
_LOCK_HELD = 5
_ASK_SECONDS = 10.0
_NO_BUS = {
    "user": "Log in to a session of your own (not with su or sudo), or keep one: loginctl enable-linger. "
    'Without systemd, as in most containers, use another [swap] strategy: "sleep", "command", "managed".',
    "system": "Check that systemd is process 1. Without systemd, as in most containers, use another [swap] strategy: "
    '"sleep", "command", "managed".',
}


DEADLINES = {
    "lock": 120.0,  # another swap ends
    "drain": 120.0,  # running requests end; then they are aborted
    "abort": 10.0,  # aborted requests end
    "stop": 75.0,  # `systemctl stop`; then the unit gets SIGKILL
    "kill": 15.0,  # the process ends after SIGKILL
    "release": 60.0,  # processes, port and GPU memory are free
    "start": 30.0,  # the unit is active
    "health": 300.0,  # from the server's first answer until `/health` answers 200: warm-up
    "verify": 60.0,  # the model's name, and one token
}
"""Longest waits in seconds, the defaults of model-swap.sh. That for loading differs much between machines: it is a setting."""

SCRIPT_THERE = ".local/share/navigator/model-swap.sh"
"""Where `navigator swap install --host` puts the script, below the other machine's home."""

RENEW_SECONDS = 120.0
"""How long a swap waits for a lost connection before it counts as failed."""


def forwards(settings: Settings) -> tuple[str, ...]:
    """What ssh forwards: each server's address here, to the same port on the loopback of its machine.

    Raises:
        ConfigError: an address is not on this machine's loopback.
    """
    found = []
    for role in ROLES:
        parts = urlsplit(settings.server(role).base_url)
        name, port = parts.hostname or "", parts.port or 80
        if parts.scheme != "http" or not (name in ("localhost", "::1") or name.startswith("127.")):
            raise ConfigError(
                f"base_url of the {role.value} is {safe_line(parts.netloc)}, but its server is reached through ssh.",
                hint=f"Use this end of the tunnel, such as http://127.0.0.1:{port}; {port} is the server's own port.",
            )
        found.append(f"{f'[{name}]' if ':' in name else name}:{port}:127.0.0.1:{port}")
    return tuple(dict.fromkeys(found))


def there(base_url: str) -> str:
    """A server's address on its own machine."""
    parts = urlsplit(base_url)
    return urlunsplit(("http", f"127.0.0.1:{parts.port or 80}", parts.path, "", ""))


class SystemdStrategy(SwapStrategy):
    """Runs the script; starts and stops nothing itself. With `[swap.systemd] host` all of it happens on that machine.

    Args:
        settings: the roles' servers, `[swap] script` and `[swap.systemd]`.
        in_flight: the ids of Navigator's own running requests, asked when a swap begins. The script aborts these by id
            when the drain's time is up; each caller then gets an error and asks again.
        environment: the script's environment; by default this process's own.

    Raises:
        MissingPart: a program that the script needs is not installed, or the script is missing.
    """

    name = "systemd"
    about = "each role is a systemd unit, and a script keeps one of them running"
    restarts_servers = True
    reads_weights = True
    uses_units = True

    def __init__(
        self, settings: Settings, *, in_flight: InFlight = tuple, environment: dict[str, str] | None = None
    ) -> None:
        super().__init__(settings, in_flight=in_flight)
        self._own = settings.swap.systemd
        self._units = {Role.GENERATOR: self._own.generator_unit, Role.REVIEWER: self._own.reviewer_unit}
        self._environment = dict(os.environ if environment is None else environment)
        self._keeping: asyncio.Task[None] | None = None
        self._there: SshConnection | None = None
        self._script: tuple[str, ...]
        self.elsewhere = self._own.host
        if self.elsewhere:
            self._script = ("bash", settings.swap.script or SCRIPT_THERE)
            self._there = SshConnection(self.elsewhere, forwards(settings), environment=self._environment)
            return
        self._script = self._find_script()
        for program in _NEEDED:
            if shutil.which(program, path=self._environment.get("PATH")) is None:
                raise MissingPart(
                    f'The swap strategy "systemd" needs {program}, which is not installed.',
                    hint="Install it, or choose another strategy under [swap].",
                )

    @classmethod
    def check(cls, settings: Settings) -> None:
        """Tunnels end on the loopback of both machines."""
        if settings.swap.systemd.host:
            forwards(settings)

    @property
    def outage(self) -> str:
        """Why there is no connection to the other machine now, while one is kept."""
        return self._there.outage if self._there is not None and self._keeping is not None else ""

    async def was_cut_since(self, moment: float) -> bool:
        """Whether the connection ended, or was opened again, since then."""
        there = self._there
        if there is None:
            return False
        answers = await asyncio.to_thread(there.answers)
        return not answers or not there.alive or there.opened > moment

    async def reach(self) -> str:
        """As the base says; opens the connection if there is none."""
        try:
            async with self.connected():
                return ""
        except ConnectionLost as error:
            return str(error)

    async def prepare(self) -> str:
        """Open the connection to the other machine, and keep it until `close`."""
        if self._there is None or self._keeping is not None:
            return ""
        await self._there.hold()
        self._keeping = asyncio.create_task(self._there.keep())
        return self._there.trouble

    async def close(self) -> None:
        """End that connection. The servers go on."""
        if self._there is not None and self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
            self._keeping = None
            await self._there.release()

    async def look_at(self, role: Role) -> ServerLook:
        """As for any server, through the connection."""
        async with self.connected():
            return await super().look_at(role)

    async def resident(self) -> Role | None:
        """As observed; raises ConnectionLost where the other machine cannot be asked."""
        async with self.connected():
            return await super().resident()

    async def diagnose(self) -> list[Check]:
        """Whether the other machine and this scope's systemd answer: a swap asks them first."""
        command = ("systemctl", f"--{self._own.scope}", "show", "--property=Version")
        hint = _NO_BUS[self._own.scope]
        try:
            async with self.connected():
                # As model-swap.sh does: without the variable systemctl finds no user bus.
                bus = {"XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}"}
                done = await self._run(
                    command, _ASK_SECONDS, variables={}, environment=bus | self._environment
                )
        except ConnectionLost as error:
            return [Check("ssh", "missing", error.message, error.hint)]
        except OSError as error:
            return [Check("systemd", "missing", f"systemctl cannot be run: {error.strerror}", hint)]
        except TimeoutError:
            words = f"systemctl --{self._own.scope} did not answer within {_ASK_SECONDS:g} seconds"
            return [Check("systemd", "missing", words, hint)]
        found = [Check("ssh", "ok", f"connected to {self.elsewhere}")] if self.elsewhere else []
        if done.code != 0:
            words = f"systemctl --{self._own.scope} does not answer: {done.last_words}"
            return [*found, Check("systemd", "missing", f"{words}; a swap would fail with no_systemd", hint)]
        return [*found, Check("systemd", "ok", f"--{self._own.scope} answers, {done.last_words}")]

    async def look(self, believed: Role | None) -> Sighting:
        """As `resident`, without a generated token: a unit that runs and a server that lists the right model."""
        async with self.connected():
            return await self._look(believed)

    async def _look(self, believed: Role | None) -> Sighting:
        for role in sorted(ROLES, key=lambda role: role is not believed):
            if not await self._runs(role):
                continue
            try:
                if await self._serves(role):
                    return Sighting(role)
                problem = "it serves another model"
            except NavigatorError as error:
                problem = str(error)
            if role is believed:  # its unit runs: still loading, or too busy to answer
                return Sighting(role, sure=False, detail=problem)
        return await self._ended(believed) if believed is not None else Sighting(None)

    async def swap(self, to: Role, report: Report) -> SwapResult:
        """Run the script, which also goes back. Cancelling ends it and everything it started.

        A script on another machine goes on when the connection is lost. Once there is one again it is run once more: it waits
        for the first one's lock, and finds what that one has done.
        """
        async with self._lock:
            log = PhaseLog(report)
            try:
                async with self._held():
                    ended, script = await self._to_its_end(to, log)
                    outcome = _OUTCOMES.get(ended.code) or await self._outcome_by_look(to, ended.code)
            except OSError as error:
                return log.result("failed", f"{self._script[-1]} cannot be run: {error.strerror}.")
            except ConnectionLost as error:
                reason = f"connection_lost: {error} {hint_for('connection_lost')}"
                return log.result("failed", reason, "connection_lost")
            if outcome == "done":
                return log.result("done")
            failure, said = script.failure()
            if not failure:
                how = f"ended with code {ended.code}" if ended.code >= 0 else "was killed"
                said = " ".join(part for part in (said, f"the swap script {how}", ended.last_words) if part)
            reason = f"{failure or 'failed'}: {said.rstrip('.')}. {hint_for(failure)}".strip()
            return log.result(outcome, reason, failure)

    @contextlib.asynccontextmanager
    async def _held(self) -> AsyncIterator[None]:
        """As `connected`, also while a connection that there was is being renewed."""
        if self._there is None or not self._there.opened:
            async with self.connected():
                yield
            return
        await self._there.hold()
        try:
            yield
        finally:
            await self._there.release()

    @property
    def _longest(self) -> float:
        """Seconds after which a swap and its way back have ended, whatever happened."""
        most = DEADLINES
        there = most["drain"] + 2 * most["abort"] + 2 * (most["stop"] + most["kill"])
        starting = most["start"] + self._own.load_seconds + most["health"] + most["verify"]
        return most["lock"] + 2 * (there + 2 * (most["release"] + starting)) + 120.0

    async def _to_its_end(self, to: Role, log: PhaseLog) -> tuple[Ended, ScriptLog]:
        """Run the script until it says how it ended, again after each lost connection."""
        words = (*self._script, f"--{self._own.scope}", to.value)
        deadline = time.monotonic() + self._longest
        was_cut = False
        while True:
            script = ScriptLog(log)
            left = max(1.0, deadline - time.monotonic())
            try:
                ended = await self._run(words, left, script.feed)
            except TimeoutError:
                ended = Ended(-1, err=f"it did not end within {self._longest:g} s".encode())
            except ConnectionLost as error:
                script.cut(f"connection_lost {error.message}")
                await self._renewed(error)
                was_cut = True
                continue
            script.close()
            # The lock's holder may be the run that was cut off.
            if not (was_cut and ended.code == _LOCK_HELD and time.monotonic() < deadline):
                return ended, script

    async def _renewed(self, lost: ConnectionLost) -> None:
        """Wait until there is a connection again, for a while; then the loss is raised."""
        assert self._there is not None
        deadline = time.monotonic() + RENEW_SECONDS
        while True:
            try:
                await asyncio.to_thread(self._there.open)
                return
            except ConnectionLost:
                if time.monotonic() > deadline:
                    raise lost from None
            await asyncio.sleep(1.0)

    async def _change(self, to: Role, previous: Role | None, log: PhaseLog, detail: str) -> None:
        raise NotImplementedError("the script does the whole swap")

    async def _outcome_by_look(self, to: Role, code: int) -> SwapOutcome:
        """The script never began, or was killed: what is there says how it ended."""
        there = await self.resident()
        if there is None:
            return "failed"
        # Whoever holds the lock is about to change what is there.
        return "done" if there is to and code != _LOCK_HELD else "went_back"

    async def _is_resident(self, role: Role) -> bool:
        return await self._runs(role) and await super()._is_resident(role)

    async def _runs(self, role: Role) -> bool:
        return await self._state(role) in _RUNS

    async def _state(self, role: Role) -> str:
        """systemd's ActiveState of the role's unit; "" if it does not answer."""
        scope = f"--{self._own.scope}"
        said = await self._ask("systemctl", scope, "show", self._units[role], "-p", "ActiveState")
        return next((line.partition("=")[2] for line in said if line.startswith("ActiveState=")), "")

    async def _ended(self, role: Role) -> Sighting:
        """Why the role's unit no longer runs."""
        if await self._state(role) != "failed":
            return Sighting(None)
        told = await self._ask(*self._script, f"--{self._own.scope}", "why", role.value)
        failure, words = failure_class(safe_line(told[0]) if told else "")
        known = failure if failure not in ("", "unit_failed") else "crashed"
        return Sighting(None, dead=True, failure=known, detail=words or self._units[role])

    async def _ask(self, *words: str) -> tuple[str, ...]:
        """The lines that a read-only command prints; none if it does not answer in time."""
        with contextlib.suppress(TimeoutError):
            return tuple((await self._run(words, _ASK_SECONDS)).lines)
        return ()

    async def _run(
        self,
        words: Sequence[str],
        seconds: float,
        on_output: Callable[[bytes], None] = lambda chunk: None,
        *,
        variables: Mapping[str, str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run a program where the servers are, with Navigator's settings as variables. `environment`: of this machine."""
        variables = self._told() if variables is None else variables
        if self._there is not None:
            return await self._there.run(words, seconds, on_output, variables)
        base = self._environment if environment is None else environment
        return await running(words, seconds, on_output, leaves=True, env={**base, **variables})

    def connected(self) -> contextlib.AbstractAsyncContextManager[object]:
        """Holds the connection to the other machine."""
        return self._there if self._there is not None else contextlib.nullcontext()

    def _told(self) -> dict[str, str]:
        """Navigator's settings as the script's variables. Keys are passed in its environment, never on its command line."""
        waits = DEADLINES | {"load": self._own.load_seconds}
        told = {f"{name.upper()}_SECONDS": f"{seconds:.3f}" for name, seconds in waits.items()}
        told["RIDS"] = " ".join(self._in_flight())
        for role in ROLES:
            server, prefix = self.server(role), role.value.upper()
            told |= {
                f"{prefix}_UNIT": self._units[role],
                f"{prefix}_URL": there(server.base_url) if self.elsewhere else server.base_url,
                f"{prefix}_MODEL": server.model,
            }
            if server.api_key_env:
                told[f"{prefix}_API_KEY"] = self._environment.get(server.api_key_env, "").strip()
            if server.admin_key_env:
                told[f"{prefix}_ADMIN_KEY"] = self._environment.get(server.admin_key_env, "").strip()
        return {f"NAVIGATOR_SWAP_{name}": value for name, value in told.items()}

    def _find_script(self) -> tuple[str, ...]:
        """The words that run it. An installer may have dropped the packaged script's executable bit."""
        named = self._settings.swap.script
        path = Path(named).expanduser() if named else resource_dir("swap") / _SCRIPT
        if not path.is_file():
            raise MissingPart(
                f"The swap script {path} does not exist.",
                hint="Leave script under [swap] empty to use the packaged one.",
            )
        return (str(path),) if named else ("bash", str(path))


STRATEGY = SystemdStrategy
