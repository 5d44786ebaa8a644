"""What is kept beside the work itself: model calls."""

from __future__ import annotations

from navigator.domain.models import Model, Usage
from navigator.domain.states import Role


class ModelCall(Model):
    """One request to a model server, recorded before it is sent and again when it ended.

    A step is (task_id, attempt, round, purpose, seq). `repeat` says that the same step was asked before; `outcome` is
    "started" while it runs, "lost" when its process died first, else the caller's word. `task_id` is "" for a call that
    belongs to no task; `ended` is "" until then.
    """

    id: int
    role: Role
    task_id: str = ""
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
