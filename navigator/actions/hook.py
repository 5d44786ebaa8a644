"""Install or remove the hook that has each commit of a project reviewed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from navigator.actions.base import Told, Verb
from navigator.model.models import Model

if TYPE_CHECKING:
    from navigator.git.facts import RepoFacts
    from navigator.journey.dependencies import Dependencies


def take_hook(facts: RepoFacts) -> tuple[str, bool]:
    """Remove Navigator's hook; where it was, and whether an earlier hook is back in its place.

    Raises:
        NavigatorError: there is none, or it cannot be removed.
    """
    from navigator.git.hook import hook_state, remove_hook

    kept = hook_state(facts).kept
    return str(remove_hook(facts).path), kept


class HookArgs(Model):
    """A project by name, and whether its hook is to be there."""

    project: str
    install: bool = True


class HookDone(Model):
    """Where the hook is, or was; `kept`: an earlier hook runs before it, or is back in its place."""

    project: str
    path: str
    kept: bool = False
    installed: bool = True


class Hook(Verb[HookArgs, HookDone]):
    """Nothing but the hook's file is written in the repository; when it is removed, an earlier hook comes back as it was."""

    name = "hook"
    args = HookArgs
    result = HookDone

    async def perform(self, deps: Dependencies, args: HookArgs) -> HookDone:
        project = deps.reader.project(args.project, removed=not args.install)
        folder = deps.paths.commits / str(project.id)

        def change() -> tuple[str, bool]:
            from navigator.git.facts import read_facts
            from navigator.git.hook import install_hook

            facts = read_facts(project.path)
            if args.install:
                state = install_hook(facts, folder)
                return str(state.path), state.kept
            return take_hook(facts)

        path, kept = await asyncio.to_thread(change)
        with deps.store.transaction() as tx:
            tx.event("hook_installed" if args.install else "hook_removed", data={"project": project.name})
        return HookDone(project=project.name, path=path, kept=kept, installed=args.install)

    def tell(self, result: HookDone) -> list[Told]:
        if result.installed:
            also = "; the hook that was there runs first" if result.kept else ""
            return [Told(result.project, f"each commit is queued for review ({result.path}){also}")]
        also = "; the hook that was there before is back" if result.kept else ""
        return [Told(result.project, f"commits are no longer queued for review{also}")]
