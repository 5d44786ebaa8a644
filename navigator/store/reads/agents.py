"""Reading what coding agents did."""

from __future__ import annotations

from navigator.model.ids import number_of
from navigator.model.records import AgentTurn
from navigator.store.reads.queries import Queries
from navigator.store.rows import from_row, from_rows, unpacked


class AgentReads(Queries):
    """Queries over the turns of agents, and over what they asked of the model."""

    def agent_turn(self, number: int) -> AgentTurn:
        """One turn by its number."""
        return from_row(AgentTurn, self._all("SELECT * FROM agent_turns WHERE id = ?", number)[0])

    def open_agent_turns(self) -> int:
        """How many turns did not end yet."""
        return int(self._one("SELECT count(*) FROM agent_turns WHERE outcome = 'started'"))

    def agent_turns(
        self, task_id: str, attempt: int | None = None, round: int | None = None
    ) -> list[AgentTurn]:
        """The turns of a task, oldest first; None asks for all."""
        tests: list[tuple[str, object]] = [("task_id = ?", number_of(task_id, "T"))]
        if attempt is not None:
            tests.append(("attempt = ?", attempt))
        if round is not None:
            tests.append(("round = ?", round))
        return from_rows(AgentTurn, self._where("agent_turns", tests))

    def agent_answers(self, task_id: str, attempt: int, round: int) -> list[tuple[int, str, str]]:
        """What the model answered to an agent in a round: (`seq` of the call, digest of the request, body)."""
        found = self._all(
            "SELECT seq, prompt_hash, answer FROM calls WHERE task_id = ? AND attempt = ? AND round = ?"
            " AND purpose = 'agent' AND outcome IN ('ok', 'tests_failed') AND answer IS NOT NULL ORDER BY id",
            number_of(task_id, "T"),
            attempt,
            round,
        )
        return [(row["seq"], row["prompt_hash"], unpacked(row["answer"])) for row in found]
