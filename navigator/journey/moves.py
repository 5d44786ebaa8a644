"""Every move of a task from one state to the next, in the order in which a change makes them.

`change` says when each is made, the actions which ones the developer makes. `TASK_TRANSITIONS` says which are possible; no
other file makes one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.model.models import Proposal, Task
from navigator.model.states import TASK_TRANSITIONS, EditCode, Escalation, ProposalState, Role, TaskState

if TYPE_CHECKING:
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

# Write: a model or an agent answers, and the answer is applied.


def start_writing(tx: Transaction, task: Task, reason: str = "") -> None:
    """The writer is asked, for the round's first answer or for a repair."""
    if tx.read.task(task.id).state is not TaskState.GENERATING:
        tx.set_task_state(task.id, TaskState.GENERATING, reason=reason)


def apply_answer(tx: Transaction, task: Task) -> None:
    """The answer is stored; it is applied, and its checks run."""
    if tx.read.task(task.id).state is not TaskState.CHECKING:
        tx.set_task_state(task.id, TaskState.CHECKING)


def write_later(tx: Transaction, task: Task, reason: str) -> None:
    """No answer came: back to where the round began."""
    tx.set_task_state(task.id, TaskState.QUEUED if task.round == 0 else TaskState.REVISING, reason=reason)


def give_up(tx: Transaction, task: Task, reason: str) -> None:
    """In round 0 the task fails; a revision that cannot be made leaves the last proposal to the developer.

    A repair of failing tests that cannot be made leaves the round's proposal to the reviewer, as it is.
    """
    if review_as_is(tx, task, f"The failing tests were not fixed. {reason}"):
        return
    if task.round == 0:
        tx.set_task_state(task.id, TaskState.FAILED, reason=reason)
    else:
        to_developer(tx, task, f"Revision {task.round} could not be made. {reason}")


def keep_report(tx: Transaction, task: Task, text: str, reason: str = "report") -> None:
    """The answer is a report, for the developer to read."""
    tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, report=text.strip(), reason=reason)


def change_nothing(tx: Transaction, task: Task, writer: Role, reason: str) -> None:
    """No change is an answer: in round 0 to the task, later to the reviewer, whose proposal stays open."""
    who = "No change is needed" if task.round == 0 else f"The {writer.value} keeps its change"
    tx.event("no_change", task_id=task.id, data={"code": EditCode.NO_OP.value, "round": task.round})
    to_developer(tx, task, f"{who}: {reason}")


# Check: the project's tests run on the proposal. What nobody has to write begins here: a part of one, a change that exists.


def begin_with_checks(tx: Transaction, task: Task, reason: str = "", note: str | None = None) -> None:
    """The change is there; its checks run."""
    tx.set_task_state(task.id, TaskState.CHECKING, reason=reason, note=note)


def ask_review(tx: Transaction, task: Task, reason: str = "") -> None:
    """It waits for the reviewer: its checks have run, or the reviewer did not answer."""
    tx.set_task_state(task.id, TaskState.AWAITING_REVIEW, reason=reason)


def review_as_is(tx: Transaction, task: Task, reason: str) -> bool:
    """After a failed repair the proposal that it was to fix goes to the reviewer, with its failing tests; False without one."""
    if proposal_of_round(tx.read, task) is None:
        return False
    apply_answer(tx, task)
    ask_review(tx, task, reason)
    return True


def proposal_of_round(reader: Reader, task: Task) -> Proposal | None:
    """The open proposal of the task's present round; None where no answer of it applied yet."""
    found = [
        proposal
        for proposal in reader.proposals({ProposalState.OPEN}, task_id=task.id)
        if (proposal.attempt, proposal.round) == (task.attempt, task.round)
    ]
    return found[-1] if found else None


# Review: read by the reviewer; where findings have tests, these are run before the verdict counts.


def start_review(tx: Transaction, task: Task) -> None:
    """The reviewer is asked."""
    tx.set_task_state(task.id, TaskState.REVIEWING)


