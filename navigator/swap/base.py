"""What a swap strategy is: the steps that all share, and what each adds. Also how phases are measured and reported.

A new strategy is a file in `strategies/`, a name in `config.settings.SwapStrategyName`, and nothing here.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from navigator.client.body import Timeouts
from navigator.client.client import ModelClient
from navigator.client.errors import NoAnswer, NotReady, ServingError, Unreachable, WrongModel
from navigator.config.paths import StatePaths
from navigator.config.settings import ServerSettings, Settings
from navigator.model.errors import NavigatorError, UsageError
from navigator.model.models import SwapPhase
from navigator.model.states import Role
from navigator.swap.failures import Failure, InFlight, drain, failure_of
from navigator.swap.status import ServerLook, look_at

DRAIN_SECONDS = 120.0
"""Longest wait for running requests, as in model-swap.sh; most answers are over by then, and what is aborted is asked again."""
LOAD_SECONDS = 900.0
"""Longest wait for a model to load, as in model-swap.sh: more than the largest takes from a slow disk."""
ROLES = (Role.GENERATOR, Role.REVIEWER)
OTHER = {Role.GENERATOR: Role.REVIEWER, Role.REVIEWER: Role.GENERATOR}

PhaseName = Literal["drain", "stop", "release", "start", "load", "health", "verify", "canary"]
"""The last one is the conductor's: the model answers fixed questions."""
PhaseState = Literal["begin", "done", "fail"]
SwapOutcome = Literal["done", "went_back", "failed"]
"""done: the target answers. went_back: it does not, the previous model answers again. failed: nothing answers."""


@dataclass(frozen=True, slots=True)
class PhaseEvent:
    """One phase began, ended or failed; `seconds` is how long it took so far."""

    phase: PhaseName
    state: PhaseState
    seconds: float
    detail: str = ""


Report = Callable[[PhaseEvent], None]
"""Called from the event loop as phases begin and end."""


