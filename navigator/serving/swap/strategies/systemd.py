"""Strategy `systemd`: each role is a unit, and `swap/model-swap.sh` makes one of them run.

The script does the swap and bounds every phase; here it is told what Navigator knows (addresses, models, keys, requests in
flight), its lines are passed on as they come, and its end is put into words. What is resident is looked up, never remembered.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import cast, get_args

from navigator.config.resources import resource_dir
from navigator.config.settings import Settings
from navigator.domain.errors import MissingPart, NavigatorError
from navigator.domain.models import SwapPhase
from navigator.domain.states import Role
from navigator.domain.text import safe_line
from navigator.serving.client.chat import Timeouts
from navigator.serving.client.client import ModelClient
from navigator.serving.swap.base import (
    Failure,
    PhaseEvent,
    Report,
    Sighting,
    SwapOutcome,
    SwapResult,
)
from navigator.serving.swap.lines import LineReader, OutcomeLine, failure_class

_ROLES = (Role.GENERATOR, Role.REVIEWER)
_SCRIPT = "model-swap.sh"
_NEEDED = ("bash", "systemctl", "curl", "flock", "timeout")
_DEADLINES = ("lock", "drain", "abort", "stop", "kill", "release", "start", "load", "health", "verify")
_RUNS = ("active", "activating", "reloading", "deactivating")
_OUTCOMES: dict[int, SwapOutcome] = {0: "done", 1: "went_back", 4: "failed"}
_LOCK_HELD = 5
_ENDING_SECONDS = 5.0
_ASK_SECONDS = 10.0
_HINTS: dict[str, str] = {
    "no_memory": "Free GPU memory, or give the server less (--mem-fraction-static, context, running requests).",
    "port_taken": "End what holds the port, or give the role another one.",
    "unit_failed": "The unit's own log has the reason; `navigator doctor` says where.",
    "timeout": "If the model really needs longer, raise the phase's seconds under [swap.systemd].",
    "wrong_model": "Let the unit's model and the role's `model` in the settings agree.",
    "disk_full": "Make room on the disk.",
    "refused": "Check the server's key: `api_key_env` of the role.",
    "lock_held": "Wait for the other swap, or end it.",
    "no_systemd": "Is this systemd running? `[swap.systemd] scope` says which one is meant.",
}


class SystemdStrategy:
    """Runs the script; starts and stops nothing itself.

    Args:
        settings: the roles' servers, `[swap] script` and `[swap.systemd]`.
        in_flight: the ids of Navigator's own requests that still run, asked when a swap begins. The script aborts these by id
            when the drain's time is up, and each comes back to its caller as a call that has to be made again.
        environment: what the script gets beside its settings; by default this process's own.

    Raises:
        MissingPart: a program that the script needs is not installed, or the script is missing.
    """

    name = "systemd"
    both_resident = False
    rehearsal = False

    def __init__(
        self,
        settings: Settings,
        *,
        in_flight: Callable[[], Iterable[str]] = tuple,
        environment: dict[str, str] | None = None,
    ) -> None:
        self._settings = settings
        self._units = {
            Role.GENERATOR: settings.swap.systemd.generator_unit,
            Role.REVIEWER: settings.swap.systemd.reviewer_unit,
        }
        self._in_flight = in_flight
        self._environment = dict(os.environ if environment is None else environment)
        self._lock = asyncio.Lock()
        self._script = self._find_script()
        for program in _NEEDED:
            if shutil.which(program, path=self._environment.get("PATH")) is None:
                raise MissingPart(
                    f'The swap strategy "systemd" needs {program}, which is not installed.',
                    hint="Install it, or choose another strategy under [swap].",
                )

    def base_url(self, role: Role) -> str | None:
        """None: the settings' own address holds."""
        return None

    def model(self, role: Role) -> str | None:
        """None: the settings' own model holds."""
        return None

    async def resident(self) -> Role | None:
        """The role whose unit runs, whose server is healthy and which serves the role's model."""
        for role in _ROLES:
            if (await self._show(role)).get("ActiveState") not in _RUNS:
                continue
            async with self._client(role) as client:
                if not await client.health():
                    continue
                with contextlib.suppress(NavigatorError):
                    await client.require_model()
                    return role
        return None

    async def look(self, believed: Role | None) -> Sighting:
        """As `resident`, without a generated token: a unit that runs and a server that names the right model."""
        for role in sorted(_ROLES, key=lambda role: role is not believed):
            if (await self._show(role)).get("ActiveState") not in _RUNS:
                continue
            async with self._client(role) as client:
                try:
                    await client.require_model()
                except NavigatorError as error:
                    if role is believed:  # its unit runs: still loading, or too busy to answer
                        return Sighting(role, sure=False, detail=str(error))
                else:
                    return Sighting(role)
        return await self._ended(believed) if believed in _ROLES else Sighting(None)

    async def swap(self, to: Role, report: Report) -> SwapResult:
        """Run the script. Cancelling ends it and everything it started; a later swap goes on from what is there then."""
        async with self._lock:
            loop = asyncio.get_running_loop()
            began = loop.time()
            heard = _Heard(report)
            try:
                code = await self._run(to, heard)
            except OSError as error:
                return SwapResult(
                    "failed", (), loop.time() - began, f"{self._script[-1]} cannot be run: {error.strerror}."
                )
            outcome = _OUTCOMES.get(code)
            if outcome is None:  # it never began, or was killed: what is there says how it ended
                there = await self.resident()
                outcome = "failed" if there is None else "done" if there is to else "went_back"
                if code == _LOCK_HELD and outcome == "done":
                    outcome = "went_back"  # whoever holds the lock is about to take it away
            if outcome == "done":
                return SwapResult("done", tuple(heard.phases), loop.time() - began)
            failure, words = heard.failure(code)
            reason = f"{failure or 'failed'}: {words} {_HINTS.get(failure, '')}".strip()
            return SwapResult(outcome, tuple(heard.phases), loop.time() - began, reason, failure)

    async def close(self) -> None:
        """Nothing is held: the units are systemd's."""

    async def _run(self, to: Role, heard: _Heard) -> int:
        """The script's exit code. It leads a process group of its own, which ends with this call."""
        process = await asyncio.create_subprocess_exec(
            *self._script,
            f"--{self._settings.swap.systemd.scope}",
            to.value,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=self._environment | self._told(),
            start_new_session=True,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        people = asyncio.create_task(_last_line(process.stderr))
        try:
            async with asyncio.timeout(self._settings.swap.systemd.longest):
                reader = LineReader()
                while chunk := await process.stdout.read(4096):
                    heard.take(reader.feed(chunk))
                heard.take(reader.close())
                heard.last_words = await people
                return await process.wait()
        except TimeoutError:
            heard.last_words = f"it did not end within {self._settings.swap.systemd.longest:g} s"
            return -1
        finally:
            people.cancel()
            if process.returncode is None:
                await asyncio.shield(_end_group(process))

    def _told(self) -> dict[str, str]:
        """Navigator's settings as the script's variables; keys travel in its environment, never in its words."""
        own = self._settings.swap.systemd
        told = {f"{name.upper()}_SECONDS": f"{getattr(own, f'{name}_seconds'):.3f}" for name in _DEADLINES}
        told |= {"GPU": own.gpu, "RIDS": " ".join(self._in_flight())}
        for role in _ROLES:
            server, prefix = self._settings.server(role), role.value.upper()
            told |= {
                f"{prefix}_UNIT": self._units[role],
                f"{prefix}_URL": server.base_url,
                f"{prefix}_MODEL": server.model,
            }
            need = getattr(own, f"{role.value}_vram_mib")
            if need:  # 0: not said here, so what swap.conf says holds
                told[f"{prefix}_VRAM_MIB"] = str(need)
            if server.api_key_env:
                told[f"{prefix}_API_KEY"] = self._environment.get(server.api_key_env, "")
            if server.admin_key_env:
                told[f"{prefix}_ADMIN_KEY"] = self._environment.get(server.admin_key_env, "")
        return {f"NAVIGATOR_SWAP_{name}": value for name, value in told.items()}

    def _find_script(self) -> tuple[str, ...]:
        """The words that run it. An installer may have dropped the packaged script's executable bit."""
        named = self._settings.swap.script
        path = Path(named).expanduser() if named else resource_dir("swap") / _SCRIPT
        if not path.is_file():
            raise MissingPart(
                f"The swap script {path} is not there.",
                hint="Empty script under [swap] to use the packaged one.",
            )
        return (str(path),) if named else ("bash", str(path))

    async def _ended(self, role: Role | None) -> Sighting:
        """Why the role's unit does not run any more."""
        if role is None:
            return Sighting(None)
        if (await self._show(role)).get("ActiveState") != "failed":
            return Sighting(None)
        told = await self._ask(*self._script, f"--{self._settings.swap.systemd.scope}", "why", role.value)
        word, words = failure_class(safe_line(told.partition("\n")[0]))
        failure = cast(Failure, word) if word in get_args(Failure) and word != "unit_failed" else "crashed"
        return Sighting(None, dead=True, failure=failure, detail=words or self._units[role])

    async def _show(self, role: Role) -> dict[str, str]:
        """A few of the unit's properties; {} where systemd does not answer."""
        scope = f"--{self._settings.swap.systemd.scope}"
        said = await self._ask("systemctl", scope, "show", self._units[role], "-p", "ActiveState")
        return {key: value for key, _, value in (line.partition("=") for line in said.splitlines())}

    async def _ask(self, *words: str) -> str:
        """What a command that changes nothing prints; "" where it does not answer in time."""
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=self._environment | self._told(),
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(_ASK_SECONDS):
                said, _ = await process.communicate()
        except TimeoutError:
            return ""
        finally:
            if process.returncode is None:
                await asyncio.shield(_end_group(process))
        return said.decode("utf-8", "replace")

    def _client(self, role: Role) -> ModelClient:
        return ModelClient(self._settings.server(role), timeouts=Timeouts(health=25.0))


class _Heard:
    """What the script has said so far."""

    def __init__(self, report: Report) -> None:
        self.phases: list[SwapPhase] = []
        self.last_words = ""
        self._report = report
        self._failed = ""
        self._outcome: OutcomeLine | None = None

    def take(self, said: list[PhaseEvent | OutcomeLine]) -> None:
        """Pass phases on, and keep those that ended."""
        for event in said:
            if isinstance(event, OutcomeLine):
                self._outcome = event
                continue
            self._report(event)
            if event.state == "begin":
                continue
            self.phases.append(SwapPhase(name=event.phase, seconds=event.seconds))
            if event.state == "fail":
                self._failed = self._failed or event.detail

    def failure(self, code: int) -> tuple[Failure, str]:
        """The class and the words, from its last line, else from the first phase that failed, else from its exit."""
        said = self._outcome.detail if self._outcome is not None else self._failed
        word, words = failure_class(said)
        if word in get_args(Failure):
            return cast(Failure, word), f"{words}."
        ended = f"the swap script ended with code {code}" if code >= 0 else "the swap script was killed"
        return "", " ".join(part for part in (said, ended + ".", self.last_words) if part)


async def _last_line(stream: asyncio.StreamReader) -> str:
    """Reads what is meant for people, so that the pipe never fills, and keeps the last line of it."""
    kept = b""
    while chunk := await stream.read(4096):
        kept = (kept + chunk)[-4096:]
    return safe_line(kept.decode("utf-8", "replace").strip().rpartition("\n")[2][:300])


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """SIGTERM, a bounded wait, SIGKILL, for the script and everything it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDING_SECONDS):
                await process.wait()
                return
