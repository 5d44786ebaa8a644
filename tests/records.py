"""Records with whatever a test does not care for filled in; keyword arguments override any field."""

from __future__ import annotations

from navigator.model.ids import number_of
from navigator.model.models import Finding, Proposal, Review, Swap, Task
from navigator.model.records import ModelCall
from navigator.store.reads.reader import Reader


def finding(**fields: object) -> Finding:
    """An anchored one."""
    values: dict[str, object] = {
        "kind": "wrong",
        "hunk": "H1",
        "path": "billing/totals.py",
        "line": 43,
        "quote": "return sum(amounts).quantize(CENT, ROUND_HALF_EVEN)",
        "severity": "major",
        "criterion": "correctness",
        "trigger": "an invoice without lines is opened",
        "message": "sum() of an empty list is int 0, which has no quantize.",
        "anchored": True,
    }
    values |= fields
    values |= {} if values["anchored"] else {"unanchored": "its quote was not found"} | fields
    return Finding.model_validate(values)


def proposed(**fields: object) -> Proposal:
    """The first proposal of the first task of the project `thing`, not yet stored."""
    values: dict[str, object] = {"id": "", "task_id": "T1", "project_id": 1, "project": "thing"}
    values |= {"attempt": 0, "round": 0, "base_commit": "b" * 40, "tree": "t" * 40}
    return Proposal.model_validate(values | fields)


def swapped(load: float = 40.0, **fields: object) -> Swap:
    """From the generator to the reviewer, in two seconds more than `load`."""
    values: dict[str, object] = {"from": "generator", "to": "reviewer", "strategy": "systemd"}
    phases = ({"name": "stop", "seconds": 2.0}, {"name": "load", "seconds": load})
    values |= {"started": "2026-11-20T10:00:00.000Z", "phases": phases, "seconds": 2.0 + load}
    return Swap.model_validate(values | fields)


def asked(**fields: object) -> Task:
    """The task of that proposal, which waits for the developer."""
    values: dict[str, object] = {"id": "T1", "project_id": 1, "project": "thing", "text": "Do it"}
    values |= {"state": "awaiting_approval", "created": "", "updated": ""}
    return Task.model_validate(values | fields)


def reviews_of(reader: Reader, proposal: str) -> list[Review]:
    """Every review of a proposal, oldest first."""
    return reader.reviews_from(reader._where("reviews", proposal_id=number_of(proposal, "P")))


def calls_of(reader: Reader, task: str) -> list[ModelCall]:
    """The model calls of a task, oldest first."""
    return [call for call in reader.calls_after(0) if call.task_id == task]