@dataclass(frozen=True, slots=True)
class SwapResult:
    """How a swap ended. `phases` holds every phase that ended, in order, those of going back included.

    `failure` is the class of what went wrong, "" without a failure.
    """

    outcome: SwapOutcome
    phases: tuple[SwapPhase, ...]
    seconds: float
    reason: str = ""
    failure: Failure = ""


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a look at the servers showed.

    Attributes:
        resident: the role whose model is loaded; None if none is.
        sure: False if something listens but nothing answered in time: a busy server, not a dead one.
        dead: `resident` is None because a server ended unexpectedly; False if it was unloaded in an orderly way.
        failure: the class of why it ended, if the strategy can tell.
        detail: the last lines of its log or the reason in words, "" if the strategy cannot tell. Untrusted.
    """

    resident: Role | None
    sure: bool = True
    dead: bool = False
    failure: Failure = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One line of `navigator doctor`. `state`: ok, warn (works without), missing (something needs it)."""

    name: str
    state: Literal["ok", "warn", "missing"]
    found: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a strategy is made from.

    Attributes:
        in_flight: the ids of Navigator's own requests that are running, for strategies that abort them by id.
        time_scale: factor on simulated time; rehearsal only.
    """

    settings: Settings
    paths: StatePaths
    in_flight: InFlight = tuple
    time_scale: float = 1.0


class SwapStrategy(ABC):
    """One way of giving the GPU to a role. A strategy is one file in `strategies/` that ends in `STRATEGY = TheClass`.

    A subclass sets the class attributes, implements `_change`, and overrides what differs from the default: `_is_resident`
    (is this role's model loaded), `_serves` (the same, without generating a token), `server`, `diagnose`, `look_at`.
    """

    name: ClassVar[str]
    """As in the settings."""
    about: ClassVar[str]
    """One line for listings."""
    both_resident: ClassVar[bool] = False
    """Both roles answer at once: there is nothing to swap."""
    one_base: ClassVar[bool] = False
    """Both roles are one base model: its reviews are self-reviews."""
    embedded: ClassVar[bool] = False
    """The servers are the session's own processes and end with it: the rehearsal's."""
    restarts_servers: ClassVar[bool] = False
    """A swap ends one server and starts the other; without it both servers have to run all the time."""
    reads_weights: ClassVar[bool] = False
    """A swap reads weight files of this machine: reading them ahead helps."""
    uses_units: ClassVar[bool] = False
    """The servers are units that `navigator swap install` writes."""
    checks_files: ClassVar[bool] = True
    """`navigator doctor` looks for the weight files and computes what fits on the card."""
    elsewhere: str = ""
    """The machine that the servers run on, as ssh knows it; "" for this one."""

    def __init__(self, settings: Settings, *, in_flight: InFlight = tuple) -> None:
        self._settings = settings
        self._in_flight = in_flight
        self._last: Role | None = None
        self._lock = asyncio.Lock()

    @classmethod
    def create(cls, setup: Setup) -> SwapStrategy:
        """The strategy for these settings.

        Raises:
            ConfigError: the settings do not fit it. MissingPart: it needs a program that is not installed.
        """
        cls.check(setup.settings)
        return cls(setup.settings, in_flight=setup.in_flight)

    @classmethod  # noqa: B027 - most strategies have nothing to check
    def check(cls, settings: Settings) -> None:
        """Raise `ConfigError` if the settings cannot work with this strategy; nothing is started or asked."""

    @property
    def outage(self) -> str:
        """Why the servers' machine cannot be reached now; "" where it can, and where it is this one."""
        return ""

    @property
    def recorded(self) -> str:
        """The name under which swaps are kept: those with the same name are comparable."""
        return self.name

    def connected(self) -> AbstractAsyncContextManager[object]:
        """Within it the servers can be asked by a process that did not `prepare`."""
        return nullcontext()

    async def reach(self) -> str:
        """Try to reach the servers' machine; why it cannot be reached, "" if it can."""
        return ""

    async def was_cut_since(self, moment: float) -> bool:
        """Whether the servers' machine could not be reached at some time since a monotonic second."""
        return False

    def server(self, role: Role) -> ServerSettings:
        """The settings of `role`'s server as it answers now. Ask again after every swap."""
        return self._settings.server(role)

    async def prepare(self) -> str:
        """Prepare the servers before the first call; what went wrong in words, "" if nothing did."""
        return ""

    async def close(self) -> None:  # noqa: B027 - most strategies hold nothing
        """Release what belongs to this process. The servers of most strategies do not."""

    async def diagnose(self) -> list[Check]:
        """This strategy's own lines of `navigator doctor`. Starts and loads nothing."""
        return []

    async def look_at(self, role: Role) -> ServerLook:
        """What `role`'s server says of itself, for people. Loads nothing and generates nothing."""
        return await look_at(role, self.server(role))

    async def rest(self, report: Report) -> SwapResult:
        """Release the GPU without giving it to the other role.

        Raises:
            UsageError: this strategy's servers cannot sleep.
        """
        raise UsageError(
            f'Strategy "{self.name}" has no servers that sleep.', hint='Use this with strategy "sleep".'
        )

    async def resident(self) -> Role | None:
        """The role whose model answers now, as observed; None if none does. With both loaded, the last one asked for."""
        for role in sorted(ROLES, key=lambda role: not self.both_resident and role is not self._last):
            if await self._is_resident(role):
                return role
        return None

    async def look(self, believed: Role | None) -> Sighting:
        """Whether `believed` still is resident. Called every few seconds: it generates no token."""
        if believed not in ROLES:
            return Sighting(await self._find())
        try:
            if await self._serves(believed):
                return Sighting(believed)
        except ServingError as error:
            if not isinstance(error, Unreachable) or isinstance(error, NoAnswer | NotReady):
                return Sighting(believed, sure=False, detail=error.message)
            other = await self._find()
            if other is not None:
                return Sighting(other)
            return Sighting(None, dead=True, failure="crashed", detail=error.message)
        return Sighting(await self._find())

    async def swap(self, to: Role, report: Report) -> SwapResult:
        """Make `to` resident; go back to the previous role if that fails. Idempotent; a failure is a result, no exception.

        Cancelled at any point, the next swap continues from what is there then.
        """
        if to not in ROLES:
            raise ValueError(f"{to.value} is not a role that is swapped")
        async with self._lock:
            log = PhaseLog(report)
            previous: Role | None = None
            try:
                previous = await self._previous(to)
                if previous is to:
                    with log.phase("verify", "already resident"):
                        pass  # `_previous` has just checked it
                else:
                    await self._change(to, previous, log, "")
            except (NavigatorError, OSError) as error:
                return await self._go_back(to, previous, log, error)
            self._last = to
            return log.result("done")

    async def _go_back(
        self, to: Role, previous: Role | None, log: PhaseLog, error: BaseException
    ) -> SwapResult:
        reason, failure = str(error), failure_of(error)
        try:
            await self._clean_up(log)
            if previous is None:
                return log.result("failed", reason, failure)
            await self._restore(previous, log, f"going back to {previous.value}")
        except (NavigatorError, OSError) as second:
            return log.result("failed", f"{reason} Going back failed too: {second}", failure)
        self._last = previous
        return log.result("went_back", reason, failure)

    # What a strategy adds

    @abstractmethod
    async def _change(self, to: Role, previous: Role | None, log: PhaseLog, detail: str) -> None:
        """Make `to` resident in place of `previous`, phase by phase.

        Args:
            previous: the role to drain first; None if there is none, or if this is the way back.
            detail: for the phases' events.

        Raises:
            NavigatorError, OSError: it did not work.
        """

    async def _clean_up(self, log: PhaseLog) -> None:  # noqa: B027 - most strategies leave nothing behind
        """After a failed change, before going back."""

    async def _restore(self, previous: Role, log: PhaseLog, detail: str) -> None:
        """Bring `previous` back, if it is gone."""
        if await self._previous(previous) is not previous:
            await self._change(previous, None, log, detail)

    async def _previous(self, to: Role) -> Role | None:
        """The role to go back to; None if that is unknown."""
        try:
            return await self.resident()
        except NavigatorError:
            return None

    async def _is_resident(self, role: Role) -> bool:
        """Whether the role's model is loaded and answers. By default: its server lists the model and is healthy."""
        async with self._client(role) as client:
            try:
                await client.require_model()
            except NavigatorError:
                return False
            return await client.health()

    async def _serves(self, role: Role) -> bool:
        """As `_is_resident`, without generating a token. By default: its server lists the model.

        Raises:
            ServingError: the server cannot be asked.
        """
        async with self._client(role) as client:
            try:
                await client.require_model()
            except WrongModel:
                return False
        return True

    async def _find(self) -> Role | None:
        """As `resident`, for `look`."""
        return await self.resident()

    # Helpers

    def _client(self, role: Role) -> ModelClient:
        return ModelClient(self.server(role), timeouts=Timeouts(health=25.0))

    async def _drain(self, role: Role, log: PhaseLog, detail: str = "") -> None:
        """Wait until nothing runs on `role`'s server; abort Navigator's own requests when the time is up."""
        with log.phase("drain", detail):
            async with self._client(role) as client:
                await drain(client, DRAIN_SECONDS, self._in_flight)


@dataclass(slots=True)
class PhaseLog:
    """Measures phases on the monotonic clock, reports them, and keeps them for the result."""

    report: Report
    started: float = field(default_factory=time.monotonic)
    phases: list[SwapPhase] = field(default_factory=list)

    @contextmanager
    def phase(self, name: PhaseName, detail: str = "") -> Iterator[None]:
        """Run a block as one phase; it failed if it raises."""
        began = time.monotonic()
        self.report(PhaseEvent(name, "begin", 0.0, detail))
        try:
            yield
        except BaseException as error:
            self.ended(PhaseEvent(name, "fail", time.monotonic() - began, str(error) or type(error).__name__))
            raise
        self.ended(PhaseEvent(name, "done", time.monotonic() - began, detail))

    def ended(self, event: PhaseEvent) -> None:
        """Keep and report a phase that ended; also one that a script measured."""
        self.phases.append(SwapPhase(name=event.phase, seconds=round(event.seconds, 4)))
        self.report(event)

    def result(self, outcome: SwapOutcome, reason: str = "", failure: Failure = "") -> SwapResult:
        """What the whole swap came to."""
        return SwapResult(outcome, tuple(self.phases), time.monotonic() - self.started, reason, failure)
