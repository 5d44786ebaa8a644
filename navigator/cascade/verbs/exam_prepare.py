"""Prepare the reviewer's exam: make changes whose right verdict is known, each proved by the project's tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from navigator.cascade.verbs.base import Told, Verb, plural
from navigator.model.errors import NavigatorError
from navigator.model.exam import PreparedProject
from navigator.model.models import Model
from navigator.model.states import ExamSource

if TYPE_CHECKING:
    from navigator.cascade.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


class PrepareExamArgs(Model):
    """`projects` by name and `sources`, all where none is given; `limit`: faulty items per project, None for the settings'."""

    projects: tuple[str, ...] = ()
    limit: int | None = Field(default=None, ge=1)
    sources: tuple[Literal[ExamSource.REVERSED_FIX, ExamSource.MUTANT], ...] = ()


class ExamPrepared(Model):
    """One entry per project."""

    projects: tuple[PreparedProject, ...] = ()


class PrepareExam(Verb[PrepareExamArgs, ExamPrepared]):
    """May take half an hour per project. What was tried is remembered; the next run goes on."""

    name = "exam.prepare"
    args = PrepareExamArgs
    result = ExamPrepared

    def refuse(self, reader: Reader, args: PrepareExamArgs) -> NavigatorError | None:
        for name in args.projects:
            reader.project(name)
        return None

    async def perform(self, deps: Dependencies, args: PrepareExamArgs) -> ExamPrepared:
        from navigator.cascade.exam.prepare import prepare_project

        self.require(deps.reader, args)
        wanted = [deps.reader.project(name) for name in args.projects] or deps.reader.projects()
        return ExamPrepared(
            projects=tuple(
                [
                    await prepare_project(deps, project, limit=args.limit, sources=args.sources)
                    for project in wanted
                ]
            )
        )

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
