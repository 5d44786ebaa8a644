"""Install or remove the hook that has each commit of a project reviewed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from navigator.actions.base import Told, Verb
from navigator.model.models import Model

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies


class HookArgs(Model):
    """A project by name, and whether its hook is to be there."""

    project: str
    install: bool = True


class HookDone(Model):
    """Where the hook is, or was."""

    project: str
    path: str
    installed: bool = True


class Hook(Verb[HookArgs, HookDone]):
    """Nothing but the hook's file is written in the repository; another program's is left alone."""

    name = "hook"
    args = HookArgs
    result = HookDone

    async def perform(self, deps: Dependencies, args: HookArgs) -> HookDone:
        project = deps.reader.project(args.project, removed=not args.install)
        folder = deps.paths.commits / str(project.id)

        def change() -> str:
            from navigator.git.facts import read_facts
            from navigator.git.hook import install_hook, remove_hook

            facts = read_facts(project.path)
            return str((install_hook(facts, folder) if args.install else remove_hook(facts)).path)

        path = await asyncio.to_thread(change)
        with deps.store.transaction() as tx:
            tx.event("hook_installed" if args.install else "hook_removed", data={"project": project.name})
        return HookDone(project=project.name, path=path, installed=args.install)

    def tell(self, result: HookDone) -> list[Told]:
        if result.installed:
            return [Told(result.project, f"each commit is queued for review ({result.path})")]
        return [Told(result.project, "commits are no longer queued for review")]
