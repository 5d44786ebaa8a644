"""`navigator status`. Imports no screen, HTTP client or git: it must answer at once."""

from __future__ import annotations

from typing import Any

from navigator.cli import output
from navigator.cli.command import command
from navigator.cli.session import state_paths
from navigator.engine.acting import status_document
from navigator.model.states import FOR_DEVELOPER, LOOP_TASK_STATES
from navigator.model.text import SIMULATED, plural


@command()
def status() -> None:
    """Show what is waiting, what the GPU holds (last known, with its age) and what is running."""
    document = status_document(state_paths())
    output.show(document, _show_status)


def swapping(to: str, resident: str | None) -> str:
    """What the GPU is busy with: a swap, or the canary questions to a model that was loaded outside Navigator."""
    return f"checking the {to}'s answers" if to == resident else f"swapping to {to}"


def _show_counts(document: dict[str, Any]) -> None:
    """How many tasks wait for whom."""
    tasks = document["tasks"]
    waiting, queued = document["waiting"], tasks["queued"]
    working = sum(tasks[state.value] for state in LOOP_TASK_STATES - FOR_DEVELOPER)
    working -= queued + tasks["awaiting_review"]
    # Without a conductor nothing runs: tasks that were begun wait for the next one.
    nobody = document["conductor"] is None and document["not_responding"] is None
    under_way = "begun" if nobody else "running"
    output.say(
        f"{waiting} waiting for you, {working} {under_way}, {tasks['awaiting_review']} awaiting review, {queued} queued"
    )
    ahead = (document["conductor"] or {}).get("next_review") or {}
    if tasks["awaiting_review"] and ahead.get("seconds"):
        output.say(f"  next review in {output.duration(ahead['seconds'])}: {ahead['why']}")
    output.say(
        f"{plural(document['projects'], 'project')}; {tasks['landed']} landed, {tasks['rejected']} rejected, "
        f"{tasks['failed']} failed; {document['unreviewed']} unreviewed"
    )


def _show_status(document: dict[str, Any]) -> None:
    if document["rehearsal"]:
        output.note(SIMULATED)
    _show_counts(document)
    conductor = document["conductor"]
    if document["advice"]:
        output.say(
            f"{document['advice']} REVISE count as advice only: the exam found the reviewer no better than chance. "
            "`navigator exam show` says why."
        )
    if document["disk_full"]:
        output.say(
            "The disk is full: no new work starts until there is space. `navigator doctor` shows which disk."
        )
    if document["unsandboxed"]:
        output.say(
            "Tests run UNSANDBOXED because of `[checks] unsandboxed`: code that a model wrote runs as you."
        )
    if document["not_responding"] is not None:
        pid = document["not_responding"]
        known = f" `kill -CONT {pid}` resumes it if it was stopped, `kill {pid}` ends it." if pid else ""
        output.say(f"The conductor is running but not responding. Its log shows what it was doing.{known}")
        return
    if conductor is None:
        held = document["resident"] or "state unknown"
        age = document["resident_age_seconds"]
        known = (
            f" (last known, {output.duration(age)} ago)" if age is not None and document["resident"] else ""
        )
        output.say(f"GPU: {held}{known}. No conductor is running; `navigator run` starts one.")
        return
    if conductor["swapping_to"]:
        output.say(f"GPU: {swapping(conductor['swapping_to'], conductor['resident'])}")
    else:
        held = "both models" if conductor["both_resident"] else conductor["resident"] or "nothing"
        if conductor["both_resident"] and conductor["problems"]:
            held = "not every server answers"
        output.say(f"GPU: {held} ({conductor['strategy']})")
    for role, problem in conductor["problems"].items():
        again = conductor["asked_again"].get(role)
        then = f" It is asked again in {again} s." if again else ""
        output.say(f"The {role}'s server: {problem}{then}")
    for role, reason in document["given_up"].items():
        output.say(
            f"The {role} is disabled after repeated failures: {reason}\n"
            f"  Its tasks stay queued; `navigator swap to {role}` tries again."
        )
    if conductor["exam"]["running"]:
        output.say(f"The reviewer is answering {plural(conductor['exam']['running'], 'item')} of its exam.")
    output.say(
        f"The conductor is working on {plural(len(conductor['busy']), 'task')}; "
        f"{plural(conductor['swaps'], 'swap')} this session."
    )
