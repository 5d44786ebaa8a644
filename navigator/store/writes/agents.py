"""Writing what coding agents did."""

from __future__ import annotations

from typing import Any

from navigator.model.errors import NotFound
from navigator.model.models import utc_now
from navigator.model.records import AgentTurn
from navigator.store.rows import dumped
from navigator.store.writes.core import TransactionCore
from navigator.store.writes.ledger import LOST, STARTED


class AgentWrites(TransactionCore):
    """Events: agent_started, agent_ended."""

    def begin_agent_turn(self, turn: AgentTurn) -> int:
        """Record a prompt to an agent before it is sent; its `id`, `outcome` and times are not looked at."""
        fresh = {"outcome": STARTED, "started": utc_now()}
        number = self._insert("agent_turns", turn.model_copy(update=fresh), ended=None)
        self.event("agent_started", turn.task_id, data={"turn": number, "purpose": turn.purpose})
        return number

    def end_agent_turn(self, number: int, *, outcome: str, **values: Any) -> None:
        """Record how it ended; `values` are fields of `AgentTurn`.

        Raises:
            NotFound: no such turn.
        """
        found = self._run("SELECT task_id FROM agent_turns WHERE id = ?", (number,)).fetchone()
        if found is None:
            raise NotFound(f"There is no agent's turn {number}.", hint="It was ended before.")
        if "tools" in values:
            values["tools"] = dumped(values["tools"])
        self._update("agent_turns", number, {"outcome": outcome, "ended": utc_now(), **values})
        task = self.read.agent_turn(number).task_id
        self.event("agent_ended", task, data={"turn": number, "outcome": outcome})

    def judge_agent_turn(self, number: int, outcome: str) -> None:
        """Change an ended turn's outcome after its change was tested."""
        self._update("agent_turns", number, {"outcome": outcome})

    def lose_agent_turns(self) -> int:
        """Mark every turn that an earlier process left open as lost; returns how many there were."""
        return self._run(
            "UPDATE agent_turns SET outcome = ?, ended = ? WHERE outcome = ?", (LOST, utc_now(), STARTED)
        ).rowcount
