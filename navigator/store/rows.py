"""Between rows and the domain's frozen models."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from navigator.domain.ids import proposal_id, task_id
from navigator.domain.models import Decision, Event, Landing, Project, Proposal, Review, Swap, Task, Usage
from navigator.domain.records import ModelCall

PROJECT_LISTS = ("check_mounts", "include", "exclude")
PROJECT_FIELDS = (
    "name",
    "path",
    "base",
    "landing",
    "check",
    *PROJECT_LISTS,
    "conventions",
    "root_commit",
    "source",
    "demo",
)


def dumped(value: Any) -> str:
    """A JSON column: models, tuples of models, or plain data. ASCII, so that any string a model may hold fits."""
    return json.dumps(value, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} cannot stand in a JSON column")


def clean(value: Any) -> Any:
    """A parameter as SQLite can take it: lone surrogates (undecodable bytes of an argument) become U+FFFD."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def project_from(row: sqlite3.Row) -> Project:
    """A row of `projects`."""
    values: dict[str, Any] = {name: row[name] for name in PROJECT_FIELDS}
    values.update({name: tuple(json.loads(row[name])) for name in PROJECT_LISTS})
    return Project(**{**values, "id": row["id"], "demo": bool(row["demo"]), "removed": bool(row["removed"])})


def task_from(row: sqlite3.Row) -> Task:
    """A row of `tasks` joined with its project's name as `project`."""
    return Task(
        id=task_id(row["id"]),
        project_id=row["project_id"],
        project=row["project"],
        text=row["text"],
        kind=row["kind"],
        complexity=row["complexity"],
        priority=row["priority"],
        files=tuple(json.loads(row["files"])),
        state=row["state"],
        attempt=row["attempt"],
        round=row["round"],
        note=row["note"],
        reason=row["reason"],
        report=row["report"],
        base_commit=row["base_commit"],
        origin=task_id(row["origin"]) if row["origin"] else "",
        created=row["created"],
        updated=row["updated"],
    )


def review_from(row: sqlite3.Row) -> Review:
    """A row of `reviews`."""
    return Review.model_validate(
        {
            "role": row["role"],
            "verdict": row["verdict"],
            "stated_verdict": row["stated_verdict"],
            "self_review": bool(row["self_review"]),
            "summary": row["summary"],
            "findings": json.loads(row["findings"]),
            "addressed": json.loads(row["addressed"]),
            "reversals": json.loads(row["reversals"]),
            "parts": row["parts"],
            "prompt_version": row["prompt_version"],
            "model": row["model"],
            "rehearsal": bool(row["rehearsal"]),
            "usage": json.loads(row["usage"]),
            "at": row["at"],
        }
    )


def decision_from(row: sqlite3.Row) -> Decision:
    """A row of `decisions`."""
    return Decision(
        kind=row["kind"],
        note=row["note"],
        tree=row["tree"],
        confirmed=tuple(json.loads(row["confirmed"])),
        at=row["at"],
    )


def landing_from(row: sqlite3.Row) -> Landing:
    """A row of `landings`."""
    return Landing(
        state=row["state"],
        ref=row["ref"],
        commit=row["commit"],
        transplanted=bool(row["transplanted"]),
        reason=row["reason"],
        at=row["at"],
    )


