"""One turn of a comparison: write, read or revise, with the very prompts, parsers and rules of the loop. Nothing is landed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from navigator.client.client import ModelClient
from navigator.client.errors import BadAnswer, CutByLength, ServingError
from navigator.config.file import is_rehearsal
from navigator.config.settings import ServerSettings
from navigator.context.source import TreeSource
from navigator.exam.queue import unstored_proposal, unstored_task
from navigator.git.private import PrivateRepo
from navigator.journey.calls import Message, chat_request, is_requests_fault
from navigator.journey.dependencies import Dependencies
from navigator.journey.drafting import Draft, NotApplied, draft, title_of
from navigator.journey.prompts.assemble import prompt_for
from navigator.journey.prompts.material import findings_block, worth_sending
from navigator.journey.review import answer_room, conclude, plan_review, read_answer
from navigator.journey.reviewing.answer import UnreadableReview, review_schema, said_by
from navigator.journey.reviewing.join import Answered
from navigator.journey.reviewing.prompt import ReviewPromptDependencies
from navigator.journey.subject import Change, read_subject
from navigator.lab.comparing.journal import Actor, Journal, LabTask, Turn
from navigator.lab.comparing.tasks import function_repository
from navigator.model.errors import NavigatorError
from navigator.model.models import Finding, Project, Usage
from navigator.process.bounded import WorkerLost

REPAIRS = 2
"""Questions about edits that do not apply, in one turn."""


@dataclass
class Turns:
    """Takes turns; `actors` are by their letters."""

    deps: Dependencies
    journal: Journal
    actors: dict[str, Actor]
    _others: dict[str, ModelClient] = field(default_factory=dict)

    def revise(self, task: LabTask) -> dict[str, bool]:
        """The paths of a task that were taken, and whether each asked for a revision."""
        return {path: turn.asks for (key, path), turn in self.journal.turns.items() if key == task.key}

    def place(self, task: LabTask) -> tuple[PrivateRepo, Project]:
        """The repository of a task and its project. Runs git: call it in a thread."""
        if task.project_id is None:
            private, project = function_repository(self.deps.paths.private)
            return private, project.model_copy(update={"check": task.check})
        project = self.deps.reader.project(task.project_id)
        return self.deps.repositories.private(project), project

    def server(self, actor: Actor) -> ServerSettings:
        """The server that an actor speaks to, under the actor's own model."""
        server = self.deps.servers.strategy.server(actor.role)
        return server.model_copy(update={"model": actor.model}) if actor.model else server

    async def take(self, task: LabTask, path: str) -> None:
        """Take one turn, and keep it.

        Raises:
            ServingError: the model did not answer.
        """
        private, project = await asyncio.to_thread(self.place, task)
        taking = self._write if len(path) % 2 else self._read
        self.journal.add(await taking(task, path, private, project))

    async def close(self) -> None:
        """End the connections that are the comparison's own."""
        for client in self._others.values():
            await client.aclose()
        self._others.clear()

    def _before(self, task: LabTask, path: str) -> Turn | None:
        return self.journal.turns.get((task.key, path))

    def _asked_for(self, task: LabTask, path: str) -> list[Finding]:
        """What the reading turn `path` asked for."""
        turn = self._before(task, path)
        return worth_sending(turn.review.findings) if turn is not None and turn.review is not None else []

    async def _write(self, task: LabTask, path: str, private: PrivateRepo, project: Project) -> Turn:
        source, as_task = TreeSource(private, task.base, project), unstored_task(project, task)
        before, role = self._before(task, path[:-2]), self.actors[path[-1]].role
        usage = Usage()

        def unchanged(problem: str) -> Turn:
            kept = before or Turn(task=task.key, path=path, tree=private.tree_of(task.base))
            return kept.model_copy(update={"path": path, "problem": problem, "usage": usage})

        try:
            prompted = await self.deps.repositories.locked(
                project.id, prompt_for, self.deps, source, as_task, project, role
            )
        except ServingError:
            raise
        except NavigatorError as error:
            return unchanged(error.message)
        messages: list[Message] = list(prompted.messages)
        if before is not None:
            block = findings_block("findings", self._asked_for(task, path[:-1]), prompted.key)
            asked = self.deps.prompts.render("revise", findings=block)[1]
            messages += [{"role": "assistant", "content": before.text}, {"role": "user", "content": asked}]
        problem = ""
        for _ in range(1 + REPAIRS):
            text, cost, problem = await self._ask(path, messages)
            usage += cost
            if problem:
                break
            outcome = await asyncio.to_thread(
                draft, text, source, marker=prompted.marker, shown=prompted.context.shown_whole
            )
            if isinstance(outcome, Draft):
                made = {
                    "tree": outcome.tree,
                    "text": text,
                    "summary": outcome.prose,
                    "checks": outcome.checks,
                }
                return Turn(task=task.key, path=path, usage=usage, **made)
            if not isinstance(outcome, NotApplied):
                problem = f"no change: {outcome.reason}"
                break
            problem = outcome.problems[0]
            asked = self.deps.prompts.render("repair", problems=outcome.problems, whole_file="")[1]
            messages += [{"role": "assistant", "content": text}, {"role": "user", "content": asked}]
        return await asyncio.to_thread(unchanged, problem)

    async def _read(self, task: LabTask, path: str, private: PrivateRepo, project: Project) -> Turn:
        actor = self.actors[path[-1]]
        subject = await asyncio.to_thread(self._subject, task, path, private, project)
        server, counter = self.server(actor), self.deps.counter_for(actor.role)
        room = answer_room(server)[0]
        asking = ReviewPromptDependencies(
            self.deps.prompts, self.deps.keys, counter.count, counter.exact, server.context_tokens - room
        )
        plan = await asyncio.to_thread(plan_review, subject, asking)
        answered: list[Answered] = []
        usage = Usage()
        # Where nothing applied there is nothing to read, and no call is spent on it.
        readings = plan.readings if subject.files else ()
        if not readings:
            answered.append(Answered(None, None, "there is no change to read"))
        for reading in readings:
            schema = review_schema(reading.labels, again=len(subject.earlier), asked=reading.asked)
            text, cost, problem = await self._ask(path, reading.messages, schema=schema, room=room)
            usage += cost
            try:
                read = None if problem else await asyncio.to_thread(read_answer, text, reading)
            except (UnreadableReview, WorkerLost) as error:
                read, problem = None, str(error)
            answered.append(Answered(reading, read, problem))
        answered += [Answered(None, None, why) for why in plan.too_large]
        review = await asyncio.to_thread(
            conclude, subject, plan, answered, usage, model=server.model, role=actor.role
        )
        return Turn(task=task.key, path=path, review=review, usage=usage)

    def _subject(self, task: LabTask, path: str, private: PrivateRepo, project: Project) -> Change:
        made = self.journal.turns[task.key, path[:-1]]
        proposal = unstored_proposal(
            project,
            task.base,
            made.tree,
            round=len(path) // 2 - 1,
            title=title_of(task.text),
            summary=made.summary,
            checks=made.checks,
        )
        earlier = self._asked_for(task, path[:-2])
        return read_subject(private, project, unstored_task(project, task), proposal, earlier)

    async def _ask(
        self,
        path: str,
        messages: Sequence[Message],
        schema: dict[str, object] | None = None,
        room: int = 0,
    ) -> tuple[str, Usage, str]:
        """The answer to one question, what it cost, and why there is none where the request or the answer is at fault.

        Raises:
            ServingError: the server is at fault.
        """
        actor = self.actors[path[-1]]
        server = self.server(actor)
        request = chat_request(server, messages, room or server.max_tokens, schema)
        try:
            if actor.model:
                client = self._others.setdefault(actor.letter, ModelClient(server))
                said = await client.chat(request)
            else:
                async with self.deps.servers.lent(actor.role) as lent:
                    said = await lent.chat(request)
        except ServingError as error:
            if not isinstance(error, CutByLength | BadAnswer) and not is_requests_fault(error):
                raise
            return "", error.usage, error.message
        return said.text if schema is None else said_by(said.text, said.reasoning), said.usage, ""


def simulated(actors: Sequence[Actor], turns: Turns) -> bool:
    """Whether what answers is no model."""
    names = [actor.model or turns.deps.settings.server(actor.role).model for actor in actors]
    return turns.deps.servers.strategy.embedded or any(map(is_rehearsal, names))
