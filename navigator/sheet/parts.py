"""Parts of proposals: which proposal builds on which part, and what the models are told about it.

A part is a derived proposal: some hunks of its parent. The rest of the parent's task is written on a commit that holds the
part, in the private repository only; the store records under that commit's name which part it is. A linked task whose
predecessor is not on the project's base is written on such a commit as well, and lands by the same rules.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from navigator.model.diff import FileDiff, Hunk, what_happens
from navigator.model.ids import PART_BASE
from navigator.model.models import Proposal, Task
from navigator.model.states import LIVE_TASK_STATES, LandingState, TaskState

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

_MOST_LINES = 200
"""Changed lines that a note quotes at most."""


def kept_name(proposal: Proposal) -> str:
    """The name under which the private repository keeps a proposal's tree."""
    if proposal.existing:
        return change_name(proposal.base_commit, proposal.tree)
    if proposal.parent:
        return part_name(proposal.parent, proposal.tree)
    return f"{proposal.task_id}-{proposal.attempt}-{proposal.round}"


def part_name(parent: str, tree: str) -> str:
    """The same for a part: it is kept before its task has a number."""
    return f"part-{parent}-{tree[:16]}"


def change_name(base: str, tree: str) -> str:
    """The same for an existing change."""
    return f"change-{base[:16]}-{tree[:16]}"


# Which proposal builds on which part


def remember_part_base(tx: Transaction, commit: str, part: str, *, linked: bool = False) -> None:
    """Record that `commit` holds the tree of the proposal `part`.

    Args:
        linked: it is no part, but the change of a task that comes before.
    """
    tx.set_meta(PART_BASE + commit, {"part": part, "linked": linked})


def _part_record(reader: Reader, commit: str) -> dict[str, Any] | None:
    return reader.meta(PART_BASE + commit, dict) if commit else None


def part_at_base(reader: Reader, commit: str) -> Proposal | None:
    """The part that a base commit holds; None where the base is not one of these."""
    held = _part_record(reader, commit)
    return reader.proposal(held["part"]) if held is not None else None


def landing_batch(reader: Reader, proposal: Proposal) -> str:
    """The batch whose branch a proposal lands on: that of the part it builds on, else its own."""
    while (part := part_at_base(reader, proposal.base_commit)) is not None:
        proposal = part
    return proposal.batch


def is_landed(proposal: Proposal) -> bool:
    """Whether it is on a branch."""
    return proposal.landing is not None and proposal.landing.state is LandingState.LANDED


def waits_for(reader: Reader, proposal: Proposal) -> Proposal | None:
    """The part that has to land before this proposal can, if it still may; None if nothing is in the way."""
    part = part_at_base(reader, proposal.base_commit)
    if part is None or is_landed(part):
        return None
    return part if _is_on_its_way(reader, part) else None


def why_part_is_lost(reader: Reader, proposal: Proposal) -> str:
    """Why the part that a proposal builds on will not land any more; "" if it has landed or still may."""
    part = part_at_base(reader, proposal.base_commit)
    if part is None or is_landed(part) or _is_on_its_way(reader, part):
        return ""
    state = reader.task(part.task_id).state.value
    return f"It was written on top of {part.id}, which is {state}."


def _is_on_its_way(reader: Reader, part: Proposal) -> bool:
    task = reader.task(part.task_id)
    return task.attempt == part.attempt and task.state in LIVE_TASK_STATES - {TaskState.STALE}


def built_on(reader: Reader, part: Proposal) -> list[Task]:
    """The unfinished tasks whose proposals build on a part."""
    tasks = reader.tasks(states=LIVE_TASK_STATES, project=part.project_id)
    return [task for task in tasks if (_part_record(reader, task.base_commit) or {}).get("part") == part.id]


# What the models are told


def part_note(parent: Proposal, files: Sequence[FileDiff], taken: Collection[str]) -> str:
    """What opens the prompt where a part has to be written again: its files changed, or the developer asked for it."""
    said = [f"Only a part of the answer {parent.id} is wanted here, and nothing else of the task:"]
    left = _MOST_LINES
    for number, file in enumerate(files, 1):
        for hunk in file.hunks:
            if hunk.label not in taken:
                continue
            said.append(f"- {hunk.label} {file.path}, line {_first_change(hunk)}")
            changed = [f"  {line.kind}{line.text}" for line in hunk.lines if line.kind != " "]
            said += changed[:left]
            said += ["  …"] if len(changed) > left else []
            left = max(0, left - len(changed))
        if not file.hunks and f"F{number}" in taken:
            said.append(f"- F{number} {file.path}: {what_happens(file)}")
    return "\n".join(said)


def note_after_part(reader: Reader, task: Task) -> str:
    """The note of a task that starts again after it built on a part: what became of that part."""
    held = _part_record(reader, task.base_commit)
    if held is None or held["linked"]:
        return task.note
    part = reader.proposal(held["part"])
    other = reader.task(part.task_id)
    if is_landed(part):
        where = part.landing.ref.removeprefix("refs/heads/") if part.landing else ""
        return f"A part of an earlier answer, {part.id}, has landed on {where}. If the files do not have it, leave it out."
    if other.state in LIVE_TASK_STATES:
        said = f"A part of an earlier answer is written separately, as {other.id}. Leave that part out:"
        return f"{said}\n{other.note}".strip()
    return (
        f"A part of an earlier answer was taken as {part.id} and is {other.state.value}: do the whole task."
    )


def _first_change(hunk: Hunk) -> int:
    first = next((line for line in hunk.lines if line.kind != " "), None)
    number = (first.new or first.old) if first is not None else None
    return number or hunk.new_start
