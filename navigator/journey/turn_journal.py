"""What an agent asks of the model, as calls in the ledger, and answers of an interrupted run for the one that follows it."""

from __future__ import annotations

from collections import defaultdict, deque

from navigator.agents.forwarder import Reply
from navigator.journey.dependencies import Dependencies
from navigator.model.models import Task
from navigator.model.states import Role

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
