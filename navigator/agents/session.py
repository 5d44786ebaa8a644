"""One agent at work: started in the sandbox on its copy of the project, prompted, watched, and ended with all it started."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import shutil
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from navigator.agents import acp
from navigator.agents.acp import AgentConnection, AgentFailed, AgentUnavailable
from navigator.agents.forwarder import Forwarder
from navigator.agents.profiles import PORT, Endpoint, Launch, launch_for
from navigator.config.paths import typed_path
from navigator.config.settings import AgentSettings
from navigator.git.runner import safe_path
from navigator.model.errors import NavigatorError
from navigator.model.models import Project
from navigator.model.text import safe_line, safe_text
from navigator.process.guarded import write_file
from navigator.process.runner import PIPE, Process, start
from navigator.sandbox.binds import Bind, program_binds
from navigator.sandbox.probe import Sandbox
from navigator.sandbox.spec import (
    HOME,
    Program,
    SandboxSpec,
    inner_environment,
    may_stand_at,
    sandboxed,
)
from navigator.sandbox.supervise import Limits, UsageWatch

_T = TypeVar("_T")

START_SECONDS = 90.0
"""For an agent to begin to speak: large ones take some seconds, and a busy disk longer."""

_LOOK = 0.1
_LAST = 0.5
_STDERR = 4_000
_INSIDE = Path(__file__).with_name("inside.py")
_INNER = "/run/navigator-agent.py"
_HIGH = 64
"""Descriptors below this are left to shells on the way."""


@dataclass(frozen=True, slots=True)
class AgentPlace:
    """Where an agent works, all on this machine.

    Attributes:
        spec: what the project's own tests would see: the agent sees the same.
        scratch: an empty folder of this run.
    """

    project: Project
    spec: SandboxSpec
    scratch: Path

    @property
    def tree(self) -> Path:
        """Its copy of the project."""
        return self.scratch / "tree"

    @property
    def home(self) -> Path:
        """Its home folder."""
        return self.scratch / "home"


@dataclass
class PromptTurn:
    """What one prompt led to: why it stopped, what was said, and how long it took."""

    stopped: str
    said: str
    seconds: float


def limits_of(settings: AgentSettings) -> Limits:
    """The settings as limits of the sandbox."""
    return Limits(seconds=settings.minutes * 60, memory_mb=settings.memory_mb, disk_mb=settings.disk_mb)


def find_program(settings: AgentSettings, project: Path) -> Path:
    """The agent's program: absolute, and not inside of the project.

    Raises:
        AgentUnavailable: there is none.
    """
    named = settings.command[0]
    found = shutil.which(str(Path(named).expanduser()), path=safe_path((project,)))
    if found is None:
        raise AgentUnavailable(
            f"{safe_line(named)} was not found: [generator.agent] command names it.",
            hint="Install the agent, or give its whole path.",
        )
    return Path(found).absolute()


@dataclass
class AgentSession:
    """A running agent with one open session.

    Attributes:
        who: the agent's name and version; `name` of the session.
        forwarder: counts what it asked of the model.
    """

    who: str
    name: str
    forwarder: Forwarder
    _running: Running

    async def prompt(self, text: str) -> PromptTurn:
        """One turn of the agent.

        Raises:
            AgentFailed: it died, met a limit, or reported an error.
            ServingError: the generator's server does not answer, or the agent asks for a login.
        """
        connection = self._running.connection
        connection.text = ""
        began = time.monotonic()
        stopped = await self._running.first(acp.prompt(connection, self.name, text))
        return PromptTurn(stopped, connection.text, time.monotonic() - began)


@asynccontextmanager
async def opened(
    settings: AgentSettings,
    endpoint: Endpoint,
    place: AgentPlace,
    sandbox: Sandbox,
    forwarder: Forwarder,
    on_text: Callable[[int], None] = lambda characters: None,
) -> AsyncIterator[AgentSession]:
    """Start an agent, open its session, and end it with everything it started.

    Raises:
        AgentUnavailable: it cannot be started, or wants what nobody can give. AgentFailed: it ended.
    """
    running = await _start(settings, endpoint, place, sandbox, forwarder, on_text)
    begun = False
    try:
        async with asyncio.timeout(START_SECONDS):
            who = await running.first(acp.initialize(running.connection))
            name = await running.first(acp.new_session(running.connection, place.project.path))
        begun = True
        yield AgentSession(who, name, forwarder, running)
    except AgentFailed as error:
        if begun:
            raise
        raise AgentUnavailable(
            error.message
        ) from error  # no turn is to blame: the next one would end the same
    except TimeoutError:
        if begun:
            raise
        raise AgentUnavailable(
            f"The agent opened no session within {START_SECONDS:g} s.{running.last_words()}"
        ) from None
    finally:
        await running.end()


async def _start(
    settings: AgentSettings,
    endpoint: Endpoint,
    place: AgentPlace,
    sandbox: Sandbox,
    forwarder: Forwarder,
    on_text: Callable[[int], None],
) -> Running:
    if not sandbox.works:
        raise AgentUnavailable(f"An agent runs in the sandbox only: {sandbox.reason}.", hint=sandbox.hint)
    if not may_stand_at(place.project.path):
        raise AgentUnavailable(
            f"A project at {place.project.path} cannot be shown inside the sandbox.", hint="Move it."
        )
    limits = limits_of(settings)
    inner, outer = socket.socketpair()
    descriptor = fcntl.fcntl(inner.fileno(), fcntl.F_DUPFD_CLOEXEC, _HIGH)
    inner.close()
    try:
        program = await asyncio.to_thread(_program, settings, endpoint, place, descriptor)
        command, env = sandboxed(sandbox, place.spec, limits, place.tree, place.scratch, program)
        process = start(
            command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=env, cwd=place.tree, pass_fds=[descriptor]
        )
    except OSError as error:
        outer.close()
        raise AgentUnavailable(f"The sandbox cannot be started: {error.strerror}.") from error
    except BaseException:
        outer.close()
        raise
    finally:
        os.close(descriptor)
    out, into, people = await process.streams()
    running = Running(process, AgentConnection(out, into, on_text), people, forwarder)
    try:
        running.look_after(UsageWatch(process.pid, limits, place.scratch, time.monotonic()))
        async with asyncio.timeout(START_SECONDS):
            listening = await running.first(_received(outer))
        await forwarder.serve(listening)
    except (AgentFailed, TimeoutError) as error:
        await running.end()
        words = error.message if isinstance(error, AgentFailed) else "The sandbox opened no port."
        raise AgentUnavailable(f"{words}{running.last_words()}") from None
    except BaseException:
        await running.end()
        raise
    finally:
        outer.close()
    return running


def _program(settings: AgentSettings, endpoint: Endpoint, place: AgentPlace, descriptor: int) -> Program:
    """What is run in the sandbox: the agent behind `inside.py`, with its files written into its home."""
    checkout = Path(place.project.path)
    found = find_program(settings, checkout)
    python = Path(sys.executable).resolve()
    tools = [program_binds(found, checkout), program_binds(python, checkout)]
    launch = launch_for(settings, endpoint)
    binds = {bind.target: bind for made in tools for bind in made.binds.values()}
    for named in settings.mounts:
        folder = typed_path(named)
        if not folder.exists():
            raise AgentUnavailable(f"{folder} does not exist: [generator.agent] mounts names it.")
        binds[str(folder)] = Bind(str(folder.resolve()), str(folder))
    path = [*tools[0].path, *inner_environment(place.spec)["PATH"].split(os.pathsep)]
    return Program(
        words=(
            *(str(python), "-I", "-S", _INNER, str(PORT), str(descriptor)),
            *(str(found), *launch.arguments[1:]),
        ),
        binds=(
            *(binds[target] for target in sorted(binds)),
            *_launch_files(launch, place),
            Bind(str(_INSIDE), _INNER),
        ),
        env={"PATH": os.pathsep.join(dict.fromkeys(path)), **launch.env},
    )


def _launch_files(launch: Launch, place: AgentPlace) -> list[Bind]:
    """The home, and the launch's files in it as binds: the agent cannot write these. Beside it are only files to bind to."""
    place.home.mkdir(mode=0o700)
    for name, text in launch.files.items():
        write_file(place.scratch, f"launch/{name}", text.encode())
        write_file(place.home, name, b"")
    return [
        Bind(str(place.home), HOME, writable=True),
        *(Bind(str(place.scratch / "launch" / name), f"{HOME}/{name}") for name in launch.files),
    ]


