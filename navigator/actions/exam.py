"""Prepare the reviewer's exam: make changes whose right verdict is known, each proved by the project's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from navigator.actions.base import Question, Told, Verb, controls, plural
from navigator.actions.conducting import swap_words
from navigator.model.errors import Conflict, NavigatorError
from navigator.model.models import Model
from navigator.model.records import PreparedProject
from navigator.model.states import ExamSource, Role

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


class PrepareExamArgs(Model):
    """`projects` by name and `sources`, all where none is given; `limit`: faulty items per project, None for the settings'.

    `past`: items of the backtest instead, from fixes that were committed `since`, in seconds since 1970.
    """

    projects: tuple[str, ...] = ()
    limit: int | None = Field(default=None, ge=1)
    sources: tuple[Literal[ExamSource.REVERSED_FIX, ExamSource.MUTANT, ExamSource.SYNTHETIC], ...] = ()
    past: bool = False
    since: int = Field(default=0, ge=0)


class ExamPrepared(Model):
    """One entry per project."""

    projects: tuple[PreparedProject, ...] = ()


class PrepareExam(Verb[PrepareExamArgs, ExamPrepared]):
    """May take half an hour per project. What was tried is remembered; the next run goes on, and conductors prepare more."""

    name = "exam.prepare"
    args = PrepareExamArgs
    result = ExamPrepared

    def refuse(self, reader: Reader, args: PrepareExamArgs) -> NavigatorError | None:
        for name in args.projects:
            reader.project(name)
        return None

    async def perform(self, deps: Dependencies, args: PrepareExamArgs) -> ExamPrepared:
        from navigator.exam.backtest import prepare_backtest
        from navigator.exam.items import prepare_bundled
        from navigator.exam.prepare import prepare_project
        from navigator.exam.queue import ACCEPTED

        self.require(deps.reader, args)
        wanted = [deps.reader.project(name) for name in args.projects] or deps.reader.projects()
        if args.past:
            past = [
                await prepare_backtest(deps, project, limit=args.limit, since=args.since)
                for project in wanted
            ]
            return ExamPrepared(projects=tuple(past))
        with deps.store.transaction() as tx:
            tx.set_meta(ACCEPTED, True)
        rest = tuple(source for source in args.sources if source is not ExamSource.SYNTHETIC)
        if args.sources and not rest:
            return ExamPrepared(projects=tuple([await prepare_bundled(deps, one) for one in wanted[:1]]))
        made = [await prepare_project(deps, one, limit=args.limit, sources=rest) for one in wanted]
        return ExamPrepared(projects=tuple(made))

    def tell(self, result: ExamPrepared) -> list[Told]:
        return [
            Told(
                one.project,
                one.problem or f"{plural(one.faulty, 'faulty item')}, {one.clean} clean",
                "warning" if one.problem else "information",
                one.hint,
            )
            for one in result.projects
        ]


# Have the reviewer answer items of its exam now: at once where it is loaded, else after a swap that is asked for first.


class ExamRunArgs(Model):
    """How many items; `writer`: of the writer's model, which has to be loaded."""

    items: int = Field(default=20, ge=1)
    writer: bool = False


class ExamAsked(Model):
    """`items` will be asked; `left` have no answer of this reviewer yet; `loaded`: it is loaded already."""

    items: int
    left: int
    loaded: bool
    writer: bool = False


class RunExam(Verb[ExamRunArgs, ExamAsked]):
    """Reviews of proposals still go first. What was answered is kept; after a restart of the conductor, ask again."""

    name = "exam.run"
    args = ExamRunArgs
    result = ExamAsked
    small = True
    needs_conductor = True

    def refuse(self, reader: Reader, args: ExamRunArgs) -> NavigatorError | None:
        if not reader.exam_items():
            return Conflict("There are no exam items.", hint="`navigator exam prepare` makes them.")
        if args.writer and reader.meta("resident", str) not in (Role.GENERATOR.value, "both"):
            return Conflict(
                "The writer's model is not loaded.", hint="`navigator swap to generator` loads it."
            )
        return None

    def question(self, reader: Reader, args: ExamRunArgs) -> Question | None:
        if args.writer or reader.meta("resident", str) in (Role.REVIEWER.value, "both"):
            return None
        lines = (swap_words(reader), "Without one, items are mixed into its next residency.")
        return Question("Load the reviewer for the exam?", lines, "load it")

    async def perform(self, deps: Dependencies, args: ExamRunArgs) -> ExamAsked:
        self.require(deps.reader, args)
        if args.writer:
            from navigator.exam.queue import ask_writer

            asked = await ask_writer(deps, args.items)
            return ExamAsked(items=asked, left=0, loaded=True, writer=True)
        conductor = controls(deps)
        items, left = conductor.ask_exam(args.items)
        if not items:
            raise Conflict(
                "The reviewer has no item left to answer under its present prompt.",
                hint="`navigator exam show` has the result; `navigator exam prepare` makes more items.",
            )
        return ExamAsked(items=items, left=left, loaded=conductor.swap_to(Role.REVIEWER))

    def tell(self, result: ExamAsked) -> list[Told]:
        if result.writer:
            return [Told("The writer's model", f"answered {plural(result.items, 'item')}")]
        when = "" if result.loaded else " once it is loaded"
        return [
            Told(
                "reviewer",
                f"is asked {plural(result.items, 'item')} of {result.left}{when}",
                hint="`navigator exam show` has the result.",
            )
        ]
