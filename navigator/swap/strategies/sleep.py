"""Strategy `sleep`: both servers run all the time; one holds the GPU's memory, the other has released it.

A swap moves weights between the GPU and the host's memory and loads nothing from disk, so it takes seconds. What each server
is doing is asked of it and read from a ledger in the state folder (see `sleepers`); an unsure one is left alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from navigator.client.client import ModelClient
from navigator.config.settings import Settings
from navigator.model.errors import ConfigError, NavigatorError
from navigator.model.states import Role
from navigator.swap.base import OTHER, ROLES, PhaseLog, Report, Setup, Sighting, SwapResult, SwapStrategy
from navigator.swap.failures import InFlight, SwapFailed, failure_of, until
from navigator.swap.machine import free_mib, is_local, wait_for_memory
from navigator.swap.sleepers import RELEASE_SECONDS, WAKE_SECONDS, Ledger, Sleeper, State, sleeper_for
from navigator.swap.status import ServerLook
from navigator.swap.status import State as LookState

_Sleepers = dict[Role, Sleeper | None]


class SleepStrategy(SwapStrategy):
    """Puts one of two running servers to sleep and wakes the other.

    Args:
        settings: where the servers are, and `[swap.sleep]`.
        ledger: the file that remembers what was asked of them.
        in_flight: the ids of Navigator's own requests, to abort those that outlast the drain.

    Raises:
        ConfigError: both roles have one address, where only one server can be.
    """

    name = "sleep"
    about = "both servers run, and one releases the GPU while the other works (SGLang, vLLM)"
    uses_units = True

    def __init__(self, settings: Settings, ledger: Path, *, in_flight: InFlight = tuple) -> None:
        super().__init__(settings, in_flight=in_flight)
        self.check(settings)
        self._ledger = Ledger(ledger)

    @classmethod
    def create(cls, setup: Setup) -> SleepStrategy:
        """With the ledger in the state folder."""
        return cls(setup.settings, setup.paths.root / "sleep.json", in_flight=setup.in_flight)

    @classmethod
    def check(cls, settings: Settings) -> None:
        """Two servers at once need two addresses."""
        if settings.generator.base_url == settings.reviewer.base_url:
            raise ConfigError(
                f'Both roles use {settings.generator.base_url}; strategy "sleep" needs two servers with two addresses.',
                hint="Give each server its own port, and set base_url of each role.",
            )

    async def look_at(self, role: Role) -> ServerLook:
        """A server that sleeps lists its model all the same."""
        look = await super().look_at(role)
        if look.state not in ("ready", "loading"):
            return look
        async with self._sleepers(role) as sleepers:
            found = await _state(sleepers[role])
        states: dict[State, LookState] = {
            "awake": "ready",
            "gone": "silent",
            "paused": "paused",
            "asleep": "asleep",
            "loading": "loading",
            "unsure": "unsure",
        }
        state = states[found]
        if state in ("ready", "asleep", "paused", "unsure"):
            return replace(look, state=state, problem="", remedy="")
        return replace(look, state=state)

    async def look(self, believed: Role | None) -> Sighting:
        """The believed role's model is asked for, and whether another program put its server to sleep."""
        seen = await super().look(believed)
        if believed is None or seen.resident is not believed or not seen.sure:
            return seen
        async with self._sleepers(believed) as sleepers:
            state = await _state(sleepers[believed])
        if state in ("awake", "gone"):  # gone between two questions: the next look finds it
            return replace(seen, sure=state == "awake")
        if state == "asleep":
            return Sighting(await self._find())
        return replace(seen, sure=False, detail=f"its server is {state}")

    async def rest(self, report: Report) -> SwapResult:
        """Put every server that is awake to sleep: the GPU is free for one that has yet to be started."""
        async with self._lock, self._sleepers() as sleepers:
            log = PhaseLog(report)
            try:
                for role, sleeper in sleepers.items():
                    if sleeper is None or await sleeper.state() != "awake":
                        continue
                    await self._drain(role, log, role.value)
                    with log.phase("release", role.value):
                        await sleeper.sleep()
                        await self._memory_for(OTHER[role])
            except (NavigatorError, OSError) as error:
                return log.result("failed", str(error), failure_of(error))
            return log.result("done")

    async def _previous(self, to: Role) -> Role | None:
        async with self._sleepers() as sleepers:
            return OTHER[to] if await _state(sleepers[OTHER[to]]) == "awake" else None

    async def _change(self, to: Role, previous: Role | None, log: PhaseLog, detail: str) -> None:
        """Drain and release the other server, wait for its memory, wake `to`."""
        other = OTHER[to]
        async with self._sleepers() as sleepers:
            states = {role: await _state(sleepers[role]) for role in ROLES}
            self._require_possible(to, states)
            sleeping, waking = sleepers[other], sleepers[to]
            assert waking is not None  # else its state is "gone"
            if sleeping is not None and states[other] in ("awake", "paused"):
                if states[other] == "awake":
                    await self._drain(other, log, detail)
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

    async def _restore(self, previous: Role, log: PhaseLog, detail: str) -> None:
        async with self._sleepers(previous) as sleepers:
            if await _state(sleepers[previous]) == "awake":
                return  # nothing had been taken from it yet
        await self._change(previous, None, log, detail)

    def _require_possible(self, to: Role, states: dict[Role, State]) -> None:
        """Say what prevents the swap before anything is touched.

        Raises:
            SwapFailed: the target does not run, or the state of one of the two is unknown.
        """
        if states[to] == "gone":
            raise SwapFailed(
                f"The {to.value}'s server at {self.server(to).base_url} is not running.",
                hint='Start it; strategy "sleep" swaps between servers that run.',
                failure="unreachable",
            )
        for role in (to, OTHER[to]):
            if states[role] == "unsure":
                raise SwapFailed(
                    f"A swap was interrupted, and the {role.value}'s server does not say whether it holds its weights.",
                    hint="Restart that server, then swap again: the wrong request would end it.",
                    failure="unsure",
                )

    async def _memory_for(self, to: Role) -> None:
        if not is_local(self.server(to).base_url):
            return
        need = self._ledger.read(to).mib
        if not await wait_for_memory(need, RELEASE_SECONDS):
            wanted = f"{need} MiB were" if need else "the GPU's memory was"
            raise SwapFailed(
                f"{wanted} not free {RELEASE_SECONDS:g} s after the release.",
                hint="Run nvidia-smi to see what else uses the GPU.",
                failure="no_memory",
            )

    async def _free(self, role: Role) -> int | None:
        return await free_mib() if is_local(self.server(role).base_url) else None

    async def _learn(self, role: Role, before: int | None) -> None:
        """Keep how much memory the server took, so that the next swap waits for as much."""
        after = await self._free(role)
        if before is not None and after is not None and before > after:
            self._ledger.write(role, replace(self._ledger.read(role), mib=before - after))

    async def _healthy(self, role: Role, sleeper: Sleeper, client: ModelClient) -> None:
        """Wait until the server takes work; only then is its health asked for, which generates a token."""
        async for _ in until(WAKE_SECONDS):
            if await sleeper.state() == "awake" and await client.health():
                return
        raise SwapFailed(
            f"The {role.value} was not healthy within {WAKE_SECONDS:g} s.",
            hint="Check its server's log.",
            failure="timeout",
        )

    async def _is_resident(self, role: Role) -> bool:
        """One that sleeps is never asked for its health."""
        async with self._sleepers(role) as sleepers:
            return await _state(sleepers[role]) == "awake" and await super()._is_resident(role)

    async def _find(self) -> Role | None:
        """The first role whose server is awake and lists its model; no health is asked for."""
        async with self._sleepers() as sleepers:
            for role in ROLES:
                with contextlib.suppress(NavigatorError):
                    if await _state(sleepers[role]) == "awake" and await self._serves(role):
                        return role
        return None

    @asynccontextmanager
    async def _sleepers(self, *roles: Role) -> AsyncIterator[_Sleepers]:
        made: _Sleepers = {}
        try:
            for role in roles or ROLES:
                made[role] = await sleeper_for(role, self.server(role), self._ledger)
            yield made
        finally:
            for sleeper in made.values():
                if sleeper is not None:
                    await sleeper.aclose()


async def _state(sleeper: Sleeper | None) -> State:
    return "gone" if sleeper is None else await sleeper.state()


STRATEGY = SleepStrategy
