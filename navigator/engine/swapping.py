"""What a swap came to: a strategy that says "done" is believed only once the role's model is seen to answer the canary.

A swap takes the time between the last answer of one model and the first answer of the other. The canary asks for that.

Under a swap `Ahead` does what needs no model: the prompts that the next model is asked first, and tests on bases. It changes no
task. A prompt is kept with everything that it was made of and is used only for the same; what was not needed is made again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from navigator.config.settings import Settings
from navigator.figures.canary import MAX_TOKENS, PROBES, Probe, judge
from navigator.journey.checking import baseline_of, check_setup
from navigator.journey.dependencies import Dependencies
from navigator.journey.prompts.material import made_for, new_base
from navigator.journey.recovery import Storage
from navigator.journey.review import prepare_review
from navigator.journey.write import agent_writes
from navigator.model.errors import NavigatorError
from navigator.model.models import Project, SwapPhase, Task
from navigator.model.snapshot import Generate, ReviewTask, SchedulerSnapshot
from navigator.model.states import CanaryOutcome, Phase, Role
from navigator.model.text import safe_line
from navigator.schedule.next_actions import first_after_swap
from navigator.swap.base import PhaseEvent, Report, SwapResult, SwapStrategy

if TYPE_CHECKING:
    from navigator.client.client import ModelClient
    from navigator.swap.page_cache import CachedBytes
    from navigator.swap.read_ahead import ReadAhead

log = logging.getLogger(__name__)


async def resident_now(strategy: SwapStrategy) -> Role | None:
    """What is loaded; None if that is unknown."""
    try:
        return await strategy.resident()
    except NavigatorError as error:
        log.warning("resident model unknown: %s", error)
        return None


async def confirmed(strategy: SwapStrategy, to: Role, result: SwapResult) -> tuple[SwapResult, Role | None]:
    """How a swap ended, and what is loaded now.

    A swap that is done, and after which another model answers at the role's address, or none, is a failed load: the script
    and the settings disagree about the model or the port. Counted as done it would be made again, without end.
    """
    there = await resident_now(strategy)
    if result.outcome == "done" and there is None and (await strategy.look_at(to)).state == "ready":
        there = await resident_now(strategy)  # the connection to its machine was lost for a moment
    if result.outcome != "done" or there is to or strategy.both_resident:
        return result, there
    return replace(
        result,
        outcome="failed" if there is None else "went_back",
        failure="wrong_model",
        reason=await _difference(strategy, to, there),
    ), there


async def first_answer(
    canary: CanaryWatch, to: Role, result: SwapResult, report: Report
) -> tuple[SwapResult, Canary | None]:
    """A swap that is done with its last phase, in which the model answers the canary; and the answer. None where that is off."""
    began = time.monotonic()
    if canary.enabled:
        report(PhaseEvent("canary", "begin", 0.0))
    found = await canary.loaded(to)
    if found is None:
        return result, None
    seconds = round(time.monotonic() - began, 3)
    report(PhaseEvent("canary", "done", seconds))
    return replace(result, phases=(*result.phases, SwapPhase(name="canary", seconds=seconds))), found


def garbage(found: Canary) -> str:
    """What is wrong with a model whose canary found garbage."""
    return f"It is healthy and answers garbage: {found.reason}."


async def _difference(strategy: SwapStrategy, to: Role, there: Role | None) -> str:
    """Which model was wanted, and which one is there instead, in words."""
    look = await strategy.look_at(to)
    if there is not None:
        found = f"the {there.value}'s model {strategy.server(there).model} is loaded"
    elif look.state == "ready":
        found = f"{look.address} serves {look.served}, but the strategy does not see it as loaded"
    else:
        found = look.problem.rstrip(".") or f"{look.address} is {look.state}"
    return (
        f"The swap reported success, but {found}. The settings name {look.wanted} at {look.address} for the"
        f" {to.value}. Make the swap and the settings agree on model and port."
    )


_NEXT = {Role.GENERATOR: Role.REVIEWER, Role.REVIEWER: Role.GENERATOR}


class WeightReadAhead:
    """What the conductor asks for around a swap. Without weight files on this machine it does nothing.

    Args:
        settings: the whole settings.
        strategy: how the GPU changes hands.
    """

    def __init__(self, settings: Settings, strategy: SwapStrategy) -> None:
        self._settings = settings
        self._wanted = strategy.reads_weights and not strategy.elsewhere
        self._ahead: ReadAhead | None = None

    async def rest(self, resident: Role | None) -> None:
        """A role is resident and no swap is in progress: begin to read what the next one will need. Returns at once."""
        following = _NEXT.get(resident) if resident is not None else None
        if following is None or not self._wanted:
            return
        await (await self._reader()).start(following)

    async def before(self, to: Role) -> asyncio.Task[CachedBytes] | None:
        """A swap begins: stop reading, so that the disk is the server's, and measure what there is.

        Returns:
            The measurement, which is over long before the old server is gone; None where there is nothing to measure.
        """
        if not self._wanted:
            return None
        reader = await self._reader()
        await reader.stop()
        return asyncio.create_task(reader.residency(to))

    async def measured(self, task: asyncio.Task[CachedBytes] | None) -> tuple[int, int]:
        """Weight bytes and warm bytes of a measurement; 0 and 0 where nothing was measured."""
        if task is None:
            return 0, 0
        seen = await task
        if not seen.known or not seen.total:
            return 0, 0
        # Pages are counted whole, so a file's last one may count more than the file has.
        warm = min(seen.resident, seen.total)
        log.info("weights: %d of %d MB were in memory when the swap began", warm >> 20, seen.total >> 20)
        return seen.total, warm

    def report(self) -> dict[str, Any] | None:
        """The newest reading, as clients show it; None before the first."""
        seen = self._ahead.report() if self._ahead is not None else None
        if seen is None:
            return None
        warm = seen.warm_after if seen.warm_after is not None else seen.warm_before
        return {
            "role": seen.role.value,
            "weight_bytes": seen.weight_bytes,
            "warm_bytes": warm,
            "read_bytes": seen.read_bytes,
            "ended": seen.ended,
        }

    async def close(self) -> None:
        """Stop reading."""
        if self._ahead is not None:
            await self._ahead.stop()

    async def _reader(self) -> ReadAhead:
        from navigator.swap.read_ahead import ReadAhead, ReadLimits
        from navigator.swap.weights import weight_files

        dirs = self._settings.swap.model_dirs
        # Looked up each time: a model may be downloaded, moved or updated while the conductor works.
        files = {
            role: await asyncio.to_thread(weight_files, self._settings.server(role).model, dirs)
            for role in _NEXT
        }
        if self._ahead is None:
            self._ahead = ReadAhead(files, ReadLimits())
        self._ahead.files = files
        return self._ahead


# The canary: the questions that a loaded server is asked. `/health` says that it generates, not what.


_SECONDS = 60.0
"""For all questions together. A server that takes longer is judged by its work."""


@dataclass(frozen=True, slots=True)
class Canary:
    """What a loaded server's answers came to, and why they are not well."""

    outcome: CanaryOutcome
    reason: str = ""


