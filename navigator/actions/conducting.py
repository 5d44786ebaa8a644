"""What a running conductor is asked to do: review now, swap, stop; and the reviewer's exam: make its items, ask them now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from navigator.actions.base import Done, Question, Told, Verb, done
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.records import PreparedProject
from navigator.model.states import Role, TaskState
from navigator.model.text import plural

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


class Conduct(Verb):
    """Load the reviewer before the batch is full ("review"), load `role` when current work finishes ("swap"), or "stop"."""

    op = "conduct"
    works_on_full_disk = True
    needs_conductor = True

    do: Literal["review", "swap", "stop"]
    role: Literal[Role.GENERATOR, Role.REVIEWER] = Role.REVIEWER

    def refuse(self, reader: Reader) -> NavigatorError | None:
        if self.do == "review" and not _waiting(reader):
            return Conflict("Nothing is waiting for review.")
        return None

    async def perform(self, deps: Dependencies) -> Done:
        conductor, role = deps.conductor, self.role.value
        assert conductor is not None, "`needs_conductor`"
        if self.do == "review":
            conductor.review_now()
            return done([Told("reviewer", f"is next; {_waiting(deps.reader)} awaiting review")])
        if self.do == "stop":
            conductor.stop("stopped by the user")
            return done([Told("conductor", "is stopping; `navigator run` continues where it stopped")])
        already, running = conductor.swap_to(self.role), conductor.running
        after = f"after {plural(running, 'running task')}" if running else "next"
        told = Told(role, "is already loaded" if already else f"will be loaded {after}")
        return done([told], to=self.role, already=already, in_hand=running)


def _waiting(reader: Reader) -> int:
    return int(reader.counts()["tasks"][TaskState.AWAITING_REVIEW.value])


def swap_words(reader: Reader) -> str:
    """What it takes to have the reviewer loaded now, in a sentence."""
    if reader.meta("resident", str) in (Role.REVIEWER.value, "both"):
        return "The reviewer is loaded: no swap."
    return "It is not loaded: a swap there and one back."


# The exam


class PrepareExam(Verb):
    """Make changes whose right verdict is known, each proved by the project's tests. May take half an hour per project. What was
    tried is remembered; the next run continues, and conductors prepare more.

    `projects` by name, all where none is given; `limit`: faulty items per project, None for the settings'. `synthetic`: keep the
    cases that come with Navigator instead.

    `past`: items of the backtest instead, from fixes that were committed `since`, in seconds since 1970.
    """

    op = "exam.prepare"

    projects: tuple[str, ...] = ()
    limit: int | None = Field(default=None, ge=1)
    synthetic: bool = False
    past: bool = False
    since: int = Field(default=0, ge=0)

    async def perform(self, deps: Dependencies) -> Done:
        made = await self._prepare(deps)
        said = {one.project: f"{plural(one.faulty, 'faulty item')}, {one.clean} clean" for one in made}
        return done([Told(one.project, one.problem or said[one.project]) for one in made], projects=made)

    async def _prepare(self, deps: Dependencies) -> list[PreparedProject]:
        from navigator.exam.backtest import prepare_backtest
        from navigator.exam.items import prepare_bundled
        from navigator.exam.making import prepare_project
        from navigator.exam.queue import ACCEPTED

        wanted = [deps.reader.project(name) for name in self.projects] or deps.reader.projects()
        if self.past:
            return [await prepare_backtest(deps, one, limit=self.limit, since=self.since) for one in wanted]
        with deps.store.transaction() as tx:
            tx.set_meta(ACCEPTED, True)
        if self.synthetic:
            return [await prepare_bundled(deps, one) for one in wanted[:1]]
        return [await prepare_project(deps, one, limit=self.limit) for one in wanted]


class RunExam(Verb):
    """Have the reviewer answer items now: at once where it is loaded, else after a swap that is asked for first.

    `writer`: of the writer's model, which has to be loaded. Reviews of proposals still go first. What was answered is kept;
    after a restart of the conductor, ask again.
    """

    op = "exam.run"
    works_on_full_disk = True
    needs_conductor = True

    items: int = Field(default=20, ge=1)
    writer: bool = False

    def refuse(self, reader: Reader) -> NavigatorError | None:
        if not reader.exam_items():
            return Conflict("There are no exam items.", hint="`navigator exam prepare` makes them.")
        if self.writer and reader.meta("resident", str) not in (Role.GENERATOR.value, "both"):
            return Conflict(
                "The writer's model is not loaded.", hint="`navigator swap to generator` loads it."
            )
        return None

    def question(self, reader: Reader) -> Question | None:
        if self.writer or reader.meta("resident", str) in (Role.REVIEWER.value, "both"):
            return None
        lines = (swap_words(reader), "Without one, items are mixed into its next residency.")
        return Question("Load the reviewer for the exam?", lines, "load it")

    async def perform(self, deps: Dependencies) -> Done:
        self.require(deps.reader)
        if self.writer:
            from navigator.exam.queue import ask_writer

            asked = await ask_writer(deps, self.items)
            told = Told("The writer's model", f"answered {plural(asked, 'item')}")
            return done([told], items=asked, left=0, loaded=True, writer=True)
        conductor = deps.conductor
        assert conductor is not None, "`needs_conductor`"
        items, left = conductor.ask_exam(self.items)
        if not items:
            raise Conflict(
                "The reviewer has no item left to answer under its present prompt.",
                hint="`navigator exam show` has the result; `navigator exam prepare` makes more items.",
            )
        loaded = conductor.swap_to(Role.REVIEWER)
        said = f"is asked {plural(items, 'item')} of {left}{'' if loaded else ' once it is loaded'}"
        told = Told("reviewer", said, hint="`navigator exam show` has the result.")
        return done([told], items=items, left=left, loaded=loaded, writer=False)
