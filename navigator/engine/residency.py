"""Which model is on the GPU: swaps it, records it, and notices swaps made by others. Also the open batch, which a swap ends."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

from navigator.engine.conductor_state import ConductorState
from navigator.engine.summary import SessionSummary
from navigator.engine.swapping import (
    CanaryWatch,
    WeightReadAhead,
    confirmed,
    first_answer,
    garbage,
    resident_now,
)
from navigator.journey.dependencies import Dependencies
from navigator.journey.recovery import Storage
from navigator.model.errors import NavigatorError
from navigator.model.models import Swap, utc_now
from navigator.model.states import LOOP_TASK_STATES, CanaryOutcome, Role
from navigator.sheet.finish import SWAPPING_TO, UNTIL
from navigator.store.writes.writer import Transaction
from navigator.swap import looks
from navigator.swap.base import OTHER, PhaseEvent, Report, SwapResult
from navigator.swap.ssh import ConnectionLost

log = logging.getLogger(__name__)

_NOT_ITS_FAULT = ("lock_held", "cancelled", "connection_lost")
"""Failures that say nothing about the model: another swap was in the way, or the network. They are waited out and not counted."""

_TRIES_WITHOUT_CONNECTION = 8
"""Swaps in a row that found no connection, after which a session with --until ends."""


class Residency:
    """Drives the swap strategy for the conductor. Everything it finds or does is in the store and in `ConductorState`.

    Args:
        batches: ended when the reviewer leaves.
        wake: called when something changed that the scheduler should hear of.
    """

    def __init__(
        self,
        deps: Dependencies,
        live: ConductorState,
        session: SessionSummary,
        storage: Storage,
        batches: Batches,
        wake: Callable[[], None],
    ) -> None:
        self._deps = deps
        self._servers = deps.servers
        self._live = live
        self._session = session
        self._storage = storage
        self._batches = batches
        self._wake = wake
        self.canary = CanaryWatch(deps, storage)
        self.outage = ""
        """Why the servers' machine cannot be reached, as last noted; "" where it can."""
        self._unproved: Role | None = None
        """A model that others loaded, and that has not passed the canary."""

    @cached_property
    def warmth(self) -> WeightReadAhead:
        """Reads weights ahead, and measures how much of them a swap found in memory."""
        return WeightReadAhead(self._deps.settings, self._servers.strategy)

    async def begin(self) -> None:
        """Find out what is really loaded, whatever was last written down."""
        if wrong := await self._servers.strategy.prepare():
            log.warning("not everything could be prepared: %s", wrong)
        known = self._deps.reader.meta("resident", str)
        before = Role(known) if known in (Role.GENERATOR.value, Role.REVIEWER.value) else None
        try:
            found = self._live.resident = await self._servers.strategy.resident()
        except ConnectionLost as error:
            self.note_outage(str(error))
            return
        log.info("strategy %s, resident %s", self._servers.strategy.name, found.value if found else "nothing")
        if None not in (before, found) and before is not found and not self._servers.strategy.both_resident:
            self.outside(before, found)
        else:
            self._unproved = found
            self.note()
        await self.examine()
        await self.warmth.rest(self._live.resident)
        await self.assumptions(self._live.resident)

    async def check_servers(self, *, give_up: bool) -> None:
        """Name at once every server that has to be up and does not answer.

        Args:
            give_up: ask a role no more in this session if nothing listens at its address.
        """
        if self._servers.strategy.restarts_servers:
            return
        for seen in await looks(self._deps.settings, self._deps.paths):
            if seen.state in ("silent", "other", "unusable"):
                self.note_problem(seen.role, f"{seen.problem} {seen.remedy}".strip())
                if give_up and seen.down:
                    self._live.failed(seen.role, began=time.monotonic(), give_up_after=1)

    def note_problem(self, role: Role, problem: str, *, new: bool = True) -> None:
        """Keep and report why a role's server does not answer; once per reason.

        Args:
            new: False: a reason that is known already says it better than this one.
        """
        known = self._live.problems.get(role)
        if known == problem or (known and not new):
            return
        self._live.problems[role] = problem
        log.error("the %s's server: %s", role.value, problem)
        self._storage.event(
            "that a server does not answer", "server_problem", role=role.value, problem=problem
        )
        if self._servers.strategy.both_resident:
            with self._storage.writing("what is resident"):
                self.note()

    def note_outage(self, problem: str) -> None:
        """Record that the servers' machine cannot be reached; what was resident there counts until it can be looked at."""
        if problem:
            self.outage = problem
            for role in OTHER:
                self.note_problem(role, problem)

    def note_reached(self) -> bool:
        """The servers' machine was reached; returns whether that is news. Roles are asked again without further pause."""
        news, self.outage = self.outage, ""
        for role in [role for role, said in self._live.problems.items() if news and said == news]:
            self.note_answer(role)
        return bool(news)

    def note_answer(self, role: Role) -> None:
        """Note that a role answered; a problem that was reported of its server is withdrawn."""
        solved = self._live.problems.get(role)
        self._live.answered(role)
        if solved is None:
            return
        log.info("the %s's server answers again", role.value)
        self._storage.event("that a server answers again", "server_problem", role=role.value, problem="")
        if self._servers.strategy.both_resident:
            with self._storage.writing("what is resident"):
                self.note()

    async def swap(self, to: Role) -> None:
        """Swap to `to`. The outcome is recorded; nothing is raised."""
        deps, live = self._deps, self._live
        origin, started, began = live.resident, utc_now(), time.monotonic()
        if away := await self._servers.strategy.reach():
            self._not_reached(origin, to, began, away)
            return
        await self.forget(to, origin)
        names = {"from": origin.value if origin else None, "to": to.value}

        def report(event: PhaseEvent) -> None:
            deps.on_live(
                {"swap": names | {"phase": event.phase, "state": event.state, "seconds": event.seconds}}
            )

        deps.on_live({"swap": names | {"phase": "begin"}})
        with self._storage.writing("that a swap begins"), deps.store.transaction() as tx:
            tx.set_meta(SWAPPING_TO, to.value)
            tx.event("swap_begun", data={"from": origin.value if origin else "", "to": to.value})
        try:
            measuring = await self.warmth.before(to)
            deps.cpu_work.forget()
            result = await self._servers.strategy.swap(to, report)
            bytes_read = await self.warmth.measured(measuring)
            await self._ended(origin, to, started, began, result, bytes_read, report)
        except Exception as error:
            reason = str(error) if isinstance(error, NavigatorError) else repr(error)
            # A defect in a strategy: said whole in the log, tried again after the pause that every failure has.
            log.warning("swap to %s broke", to.value, exc_info=not isinstance(error, NavigatorError))
            self._load_failed(to, began, reason)
            self._keep(origin, to, started=started, outcome="failed", reason=reason)
            live.resident = await resident_now(self._servers.strategy)
        finally:
            live.swapping_to = None
            if live.wanted is to:
                live.wanted = None
            if live.resident is Role.REVIEWER:
                live.hurry = False
            with self._storage.writing("the swap's end"):
                if live.resident is Role.GENERATOR:
                    self._batches.end()
                self.note()
            self._wake()
        await self.warmth.rest(live.resident)

    async def _ended(
        self,
        origin: Role | None,
        to: Role,
        started: str,
        began: float,
        result: SwapResult,
        read: tuple[int, int],
        report: Report,
    ) -> None:
        deps, live = self._deps, self._live
        result, live.resident = await confirmed(self._servers.strategy, to, result)
        if result.outcome == "done":
            result = await self._proved(origin, to, result, report)
        ended = time.monotonic()
        seconds = round(ended - began, 3)
        self._keep(
            origin,
            to,
            started=started,
            phases=result.phases,
            seconds=seconds,
            outcome=result.outcome,
            reason=result.reason,
            failure=result.failure,
            weight_bytes=read[0],
            warm_bytes=read[1],
            filled_with=deps.cpu_work.between(began, ended),
        )
        log.info("swap to %s: %s in %.1f s %s", to.value, result.outcome, seconds, result.reason)
        await self.assumptions(live.resident)
        if result.outcome == "done":
            self.note_answer(to)
            live.loaded(to)
            live.swaps_made += origin is not None
            return
        if result.failure not in _NOT_ITS_FAULT:
            self._load_failed(to, began, result.reason)
        else:
            live.failed(to, began=began, give_up_after=None)
            if result.failure == "connection_lost":
                self.note_outage(self._servers.strategy.outage or result.reason)
        if live.resident not in (None, origin, to) and result.failure != "garbage":
            self.outside(origin, live.resident)  # somebody else's swap was in the way

    def _not_reached(self, origin: Role | None, to: Role, began: float, problem: str) -> None:
        """The servers' machine is away: tried again after a pause, in a session with --until a few times only.

        Nothing was swapped, so no swap is written down, unless the developer asked for it and waits for what becomes of it.
        """
        deps, live = self._deps, self._live
        tries = _TRIES_WITHOUT_CONNECTION if deps.reader.meta(UNTIL, str) else None
        live.failed(to, began=began, give_up_after=tries)
        self.note_outage(problem)
        if live.wanted is to:
            live.wanted = None
            self._keep(origin, to, outcome="failed", reason=problem, failure="connection_lost")
        live.swapping_to = None
        self._wake()

    def _keep(self, origin: Role | None, to: Role, **found: Any) -> None:
        """Write a swap of this session down, and count it."""
        named = {
            "strategy": self._servers.strategy.recorded,
            "started": utc_now(),
        }
        swap = Swap(from_role=origin, to_role=to, **named | found)
        with self._storage.writing("a swap"), self._deps.store.transaction() as tx:
            tx.add_swap(swap)
        self._session.swapped(swap)

    async def _proved(self, origin: Role | None, to: Role, result: SwapResult, report: Report) -> SwapResult:
        """The swap, if the canary finds the model well; else the way back: only another load brings this one back."""
        result, found = await first_answer(self.canary, to, result, report)
        if found is None or found.outcome is not CanaryOutcome.GARBAGE:
            return result
        strategy = self._servers.strategy
        self.note_problem(to, garbage(found))
        back = origin if origin not in (None, to) else OTHER[to]
        assert back is not None
        await self.forget(to, back)
        left = await strategy.swap(back, lambda event: None)
        self._live.resident = await resident_now(strategy)
        return replace(
            result,
            outcome="went_back" if left.outcome == "done" else "failed",
            phases=result.phases + left.phases,
            reason=" ".join(filter(None, (garbage(found), left.reason))),
            failure="garbage",
        )

    async def examine(self) -> None:
        """Ask a model that others loaded; if it answers garbage, have it loaded again."""
        live, role = self._live, self._live.resident
        if role is None or role is not self._unproved or live.swapping_to is not None:
            return
        if self._servers.strategy.both_resident:
            return
        self._unproved = None
        live.swapping_to = role  # until it has answered it is given no work, as after a swap of our own
        try:
            found = await self.canary.loaded(role)
        finally:
            live.swapping_to = None
            self._wake()
        bad = found is not None and found.outcome is CanaryOutcome.GARBAGE
        if found is None or not bad or live.resident is not role:
            return
        self.note_problem(role, garbage(found))
        # Its server would call another load of the same model done: only the other model's load ends it.
        live.swapping_to = OTHER[role]
        await self.swap(OTHER[role])

    def _load_failed(self, role: Role, began: float, reason: str) -> None:
        count = self._live.load_failed(role, reason, began=began)
        log.error("swap to %s failed (%d in a row): %s", role.value, count, reason)
        self.note_given_up(role)

    async def forget(self, *roles: Role | None) -> None:
        """Drop the connections to servers that go or come."""
        for role in roles:
            if role is not None:
                await self._servers.forget(role)

    def note_given_up(self, role: Role) -> None:
        """Say it once when a role is not loaded again: its tasks stay queued until somebody looks."""
        reason = self._live.given_up.get(role)
        if reason is None:
            return
        log.error("%s is disabled after repeated failures: %s", role.value, reason)
        self._storage.event("that a role is disabled", "given_up", role=role.value, reason=reason)

    def outside(self, before: Role | None, found: Role | None) -> None:
        """Somebody else swapped: recorded as an external swap without a measured time."""
        deps = self._deps
        assert found is not None
        log.warning(
            "resident is %s, not %s: not our doing", found.value, before.value if before else "nothing"
        )
        swap = Swap(
            from_role=before,
            to_role=found,
            strategy=self._servers.strategy.recorded,
            started=utc_now(),
            made_by="outside",
        )
        self._live.resident = self._unproved = found
        self._live.pardon(found)
        with self._storage.writing("a swap made outside"):
            with deps.store.transaction() as tx:
                tx.add_swap(swap)
                tx.event("swap_outside", data={"from": before.value if before else "", "to": found.value})
            if found is Role.GENERATOR:
                self._batches.end()
            self.note()

    def note(self) -> None:
        """Write down who is resident."""
        resident = self._live.resident
        word = resident.value if resident else ""
        if self._servers.strategy.both_resident:
            word = "" if self._live.problems else "both"
        with self._deps.store.transaction() as tx:
            tx.set_meta("resident", word)
            tx.set_meta(SWAPPING_TO, None)
            tx.event("resident", data={"role": word})

    async def assumptions(self, role: Role | None) -> None:
        """Keep what a rehearsal assumes about time, which the session's modelled figures are based on."""
        if not self._servers.strategy.embedded or role is None:
            return
        self._session.assume(role, (await self._servers.client(role).server_info()).get("timing"))