class CanaryWatch:
    """The canary of one conductor. What a model answered well is held against its answers after later loads."""

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._well: dict[tuple[Role, str], tuple[str, ...]] = {}
        self._last: dict[Role, Canary] = {}

    @property
    def enabled(self) -> bool:
        """Whether models are asked at all."""
        return self._deps.settings.canary.enabled

    def report(self) -> dict[str, dict[str, str]]:
        """The newest canary of each role in this session."""
        return {
            role.value: {"outcome": canary.outcome.value, "reason": canary.reason}
            for role, canary in self._last.items()
        }

    async def loaded(self, role: Role) -> Canary | None:
        """Ask a role that was just loaded; None where the canary is off."""
        if not self.enabled:
            return None
        canary = self._last[role] = await self._ask(role)
        well = canary.outcome is CanaryOutcome.WELL
        said = {"role": role.value, "outcome": canary.outcome.value, "reason": canary.reason}
        log.log(logging.DEBUG if well else logging.WARNING, "canary of the %s: %s %s", *said.values())
        self._storage.event("a canary's outcome", "canary", **said)
        return canary

    async def _ask(self, role: Role) -> Canary:
        try:
            async with self._deps.servers.lent(role) as client, asyncio.timeout(_SECONDS):
                model = role, client.settings.model
                answers = await _answers(client)
        except (NavigatorError, TimeoutError) as error:
            reason = safe_line(str(error)) or f"no answer within {_SECONDS:g} s"
            return Canary(CanaryOutcome.UNANSWERED, reason)
        outcome, reason = judge(answers, self._well.get(model))
        if outcome is CanaryOutcome.WELL:
            self._well[model] = answers
        return Canary(outcome, reason)


