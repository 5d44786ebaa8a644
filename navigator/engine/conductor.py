"""The conductor: asks the scheduler what to do, does it, records it, asks again.

It holds the state folder's lock while it lives, is the only writer of the store and the only one that lands commits. It
decides nothing itself: `schedule.next_actions` does, from a snapshot.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from navigator.actions.registry import perform
from navigator.client.errors import ServingError, Unreachable, WrongModel
from navigator.engine.conductor_state import ConductorState
from navigator.engine.on_events import OnEvents
from navigator.engine.reconcile import Incoming, Reconciler, RevertWatch
from navigator.engine.residency import Batches, Residency
from navigator.engine.server import SocketServer
from navigator.engine.summary import SessionSummary
from navigator.engine.swapping import Ahead
from navigator.engine.wire import Result
from navigator.exam.queue import ExamQueue, keep_preparing
from navigator.journey.change import check, read_last, review, write
from navigator.journey.dependencies import Dependencies
from navigator.journey.moves import broke
from navigator.journey.recovery import Storage, recover
from navigator.model import snapshot as acts
from navigator.model.errors import NavigatorError
from navigator.model.models import Event
from navigator.model.states import Escalation, Role, TaskState
from navigator.schedule.next_actions import next_actions
from navigator.schedule.swap_rule import outlook
from navigator.sheet.finish import UNTIL, measured_doubt, measured_figures
from navigator.store.database import is_low
from navigator.store.errors import DatabaseCorrupt, DatabaseLocked, DiskFull

if TYPE_CHECKING:
    from navigator.engine.metrics import MetricsServer

log = logging.getLogger(__name__)

GIVE_UP_AFTER = 5
"""Failures in a row after which a session with --until asks a role no more; its tasks stay queued."""

_THREADS = 64

_HEARTBEAT = 5.0
"""Seconds between checks when nothing happens."""


@dataclass(frozen=True)
class RunOptions:
    """`navigator run`'s flags."""

    until: str = ""
    max_swaps: int | None = None
    only: frozenset[str] = frozenset()
    """The tasks to work on; empty: all. A session with it looks for no other work and asks no exam."""


