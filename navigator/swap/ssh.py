"""One connection to another machine by plain ssh. Forwarded ports and every command share it, so nobody logs in twice.

Nothing listens on a network: forwards have both ends on the loopback. Addresses, keys and jump hosts come from ssh's own
configuration. ssh never asks here; what it would ask about is an error.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import select
import shlex
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, ClassVar

from navigator.config.paths import private_folder
from navigator.model import patterns
from navigator.model.errors import MissingPart, NavigatorError
from navigator.model.json_text import table
from navigator.model.text import safe_line
from navigator.process.runner import OUTPUT, PIPE, Ended, Process, run, running, start

SILENT_SECONDS = 3 * int(table(__package__, "ssh.toml")["ServerAliveInterval"])
"""A connection over which nothing came for so long has ended."""

_CONNECT_SECONDS = 20.0
_ENDING_SECONDS = 3.0
_LOOK_SECONDS = 1.0
_LONGEST_PAUSE = 30.0
_LOST = 255
"""ssh's own exit code: there is no connection, or none any more."""

_GREETING = b"navigator-connected"
# Its end of the connection: it lives as long as our end of its input is open, so that it ends with us, however we end.
_STAY = f"echo {_GREETING.decode()}; exec cat"
# Keys may be among the variables, so they come on stdin: a command line is open to everybody. What a login script prints comes
# before the line with the process group, and is dropped. It runs once: a bash that believes that
# sshd started it would read its settings again.
_BEGIN = (
    "unset SSH_CLIENT SSH2_CLIENT; "
    'while IFS= read -r line && [[ -n $line ]]; do export "$line"; done; '
    ': "${XDG_RUNTIME_DIR:=/run/user/$UID}"; export XDG_RUNTIME_DIR; cd; '
    'read -r _ _ _ _ group _ </proc/$$/stat; printf "\\nnavigator-group %s\\n" "$group"; exec "$@"'
)
_END = 'kill -TERM -- "-$1"; for _ in {1..50}; do kill -0 -- "-$1" || exit 0; sleep 0.1; done; kill -KILL -- "-$1"'
_BEGAN = patterns.compile(rb"\nnavigator-group ([0-9]{1,20})\n")
_LONGEST_BEGIN = 64
"""Bytes of that line at most."""

_NOISE = 64 * 1024
_MOST_OUTPUT = 16 << 20


class ConnectionLost(NavigatorError):
    """There is no ssh connection to the machine: it could not be opened, or it has ended."""

    code: ClassVar[str] = "connection_lost"

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(
            f"No connection to {safe_line(host)}: {reason.rstrip('.') or 'it ended'}.",
            hint=f"`ssh {safe_line(host)} true` has to work in a terminal without a question.",
        )


