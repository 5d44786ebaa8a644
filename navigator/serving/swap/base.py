"""What a swap strategy is, and how its phases are measured and told."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

from navigator.domain.errors import NavigatorError
from navigator.domain.models import SwapPhase
from navigator.domain.states import Role
from navigator.serving.client.errors import Unreachable

if TYPE_CHECKING:
    from navigator.config.settings import ServerSettings, Settings

PhaseName = Literal["drain", "stop", "release", "start", "load", "health", "verify"]
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


Failure = Literal[
    "",
    "no_memory",
    "port_taken",
    "unit_failed",
    "crashed",
    "timeout",
    "wrong_model",
    "disk_full",
    "refused",
    "unreachable",
    "lock_held",
    "no_systemd",
    "cancelled",
    "unsure",
]
"""Why a swap failed, as a class. crashed: the server died. unsure: whether the server holds its weights cannot be told,
and guessing would kill it."""


@dataclass(frozen=True, slots=True)
class SwapResult:
    """How a swap ended. `phases` holds every phase that ended, in order, those of going back among them.

    `failure` is the class of what went wrong, "" where nothing did.
    """

    outcome: SwapOutcome
    phases: tuple[SwapPhase, ...]
    seconds: float
    reason: str = ""
    failure: Failure = ""


class SwapFailed(NavigatorError):
    """A phase did not end well. Strategies turn it into a `SwapResult`; callers do not meet it."""

    code = "swap_failed"

    def __init__(self, message: str, *, hint: str = "", failure: Failure = "") -> None:
        super().__init__(message, hint=hint)
        self.failure: Failure = failure


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a look at the servers showed.

    Attributes:
        resident: the role whose model is there; None when none is.
        sure: False where nobody answered in time, though somebody listens: a busy server, no dead one.
        dead: `resident` is None because a server ended unasked; False where it was unloaded in an orderly way.
        failure: the class of why it ended, where the strategy can tell.
        detail: the last lines of its log or the reason in words, "" where the strategy cannot tell. Untrusted.
    """

    resident: Role | None
    sure: bool = True
    dead: bool = False
    failure: Failure = ""
    detail: str = ""


@runtime_checkable
class Watched(Protocol):
    """A strategy that can look more cheaply than `resident` does."""

    async def look(self, believed: Role | None) -> Sighting:
        """Whether `believed` still holds. Called every few seconds: it must cost a server no generated token."""


@runtime_checkable
class Prepares(Protocol):
    """A strategy that has something to do before the first call, though both roles are resident."""

    async def prepare(self) -> str:
        """Do it; what went wrong in words, "" where nothing did."""


async def look(strategy: SwapStrategy, believed: Role | None) -> Sighting:
    """Look at what is loaded, as cheaply as the strategy can; never by SGLang's `/health`, which generates a token."""
    if isinstance(strategy, Watched):
        return await strategy.look(believed)
    return Sighting(await strategy.resident())


class SwapStrategy(Protocol):
    """One way of giving the GPU to a role.

    Attributes:
        name: as in the settings.
        both_resident: both roles answer at once, so there is nothing to swap.
        rehearsal: what answers only rehearses.
    """

    @property
    def name(self) -> str:
        """The strategy's name in the settings."""

    @property
    def both_resident(self) -> bool:
        """Whether both roles answer at once."""

    @property
    def rehearsal(self) -> bool:
        """Whether what answers is no real model."""

    def base_url(self, role: Role) -> str | None:
        """Where `role` answers right now, if that is not what the settings say."""

    def model(self, role: Role) -> str | None:
        """The model that plays `role`, if it is not the one of the settings."""

    async def resident(self) -> Role | None:
        """The role whose model answers right now, as observed, not as remembered; None when none does."""

    async def swap(self, to: Role, report: Report) -> SwapResult:
        """Make `to` resident. Idempotent; a failure is a result, not an exception."""

    async def close(self) -> None:
        """Let go of what belongs to this process."""


def server_for(settings: Settings, strategy: SwapStrategy, role: Role) -> ServerSettings:
    """The settings of `role`'s server, with the address and model that the strategy knows better.

    Ask again after every swap: an address may be another one then.

    Raises:
        Unreachable: a rehearsal that does not play `role` right now. It must never fall back to a real server.
    """
    server = settings.server(role)
    url, model = strategy.base_url(role), strategy.model(role)
    if strategy.rehearsal and model is not None:
        if url is None:
            raise Unreachable(f"The rehearsal's {role.value} does not run.", hint="Swap to it first.")
        # A stand-in needs no key, and gets none.
        return server.model_copy(update={"base_url": url, "model": model, "api_key_env": ""})
    known = {key: value for key, value in (("base_url", url), ("model", model)) if value is not None}
    return server.model_copy(update=known) if known else server


@dataclass(slots=True)
class PhaseLog:
    """Measures phases on the monotonic clock, reports them, and keeps them for the result."""

    report: Report
    started: float = field(default_factory=time.monotonic)
    phases: list[SwapPhase] = field(default_factory=list)

    @contextmanager
    def phase(self, name: PhaseName, detail: str = "") -> Iterator[None]:
        """Run a block as one phase; whatever leaves it by an exception has failed."""
        began = time.monotonic()
        self.report(PhaseEvent(name, "begin", 0.0, detail))
        try:
            yield
        except BaseException as error:
            self._ended(name, "fail", began, str(error) or type(error).__name__)
            raise
        self._ended(name, "done", began, detail)

    def result(self, outcome: SwapOutcome, reason: str = "", failure: Failure = "") -> SwapResult:
        """What the whole swap came to."""
        return SwapResult(outcome, tuple(self.phases), time.monotonic() - self.started, reason, failure)

    def _ended(self, name: PhaseName, state: PhaseState, began: float, detail: str) -> None:
        seconds = time.monotonic() - began
        self.phases.append(SwapPhase(name=name, seconds=round(seconds, 4)))
        self.report(PhaseEvent(name, state, seconds, detail))