def proposal_from(
    row: sqlite3.Row,
    *,
    review: Review | None,
    final_review: Review | None,
    own_review: Review | None,
    decision: Decision | None,
    landing: Landing | None,
) -> Proposal:
    """A row of `proposals` joined with `project_id` and `project`."""
    return Proposal.model_validate(
        {
            "id": proposal_id(row["id"]),
            "task_id": task_id(row["task_id"]),
            "project_id": row["project_id"],
            "project": row["project"],
            "attempt": row["attempt"],
            "round": row["round"],
            "state": row["state"],
            "base_commit": row["base_commit"],
            "tree": row["tree"],
            "batch": row["batch"],
            "written_by": row["written_by"],
            "title": row["title"],
            "summary": row["summary"],
            "edits": json.loads(row["edits"]),
            "policy": json.loads(row["policy"]),
            "checks": json.loads(row["checks"]),
            "overlaps": json.loads(row["overlaps"]),
            "added": row["added"],
            "removed": row["removed"],
            "review": review,
            "final_review": final_review,
            "own_review": own_review,
            "parent": proposal_id(row["parent"]) if row["parent"] else "",
            "hunks": json.loads(row["hunks"]),
            "decision": decision,
            "landing": landing,
            "seen": bool(row["seen"]),
            "prompt_version": row["prompt_version"],
            "model": row["model"],
            "rehearsal": bool(row["rehearsal"]),
            "usage": json.loads(row["usage"]),
            "created": row["created"],
        }
    )


def swap_from(row: sqlite3.Row) -> Swap:
    """A row of `swaps`."""
    return Swap.model_validate(
        {
            "id": row["id"],
            "from": row["from_role"],
            "to": row["to_role"],
            "strategy": row["strategy"],
            "started": row["started"],
            "phases": json.loads(row["phases"]),
            "seconds": row["seconds"],
            "outcome": row["outcome"],
            "reason": row["reason"],
            "failure": row["failure"],
            "weight_bytes": row["weight_bytes"],
            "warm_bytes": row["warm_bytes"],
            "made_by": row["made_by"],
            "rehearsal": bool(row["rehearsal"]),
        }
    )


def event_from(row: sqlite3.Row) -> Event:
    """A row of `events`."""
    return Event(
        seq=row["seq"],
        at=row["at"],
        kind=row["kind"],
        task_id=row["task_id"],
        proposal_id=row["proposal_id"],
        data=json.loads(row["data"]),
    )


def call_from(row: sqlite3.Row) -> ModelCall:
    """A row of `calls`, without its answer."""
    return ModelCall(
        id=row["id"],
        role=row["role"],
        task_id=task_id(row["task_id"]) if row["task_id"] else "",
        attempt=row["attempt"],
        round=row["round"],
        purpose=row["purpose"],
        seq=row["seq"],
        prompt_version=row["prompt_version"],
        prompt_hash=row["prompt_hash"],
        model=row["model"],
        outcome=row["outcome"],
        error_code=row["error_code"],
        usage=Usage(
            prompt_tokens=row["prompt_tokens"],
            completion_tokens=row["completion_tokens"],
            cached_tokens=row["cached_tokens"],
            seconds=row["seconds"],
        ),
        retries=row["retries"],
        repeat=bool(row["repeat"]),
        rehearsal=bool(row["rehearsal"]),
        started=row["started"],
        ended=row["ended"] or "",
    )


def packed(text: str) -> bytes:
    """An answer's text as it is stored."""
    return zlib.compress(text.encode("utf-8", "surrogatepass"), 6)


def unpacked(blob: bytes) -> str:
    """The text again."""
    return zlib.decompress(blob).decode("utf-8", "surrogatepass")


def flat(row: sqlite3.Row, *, flags: Sequence[str] = (), json_columns: Sequence[str] = ()) -> dict[str, Any]:
    """A row as a plain dict: flags become booleans, JSON columns data, a `task_id` or `proposal_id` T… or P…."""
    values: dict[str, Any] = dict(zip(row.keys(), tuple(row), strict=True))
    for name in flags:
        values[name] = bool(values[name])
    for name in json_columns:
        values[name] = json.loads(values[name])
    return surfaced(values)


def surfaced(values: dict[str, Any]) -> dict[str, Any]:
    """`values` with integer ids of tasks and proposals in the form people write."""
    if isinstance(values.get("task_id"), int):
        values["task_id"] = task_id(values["task_id"])
    if isinstance(values.get("proposal_id"), int):
        values["proposal_id"] = proposal_id(values["proposal_id"])
    return values