class SshConnection:
    """A connection that is open while somebody holds it (`async with`), and renewed when it is lost while `keep` runs.

    Two processes that want the same forwards share one connection: the ports can be bound once.

    Args:
        host: as on ssh's command line: a name from ssh's configuration, `user@host` or `ssh://user@host:port`.
        forwards: `here-address:port:there-address:port`, each.
        environment: ssh's own environment; this process's by default.

    Raises:
        MissingPart: ssh is not installed.
    """

    def __init__(
        self, host: str, forwards: Sequence[str] = (), *, environment: Mapping[str, str] | None = None
    ) -> None:
        self.host = host
        self._environment = dict(os.environ if environment is None else environment)
        found = shutil.which("ssh", path=self._environment.get("PATH"))
        if found is None:
            raise MissingPart("ssh is not installed.", hint="Install OpenSSH's client.")
        self._ssh = found
        self._forwards = tuple(sorted(set(forwards)))
        digest = hashlib.sha256("\n".join((host, *self._forwards)).encode()).hexdigest()
        self._control = _folder() / digest[:16]
        self._process: Process | None = None
        self._said: IO[bytes] | None = None
        self._borrowed_until = 0.0
        self._held = 0
        self._opening = threading.Lock()
        self.trouble = ""
        self.opened = 0.0
        """The monotonic second in which it was opened last."""

    async def __aenter__(self) -> SshConnection:
        self._held += 1
        try:
            await asyncio.to_thread(self.open)
        except BaseException:
            await asyncio.shield(self.release())
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.release()

    async def hold(self) -> None:
        """As entering, but an unreachable machine is left to `keep`."""
        self._held += 1
        with contextlib.suppress(ConnectionLost):
            await asyncio.to_thread(self.open)

    async def release(self) -> None:
        """Let go of it; the last one closes it."""
        self._held -= 1
        if self._held == 0:
            await asyncio.to_thread(self.close)

    async def keep(self) -> None:
        """Open it again whenever it was lost, after pauses that grow to half a minute. Runs until it is cancelled."""
        pause = _LOOK_SECONDS
        while True:
            try:
                await asyncio.to_thread(self.open)
                pause = _LOOK_SECONDS
                self._trim()
            except ConnectionLost:
                pause = min(_LONGEST_PAUSE, pause * 2)
            await asyncio.sleep(pause)

    @property
    def alive(self) -> bool:
        """Whether it is open, as far as this side knows."""
        if self._process is not None:
            return self._process.poll() is None
        return time.monotonic() < self._borrowed_until

    @property
    def outage(self) -> str:
        """Why there is none now, in words; "" while there is."""
        return "" if self.alive else self.trouble or str(ConnectionLost(self.host, ""))

    def open(self) -> None:
        """Open it if it is not. Blocks.

        Raises:
            ConnectionLost: it cannot be opened.
        """
        with self._opening:
            if self.alive:
                return
            self._forget()
            if self._borrow():
                return
            try:
                self._connect()
            except ConnectionLost as error:
                if self._borrow():  # somebody else was quicker and holds the ports
                    return
                self.trouble = str(error)
                raise
            self.trouble, self.opened = "", time.monotonic()

    def close(self) -> None:
        """End it, if it is this process's. Blocks for a moment."""
        with self._opening:
            self._forget()

    def call(
        self,
        words: Sequence[str],
        seconds: float,
        *,
        given: bytes = b"",
        variables: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run a command there to its end. Blocks.

        Args:
            words: the command, word by word; it starts in the home folder.
            given: its input.
            variables: further environment variables for it.

        Raises:
            ConnectionLost: there is no connection, or it ended meanwhile. TimeoutError: it took longer than `seconds`, or
            printed more than 16 MiB.
        """
        self.open()
        kept = bytearray()
        output = _Output(kept.extend)
        done = run(
            self._command(words),
            seconds,
            given=_header(variables or {}) + given,
            tail=True,
            on_output=output.feed,
            look=lambda pid: OUTPUT if len(kept) > _MOST_OUTPUT else "",
            env=self._environment,
        )
        if done.cut:
            raise TimeoutError(f"{words[0]} on {self.host}")
        if done.code == _LOST or not output.group:
            raise self._lost(_last_line(done.err))
        return replace(done, out=bytes(kept))

    async def run(
        self,
        words: Sequence[str],
        seconds: float,
        on_output: Callable[[bytes], None] = lambda chunk: None,
        variables: Mapping[str, str] | None = None,
    ) -> Ended:
        """As `call`, with its output as it comes. Cancelled, or out of time, the command there ends with all it started.

        When the connection is lost, the command there goes on.
        """
        await asyncio.to_thread(self.open)
        output = _Output(on_output)
        try:
            ended = await running(
                self._command(words),
                seconds,
                output.feed,
                kept=False,
                env=self._environment,
                given=_header(variables or {}),
            )
        except (TimeoutError, asyncio.CancelledError):
            if output.group:
                await asyncio.shield(asyncio.to_thread(self._end_group, output.group))
            raise
        if ended.code == _LOST or not output.group:
            raise self._lost(ended.last_words)
        return replace(ended, out=output.kept)

    def _end_group(self, group: str) -> None:
        with contextlib.suppress(ConnectionLost, TimeoutError):
            self.call(("bash", "-c", _END, "end", group), 10.0)

    def _connect(self) -> None:
        words = [*self._options("yes")]
        for forward in self._forwards:
            words += ["-L", forward]
        # Appended to, so that it can be emptied meanwhile. It lives as long as the process.
        self._said = tempfile.TemporaryFile("a+b")  # noqa: SIM115
        self._process = start(
            [*words, "--", self.host, _STAY],
            stdin=PIPE,
            stdout=PIPE,
            stderr=self._said,
            env=self._environment,
        )
        if not _greeted(self._process, time.monotonic() + _CONNECT_SECONDS):
            reason = self._reason()
            self._forget()
            raise ConnectionLost(self.host, reason)

    def answers(self) -> bool:
        """Whether the ssh that holds the connection answers. Blocks.

        What went through a lost connection ends some milliseconds before that process does; from then on it answers nothing.
        """
        words = [self._ssh, "-O", "check", "-o", f"ControlPath={self._control}", "--", self.host]
        # A process that holds it and does not answer is no connection.
        return run(words, _CONNECT_SECONDS, env=self._environment).code == 0

    def _borrow(self) -> bool:
        """Whether another process of ours holds the same connection: then it is used."""
        held = self.answers()
        if held:
            self._borrowed_until = time.monotonic() + 3 * _LOOK_SECONDS
            self.trouble = ""
        return held

    def _lost(self, words: str) -> ConnectionLost:
        reason = words
        with self._opening:
            if not self.alive:
                reason = self._reason() or words
                self._forget()
        error = ConnectionLost(self.host, reason)
        self.trouble = "" if self.alive else str(error)
        return error

    def _trim(self) -> None:
        """Do not let what the other end says fill the disk."""
        with self._opening:
            if self._said is not None and os.fstat(self._said.fileno()).st_size > _MOST_OUTPUT:
                os.ftruncate(self._said.fileno(), 0)

    def _reason(self) -> str:
        """What ssh said last; a guess where it said nothing."""
        said = b""
        if self._said is not None:
            self._said.seek(0)
            said = self._said.read(_NOISE)
        return _last_line(said) or f"it was cut, or nothing came for {SILENT_SECONDS} s"

    def _forget(self) -> None:
        process, self._process, self._borrowed_until = self._process, None, 0.0
        if process is not None:
            process.end(grace=_ENDING_SECONDS)
        if self._said is not None:
            self._said.close()
            self._said = None

    def _options(self, master: str) -> list[str]:
        words = [self._ssh, "-T"]
        for name, value in (
            table(__package__, "ssh.toml") | {"ControlMaster": master, "ControlPath": str(self._control)}
        ).items():
            words += ["-o", f"{name}={value}"]
        return words

    def _command(self, words: Sequence[str]) -> list[str]:
        inner = shlex.join(["bash", "--norc", "-c", _BEGIN, "navigator", *words])
        return [*self._options("no"), "--", self.host, inner]


class _Output:
    """A command's output without what came before it began."""

    def __init__(self, on_output: Callable[[bytes], None]) -> None:
        self._on_output = on_output
        self._before = b""
        self.group = ""
        self.kept = b""

    def feed(self, chunk: bytes) -> None:
        """Take some of what ssh printed."""
        if not self.group:
            self._before = self._before[-_LONGEST_BEGIN:] + chunk
            began = _BEGAN.search(self._before)
            if began is None:
                return
            self.group, chunk = began[1].decode(), self._before[began.end() :]
        if chunk:
            self.kept = (self.kept + chunk)[-_NOISE:]
            self._on_output(chunk)


def _greeted(process: Process, deadline: float) -> bool:
    """Whether the other end says in time that it is there; a login script may print before it does."""
    assert process.stdout is not None
    said = b""
    while (left := deadline - time.monotonic()) > 0:
        ready, _, _ = select.select([process.stdout], [], [], left)
        chunk = os.read(process.stdout.fileno(), 4096) if ready else b""
        if not chunk:
            return False
        said = (said + chunk)[-4096:]
        if _GREETING in said:
            return True
    return False


def _header(variables: Mapping[str, Any]) -> bytes:
    """The variables as the other end reads them; one that holds a line break would become another one."""
    lines = [f"{name}={value}" for name, value in variables.items()]
    if odd := next((line for line in lines if set(line) & set("\n\0")), None):
        raise ValueError(f"{odd.partition('=')[0]} holds a line break")
    return "".join(f"{line}\n" for line in (*lines, "")).encode()


def _last_line(said: bytes) -> str:
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return safe_line(lines[-1])[:300] if lines else ""


def _folder() -> Path:
    """A folder of this user with a path that leaves room for a socket's name and ssh's suffix to it."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    name = "navigator-ssh"
    if runtime and len(os.fsencode(runtime)) < 50 and Path(runtime).is_dir():
        return private_folder(Path(runtime) / name)
    parent = next((each for each in (tempfile.gettempdir(), "/tmp") if len(os.fsencode(each)) < 50), "/tmp")
    return private_folder(Path(parent) / f"{name}-{os.geteuid()}")
