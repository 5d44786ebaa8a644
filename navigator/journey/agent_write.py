"""A coding agent's turn on one task, in place of the model's answer: its edited copy of the project becomes a proposal.

Everything around it is the same: the base, the checks, the policy on paths, the review, the rounds. What it asked of the
model and what became of each prompt is in the store before it is acted on: after an interruption a change that was made is
judged and not made again, and a model that answered is not asked again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from navigator.agents.acp import AgentFailed
from navigator.agents.checkout import Changed, Checkout, run_folder
from navigator.agents.forwarder import CallJournal, Forwarder, Reply
from navigator.agents.profiles import Endpoint
from navigator.agents.session import AgentPlace, AgentSession, PromptTurn, limits_of, opened
from navigator.client.errors import ServingError
from navigator.git.diffs import ABSENT
from navigator.git.private import FileChange, PathRefused
from navigator.journey import moves
from navigator.journey.agent_prompts import again, first
from navigator.journey.dependencies import Dependencies
from navigator.journey.drafting import (
    POLICY_CODE,
    Draft,
    NoChange,
    NotApplied,
    Outcome,
    act_on,
    draft_changes,
    propose,
    syntax_problems,
)
from navigator.journey.prompts.assemble import RelatedChange
from navigator.journey.prompts.material import Ground, settle
from navigator.journey.write import begin
from navigator.model import patterns
from navigator.model.models import AppliedEdit, Task
from navigator.model.records import AgentTurn
from navigator.model.states import EITHER_KINDS, EditCode, Role, Rung, TaskState
from navigator.model.text import safe_line
from navigator.sandbox.probe import probe
from navigator.sandbox.suite import prepare
from navigator.store.reads.reader import Reader
from navigator.store.writes.ledger import TESTS_FAILED

REPAIRS = 2
"""Prompts after the first in one run, for a change that cannot be taken."""

DEATHS = 2
"""Runs of one round that may end without a result before the task is given up."""

_NO_CHANGE = patterns.compile(r"^\W*NO_CHANGE:\s*(\S.*)$", patterns.MULTILINE)
_SUMMARY = 1_000
_LAST_WORDS = 200


async def write_with_agent(deps: Dependencies, task: Task) -> None:
    """Take a task from queued, revising or checking to awaiting_review, or to where it ends.

    Raises:
        ServingError: the model's server did not answer, or no agent can be started; the task is back where it was.
        StoreError: what happened could not be written down.
    """
    known = _last(deps.reader, task)
    judged = known if known is not None and known.outcome == "ok" else None
    if task.state is TaskState.CHECKING and judged is None:
        deps.move(moves.write_later, task, "an agent's run was interrupted")
        return
    found = await begin(deps, task, settle(deps, task))
    if found is None:
        return
    ground, elsewhere = found
    if judged is not None:
        await _propose(deps, ground, judged)
        return
    async with deps.cpu_work.room_for_agent:
        await _work(deps, ground, known, elsewhere)


def _last(reader: Reader, task: Task) -> AgentTurn | None:
    """The latest finished turn of this round."""
    turns = reader.agent_turns(task.id, task.attempt, task.round)
    ended = [turn for turn in turns if turn.outcome not in ("lost", "started")]
    return ended[-1] if ended else None


async def _work(
    deps: Dependencies, ground: Ground, known: AgentTurn | None, elsewhere: Sequence[RelatedChange]
) -> None:
    """Run the agent, and act on what it made of its copy."""
    task = ground.task
    run = _Run(deps, ground, elsewhere)
    try:
        result = await run.go(tests_failed=known is not None and known.outcome == TESTS_FAILED)
    except AgentFailed as error:
        failed = [
            turn
            for turn in deps.reader.agent_turns(task.id, task.attempt, task.round)
            if turn.outcome == "failed"
        ]
        if len(failed) < DEATHS and not error.final:
            deps.move(moves.write_later, task, error.message)
        else:
            deps.move(moves.give_up, task, error.message)
        return
    except ServingError as error:
        deps.move(moves.write_later, task, str(error))
        raise
    if isinstance(result, NotApplied):
        deps.move(moves.give_up, task, f"The agent's change cannot be taken: {result.problems[0]}")
        return
    if isinstance(result, str):
        deps.move(moves.keep_report, task, result)
        return
    last = _last(deps.reader, task)
    assert last is not None
    deps.move(moves.apply_answer, task)
    await act_on(deps, ground, result, way=way_of(last), who="agent")


def way_of(turn: AgentTurn) -> str:
    """How a proposal says that an agent wrote it."""
    return f"agent {turn.agent}".strip()


async def _propose(deps: Dependencies, ground: Ground, turn: AgentTurn) -> None:
    """Make the proposal of a turn whose result was stored, and that an interruption left at that."""
    made = await asyncio.to_thread(_from_tree, ground, turn)
    deps.move(moves.apply_answer, ground.task)
    if isinstance(made, Draft):
        await propose(deps, ground, made, way=way_of(turn))
    else:
        deps.move(moves.give_up, ground.task, f"The agent's change cannot be taken: {made.problems[0]}")


def _from_tree(ground: Ground, turn: AgentTurn) -> Draft | NotApplied:
    raw = ground.source.private.raw_diff(ground.source.treeish, turn.tree)
    read = ground.source.private.read_blob
    changes = {
        change.path: FileChange(None)
        if change.new_mode == ABSENT
        else FileChange(read(change.new_sha), change.new_mode)
        for change in raw
    }
    return _drafted(ground, Changed(changes), turn.summary)


def _drafted(ground: Ground, found: Changed, summary: str) -> Draft | NotApplied:
    """The agent's changes, through the gates that an answer goes through. Blocks."""
    if found.problems:
        return NotApplied(
            tuple(f"POLICY {safe_line(path)}: {why}" for path, why in found.problems),
            tuple((POLICY_CODE, path) for path, _ in found.problems),
        )
    if not found.changes:
        return NotApplied(("NO_OP: no file differs from the last commit.",), ((EditCode.NO_OP.value, ""),))
    refused = syntax_problems(found.changes, ground.source)
    if refused is not None:
        return refused
    edits = [AppliedEdit(path=path, rung=Rung.IN_PLACE) for path in found.changes]
    try:
        return draft_changes(found.changes, summary, ground.source, edits=edits)
    except PathRefused as error:
        return NotApplied((f"POLICY {error.message}",), ((POLICY_CODE, ""),))