_LAST_BATCH = "last_batch"
"""Where the newest batch's day and its number on that day are noted."""


def next_batch(tx: Transaction, now: str) -> str:
    """The next batch's name: the day and letters, `2026-11-20-a` … `-z`, `-aa`."""
    day, last = now[:10], tx.read.meta(_LAST_BATCH, dict) or {}
    number = last["number"] + 1 if last.get("day") == day else 1
    tx.set_meta(_LAST_BATCH, {"day": day, "number": number})
    letters = ""
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("a") + digit) + letters
    return f"{day}-{letters}"


class Batches:
    """The batch that is open, if one is.

    Attributes:
        name: of the open batch, "" where none is.
    """

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._last_work = 0.0
        """Monotonic seconds: when something was last left to do."""
        self.name = ""

    def take_in(self, task_id: str) -> None:
        """The task's open proposal is about to be reviewed: it belongs to this batch."""
        with self._deps.store.transaction() as tx:
            if not self.name:
                self.name = next_batch(tx, utc_now())
            tx.set_batch([tx.read.open_proposal(task_id).id], self.name)

    def end(self) -> None:
        """What is reviewed from now on belongs to another batch."""
        if not self.name:
            return
        with self._deps.store.transaction() as tx:
            tx.event("batch_ended", data={"batch": self.name})
        self.name = ""

    def end_if_quiet(self, *, until: str) -> None:
        """Where both models are resident no swap ends a batch: the session does.

        A conductor that stays ends it once nothing is left to do and nothing came for `[batch] quiet_minutes`: not between
        two tasks, or each project would get a branch for each of them.

        Args:
            until: how far the session goes; "" for one that stays.
        """
        if not self.name or until or not self._deps.servers.strategy.both_resident:
            return
        now = time.monotonic()
        if self._deps.reader.tasks(states=LOOP_TASK_STATES, limit=1):
            self._last_work = now
        elif now >= self._last_work + 60 * self._deps.settings.batch.quiet_minutes:
            self.end()
