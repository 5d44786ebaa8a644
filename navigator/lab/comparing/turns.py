"""One turn of a comparison: write, read or revise, with the very prompts, parsers and rules of the loop. Nothing is landed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from navigator.client.client import ModelClient
from navigator.client.errors import BadAnswer, CutByLength, ServingError
from navigator.config.settings import ServerSettings, is_rehearsal
from navigator.exam.queue import unstored_proposal, unstored_task
from navigator.git.private import PrivateRepo
from navigator.git.source import TreeSource
from navigator.journey.calls import Message, chat_request, is_requests_fault
from navigator.journey.dependencies import Dependencies
from navigator.journey.drafting import Draft, NotApplied, draft, title_of
from navigator.journey.prompts.assemble import Prompted, prompt_for
from navigator.journey.prompts.material import findings_block, worth_sending
from navigator.journey.review import answer_room, conclude, plan_review, read_answer
from navigator.journey.reviewing.answer import UnreadableReview, review_schema, said_by
from navigator.journey.reviewing.join import Answered
from navigator.journey.reviewing.prompt import ReviewPromptDependencies
from navigator.journey.subject import Change, read_subject
from navigator.lab.comparing.journal import Actor, Journal, LabTask, Turn, TurnAnswer
from navigator.lab.comparing.tasks import function_repository
from navigator.model.errors import NavigatorError
from navigator.model.models import CheckResult, Project, Review, Task, Usage
from navigator.model.states import Verdict
from navigator.process.bounded import WorkerLost

REPAIRS = 2
"""Questions about edits that do not apply, in one turn."""


@dataclass(frozen=True)
class Made:
    """What a writing turn left: a tree (that of the base where nothing applied), the answer, and what its checks said."""

    tree: str
    text: str = ""
    summary: str = ""
    checks: tuple[CheckResult, ...] = ()
    problem: str = ""


@dataclass
class Turns:
    """Takes turns, and knows those that were taken.

    Attributes:
        actors: by their letters.
        made: of writing turns by (task, path); `read` of reading ones.
    """

    deps: Dependencies
    journal: Journal
    actors: dict[str, Actor]
    made: dict[tuple[str, str], Made] = field(default_factory=dict)
    read: dict[tuple[str, str], Review] = field(default_factory=dict)
    _prompts: dict[tuple[str, str], Prompted] = field(default_factory=dict)
    _others: dict[str, ModelClient] = field(default_factory=dict)

    def revise(self, task: LabTask) -> dict[str, bool]:
        """The paths of a task that were taken, and whether each asked for a revision."""
        found = {path: False for key, path in self.made if key == task.key}
        return found | {
            path: review.verdict is Verdict.REVISE and bool(worth_sending(review.findings))
            for (key, path), review in self.read.items()
            if key == task.key
        }

    def place(self, task: LabTask) -> tuple[PrivateRepo, Project]:
        """The repository of a task and its project. Runs git: call it in a thread."""
        if task.project_id is None:
            private, project = function_repository(self.deps.paths.private)
            return private, project.model_copy(update={"check": task.check})
        project = self.deps.project(task.project_id)
        return self.deps.private(project), project

    def server(self, actor: Actor) -> ServerSettings:
        """The server that an actor speaks to, under the actor's own model."""
        server = self.deps.strategy.server(actor.role)
        return server.model_copy(update={"model": actor.model}) if actor.model else server

    async def take(self, task: LabTask, path: str) -> None:
        """Take one turn. What was answered before is not asked again.

        Raises:
            ServingError: the model did not answer.
        """
        private, project = await asyncio.to_thread(self.place, task)
        if len(path) % 2:
            self.made[task.key, path] = await self._write(task, path, private, project)
        else:
            self.read[task.key, path] = await self._read(task, path, private, project)
        if (task.key, path) not in self.journal.turns:
            self.journal.add(Turn(task=task.key, path=path))

    async def close(self) -> None:
        """End the connections that are the comparison's own."""
        for client in self._others.values():
            await client.aclose()
        self._others.clear()

    # Writing

    async def _write(self, task: LabTask, path: str, private: PrivateRepo, project: Project) -> Made:
        source, as_task = TreeSource(private, task.base, project), unstored_task(project, task)
        before = self.made.get((task.key, path[:-2])) if len(path) > 1 else None
        try:
            prompted = await self._prompted(task, path, source, as_task, project)
        except ServingError:
            raise
        except NavigatorError as error:
            return before or Made(private.tree_of(task.base), problem=error.message)
        messages: list[Message] = list(prompted.messages)
        if before is not None:
            findings = worth_sending(self.read[task.key, path[:-1]].findings)
            block = findings_block("findings", findings, prompted.key)
            asked = self.deps.prompts.render("revise", findings=block)[1]
            messages += [{"role": "assistant", "content": before.text}, {"role": "user", "content": asked}]
        problem = ""
        for number in range(1 + REPAIRS):
            answer = await self._ask(task, path, number, messages)
            if answer.error:
                problem = answer.error
                break
            outcome = await asyncio.to_thread(
                draft,
                answer.text,
                source,
                marker=prompted.marker,
                shown=prompted.context.shown_whole,
            )
            if isinstance(outcome, Draft):
                return Made(outcome.tree, answer.text, outcome.prose, outcome.checks)
            if not isinstance(outcome, NotApplied):
                problem = f"no change: {outcome.reason}"
                break
            problem = outcome.problems[0]
            asked = self.deps.prompts.render("repair", problems=outcome.problems, whole_file="")[1]
            messages += [{"role": "assistant", "content": answer.text}, {"role": "user", "content": asked}]
        return before or Made(await asyncio.to_thread(private.tree_of, task.base), problem=problem)

    async def _prompted(
        self, task: LabTask, path: str, source: TreeSource, as_task: Task, project: Project
    ) -> Prompted:
        role = self.actors[path[-1]].role
        key = task.key, role.value
        if key not in self._prompts:
            async with self.deps.project_lock(project.id):
                self._prompts[key] = await asyncio.to_thread(
                    prompt_for, self.deps, source, as_task, project, role
                )
        return self._prompts[key]

    # Reading

    async def _read(self, task: LabTask, path: str, private: PrivateRepo, project: Project) -> Review:
        actor, made = self.actors[path[-1]], self.made[task.key, path[:-1]]
        subject = await asyncio.to_thread(self._subject, task, path, private, project, made)
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
        for number, reading in enumerate(readings):
            schema = review_schema(reading.labels, again=len(subject.earlier), asked=reading.asked)
            answer = await self._ask(task, path, number, reading.messages, schema=schema, room=room)
            if answer.error:
                answered.append(Answered(reading, None, answer.error))
                continue
            usage += answer.usage
            said = said_by(answer.text, answer.reasoning)
            try:
                answered.append(Answered(reading, await asyncio.to_thread(read_answer, said, reading)))
            except (UnreadableReview, WorkerLost) as error:
                answered.append(Answered(reading, None, str(error)))
        answered += [Answered(None, None, why) for why in plan.too_large]
        return await asyncio.to_thread(
            conclude, subject, plan, answered, usage, model=server.model, role=actor.role
        )

    def _subject(
        self, task: LabTask, path: str, private: PrivateRepo, project: Project, made: Made
    ) -> Change:
        proposal = unstored_proposal(
            project,
            task.base,
            made.tree,
            round=len(path) // 2 - 1,
            title=title_of(task.text),
            summary=made.summary,
            checks=made.checks,
        )
        before = self.read.get((task.key, path[:-2]))
        earlier = worth_sending(before.findings) if before else []
        return read_subject(private, project, unstored_task(project, task), proposal, earlier)

    # Asking

    async def _ask(
        self,
        task: LabTask,
        path: str,
        number: int,
        messages: Sequence[Message],
        schema: dict[str, object] | None = None,
        room: int = 0,
    ) -> TurnAnswer:
        """The answer to one question: the one that is kept, or a new one, which is kept first."""
        kept = self.journal.answers.get((task.key, path, number))
        if kept is not None:
            return kept
        actor = self.actors[path[-1]]
        server = self.server(actor)
        request = chat_request(server, messages, room or server.max_tokens, schema)
        named = {"task": task.key, "path": path, "number": number}
        try:
            if actor.model:
                client = self._others.setdefault(actor.letter, ModelClient(server))
                said = await client.chat(request)
            else:
                async with self.deps.lent_client(actor.role) as lent:
                    said = await lent.chat(request)
        except ServingError as error:
            if not isinstance(error, CutByLength | BadAnswer) and not is_requests_fault(error):
                raise
            answer = TurnAnswer(**named, model=server.model, usage=error.usage, error=error.message)
        else:
            answer = TurnAnswer(
                **named, text=said.text, reasoning=said.reasoning, model=said.model, usage=said.usage
            )
        self.journal.add(answer)
        return answer


def simulated(actors: Sequence[Actor], turns: Turns) -> bool:
    """Whether what answers is no model."""
    names = [actor.model or turns.deps.settings.server(actor.role).model for actor in actors]
    return turns.deps.strategy.embedded or any(map(is_rehearsal, names))