AgentResult = Outcome | str
"""What an agent's change comes to, or a report."""


@dataclass
class _Run:
    """One run of the agent on one round: it is started, prompted until its change can be taken, and ended."""

    deps: Dependencies
    ground: Ground
    elsewhere: Sequence[RelatedChange]

    async def go(self, *, tests_failed: bool) -> AgentResult:
        """Returns a draft, the reason why nothing changes, what is wrong with the last change, or a report.

        Raises:
            AgentFailed, ServingError.
        """
        deps, task = self.deps, self.ground.task
        earlier = [turn for turn in deps.reader.agent_turns(task.id, task.attempt) if turn.tree]
        async with run_folder(deps.paths.agents) as scratch:
            place, checkout = await asyncio.to_thread(
                self._furnish, scratch, earlier[-1].tree if earlier else ""
            )
            journal = TurnJournal(deps, task, self._next_seq())
            async with self._session(place, journal) as session:
                return await self._converse(session, checkout, journal, tests_failed, bool(earlier))

    def _next_seq(self) -> int:
        task = self.ground.task
        turns = self.deps.reader.agent_turns(task.id, task.attempt, task.round)
        return sum(turn.outcome != "lost" for turn in turns)

    def _furnish(self, scratch: Path, tree: str) -> tuple[AgentPlace, Checkout]:
        """Write the copy, with the change of `tree` where there is one, and find what the project's tests would see. Blocks."""
        source = self.ground.source
        tree = tree or source.private.tree_of(source.treeish)
        place = AgentPlace(source.project, prepare(source.project, source.private, tree), scratch)
        checkout = Checkout(place.tree, source)
        checkout.write(tree, most_bytes=limits_of(self.deps.settings.generator.agent).disk_mb << 20)
        return place, checkout

    @asynccontextmanager
    async def _session(self, place: AgentPlace, journal: TurnJournal) -> AsyncIterator[AgentSession]:
        deps = self.deps
        server = deps.settings.generator
        endpoint = Endpoint(server.model, server.context_tokens, server.max_tokens)
        live = {"task": self.ground.task.id, "role": Role.GENERATOR.value, "purpose": PURPOSE}
        sandbox = await asyncio.to_thread(probe)
        async with deps.servers.lent(Role.GENERATOR) as client:
            most, heat = min(server.agent.requests, TURN_CALLS), self.ground.task.variation.temperature
            forwarder = Forwarder(client, journal, most=most, temperature=heat)
            async with opened(
                server.agent,
                endpoint,
                place,
                sandbox,
                forwarder,
                on_text=lambda characters: deps.on_live({**live, "chars": characters}),
            ) as made:
                yield made

    async def _converse(
        self,
        session: AgentSession,
        checkout: Checkout,
        journal: TurnJournal,
        tests_failed: bool,
        resumed: bool,
    ) -> AgentResult:
        deps, ground = self.deps, self.ground
        if resumed:
            purpose = "tests" if tests_failed else "revise"
            version, text = again(deps, ground, tests_failed=tests_failed)
        else:
            purpose = "write"
            version, text = first(deps, ground, self.elsewhere)
        result = await self._turn(session, checkout, journal, purpose, version, text)
        for _ in range(REPAIRS):
            if not isinstance(result, NotApplied):
                break
            version, text = again(deps, ground, problems=result.problems)
            result = await self._turn(session, checkout, journal, "repair", version, text)
        return result

    async def _turn(
        self,
        session: AgentSession,
        checkout: Checkout,
        journal: TurnJournal,
        purpose: str,
        version: str,
        text: str,
    ) -> AgentResult:
        """One prompt, recorded before it is sent and again when it ended."""
        deps, task = self.deps, self.ground.task
        row = AgentTurn(
            id=0,
            task_id=task.id,
            attempt=task.attempt,
            round=task.round,
            seq=self._next_seq(),
            purpose=purpose,
            agent=session.who,
            prompt_version=version,
            outcome="",
            started="",
        )
        with deps.store.transaction() as tx:
            number = tx.begin_agent_turn(row)
        journal.turn(version)
        before = session.forwarder.counts()
        try:
            turn = await session.prompt(text)
            found = await asyncio.to_thread(checkout.changes)
            result = await asyncio.to_thread(self._judged, turn, found)
        except (AgentFailed, ServingError) as error:
            lost = isinstance(error, ServingError)
            self._end(number, "lost" if lost else "failed", before, session, reason=error.message)
            raise
        except asyncio.CancelledError:
            self._end(number, "lost", before, session, reason="cut off")
            raise
        outcome, more = _outcome_of(result)
        summary = _summary(deps.redact(turn.said))
        told = {
            "stopped": turn.stopped,
            "summary": summary,
            "seconds": round(turn.seconds, 3),
        }
        self._end(number, outcome, before, session, **told, **more)
        return result

    def _judged(self, turn: PromptTurn, found: Changed) -> AgentResult:
        deps, task = self.deps, self.ground.task
        text = deps.redact(turn.said)
        if not found.changes and not found.problems:
            if said := _NO_CHANGE.search(text):
                return NoChange(safe_line(said[1])[:500])
            if task.kind in EITHER_KINDS and task.round == 0 and "\n# " in f"\n{text}":
                return text[f"\n{text}".index("\n# ") :]
            words = safe_line(_summary(text)).strip()[-_LAST_WORDS:]
            return NotApplied(
                (f"NO_OP: no file differs from the last commit. The agent's last words: {words or 'none'}",),
                ((EditCode.NO_OP.value, ""),),
            )
        return _drafted(self.ground, found, _summary(text))

    def _end(
        self, number: int, outcome: str, before: dict[str, int], session: AgentSession, **more: Any
    ) -> None:
        spent = {name: count - before[name] for name, count in session.forwarder.counts().items()}
        with self.deps.store.transaction() as tx:
            tx.end_agent_turn(number, outcome=outcome, **spent, **more)


def _outcome_of(result: AgentResult) -> tuple[str, dict[str, str]]:
    match result:
        case Draft(tree=tree):
            return "ok", {"tree": tree}
        case NoChange(reason):
            return "no_change", {"reason": reason}
        case NotApplied():
            return "refused", {"reason": "\n".join(result.problems)[:2000]}
        case _:
            return "report", {}


def _summary(text: str) -> str:
    """The last paragraphs of what the agent said: what it changed and why."""
    kept: list[str] = []
    for part in reversed([part.strip() for part in text.strip().split("\n\n") if part.strip()]):
        if kept and sum(map(len, kept)) + len(part) > _SUMMARY:
            break
        kept.insert(0, part)
    return "\n\n".join(kept)[-_SUMMARY:]


TURN_CALLS = 1_000
"""Calls that one turn may number. A call's `seq` is the turn's, times this, plus its place in the turn."""

PURPOSE = "agent"


class TurnJournal(CallJournal):
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