def test_findings(tx: Transaction, task: Task) -> None:
    """The review is stored; the tests of its findings run."""
    tx.set_task_state(task.id, TaskState.CHECKING, reason="the tests of its findings are run")


def revise(tx: Transaction, task: Task) -> None:
    """The writer is due again, with the findings: the next round begins."""
    tx.set_task_state(task.id, TaskState.REVISING, round=task.round + 1, escalated=Escalation.NONE)


def ask_final(tx: Transaction, task: Task) -> None:
    """The final model reads it, too."""
    tx.set_task_state(task.id, TaskState.FINAL_REVIEW, escalated=Escalation.NONE)


def after_final(tx: Transaction, task: Task, reason: str = "") -> None:
    """The final model has read it, or cannot: to the developer, who may have taken it back already."""
    if tx.read.task(task.id).state is TaskState.FINAL_REVIEW:
        to_developer(tx, task, reason)


# Decide: the developer.


def to_developer(tx: Transaction, task: Task, reason: str = "") -> None:
    """It waits for the developer's decision."""
    tx.set_task_state(task.id, TaskState.AWAITING_APPROVAL, reason=reason)


def escalate(tx: Transaction, task: Task, *, final: bool) -> None:
    """The developer wants another reading first: the reviewer's again, or the final model's."""
    to = TaskState.FINAL_REVIEW if final else TaskState.AWAITING_REVIEW
    tx.set_task_state(task.id, to, escalated=Escalation.AGAIN)


def reject(tx: Transaction, task_id: str, note: str) -> None:
    """The proposal is not wanted; a retry writes another one."""
    tx.set_task_state(task_id, TaskState.REJECTED, reason=note)


def put_away(tx: Transaction, task: Task, reason: str) -> None:
    """There is nothing left to decide."""
    tx.set_task_state(task.id, TaskState.DONE, reason=reason)


def cancel(tx: Transaction, task_id: str, reason: str) -> None:
    """Nothing more is done."""
    tx.set_task_state(task_id, TaskState.CANCELLED, reason=reason)


def approve(tx: Transaction, task_id: str) -> None:
    """The proposal is to land; approved again, it tries once more."""
    if tx.read.task(task_id).state is not TaskState.APPROVED:
        tx.set_task_state(task_id, TaskState.APPROVED)


def withdraw_approval(tx: Transaction, proposal_id: str, task: Task) -> None:
    """The developer takes an approval back before it landed."""
    tx.set_proposal_state(proposal_id, ProposalState.OPEN)
    to_developer(tx, task)


# Land: the approved tree reaches a branch.


def landed(tx: Transaction, task_id: str) -> None:
    """Its commit is on the branch."""
    tx.set_task_state(task_id, TaskState.LANDED)


def base_moved(tx: Transaction, task_id: str, reason: str, note: str) -> None:
    """The branch has other changes in the same places: a new attempt is due."""
    tx.set_task_state(task_id, TaskState.STALE, reason=reason, note=note)


def undone(tx: Transaction, task_id: str) -> None:
    """The landing was taken back."""
    tx.set_task_state(task_id, TaskState.UNDONE)


# What goes wrong.


def take_back(tx: Transaction, task: Task) -> bool:
    """After an interruption: a task that a stage held goes to where one can take it up again; whether it was held.

    One in `checking` stays: its answer is stored, and its checks run again.
    """
    why = "taken back after an interruption"
    if task.state is TaskState.GENERATING:
        write_later(tx, task, why)
    elif task.state is TaskState.REVIEWING:
        ask_review(tx, task, why)
    else:
        return False
    return True


def broke(tx: Transaction, task: Task, reason: str) -> bool:
    """A stage failed in a way that nobody expected: failed, or before the developer; False where its state allows neither."""
    for target in (TaskState.FAILED, TaskState.AWAITING_APPROVAL, TaskState.CANCELLED):
        if target in TASK_TRANSITIONS[task.state]:
            tx.set_task_state(task.id, target, reason=reason)
            return True
    return False
