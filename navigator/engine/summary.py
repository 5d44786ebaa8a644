"""The totals of one session and of the store: counts, times by the clock, and by the rehearsal's model where it was one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from navigator.figures.swaps import ResidencyCall, modelled_time
from navigator.journey.dependencies import Dependencies
from navigator.model.models import Proposal, Swap, utc_now
from navigator.model.records import ModelCall
from navigator.model.states import Role, TaskState, Verdict
from navigator.model.timing import StepTimes


class SessionSummary:
    """Begun with the conductor, ended with it; `document` is what `navigator run --json` prints."""

    def __init__(self, deps: Dependencies) -> None:
        self._deps = deps
        self._started = time.monotonic()
        self.began = utc_now()
        self._before_calls = deps.reader.last_number("calls")
        self._before_proposals = deps.reader.last_number("proposals")
        self._before_events = deps.reader.last_seq()
        self._wall: float | None = None
        self._assumptions: dict[Role, StepTimes] = {}
        self.swaps: list[Swap] = []
        self.reason = ""
        self.problems: dict[str, str] = {}

    def swapped(self, swap: Swap) -> None:
        """Note a swap or a first load."""
        self.swaps.append(swap)

    def assume(self, role: Role, timing: object) -> None:
        """Note what a rehearsal server says about its time; what is no timing model is left aside."""
        model = read_timing(timing)
        if model is not None:
            self._assumptions[role] = model

    def ended(self, reason: str, problems: Mapping[str, str]) -> None:
        """Stop the clock. `problems`: roles whose server does not answer, with the reason."""
        self.problems = dict(problems)
        self._wall = time.monotonic() - self._started
        self.reason = reason

    def document(self) -> dict[str, Any]:
        """The session, as `navigator run --json` prints it.

        Proposals are those that were written or reviewed in this session, verdicts those of its reviews, `failed` the tasks
        that failed in it and are still failed. `projects`, `tasks`, `states` and `calls` cover the whole store; everything else
        covers this session only.
        """
        reader = self._deps.reader
        happened = reader.events_of(("review_added", "task_state"), self._before_events)
        reviewed = {event.proposal_id for event in happened if event.data.get("role") == Role.REVIEWER}
        failed = {event.task_id for event in happened if event.data.get("to") == TaskState.FAILED}
        tasks = reader.tasks()
        proposals = [
            proposal
            for proposal in reader.proposals()
            if int(proposal.id[1:]) > self._before_proposals or proposal.id in reviewed
        ]
        wall = self._wall if self._wall is not None else time.monotonic() - self._started
        calls, made = reader.call_counts(), reader.calls_after(self._before_calls)
        done = [swap for swap in self.swaps if swap.outcome == "done"]
        return {
            "projects": len(reader.projects()),
            "tasks": len(tasks),
            "proposals": len(proposals),
            "verdicts": _verdicts(proposal for proposal in proposals if proposal.id in reviewed),
            "rounds": 1 + max((proposal.round for proposal in proposals), default=0) if proposals else 0,
            "states": dict(sorted(Counter(task.state.value for task in tasks).items())),
            "failed": sum(task.state is TaskState.FAILED and task.id in failed for task in tasks),
            "swaps": sum(swap.from_role is not None for swap in done),
            "loads": len(done),
            "failed_swaps": len(self.swaps) - len(done),
            "calls": calls,
            "wall_seconds": round(wall, 3),
            **self._times(wall, made),
            "rehearsal": reader.rehearsal,
            "problems": self.problems,
            "reason": self.reason,
        }

    def _times(self, wall: float, made: list[ModelCall]) -> dict[str, Any]:
        """`model_seconds` and `serial_seconds`; for real servers the clock's own, and the calls laid end to end."""
        done = [swap for swap in self.swaps if swap.outcome == "done"]
        rows = [call for call in made if call.outcome not in ("started", "lost")]
        if not self._assumptions:
            serial = sum(row.usage.seconds for row in rows) + sum(swap.seconds for swap in done)
            return {"model_seconds": round(wall, 3), "serial_seconds": round(serial, 3)}
        jobs = [
            ResidencyCall(
                role=row.role,
                residency=sum(swap.started <= row.started for swap in done),
                prompt_tokens=max(0, row.usage.prompt_tokens - row.usage.cached_tokens),
                completion_tokens=row.usage.completion_tokens,
            )
            for row in rows
        ]
        streams = {role: self._deps.settings.server(role).max_inflight for role in Role}
        modelled = modelled_time(jobs, [swap.to_role for swap in done], self._assumptions, streams)
        return {
            "model_seconds": round(modelled.concurrent, 1),
            "serial_seconds": round(modelled.serial, 1),
        }


def _verdicts(proposals: Iterable[Proposal]) -> dict[str, int]:
    """Every round's verdict, counted."""
    counts = Counter(proposal.review.verdict for proposal in proposals if proposal.review is not None)
    return {
        "approve": counts[Verdict.APPROVE],
        "revise": counts[Verdict.REVISE],
        "unreviewed": counts[Verdict.UNREVIEWED],
    }


def read_timing(value: object) -> StepTimes | None:
    """The estimate that a server describes; None when the description is not one."""
    try:
        return TypeAdapter(StepTimes).validate_python(value)
    except ValidationError:
        return None