async def _received(outer: socket.socket) -> socket.socket:
    """The socket that listens inside, from the program that opened it there.

    Raises:
        AgentFailed: it ended first.
    """
    outer.setblocking(False)
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(outer, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(outer)
    said, descriptors, _, _ = socket.recv_fds(outer, 64, 1)
    if not said or not descriptors:
        raise AgentFailed("The sandbox did not start.")
    return socket.socket(fileno=descriptors[0])


class Running:
    """The agent's process, who speaks with it, and who watches it."""

    def __init__(
        self,
        process: Process,
        connection: AgentConnection,
        people: asyncio.StreamReader,
        forwarder: Forwarder,
    ) -> None:
        self.connection = connection
        self._people = people
        self._process = process
        self._forwarder = forwarder
        self._stderr = bytearray()
        self._cut: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._jobs = [asyncio.create_task(connection.listen()), asyncio.create_task(self._read_stderr())]

    def look_after(self, watch: UsageWatch) -> None:
        """Hold the agent to its limits from now on."""
        self._jobs.append(asyncio.create_task(self._keep_watch(watch)))

    async def first(self, asking: Coroutine[Any, Any, _T]) -> _T:
        """What was asked of the agent, unless it dies, meets a limit, or its model does not answer.

        Raises:
            AgentFailed, ServingError: see there.
        """
        asked = asyncio.create_task(asking)
        gone = asyncio.create_task(self._process.ended())
        others: tuple[asyncio.Future[Any], ...] = (gone, self._cut, self._forwarder.fault)
        try:
            await asyncio.wait({asked, *others}, return_when=asyncio.FIRST_COMPLETED)
            if self._forwarder.fault.done():
                raise self._forwarder.fault.result()
            if self._cut.done():
                words = self._cut.result()
                raise AgentFailed(f"The agent was ended: {words}.", final=True)
            if gone.done():
                await asyncio.wait({asked}, timeout=_LAST)  # what it wrote last may still be read
            if asked.done() and not isinstance(asked.exception(), AgentFailed):
                return asked.result()
            await asyncio.wait({gone}, timeout=_LAST)  # a process whose output ended is about to end
            if gone.done():
                raise AgentFailed(f"The agent ended with {_status(gone.result())}.{self.last_words()}")
            return asked.result()
        finally:
            for job in (asked, gone):
                if not job.done():
                    job.cancel()
                    with contextlib.suppress(asyncio.CancelledError, NavigatorError):
                        await job

    def last_words(self) -> str:
        """The end of what the agent wrote for people, as a sentence; "" where it wrote nothing."""
        lines = safe_text(self._stderr.decode("utf-8", "replace")).strip().splitlines()
        shown = safe_line(" / ".join(line.strip() for line in lines[-3:] if line.strip()))[-300:]
        return f" It wrote: {shown}" if shown else ""

    async def _read_stderr(self) -> None:
        while chunk := await self._people.read(1 << 16):
            self._stderr += chunk
            del self._stderr[:-_STDERR]

    async def _keep_watch(self, watch: UsageWatch) -> None:
        while True:
            said = await asyncio.to_thread(watch.look)
            if said:
                if not self._cut.done():
                    self._cut.set_result(said)
                return
            await asyncio.sleep(_LOOK)

    async def end(self) -> None:
        """End the agent and all it started, and cut off what it asks of the model."""
        try:
            await self._forwarder.close()
        finally:
            self._process.leave()
            await asyncio.shield(asyncio.to_thread(self._process.end))
            for job in self._jobs:
                job.cancel()
            await asyncio.gather(*self._jobs, return_exceptions=True)


def _status(code: int) -> str:
    return f"exit status {code}" if code >= 0 else f"signal {-code}"
