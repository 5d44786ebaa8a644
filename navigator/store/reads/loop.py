"""What the loop needs to continue: which step a task is at, and the totals of the session so far."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal

from navigator.model.errors import NotFound
from navigator.model.ids import TaskId, number_of, task_id
from navigator.model.json_text import read_json
from navigator.model.models import Event, Model, Proposal, Review, Usage
from navigator.model.records import AgentTurn
from navigator.model.states import Complexity, Role, TaskKind, TaskState
from navigator.store.reads.outcomes import ReproductionReads
from navigator.store.reads.queries import BLOCKED, LINKED, MET, OWN_FAULT, WRITTEN, Queries
from navigator.store.schema import from_row, unpacked

if TYPE_CHECKING:
    from navigator.model.snapshot import TaskView


@dataclass(frozen=True, slots=True)
class RoundCost:
    """What one round of a task cost the role that wrote it, and which model answered last; `entropy` is that of its last whole
    answer."""

    usage: Usage
    model: str
    prompt_version: str
    entropy: float | None = None


class Predecessor(Model):
    """A task that another one comes after; `met`: it does not hold that one up any more."""

    id: TaskId
    project_id: int
    project: str
    state: TaskState
    met: bool


_USAGE = (
    "coalesce(sum(prompt_tokens), 0) AS prompt_tokens, coalesce(sum(completion_tokens), 0) AS completion_tokens,"
    " coalesce(sum(cached_tokens), 0) AS cached_tokens, coalesce(sum(seconds), 0.0) AS seconds"
)


_WROTE = (
    "SELECT role FROM calls WHERE task_id = t.id AND attempt = t.attempt AND answer IS NOT NULL"
    f" AND {WRITTEN} ORDER BY id DESC LIMIT 1"
)

_PROVING = (
    "EXISTS (SELECT 1 FROM proposals a JOIN reproductions x ON x.proposal_id = a.id"
    " WHERE a.task_id = t.id AND a.attempt = t.attempt AND a.round = t.round)"
)

_DOUBT = (
    "SELECT coalesce(max(entropy_mean), 0.0) FROM proposals WHERE task_id = t.id AND state = 'open' AND attempt = t.attempt"
    " AND round = t.round"
)


@lru_cache(maxsize=4096)
def _task_view(row: tuple[Any, ...], writer: Role) -> TaskView:
    from navigator.model.snapshot import TaskView  # late: only the scheduler asks, and it is much to make

    number, project, state, priority, round, files, updated, kind, _, _, group, proved, asked, doubt = row
    return TaskView(
        id=task_id(number),
        project_id=project,
        state=TaskState(state),
        priority=priority,
        order=number,
        round=round,
        since=datetime.fromisoformat(updated).timestamp(),
        files=frozenset(read_json(files)),
        kind=TaskKind(kind),
        writer=writer,
        proving=bool(proved),
        escalated=bool(asked),
        group=task_id(group) if group else "",
        doubt=doubt,
    )


class LoopReads(ReproductionReads):
    """Queries that the conductor's stages ask."""

    def loop_tasks(
        self, states: Collection[TaskState], writer: Callable[[TaskKind, Complexity], Role]
    ) -> list[TaskView]:
        """The tasks in these states that wait for no other task, in the order they were given; `since` is a second of the wall
        clock. Asked at every step: reads no text of a task, and a task that stayed as it was is the same object again.

        Args:
            writer: the role that writes a task of which nothing is written yet.
        """
        found = self._all(
            "SELECT id, project_id, state, priority, round, files, updated, kind, complexity,"
            f" CASE WHEN state = 'queued' THEN NULL ELSE ({_WROTE}) END AS wrote, variant_of,"
            f" CASE WHEN state = 'checking' THEN ({_PROVING}) ELSE 0 END AS proving, escalated <> '' AS escalated,"
            f" CASE WHEN state = 'awaiting_review' THEN ({_DOUBT}) ELSE 0.0 END AS doubt FROM tasks t"
            f" WHERE state IN ({', '.join('?' * len(states))}) AND NOT {BLOCKED} ORDER BY id",
            *(state.value for state in states),
        )
        roles = cache(lambda kind, complexity: writer(TaskKind(kind), Complexity(complexity)))
        # As tuples: where rows are compared, the names of their columns are compared too.
        return [
            _task_view(tuple(row), Role(row["wrote"] or roles(row["kind"], row["complexity"])))
            for row in found
        ]

    def blocked_tasks(self) -> int:
        """How many queued tasks wait for another one."""
        return int(self._one(f"SELECT count(*) FROM tasks t WHERE {BLOCKED}"))

    def predecessors(self, identifier: str) -> list[Predecessor]:
        """The tasks that one comes after, in the order they were named."""
        return self._models(
            Predecessor,
            f"SELECT o.id, o.project_id, p.name AS project, o.state, {MET} AS met FROM tasks t, {LINKED}"
            " JOIN projects p ON p.id = o.project_id WHERE t.id = ? ORDER BY j.key",
            number_of(identifier, "T"),
        )

    def successors(self, identifier: str) -> list[str]:
        """The tasks that come right after one, by id."""
        found = self._all(
            "SELECT t.id FROM tasks t, json_each(t.after) j WHERE t.after <> '[]' AND j.value = ? ORDER BY t.id",
            task_id(number_of(identifier, "T")),
        )
        return [task_id(row["id"]) for row in found]

    def comes_after(self, task: str, other: str) -> bool:
        """Whether a task waits for another one, directly or through others."""
        return bool(
            self._one(
                "WITH RECURSIVE up(id) AS (SELECT ? UNION SELECT CAST(substr(j.value, 2) AS INTEGER) FROM up"
                " JOIN tasks t ON t.id = up.id, json_each(t.after) j)"
                " SELECT count(*) FROM up WHERE id = ? AND id <> ?",
                number_of(task, "T"),
                number_of(other, "T"),
                number_of(task, "T"),
            )
        )

    def review_of_change(self, project_id: int, base_commit: str, head: str) -> str:
        """The task that reviews what `head` has and `base_commit` has not; "" where there is none."""
        found = self._all(
            "SELECT id FROM tasks WHERE project_id = ? AND head = ? AND base_commit = ? ORDER BY id DESC LIMIT 1",
            project_id,
            head,
            base_commit,
        )
        return task_id(found[0]["id"]) if found else ""

    def wrote(self, identifier: str) -> Role | None:
        """The role whose answer a task's present attempt continues; None where nothing is written yet."""
        found = self._all(
            f"SELECT ({_WROTE}) AS role FROM tasks t WHERE id = ? AND state <> 'queued'",
            number_of(identifier, "T"),
        )
        return Role(found[0]["role"]) if found and found[0]["role"] else None

    def review_of_round(self, identifier: str, attempt: int, round: int) -> Review | None:
        """The counted review by the reviewer of a task's round."""
        found = self._all(
            "SELECT r.* FROM reviews r JOIN proposals a ON a.id = r.proposal_id"
            " WHERE a.task_id = ? AND a.attempt = ? AND a.round = ? AND r.role = 'reviewer' AND r.counted = 1",
            number_of(identifier, "T"),
            attempt,
            round,
        )
        return self.reviews_from(found)[0] if found else None

    def round_cost(self, identifier: str, attempt: int, round: int, role: Role = Role.GENERATOR) -> RoundCost:
        """What writing a round cost `role` so far. The prompt's version is the one that led the round."""
        place = (identifier, attempt, round, role)
        (total,) = self._of_round(*place, _USAGE, WRITTEN)
        columns = "model, prompt_version, purpose, entropy_mean"
        answered = self._of_round(*place, columns, f"{WRITTEN} AND answer IS NOT NULL ORDER BY id")
        whole = [row for row in answered if row["purpose"] != "repair"]
        leading = [row["prompt_version"] for row in whole]
        return RoundCost(
            usage=from_row(Usage, total),
            model=answered[-1]["model"] if answered else "",
            prompt_version=leading[0] if leading else "",
            entropy=whole[-1]["entropy_mean"] if whole else None,
        )

    def answers_judged(self, identifier: str, attempt: int, round: int, role: Role, *outcomes: str) -> int:
        """How many answers of a round by `role` were judged as one of `outcomes`."""
        where = f"outcome IN ({', '.join('?' * len(outcomes))})"
        return int(self._of_round(identifier, attempt, round, role, "count(*)", where, *outcomes)[0][0])

    def repair_prompts(self, proposal: Proposal) -> list[str]:
        """The prompt version of each repair that a proposal's content came out of, oldest first: not of those asked later that
        came to nothing."""
        found = self._of_round(
            proposal.task_id,
            proposal.attempt,
            proposal.round,
            proposal.written_by,
            "prompt_version",
            "purpose IN ('repair', 'repair-tests') AND outcome NOT IN ('started', 'lost', 'failed', 'looked')"
            " AND started < ? ORDER BY id",
            proposal.created,
        )
        return [row["prompt_version"] for row in found]

    def failed_paths(self, identifier: str, attempt: int, round: int) -> list[str]:
        """Paths of a round's failed edits; a path appears once for each answer in which an edit of it failed."""
        found = self._all(
            "SELECT DISTINCT at, path FROM edit_failures WHERE task_id = ? AND attempt = ? AND round = ?",
            number_of(identifier, "T"),
            attempt,
            round,
        )
        return [row["path"] for row in found]

    def failed_calls(self, identifier: str, attempt: int, round: int, role: Role) -> int:
        """How many calls of a round failed for a reason of their own.

        Not because the server cannot be reached, serves another model or refuses the key: that is the same for
        every task.
        """
        where = f"outcome = 'failed' AND {OWN_FAULT}"
        return int(self._of_round(identifier, attempt, round, role, "count(*)", where)[0][0])

    def landing_plan(self, identifier: str) -> dict[str, Any]:
        """The journaled plan of a proposal's last landing.

        Raises:
            NotFound: it never landed.
        """
        found = self._all(
            "SELECT plan FROM journal WHERE proposal_id = ? AND outcome = 'landed' ORDER BY id DESC LIMIT 1",
            number_of(identifier, "P"),
        )
        if not found:
            raise NotFound(
                f"{identifier} has no journaled landing.", hint="`navigator proposals` lists what landed."
            )
        plan: dict[str, Any] = read_json(found[0]["plan"])
        return plan

    def landed_commits(self, project_id: int) -> frozenset[str]:
        """Every commit that landings made in a project."""
        found = self._all(
            'SELECT l."commit" AS made FROM landings l JOIN proposals a ON a.id = l.proposal_id'
            " JOIN tasks t ON t.id = a.task_id WHERE t.project_id = ? AND l.state = 'landed'",
            project_id,
        )
        return frozenset(row["made"] for row in found)

    def pending_landings(self) -> frozenset[str]:
        """Tasks whose approved proposal has a landing that is still due."""
        found = self._all(
            "SELECT a.task_id FROM proposals a JOIN landings l ON l.id ="
            " (SELECT max(id) FROM landings WHERE proposal_id = a.id)"
            " JOIN tasks t ON t.id = a.task_id WHERE l.state = 'pending' AND t.state = 'approved'"
        )
        return frozenset(task_id(row["task_id"]) for row in found)

    def task_events(self, identifier: str) -> list[Event]:
        """Everything that happened to a task, in order."""
        return self._models(
            Event, "SELECT * FROM events WHERE task_id = ? ORDER BY seq", task_id(number_of(identifier, "T"))
        )

    def events_of(self, kinds: Collection[str], after: int) -> list[Event]:
        """Events of some kinds after a sequence number, in order."""
        return self._models(
            Event,
            f"SELECT * FROM events WHERE seq > ? AND kind IN ({', '.join('?' * len(kinds))}) ORDER BY seq",
            after,
            *kinds,
        )

    def last_number(self, table: Literal["calls", "proposals"]) -> int:
        """The highest id in a table; 0 where there is none."""
        return int(self._one(f"SELECT coalesce(max(id), 0) FROM {table}"))


# Reading what coding agents did.


class AgentReads(Queries):
    """Queries over the turns of agents, and over what they asked of the model."""

    def agent_turn(self, number: int) -> AgentTurn:
        """One turn by its number."""
        return from_row(AgentTurn, self._all("SELECT * FROM agent_turns WHERE id = ?", number)[0])

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
