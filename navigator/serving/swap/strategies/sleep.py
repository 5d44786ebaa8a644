"""Strategy `sleep`: both servers run all the time; one holds the GPU's memory, the other has let go of it.

A swap moves weights between the GPU and the host's memory and loads nothing from disk, so it takes seconds. What each server
is doing is asked of it and read from a ledger in the state folder (see `sleepers`); nothing is done to one that is not sure.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from navigator.config.settings import Settings
from navigator.domain.errors import ConfigError, NavigatorError
from navigator.domain.states import Role
from navigator.serving.client.chat import Timeouts
from navigator.serving.client.client import ModelClient
from navigator.serving.client.errors import ServingError
from navigator.serving.swap.base import PhaseLog, Report, Sighting, SwapFailed, SwapResult
from navigator.serving.swap.drain import InFlight, drain, until
from navigator.serving.swap.failures import failure_of
from navigator.serving.swap.gpu import free_mib, is_local, wait_for_memory
from navigator.serving.swap.sleepers import Ledger, Sleeper, State, sleeper_for
from navigator.serving.swap.watching import is_refused, serves

_ROLES = (Role.GENERATOR, Role.REVIEWER)
_OTHER = {Role.GENERATOR: Role.REVIEWER, Role.REVIEWER: Role.GENERATOR}

_Sleepers = dict[Role, Sleeper | None]


class SleepStrategy:
    """Puts one of two running servers to sleep and wakes the other.

    Args:
        settings: where the servers are, and `[swap.sleep]`.
        ledger: the file that remembers what was asked of them.
        in_flight: the ids of Navigator's own requests, to abort those that outlast the drain.

    Raises:
        ConfigError: both roles have one address, where only one server can be.
    """

    name = "sleep"
    both_resident = False
    rehearsal = False

    def __init__(self, settings: Settings, ledger: Path, *, in_flight: InFlight = tuple) -> None:
        if settings.generator.base_url == settings.reviewer.base_url:
            raise ConfigError(
                f"Both roles are at {settings.generator.base_url}, and two sleeping servers need two addresses.",
                hint="Give each server a port of its own, and name it in base_url of its role.",
            )
        self._settings = settings
        self._own = settings.swap.sleep
        self._ledger = Ledger(ledger)
        self._in_flight = in_flight
        self._lock = asyncio.Lock()

    def base_url(self, role: Role) -> str | None:
        """None: the settings' own address holds."""
        return None

    def model(self, role: Role) -> str | None:
        """None: the settings' own model holds."""
        return None

    async def resident(self) -> Role | None:
        """The role whose server is awake, healthy and serves its model. One that sleeps is never asked for its health."""
        async with self._sleepers() as sleepers:
            for role in _ROLES:
                if await _state(sleepers[role]) != "awake":
                    continue
                async with self._client(role) as client:
                    if await client.health() and await serves(client):
                        return role
        return None

    async def look(self, believed: Role | None) -> Sighting:
        """The believed role's models are asked for, and whether its server was put to sleep by other hands."""
        if believed not in _ROLES:
            return Sighting(await self._awake())
        async with self._client(believed) as client:
            try:
                await client.require_model()
            except ServingError as error:
                if is_refused(error):
                    return Sighting(None, dead=True, failure="crashed", detail=error.message)
                return Sighting(believed, sure=False, detail=error.message)
        async with self._sleepers(believed) as sleepers:
            state = await _state(sleepers[believed])
        if state in ("awake", "gone"):  # gone between two questions: the next look finds it
            return Sighting(believed, sure=state == "awake")
        if state == "asleep":
            return Sighting(await self._awake())
        return Sighting(believed, sure=False, detail=f"its server is {state}")

    async def swap(self, to: Role, report: Report) -> SwapResult:
        """Drain and release the other server, wait for its memory, wake `to`; go back if that fails.

        Cancelled or killed at any point, the next swap goes on from what the servers and the ledger say.
        """
        if to not in _ROLES:
            raise ValueError(f"{to.value} has no server that sleeps")
        async with self._lock, self._sleepers() as sleepers:
            log = PhaseLog(report)
            previous: Role | None = None
            try:
                states = {role: await _state(sleepers[role]) for role in _ROLES}
                if states[_OTHER[to]] == "awake":
                    previous = _OTHER[to]
                self._require_possible(to, states)
                await self._make_resident(to, sleepers, states, log)
            except (NavigatorError, OSError) as error:
                return await self._go_back(to, previous, sleepers, log, error)
            return log.result("done")

    async def rest(self, report: Report) -> SwapResult:
        """Put every server that is awake to sleep: the GPU is free for one that has yet to be started."""
        async with self._lock, self._sleepers() as sleepers:
            log = PhaseLog(report)
            try:
                for role, sleeper in sleepers.items():
                    if sleeper is None or await sleeper.state() != "awake":
                        continue
                    with log.phase("drain", role.value):
                        await self._drain(role)
                    with log.phase("release", role.value):
                        await sleeper.sleep()
                        await self._memory_for(_OTHER[role])
            except (NavigatorError, OSError) as error:
                return log.result("failed", str(error), failure_of(error))
            return log.result("done")

    async def close(self) -> None:
        """Nothing is held: the servers are somebody else's."""

    async def _make_resident(
        self, to: Role, sleepers: _Sleepers, states: dict[Role, State], log: PhaseLog, detail: str = ""
    ) -> None:
        other = _OTHER[to]
        sleeping, waking = sleepers[other], sleepers[to]
        if waking is None:
            raise SwapFailed(f"The {to.value}'s server does not run.", failure="unreachable")
        if sleeping is not None and states[other] in ("awake", "paused"):
            if states[other] == "awake":
                with log.phase("drain", detail):
                    await self._drain(other)
            with log.phase("release", detail):
                await sleeping.sleep()
                await self._memory_for(to)
        if states[to] in ("asleep", "paused"):
            with log.phase("load", detail):
                before = await self._free(to)
                await waking.wake()
                await self._learn(to, before)
        async with self._client(to) as client:
            with log.phase("health", detail):
                await self._healthy(to, waking, client)
            with log.phase("verify", detail):
                await client.require_model()

    def _require_possible(self, to: Role, states: dict[Role, State]) -> None:
        """Say what stands in the way before anything is touched.

        Raises:
            SwapFailed: the target does not run, or one of the two is not sure.
        """
        if states[to] == "gone":
            raise SwapFailed(
                f"The {to.value}'s server at {self._settings.server(to).base_url} does not run.",
                hint="Start it; strategy sleep changes between servers that run.",
                failure="unreachable",
            )
        for role in (to, _OTHER[to]):
            if states[role] == "unsure":
                raise SwapFailed(
                    f"Whether the {role.value}'s server holds its weights cannot be told: it was cut off in mid-swap.",
                    hint="Restart that server, then swap again; asking it for the wrong one of the two would end it.",
                    failure="unsure",
                )

    async def _drain(self, role: Role) -> None:
        async with self._client(role) as client:
            await drain(client, self._own.drain_seconds, self._in_flight)

    async def _memory_for(self, to: Role) -> None:
        if not is_local(self._settings.server(to).base_url):
            return
        need = self._own.generator_mib if to is Role.GENERATOR else self._own.reviewer_mib
        need = need or self._ledger.read(to).mib
        if not await wait_for_memory(need, self._own.release_seconds):
            wanted = f"{need} MiB were" if need else "the GPU's memory was"
            raise SwapFailed(
                f"{wanted} not free {self._own.release_seconds:g} s after the release.",
                hint="Look with nvidia-smi at what else holds the GPU.",
                failure="no_memory",
            )

    async def _free(self, role: Role) -> int | None:
        return await free_mib() if is_local(self._settings.server(role).base_url) else None

    async def _learn(self, role: Role, before: int | None) -> None:
        """Keep how much memory the server took, so that the next swap waits for as much."""
        after = await self._free(role)
        if before is not None and after is not None and before > after:
            self._ledger.write(role, replace(self._ledger.read(role), mib=before - after))

    async def _healthy(self, role: Role, sleeper: Sleeper, client: ModelClient) -> None:
        """Wait until the server takes work; only then is its health asked for, which makes it write a token."""
        async for _ in until(self._own.wake_seconds):
            if await sleeper.state() == "awake" and await client.health():
                return
        raise SwapFailed(
            f"The {role.value} was not healthy within {self._own.wake_seconds:g} s.",
            hint="Its server's log says why.",
            failure="timeout",
        )

    async def _go_back(
        self, to: Role, previous: Role | None, sleepers: _Sleepers, log: PhaseLog, error: BaseException
    ) -> SwapResult:
        reason, failure = str(error), failure_of(error)
        if previous is None:
            return log.result("failed", reason, failure)
        try:
            states = {role: await _state(sleepers[role]) for role in _ROLES}
            if states[previous] == "awake":
                return log.result("went_back", reason, failure)  # nothing had been taken from it yet
            if "unsure" in states.values():
                return log.result("failed", f"{reason} {_UNSURE}", failure)
            await self._make_resident(previous, sleepers, states, log, f"going back to {previous.value}")
        except (NavigatorError, OSError) as second:
            return log.result("failed", f"{reason} Going back failed too: {second}", failure)
        return log.result("went_back", reason, failure)

    async def _awake(self) -> Role | None:
        """The first role whose server is awake and lists its model; nobody's health is asked for."""
        async with self._sleepers() as sleepers:
            for role in _ROLES:
                if await _state(sleepers[role]) != "awake":
                    continue
                async with self._client(role) as client:
                    if await serves(client):
                        return role
        return None

    @asynccontextmanager
    async def _sleepers(self, *roles: Role) -> AsyncIterator[_Sleepers]:
        made: _Sleepers = {}
        try:
            for role in roles or _ROLES:
                made[role] = await sleeper_for(role, self._settings.server(role), self._own, self._ledger)
            yield made
        finally:
            for sleeper in made.values():
                if sleeper is not None:
                    await sleeper.aclose()

    def _client(self, role: Role) -> ModelClient:
        return ModelClient(self._settings.server(role), timeouts=Timeouts(health=25.0))


_UNSURE = "It cannot be told which of the two servers holds its weights: restart the one that hangs, then swap again."


async def _state(sleeper: Sleeper | None) -> State:
    return "gone" if sleeper is None else await sleeper.state()