class Conductor:
    """One session of work on one state folder. The caller holds the lock."""

    def __init__(
        self, deps: Dependencies, options: RunOptions, on_event: Callable[[Event], None] | None = None
    ) -> None:
        self._deps = deps
        self._options = options
        self._live = ConductorState()
        self._wake = asyncio.Event()
        self._swapped = asyncio.Event()
        self._stopping = ""
        self._jobs: set[asyncio.Task[None]] = set()
        self._stages: dict[str, asyncio.Task[None]] = {}
        self._storage = Storage(deps, self.stop)
        self._on_event = on_event
        self._figures_at = -1
        self._looked_at = acts.SchedulerSnapshot(())
        self._noted: dict[Role, float] = {}
        self._server = SocketServer(
            deps.paths.socket, self._handle, lambda after: deps.reader.events(after, limit=1_000_000)
        )
        self.session = SessionSummary(deps)
        self._batches = Batches(deps)
        self._exam = ExamQueue(deps)
        self._incoming = Incoming(deps, self._storage)
        self._ahead = Ahead(deps, self._storage)
        self._residency = Residency(
            deps, self._live, self.session, self._storage, self._batches, self._wake.set
        )
        self._metrics: MetricsServer | None = None
        self._watch = Reconciler(deps, self._live, self._residency, self._storage, self._wake.set)
        self._events = OnEvents(deps, self._storage)
        self._finished = False

    async def run(self) -> SessionSummary:
        """Work until the goal is reached, `stop` is asked for, or the process is told to end.

        Raises:
            DatabaseCorrupt: nothing can be written down any more; what was committed before is not touched.
        """
        deps = self._deps
        # Threads wait for git, tests and worker processes: some that wait long must not keep the others from a thread.
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(_THREADS, "work"))
        deps.store.on_commit = self._committed
        deps.on_live = self._server.publish_live
        deps.servers.at_hand = self._at_hand
        deps.conducting = True
        deps.conductor = self
        strategy = deps.servers.strategy  # a missing strategy is said before anything is bound or recovered
        if deps.settings.metrics.listen:
            from navigator.engine.metrics import MetricsServer

            self._metrics = MetricsServer(deps.settings.metrics, deps.paths, lambda: self._looked_at)
        deps.prompts.check()  # and so is a prompt of the user's own that cannot be used
        await recover(deps)
        with deps.store.transaction() as tx:
            tx.set_meta(UNTIL, self._options.until)
        self._events.begin()
        await self._server.start()
        log.info("conductor begins")
        try:
            if self._metrics is not None:
                self._metrics.start()
            if not self._options.only:
                await self._incoming.look()
            await self._residency.begin()
            await self._residency.check_servers(give_up=bool(self._options.until))
            if not strategy.both_resident:
                self._spawn(self._keep_watch())
            if not self._options.only:
                self._spawn(keep_preparing(deps, self._storage, self._swapped))
                self._spawn(self._incoming.run())
                self._spawn(RevertWatch(deps, self._storage, self._at_rest).run())
            while not self._stopping:
                self._wake.clear()
                try:
                    pause = self._step()
                except (DiskFull, DatabaseLocked) as error:
                    log.warning("nothing can be written down now: %s", error)
                    pause = _HEARTBEAT
                except DatabaseCorrupt as error:
                    self._storage.broke(error)
                if self._stopping:
                    break
                try:
                    await asyncio.wait_for(self._wake.wait(), pause)
                except TimeoutError:
                    continue
        finally:
            await self._finish()
        if self._storage.damage is not None:
            raise self._storage.damage
        return self.session

    def _at_hand(self, role: Role) -> bool:
        if self._stopping or role in self._live.given_up:
            return False
        held = self._live.resident is role and self._live.swapping_to is None
        return held or self._deps.servers.strategy.both_resident

    def _at_rest(self) -> bool:
        return not self._live.busy and not self._exam.running and self._live.swapping_to is None

    def stop(self, reason: str) -> None:
        """End the session soon: what is in flight is cut off and stays to be done."""
        self._stopping = self._stopping or reason
        self._wake.set()

    def _step(self) -> float:
        """Start what the scheduler names; returns the seconds to wait at most before asking again."""
        if self._storage.look():
            return _HEARTBEAT
        self._storage.take_back(frozenset(self._live.busy))
        self._batches.end_if_quiet(until=self._options.until)
        if self._figures_at != self._live.swaps_made:
            # A swap just ended: what it took is known, and nothing hurries.
            self._figures_at = self._live.swaps_made
            self._live.figures, _ = measured_figures(self._deps.reader, self._deps.settings.swap)
            self._live.doubt = measured_doubt(self._deps.reader)
        snapshot = self._live.snapshot(
            self._deps,
            until=self._options.until,
            max_swaps=self._options.max_swaps,
            both_resident=self._deps.servers.strategy.both_resident,
            exam=self._exam.view(loaded=self._at_hand(Role.REVIEWER)),
        )
        if self._options.only:
            mine = (one for one in snapshot.tasks if one.id in self._options.only or one.landing_due)
            snapshot = replace(snapshot, tasks=tuple(mine), exam=acts.ExamView())
        self._looked_at = snapshot
        now = time.monotonic()
        pause = _HEARTBEAT
        for action in next_actions(snapshot, now):
            if isinstance(action, acts.Stop):
                self._finished = True
                self.stop(action.reason)
            elif isinstance(action, acts.Sleep):
                pause = min(pause, max(0.0, action.until - now))
            else:
                self._start(action)
        return pause

    def _start(self, action: acts.Action) -> None:
        deps = self._deps
        match action:
            case acts.Generate(task_id):
                self._work(task_id, deps.writer_of(deps.reader.task(task_id)), write(deps, task_id))
            case acts.RunChecks(task_id):
                self._work(task_id, None, deps.cpu_work.during("checks", partial(check, deps, task_id)))
            case acts.ReviewTask(task_id):
                self._work(task_id, Role.REVIEWER, self._review(task_id))
            case acts.AskExam(item_id):
                self._ask_exam(item_id)
            case acts.FinalReview(task_id):
                self._work(task_id, Role.FINAL, read_last(deps, task_id))
            case acts.Land(task_id):
                from navigator.journey.land import land

                self._work(task_id, None, deps.cpu_work.during("landings", partial(land, deps, task_id)))
            case acts.Renew(task_id):
                self._renew(task_id)
            case acts.SwapTo(role):
                self._exam.make_room(0)
                self._live.swapping_to = role
                self._spawn(self._swap(role))

    def _work(self, task_id: str, role: Role | None, stage: Coroutine[Any, Any, object]) -> None:
        self._live.busy[task_id] = role
        if role is Role.REVIEWER:
            held = sum(one is role for one in self._live.busy.values())
            self._exam.make_room(self._deps.servers.limit(role) - held)
        running = self._stages[task_id] = self._spawn(self._guarded(task_id, role, stage))

        def let_go(_: asyncio.Task[None]) -> None:
            # Not in the job itself: one that is cancelled before its first step runs no `finally`.
            stage.close()
            self._live.busy.pop(task_id, None)
            self._stages.pop(task_id, None)
            self._wake.set()

        running.add_done_callback(let_go)

    def _ask_exam(self, item_id: int) -> None:
        """Ask about an item of the exam. Nothing that breaks there changes a task or what is held against a server."""
        asking = self._spawn(self._exam.ask(item_id))
        self._exam.begin(item_id, asking)
        asking.add_done_callback(lambda _: self._wake.set())

    def _spawn(self, job: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(job)
        self._jobs.add(task)
        task.add_done_callback(self._jobs.discard)
        return task

    async def _swap(self, role: Role) -> None:
        """Swap, and use the time in which no model answers."""
        self._spawn(self._ahead.fill(role, self._looked_at, time.monotonic()))
        self._swapped.set()
        try:
            await self._residency.swap(role)
        finally:
            self._ahead.end()

    async def _guarded(self, task_id: str, role: Role | None, stage: Coroutine[Any, Any, object]) -> None:
        """Run one stage; whatever it raises ends in a state a person can read, and never in a lost task."""
        began = time.monotonic()
        try:
            await stage
            if role is not None:
                self._residency.note_answer(role)
        except ServingError as error:
            if role is not None:
                await self._unanswered(role, error, began)
        except asyncio.CancelledError:
            raise
        except DatabaseCorrupt as error:
            self._storage.broke(error)
        except (DiskFull, DatabaseLocked) as error:
            self._storage.cut_off(task_id, error)
        except Exception as error:
            log.exception("%s: a stage failed", task_id)
            if is_low(self._deps.paths.root):
                self._storage.cut_off(task_id, error)  # whatever it says, it found no room
                return
            with self._storage.writing(f"that {task_id} failed"):
                self._fail(task_id, error)

    async def _unanswered(self, role: Role, error: ServingError, began: float) -> None:
        """A call failed. One that went through a lost connection says nothing about the role's server."""
        # One that began before the connection was renewed may fail after it: the next look withdraws the outage.
        outage = ""
        if role is not Role.FINAL:
            cut = await self._deps.servers.strategy.was_cut_since(began)
            outage = self._deps.servers.strategy.outage or self._residency.outage
            outage = outage or ("The connection to the servers' machine was lost." if cut else "")
        give_up_after = None
        if self._options.until and not outage:
            give_up_after = min(2, GIVE_UP_AFTER) if error.needs_settings else GIVE_UP_AFTER
        count = self._live.failed(role, began=began, give_up_after=give_up_after)
        if self._noted.get(role) != self._live.failed_at[role]:  # what was running fails with its server
            self._noted[role] = self._live.failed_at[role]
            pause = self._live.asked_again.get(role.value)
            then = "not asked again in this session" if pause is None else f"asked again in {pause} s"
            log.warning("%s did not answer (%d in a row), %s: %s", role.value, count, then, outage or error)
        if outage:
            self._residency.note_outage(outage)
        elif isinstance(error, Unreachable | WrongModel) or error.needs_settings:
            self._residency.note_problem(role, str(error), new=error.status != 404)
        if role is self._live.resident:
            await self._watch.look(failures=0 if outage else count)

    async def _review(self, task_id: str) -> None:
        if self._deps.reader.task(task_id).escalated is not Escalation.AGAIN:
            self._batches.take_in(task_id)  # a second reading leaves a proposal in the batch it was in
        await review(self._deps, task_id)

    def _fail(self, task_id: str, error: Exception) -> None:
        """Put a task whose stage broke where its state allows: failed, or before the developer with the reason."""
        task = self._deps.reader.task(task_id)
        shown = str(error) if isinstance(error, NavigatorError) else f"{type(error).__name__}: {error}"
        reason = f"Navigator could not go on with this task: {shown}"
        if not self._deps.move(broke, task, reason):
            log.error("%s stays %s: %s", task_id, task.state.value, reason)

    def _renew(self, task_id: str) -> None:
        task = self._deps.reader.task(task_id)
        with self._deps.store.transaction() as tx:
            tx.new_attempt(task_id, note=task.note)
        self._wake.set()

    async def _keep_watch(self) -> None:
        """Look at the servers now and then: no call would notice a swap made elsewhere, or a dead server."""
        while True:
            await asyncio.sleep(_HEARTBEAT)
            try:
                await self._watch.look()
            except Exception:
                # A defect in a strategy's look must not end the session that goes well without it.
                log.exception("a look at the servers broke")

    # The socket

    async def _handle(self, op: str, args: dict[str, Any]) -> Result:
        if op == "status":
            return self._status()
        result = await perform(self._deps, op, args)
        self._wake.set()
        return result

    # What verbs ask of it

    def review_now(self) -> None:
        """Load the reviewer without waiting for the batch to fill."""
        self._live.hurry = True
        self._live.pardon(Role.REVIEWER)

    def swap_to(self, role: Role) -> bool:
        """Load a role when current work finishes; the scheduler decides what follows."""
        loaded = self._live.resident is role and self._live.swapping_to is None
        self._live.pardon(role)
        if loaded or self._deps.servers.strategy.both_resident:
            return True
        self._live.wanted = role
        return False

    def ask_exam(self, items: int) -> tuple[int, int]:
        """Ask so many items of the reviewer's exam, whatever their share, once it is loaded."""
        return self._exam.ask_for(items), len(self._exam.left())

    @property
    def running(self) -> int:
        """How many tasks it is working on."""
        return len(self._live.busy)

    def _status(self) -> Result:
        live = self._live
        ahead = outlook(self._looked_at, time.monotonic())
        left = None if ahead.seconds is None else round(ahead.seconds)
        return {
            "next_review": {"seconds": left, "why": ahead.why},
            "resident": live.resident.value if live.resident else None,
            "both_resident": self._deps.servers.strategy.both_resident,
            "strategy": self._deps.servers.strategy.name,
            "swapping_to": live.swapping_to.value if live.swapping_to else None,
            "busy": {task: role.value if role else None for task, role in live.busy.items()},
            "exam": {"running": self._exam.running, "asked": self._exam.asked},
            "inflight": {
                role.value: {
                    "limit": self._deps.servers.limit(role),
                    "most": self._deps.settings.server(role).max_inflight,
                }
                for role in (Role.GENERATOR, Role.REVIEWER)
            },
            "ahead": {"prompts": self._ahead.prompts, "baselines": self._ahead.baselines},
            "batch": self._batches.name,
            "until": self._options.until,
            "swaps": live.swaps_made,
            "hurry": live.hurry,
            "wanted": live.wanted.value if live.wanted else None,
            "deaths": live.deaths,
            "canary": self._residency.canary.report(),
            "problems": {role.value: said for role, said in live.problems.items()},
            "asked_again": live.asked_again,
            "read_ahead": self._residency.warmth.report(),
            "given_up": {role.value: reason for role, reason in live.given_up.items()},
            "disk_full": self._storage.full,
        }

    def _committed(self, events: Sequence[Event]) -> None:
        for event in events:
            self._drop_cancelled(event)
            self._server.publish(event)
            self._events.look(event)
            if self._on_event is not None:
                self._on_event(event)
        self._wake.set()

    def _drop_cancelled(self, event: Event) -> None:
        """A cancelled task's stage ends at once: the model stops writing, and a retry finds nothing of it under way."""
        if event.kind == "task_state" and event.data.get("to") == TaskState.CANCELLED.value:
            stage = self._stages.get(event.task_id)
            if stage is not None:
                stage.cancel()

    async def _finish(self) -> None:
        """End what runs; a stage that is cut off leaves its task in a state that the next start takes back."""
        for job in list(self._jobs):
            job.cancel()
        await asyncio.gather(*self._jobs, return_exceptions=True)
        await self._residency.warmth.close()
        await self._server.quiesce()
        self.session.ended(self._stopping, {role.value: said for role, said in self._live.problems.items()})
        log.info("conductor ends: %s", self._stopping or "cut off")
        # What cannot be written down now is seen by the next start; the socket and the servers are released all the same.
        with self._storage.writing("the session's end"):
            self._batches.end()
            with self._deps.store.transaction() as tx:
                tx.set_meta(UNTIL, None)
                since = {} if self._options.only else {"since": self.session.began}
                tx.event("conductor_ended", data={"reason": self._stopping} | since)
            await recover(self._deps)
        await self._events.close(finish=self._finished)
        await self._server.close()
        if self._metrics is not None:
            await asyncio.to_thread(self._metrics.close)
        await self._deps.servers.close()
        if self._deps.servers.strategy.embedded:
            # The rehearsal's server ends with its session: nothing is resident any more.
            self._live.resident = None
            with self._storage.writing("that nothing is resident"):
                self._residency.note()
