"""What the conductor knows that is not in the store: who is busy, who answers, since when; and the snapshot of both."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from functools import lru_cache

from navigator.journey.dependencies import Dependencies
from navigator.model.models import wall_seconds
from navigator.model.snapshot import Doubt, ExamView, SchedulerSnapshot, TaskView
from navigator.model.states import LIVE_TASK_STATES, Role, TaskState
from navigator.model.text import plural
from navigator.schedule.batch_time import PUBLISHED, Figures
from navigator.sheet.finish import batch_rules

_LOOKED_AT = LIVE_TASK_STATES - {TaskState.AWAITING_APPROVAL}
_DECIDED = frozenset({TaskState.APPROVED, TaskState.REVISING, TaskState.STALE})
"""States in which a task is back after a decision: it is no new task, and the next review does not wait for more."""

_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0

RESTARTS = 2
"""How often a server that dies, or does not come up, is started again before it is left to a person."""

_REMEMBERED = 3600.0
"""Seconds after which a death counts no more: a server that falls once a week is no loop."""


@lru_cache(maxsize=4096)
def _seen(task: TaskView, since: float, *, landing_due: bool) -> TaskView:
    return replace(task, since=since, landing_due=landing_due)


@dataclass
class ConductorState:
    """The conductor's own memory; a crash loses it, and nothing that matters.

    Attributes:
        wanted: the role that the developer asked for, until it is loaded or failed to load.
        lost: the role whose server died in mid-work and is to come back before the other one.
        problems: roles whose server did not answer when it was last asked, with address, reason and remedy in words.
        figures: speeds and swaps, as last measured; `doubt` likewise.
        held_until: monotonic second before which the model that a person loaded stays.
        given_up: roles that are not loaded any more, with the reason; a person, or another's swap, brings them back.
    """

    resident: Role | None = None
    swapping_to: Role | None = None
    wanted: Role | None = None
    lost: Role | None = None
    problems: dict[Role, str] = field(default_factory=dict)
    given_up: dict[Role, str] = field(default_factory=dict)
    busy: dict[str, Role | None] = field(default_factory=dict)
    hurry: bool = False
    swaps_made: int = 0
    figures: Figures = PUBLISHED
    doubt: Doubt | None = None
    held_until: float = 0.0
    _since: dict[str, tuple[TaskState, float]] = field(default_factory=dict)
    _last_arrival: float = 0.0
    _failures: dict[Role, int] = field(default_factory=dict)
    failed_at: dict[Role, float] = field(default_factory=dict)
    _not_before: dict[Role, float] = field(default_factory=dict)
    _failed_loads: dict[Role, int] = field(default_factory=dict)
    _deaths: dict[Role, list[float]] = field(default_factory=dict)

    def snapshot(
        self,
        deps: Dependencies,
        *,
        until: str,
        max_swaps: int | None,
        both_resident: bool,
        exam: ExamView,
    ) -> SchedulerSnapshot:
        """The store's tasks and this memory as one frozen picture."""
        now = time.monotonic()
        tasks = deps.reader.loop_tasks(_LOOKED_AT, deps.settings.routing.writer)
        due = deps.reader.pending_landings()
        views = tuple(_seen(task, self._entered(task, now), landing_due=task.id in due) for task in tasks)
        held = {task.id for task in tasks}
        self._since = {key: value for key, value in self._since.items() if key in held}
        return SchedulerSnapshot(
            tasks=views,
            busy=frozenset(self.busy),
            resident=self.resident,
            held_until=self.held_until,
            swapping_to=self.swapping_to,
            both_resident=both_resident,
            capacity={role: deps.servers.limit(role) for role in Role},
            in_flight={role: sum(held is role for held in self.busy.values()) for role in Role},
            unreachable={role: moment for role, moment in self._not_before.items() if moment > now},
            batch=batch_rules(deps.settings),
            write_seconds=self.figures.write_seconds,
            doubt=self.doubt,
            until=until,
            swaps_left=None if max_swaps is None else max(0, max_swaps - self.swaps_made),
            hurry=self.hurry,
            wanted=self.wanted,
            lost=self.lost,
            last_arrival=self._last_arrival,
            final_enabled=deps.settings.final.enabled,
            exam=exam,
            # Told when the session ends, which it does not while a stage runs.
            blocked=0 if self.busy else deps.reader.blocked_tasks(),
            for_you=0 if self.busy else len(deps.reader.waiting_since()),
        )

    def _entered(self, task: TaskView, now: float) -> float:
        """The monotonic second at which a task entered its state."""
        known = self._since.get(task.id)
        if known is None:
            # A task that was there before this process: its age by the wall clock, which may have jumped.
            known = (task.state, now - max(0.0, wall_seconds() - task.since))
            if task.state not in _DECIDED:
                self._last_arrival = max(self._last_arrival, known[1])
        elif known[0] is not task.state:
            known = (task.state, now)
        self._since[task.id] = known
        return known[1]

    def failed(self, role: Role, *, began: float, give_up_after: int | None) -> int:
        """Note that a role did not answer what was asked at `began` (monotonic); returns how many times in a row.

        What was asked before the last failure was noted belongs to that one: a server that dies fails every request it had
        running, and has died once.

        It is not asked again before a pause that doubles up to a minute; never, once it failed `give_up_after` times in
        a row: the other role's work continues, and the session ends when only this role's is left.
        """
        if began <= self.failed_at.get(role, -math.inf):
            return self._failures.get(role, 0)
        self.failed_at[role] = time.monotonic()
        count = self._failures.get(role, 0) + 1
        self._failures[role] = count
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (count - 1))
        if give_up_after is not None and count >= give_up_after:
            pause = math.inf
        if role in self.given_up:
            return count
        self._not_before[role] = time.monotonic() + pause
        return count

    def answered(self, role: Role) -> None:
        """Note that a role answered."""
        self._failures.pop(role, None)
        self.problems.pop(role, None)
        if role not in self.given_up:
            self._not_before.pop(role, None)

    def load_failed(self, role: Role, reason: str, *, began: float) -> int:
        """Note that a role could not be loaded; after `RESTARTS` more tries it is given up. Returns the tries in a row."""
        self.failed(role, began=began, give_up_after=None)
        count = self._failed_loads[role] = self._failed_loads.get(role, 0) + 1
        if count > RESTARTS:
            self._give_up(role, f"it failed to start {plural(count, 'time')} in a row; {reason}")
        return count

    def died(self, role: Role, words: str) -> int:
        """Note that a role's server died unasked, and what it said last; returns how often in this residency."""
        now = time.monotonic()
        deaths = [moment for moment in self._deaths.get(role, []) if now - moment < _REMEMBERED]
        self._deaths[role] = [*deaths, now]
        count = len(self._deaths[role])
        self.lost = role
        self._not_before[role] = now + min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (count - 1))
        if count > RESTARTS:
            self._give_up(role, f"its server died {plural(count, 'time')}; {words}")
        return count

    @property
    def asked_again(self) -> dict[str, int]:
        """Whole seconds until a role that failed is asked again; a role that is not asked again is not in it."""
        now = time.monotonic()
        left = {role.value: moment - now for role, moment in self._not_before.items()}
        return {role: math.ceil(seconds) for role, seconds in left.items() if 0 < seconds < math.inf}

    @property
    def deaths(self) -> dict[str, int]:
        """How often each role's server died in this residency."""
        return {role.value: len(moments) for role, moments in self._deaths.items()}

    def loaded(self, role: Role) -> None:
        """Note that a role came up. The other one's deaths belonged to a residency that is over."""
        if self.wanted is role:
            # What a person loaded is not swapped out again at once.
            self.held_until = time.monotonic() + self.figures.round_trip
        self._failed_loads.pop(role, None)
        self.answered(role)
        if self.lost is role:
            self.lost = None
        for other in [held for held in self._deaths if held is not role]:
            del self._deaths[other]

    def pardon(self, role: Role) -> None:
        """A person asked for it, or loaded it manually: everything held against the role is forgotten."""
        self.given_up.pop(role, None)
        for held in (self._deaths, self._failed_loads, self._failures, self._not_before):
            held.pop(role, None)
        if self.lost is role:
            self.lost = None

    def _give_up(self, role: Role, reason: str) -> None:
        self.given_up[role] = reason
        self._not_before[role] = math.inf
        if self.lost is role:
            self.lost = None
