"""When everything that is queued waits for the developer: the store's tasks, given to `schedule.remaining`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.config.settings import Settings
from navigator.model.models import age_seconds
from navigator.model.snapshot import BatchRules, TaskView
from navigator.model.states import LOOP_TASK_STATES, REPORT_KINDS, Role, TaskKind, TaskState
from navigator.schedule.forecast import Figures
from navigator.store.reads.reader import Reader

if TYPE_CHECKING:
    from navigator.schedule.remaining import Remaining

FORESEEN_STATES = LOOP_TASK_STATES - {TaskState.FINAL_REVIEW, TaskState.STALE}
"""Tasks that the two models have yet to work on."""

UNTIL = "until"
"""Where the conductor notes the goal of its session: "idle", "reviewed", or "" for one that stays."""


SWAPPING_TO = "swapping_to"
"""Where it notes the role that a swap under way loads, while one is."""

NEEDED = frozenset({"swap_in", "swap_back", "generator_speed", "reviewer_speed"})
"""Figures that a forecast of this machine has to have measured; with any of them published it is one of another machine."""


def time_to_finish(reader: Reader, settings: Settings, figures: Figures) -> Remaining | None:
    """The forecast for all that is queued or under way, in the session that runs or in `run --until idle`; None of nothing."""
    from navigator.schedule.remaining import Terms, remaining

    tasks = reader.loop_tasks(FORESEEN_STATES)
    views = [
        TaskView(
            id=task.id,
            project_id=task.project_id,
            state=task.state,
            priority=task.priority,
            order=task.order,
            attempt=task.attempt,
            round=task.round,
            since=-age_seconds(task.updated),
            writer=task.wrote or settings.routing.writer(task.kind, task.complexity),
        )
        for task in tasks
    ]
    unread = frozenset(task.id for task in tasks if task.kind is TaskKind.SCAN or task.kind in REPORT_KINDS)
    resident, until = reader.meta("resident", str), reader.meta(UNTIL, str)
    roles = {role.value: role for role in (Role.GENERATOR, Role.REVIEWER)}
    plan = Terms(
        resident=roles.get(str(resident)),
        swapping_to=roles.get(str(reader.meta(SWAPPING_TO, str))),
        both_resident=resident == "both" or settings.swap.keeps_both,
        streams=(settings.generator.max_inflight, settings.reviewer.max_inflight),
        revisions=settings.batch.revisions,
        until="idle" if until is None else str(until),
        rules=batch_rules(settings),
        unreviewed=unread,
        untested=frozenset(project.id for project in reader.projects() if not project.check.strip()),
    )
    return remaining(views, 0.0, figures, plan)


def batch_rules(settings: Settings) -> BatchRules:
    """`[batch]` of the settings, in seconds."""
    batch = settings.batch
    return BatchRules(
        target=batch.target,
        max_wait=batch.max_wait_minutes * 60,
        quiet=batch.quiet_minutes * 60,
    )