async def _answers(client: ModelClient) -> tuple[str, ...]:
    """One text a probe, cut ones included."""
    from navigator.client.body import ChatRequest
    from navigator.client.errors import CutByLength

    async def asked(probe: Probe) -> str:
        request = ChatRequest(
            messages=({"role": "user", "content": probe.question},),
            max_tokens=MAX_TOKENS,
            temperature=0.0,
            top_p=1.0,
        )
        try:
            return (await client.chat(request)).text
        except CutByLength as error:
            return error.partial

    said = await asyncio.gather(*map(asked, PROBES), return_exceptions=True)
    for one in said:
        if isinstance(one, BaseException):
            raise one
    return tuple(one for one in said if isinstance(one, str))


class Ahead:
    """Fills swaps. One at a time; what is begun when the swap ends is finished, and nothing else is begun."""

    def __init__(self, deps: Dependencies, storage: Storage) -> None:
        self._deps = deps
        self._storage = storage
        self._over = True
        self.prompts = 0
        self.baselines = 0

    def end(self) -> None:
        """The swap is over."""
        self._over = True

    async def fill(self, to: Role, snapshot: SchedulerSnapshot, now: float) -> None:
        """Prepare what comes after a swap to `to` until `end`; whatever goes wrong is left to the stage that needs it.

        Args:
            snapshot: what was true when the swap began, at monotonic second `now`.
        """
        self._over, self.prompts, self.baselines = False, 0, 0
        self._deps.prepared.clear()
        first = first_after_swap(snapshot, to, now)
        await asyncio.gather(self._prompts(to, first), self._baselines(snapshot))

    async def _prompts(self, to: Role, first: Sequence[Generate | ReviewTask]) -> None:
        for action in first:
            if self._over:
                return
            make = self._review if isinstance(action, ReviewTask) else partial(self._writing, to)
            self.prompts += await self._tried("prompts", partial(make, action.task_id))

    async def _review(self, task_id: str) -> bool:
        key, planned = await prepare_review(self._deps, task_id)
        self._deps.prepared[key] = planned
        return True

    async def _writing(self, writer: Role, task_id: str) -> bool:
        deps = self._deps
        task = deps.reader.task(task_id)
        project = deps.reader.project(task.project_id)
        if task.after or agent_writes(deps, task):
            return False
        key, prompt = await made_for(deps, task, await self._base(project, task), writer)
        deps.prepared[key] = prompt
        return True

    async def _baselines(self, snapshot: SchedulerSnapshot) -> None:
        """Each project's tests on the bases of what is left to write, the project with the most tasks first."""
        waiting: dict[int, list[str]] = {}
        for task in snapshot.tasks:
            if task.standing.phase is Phase.WRITE and not task.standing.running:
                waiting.setdefault(task.project_id, []).append(task.id)
        for project_id, tasks in sorted(waiting.items(), key=lambda item: -len(item[1])):
            project = self._deps.reader.project(project_id)
            if self._over:
                return
            if project.check.strip():
                self.baselines += await self._tried("baselines", partial(self._baseline, project, tasks[0]))

    async def _baseline(self, project: Project, task_id: str) -> bool:
        deps = self._deps
        base = await self._base(project, deps.reader.task(task_id))
        setup = await check_setup(deps, project)
        before = deps.reader.newest_baseline(project.id)
        await baseline_of(deps, setup, await asyncio.to_thread(setup.private.tree_of, base))
        return deps.reader.newest_baseline(project.id) != before

    async def _base(self, project: Project, task: Task) -> str:
        """The commit that the task will begin on."""
        return task.base_commit or await asyncio.to_thread(new_base, project)

    async def _tried(self, kind: str, work: Callable[[], Awaitable[bool]]) -> bool:
        try:
            with self._storage.writing(f"{kind} that were made ahead"):
                return await self._deps.cpu_work.during(kind, work)
        except Exception:
            # The stage that needs it meets the same obstacle, and says it where it belongs.
            log.info("%s could not be made ahead", kind, exc_info=True)
        return False
