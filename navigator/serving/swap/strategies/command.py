"""Strategy `command`: a program of the user's own swaps.

It is started with the role in place of `{role}`, leads a process group of its own, is given a stated time and is ended with
everything it started when that is over. Exit code 0 means that the role answers; that it does is looked at all the same. If
it prints the lines of CONTRACT (`swap phase=… state=… t=…`), its phases are shown and kept; otherwise the whole is one
phase, `load`.
"""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast, get_args

from navigator.config.settings import Settings
from navigator.domain.errors import ConfigError, NavigatorError
from navigator.domain.models import SwapPhase
from navigator.domain.states import Role
from navigator.domain.text import safe_line
from navigator.serving.client.chat import Timeouts
from navigator.serving.client.client import ModelClient
from navigator.serving.client.errors import ServingError, WrongModel
from navigator.serving.swap.base import (
    Failure,
    PhaseEvent,
    PhaseLog,
    Report,
    Sighting,
    SwapFailed,
    SwapResult,
)
from navigator.serving.swap.drain import InFlight, drain, until
from navigator.serving.swap.failures import class_of_words, failure_of
from navigator.serving.swap.lines import LineReader, OutcomeLine, failure_class
from navigator.serving.swap.program import run_program
from navigator.serving.swap.watching import is_refused

_ROLES = (Role.GENERATOR, Role.REVIEWER)
_VERIFY_SECONDS = 30.0


class CommandStrategy:
    """Runs `[swap.command] argv`, or `[swap] script` cut into words as a shell would.

    Args:
        settings: the roles' servers and `[swap.command]`.
        in_flight: the ids of Navigator's own requests, to abort those that outlast the drain.

    Raises:
        ConfigError: no command is named, or the script's words cannot be cut.
    """

    name = "command"
    both_resident = False
    rehearsal = False

    def __init__(self, settings: Settings, *, in_flight: InFlight = tuple) -> None:
        self._settings = settings
        self._own = settings.swap.command
        self._argv = self._own.argv or _words(settings.swap.script)
        self._in_flight = in_flight
        self._last: Role | None = None
        self._lock = asyncio.Lock()

    def base_url(self, role: Role) -> str | None:
        """None: the settings' own address holds."""
        return None

    def model(self, role: Role) -> str | None:
        """None: the settings' own model holds."""
        return None

    async def resident(self) -> Role | None:
        """What the status command prints; without one, the role whose server is healthy and lists its model."""
        if self._own.status:
            return await self._status()
        found = []
        for role in _ROLES:
            async with self._client(role) as client:
                try:
                    await client.require_model()
                except NavigatorError:
                    continue
                if await client.health():
                    found.append(role)
        return self._last if self._last in found else found[0] if found else None

    async def look(self, believed: Role | None) -> Sighting:
        """Whether the believed role's server lists its model. The status command is only run where that is not so."""
        if believed not in _ROLES:
            return Sighting(await self.resident())
        async with self._client(believed) as client:
            try:
                await client.require_model()
            except WrongModel:
                return Sighting(await self.resident())
            except ServingError as error:
                if not is_refused(error):
                    return Sighting(believed, sure=False, detail=error.message)
                other = await self.resident()
                if other is not None:
                    return Sighting(other)
                return Sighting(None, dead=True, failure="crashed", detail=error.message)
        return Sighting(believed)

    async def swap(self, to: Role, report: Report) -> SwapResult:
        """Drain, run the command, look whether the role answers; if not, run it for the role before.

        Cancelling ends the command and everything it started.
        """
        if to not in _ROLES:
            raise ValueError(f"{to.value} is not a role that is swapped")
        async with self._lock:
            log = PhaseLog(report)
            previous = await self._resident_or_none()
            if previous is to:
                with log.phase("verify", "already resident"):
                    pass  # it has just been looked at
                return log.result("done")
            try:
                if previous is not None:
                    with log.phase("drain"):
                        async with self._client(previous) as client:
                            await drain(client, self._own.drain_seconds, self._in_flight)
                await self._change(to, log)
            except (NavigatorError, OSError) as error:
                return await self._go_back(previous, log, error)
            self._last = to
            return log.result("done")

    async def close(self) -> None:
        """Nothing is held."""

    async def _change(self, to: Role, log: PhaseLog) -> None:
        heard = _Heard(log)
        try:
            code, words = await self._run(_filled(self._argv, to), self._own.seconds, heard)
        except TimeoutError:
            heard.ended("fail")
            raise SwapFailed(
                f"The swap command did not end within {self._own.seconds:g} s and was ended.",
                hint="Raise seconds under [swap.command] if it really needs longer.",
                failure="timeout",
            ) from None
        except BaseException:
            heard.ended("fail")
            raise
        heard.ended("done" if code == 0 else "fail")
        if code != 0:
            raise heard.failure(code, words)
        with log.phase("verify"):
            await self._verify(to)

    async def _verify(self, to: Role) -> None:
        """The command says that it is done: within moments the role must be the one that answers."""
        async for _ in until(min(_VERIFY_SECONDS, self._own.seconds)):
            if await self._resident_or_none() is to:
                return
        raise SwapFailed(
            f"The swap command ended well, and {self._settings.server(to).base_url} does not serve "
            f"{self._settings.server(to).model}.",
            hint="It must end only when the model answers; `model` must be the name that the server lists.",
            failure="wrong_model",
        )

    async def _go_back(self, previous: Role | None, log: PhaseLog, error: BaseException) -> SwapResult:
        reason, failure = str(error), failure_of(error)
        if previous is None:
            return log.result("failed", reason, failure)
        try:
            if await self._resident_or_none() is not previous:
                await self._change(previous, log)
        except (NavigatorError, OSError) as second:
            return log.result("failed", f"{reason} Going back failed too: {second}", failure)
        self._last = previous
        return log.result("went_back", reason, failure)

    async def _resident_or_none(self) -> Role | None:
        try:
            return await self.resident()
        except NavigatorError:
            return None

    async def _status(self) -> Role | None:
        """The first line of the status command: generator, reviewer, or anything else for neither.

        Raises:
            SwapFailed: it failed, or did not end in time.
        """
        said: list[str] = []
        try:
            code, words = await self._run(
                _filled(self._own.status, None), self._own.status_seconds, None, said
            )
        except TimeoutError:
            raise SwapFailed(
                f"The status command did not end within {self._own.status_seconds:g} s.",
                hint="It must answer at once; correct status under [swap.command].",
                failure="timeout",
            ) from None
        if code != 0:
            raise SwapFailed(
                f"The status command ended with code {code}. {words}".strip(),
                hint="Correct status under [swap.command], or remove it.",
            )
        first = said[0].strip() if said else ""
        return Role(first) if first in (Role.GENERATOR.value, Role.REVIEWER.value) else None

    async def _run(
        self, argv: Sequence[str], seconds: float, heard: _Heard | None, said: list[str] | None = None
    ) -> tuple[int, str]:
        """Run one of the two commands; raises as `run_program`, and SwapFailed where it cannot be started."""
        program = shutil.which(Path(argv[0]).expanduser())
        if program is None:
            raise SwapFailed(
                f"The swap command {safe_line(argv[0])} is not there, or may not be run.",
                hint="Correct argv under [swap.command].",
            )
        lines = LineReader()

        def take(chunk: bytes) -> None:
            if heard is not None:
                heard.take(lines.feed(chunk))

        ended = await run_program([program, *argv[1:]], seconds, take)
        if heard is not None:
            heard.take(lines.close())
        if said is not None:
            said += ended.lines
        return ended.code, ended.last_words

    def _client(self, role: Role) -> ModelClient:
        return ModelClient(self._settings.server(role), timeouts=Timeouts(connect=5.0, health=25.0))


