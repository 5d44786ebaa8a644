"""What is kept beside the work itself: model calls, failed edits, comments, batches, the landing journal."""

from __future__ import annotations

from typing import Any

from navigator.domain.ids import ProposalId, TaskId
from navigator.domain.models import Model, Usage
from navigator.domain.states import EditCode, Role


class ModelCall(Model):
    """One request to a model server, recorded before it is sent and again when it ended.

    A step is (task_id, attempt, round, purpose, seq). `repeat` says that the same step was asked before; `outcome` is
    "started" while it runs, "lost" when its process died first, else the caller's word. `task_id` is "" for a call that
    belongs to no task; `ended` is "" until then.
    """

    id: int
    role: Role
    task_id: TaskId = ""
    attempt: int = 0
    round: int = 0
    purpose: str = ""
    seq: int = 0
    prompt_version: str = ""
    prompt_hash: str = ""
    model: str = ""
    outcome: str
    error_code: str = ""
    usage: Usage = Usage()
    retries: int = 0
    repeat: bool = False
    rehearsal: bool = False
    started: str
    ended: str = ""


class EditFailure(Model):
    """One reason why an answer's edits did not apply. All failures of one answer have the same `at`."""

    task_id: TaskId
    attempt: int
    round: int
    code: EditCode
    path: str = ""
    model: str = ""
    rehearsal: bool = False
    at: str


class Comment(Model):
    """A comment of the developer on one line of a proposal; `side` is "new" or "old", `sent` that a model was shown it."""

    id: int
    task_id: TaskId
    proposal_id: ProposalId
    path: str
    side: str = "new"
    line: int
    quote: str = ""
    text: str
    created: str
    sent: bool = False


class Batch(Model):
    """What is reviewed in one residency; `swaps` are the numbers of the swaps made for it, `ended` "" while it lasts."""

    name: str
    started: str
    ended: str = ""
    swaps: tuple[int, ...] = ()


class JournalEntry(Model):
    """What a landing is about to do, written before it does it; `closed` is "" until its outcome is known."""

    id: int
    proposal_id: ProposalId
    plan: dict[str, Any]
    opened: str
    closed: str = ""
    outcome: str = ""
