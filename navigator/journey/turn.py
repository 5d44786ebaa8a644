"""What every stage that writes does: ask the model, and move the task when no answer comes."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from navigator.client.errors import CutByLength, ServingError
from navigator.journey import change
from navigator.journey.calls import Message, call_model, is_tasks_fault
from navigator.journey.dependencies import Dependencies
from navigator.model.models import Task
from navigator.model.states import Role
from navigator.store.writes.ledger import LOOKED

if TYPE_CHECKING:
    from navigator.agents.forwarder import Reply


async def ask(
    deps: Dependencies,
    task: Task,
    writer: Role,
    purpose: str,
    version: str,
    messages: Sequence[Message],
    *,
    schema: dict[str, Any] | None = None,
) -> str | None:
    """One call to the model that writes; None when the task ended here because its answer never fits.

    Raises:
        ServingError: the server did not answer; the task is back where it was.
    """
    server = deps.settings.server(writer)
    place = (task.id, task.attempt, task.round)
    looked = deps.reader.answers_judged(*place, LOOKED, writer)
    try:
        answer = await call_model(
            deps,
            writer,
            task,
            purpose=purpose,
            prompt_version=version,
            messages=messages,
            max_tokens=server.max_tokens,
            schema=schema,
            temperature=task.variation.temperature,
            seq=deps.reader.answers_refused(*place, writer) + looked,
        )
    except CutByLength:
        deps.move(change.give_up, task, f"The answer did not end within max_tokens = {server.max_tokens}.")
        return None
    except ServingError as error:
        if is_tasks_fault(deps, task, error, writer):
            deps.move(change.give_up, task, str(error))
            return None
        deps.move(change.write_later, task, str(error))
        raise
    return answer.text


TURN_CALLS = 1_000
"""Calls that one turn may number. A call's `seq` is the turn's, times this, plus its place in the turn."""

PURPOSE = "agent"


class TurnJournal:
    """The calls of one run.

    What the round's earlier runs were answered is given again, each answer once, unless the agent failed on it.

    Args:
        seq: of the run's first turn, in its round.
    """

    def __init__(self, deps: Dependencies, task: Task, seq: int) -> None:
        self._deps, self._task = deps, task
        self._turn = seq - 1
        self._next = 0
        self._version = ""
        self._answers: dict[str, deque[str]] = defaultdict(deque)
        turns = deps.reader.agent_turns(task.id, task.attempt, task.round)
        failed = {turn.seq for turn in turns if turn.outcome == "failed"}
        for number, digest, body in deps.reader.agent_answers(task.id, task.attempt, task.round):
            if number // TURN_CALLS not in failed:
                self._answers[digest].append(body)

    def turn(self, version: str) -> None:
        """The next turn begins, with a prompt of this version."""
        self._turn += 1
        self._next = 0
        self._version = version

    def replay(self, digest: str) -> bytes | None:
        """What this request was answered with before an interruption; each answer is given once."""
        known = self._answers.get(digest)
        if not known:
            return None
        self._next += 1
        return known.popleft().encode("utf-8", "surrogatepass")

    def begin(self, digest: str) -> int:
        """Record a request that is about to be sent."""
        task, seq = self._task, max(self._turn, 0) * TURN_CALLS + self._next
        self._next += 1
        with self._deps.store.transaction() as tx:
            return tx.begin_call(
                role=Role.GENERATOR,
                task_id=task.id,
                attempt=task.attempt,
                round=task.round,
                purpose=PURPOSE,
                seq=seq,
                prompt_version=self._version,
                prompt_hash=digest,
            )

    def end(self, number: int, reply: Reply) -> None:
        """Record how it ended."""
        with self._deps.store.transaction() as tx:
            tx.end_call(
                number,
                outcome=reply.outcome,
                usage=reply.usage,
                error_code=reply.error_code,
                model=reply.model or None,
                answer=reply.body.decode("utf-8", "replace") if reply.body else None,
            )