class _Heard:
    """The program's phases; one phase `load` around it where it tells none."""

    def __init__(self, log: PhaseLog) -> None:
        self._log = log
        self._own = False
        self._failed = ""
        self._outcome: OutcomeLine | None = None
        self._since = asyncio.get_running_loop().time()
        log.report(PhaseEvent("load", "begin", 0.0))

    def take(self, said: list[PhaseEvent | OutcomeLine]) -> None:
        """Pass its phases on, and keep those that ended."""
        for event in said:
            if isinstance(event, OutcomeLine):
                self._outcome = event
                continue
            self._own = True
            self._log.report(event)
            if event.state == "begin":
                continue
            self._log.phases.append(SwapPhase(name=event.phase, seconds=round(event.seconds, 4)))
            if event.state == "fail":
                self._failed = self._failed or event.detail

    def ended(self, state: Literal["done", "fail"]) -> None:
        """The program is over. One that told no phase gets one for the whole."""
        if self._own:
            return
        seconds = asyncio.get_running_loop().time() - self._since
        self._log.phases.append(SwapPhase(name="load", seconds=round(seconds, 4)))
        self._log.report(PhaseEvent("load", state, seconds))

    def failure(self, code: int, words: str) -> SwapFailed:
        """Why it ended with a code, by its own lines where they say it, else by its words."""
        said = self._outcome.detail if self._outcome is not None and self._outcome.detail else self._failed
        word, rest = failure_class(said)
        named = cast(Failure, word) if word in get_args(Failure) else ""
        told = (rest if named else said) or words
        return SwapFailed(
            f"The swap command ended with code {code}. {told}".strip(),
            hint="Run it by hand to see more.",
            failure=named or class_of_words(told),
        )


def _words(script: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(script))
    except ValueError:
        words = ()
    if not words:
        raise ConfigError(
            'Strategy "command" names no command.', hint="Set argv under [swap.command], a list of words."
        )
    return words


def _filled(argv: Sequence[str], role: Role | None) -> list[str]:
    """The words with the role in place of `{role}`, or after them where it stands nowhere."""
    if role is None:
        return list(argv)
    filled = [word.replace("{role}", role.value) for word in argv]
    return filled if filled != list(argv) else [*filled, role.value]
