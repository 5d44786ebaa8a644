"""Install or remove the hook that has each commit of a project reviewed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, ClassVar

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
    """A project by name."""

    project: str


class HookDone(Model):
    """Where the hook is, or was; `kept`: an earlier hook runs before it, or is back in its place."""

    project: str
    path: str
    kept: bool = False


class _HookVerb(Verb[HookArgs, HookDone]):
    args = HookArgs
    result = HookDone
    installs: ClassVar[bool]

    async def perform(self, deps: Dependencies, args: HookArgs) -> HookDone:
        project = deps.reader.project(args.project, removed=not self.installs)
        folder = deps.paths.commits / str(project.id)

        def change() -> tuple[str, bool]:
            from navigator.git.facts import read_facts
            from navigator.git.hook import install_hook

            facts = read_facts(project.path)
            if self.installs:
                state = install_hook(facts, folder)
                return str(state.path), state.kept
            return take_hook(facts)

        path, kept = await asyncio.to_thread(change)
        with deps.store.transaction() as tx:
            tx.event("hook_installed" if self.installs else "hook_removed", data={"project": project.name})
        return HookDone(project=project.name, path=path, kept=kept)


class InstallHook(_HookVerb):
    """Nothing but the hook's file is written in the repository."""

    name = "hook.install"
    installs = True

    def tell(self, result: HookDone) -> list[Told]:
        also = "; the hook that was there runs first" if result.kept else ""
        return [Told(result.project, f"each commit is queued for review ({result.path}){also}")]


class RemoveHook(_HookVerb):
    """The hook that was there before comes back as it was."""

    name = "hook.remove"
    installs = False

    def tell(self, result: HookDone) -> list[Told]:
        also = "; the hook that was there before is back" if result.kept else ""
        return [Told(result.project, f"commits are no longer queued for review{also}")]
