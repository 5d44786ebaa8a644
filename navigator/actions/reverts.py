"""Look in the projects' repositories whether landed commits were reverted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from navigator.actions.base import Told, Verb, plural
from navigator.model.models import Model

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies


class LookArgs(Model):
    """Names of projects; () for all."""

    projects: tuple[str, ...] = ()


class LookedProject(Model):
    """How many landed commits of a project were looked for, and what was seen."""

    project: str
    commits: int
    reverted: int = 0
    unknown: int = 0


class LookedProjects(Model):
    """The projects with landed commits. What was found reverted before is not looked for again."""

    projects: tuple[LookedProject, ...] = ()


class LookForReverts(Verb[LookArgs, LookedProjects]):
    """Reads the repositories and changes nothing in them."""

    name = "reverts.look"
    args, result = LookArgs, LookedProjects

    async def perform(self, deps: Dependencies, args: LookArgs) -> LookedProjects:
        from navigator.exam.afterlife import look_at_findings
        from navigator.journey.reverts import look_for

        chosen = [deps.reader.project(name) for name in args.projects] or deps.reader.projects()
        found = [(project, await look_for(deps, project)) for project in chosen]
        for project in chosen:
            await look_at_findings(deps, project)
        return LookedProjects(
            projects=tuple(
                LookedProject(
                    project=project.name,
                    commits=len(fates),
                    reverted=sum(fate.fate == "reverted" for fate in fates),
                    unknown=sum(fate.fate == "unknown" for fate in fates),
                )
                for project, fates in found
                if fates
            )
        )

    def tell(self, result: LookedProjects) -> list[Told]:
        return [
            Told(
                one.project,
                f"{plural(one.commits, 'landed commit')} looked for: {one.reverted} reverted, {one.unknown} not known",
            )
            for one in result.projects
        ]
