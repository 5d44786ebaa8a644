"""Run a project's own tests on its base, and say what is missing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from navigator.actions.base import Done, Level, Told, Verb, done
from navigator.actions.projects import in_settings
from navigator.model.errors import NavigatorError
from navigator.model.models import Baseline, Model
from navigator.model.states import CheckOutcome

if TYPE_CHECKING:
    from navigator.journey.checking import CheckSetup
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.reader import Reader


class SandboxFound(Model):
    """Whether the sandbox works here, and what to do where it does not."""

    works: bool
    unsandboxed: bool
    reason: str = ""
    hint: str = ""
    control_group: bool = False


class CheckLimits(Model):
    """What a run may use."""

    seconds: float
    memory_mb: int


class ProjectChecked(Model):
    """What the tests said of the base (`baseline`, None without a command), and what the sandbox shows of this machine.

    `base` and `tree` are hashes; `dependencies`, `mounts` and `toolchains` are paths visible inside; `mounts_absent` and
    `programs_absent` are those that are not there; `proposed` is a command that the manifests suggest;
    `unredacted`: files with secrets hold more values than are redacted.
    """

    project: str
    command: str
    base: str
    tree: str
    sandbox: SandboxFound
    limits: CheckLimits
    proposed: str = ""
    dependencies: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    toolchains: tuple[str, ...] = ()
    mounts_absent: tuple[str, ...] = ()
    programs_absent: tuple[str, ...] = ()
    unredacted: bool = False
    baseline: Baseline | None = None

    @property
    def outcome(self) -> CheckOutcome:
        """Untested without a command."""
        return self.baseline.outcome if self.baseline else CheckOutcome.UNTESTED


class CheckProject(Verb):
    """The run is a new one even where an earlier one is known. `command` is the project's test command from now on; None leaves
    it."""

    op = "project.check"

    name: str
    command: str | None = None

    def refuse(self, reader: Reader) -> NavigatorError | None:
        return in_settings(reader.project(self.name), "`check`") if self.command is not None else None

    async def perform(self, deps: Dependencies) -> Done:
        from navigator.journey.checking import baseline_of, check_setup

        self.require(deps.reader)
        project = deps.reader.project(self.name)
        if self.command is not None:
            with deps.store.transaction() as tx:
                project = tx.update_project(project.id, check=self.command.strip())
        setup = await check_setup(deps, project)
        async with deps.project_lock(project.id):
            base, tree = await asyncio.to_thread(_base, setup)
        found = await asyncio.to_thread(_look_around, setup, base, tree)
        if project.check.strip():
            baseline = await baseline_of(deps, setup, tree, rerun=True)
            update = {"baseline": baseline, "unredacted": deps.redact.left_out > 0}
            found = found.model_copy(update=update)
        detail = found.baseline.detail.partition("\n")[0] if found.baseline else "no test command"
        level: Level = "information" if found.outcome is CheckOutcome.PASSED else "error"
        return done([Told(found.project, f"{found.outcome.value}: {detail}", level)], **dict(found))


def _base(setup: CheckSetup) -> tuple[str, str]:
    """The commit that new work of the project starts from, held by the private repository, and its tree."""
    from navigator.journey.prompts.material import new_base

    base = new_base(setup.project, setup.private)
    return base, setup.private.pin_base(base)


def _look_around(setup: CheckSetup, base: str, tree: str) -> ProjectChecked:
    """What the sandbox would show of this machine, and what the manifests ask for beside it. Runs in a thread."""
    from navigator.sandbox.propose import proposed_command
    from navigator.sandbox.suite import prepare

    project, home = setup.project, Path(setup.project.path)
    entries = setup.private.tree_entries(tree)

    def read(path: str) -> bytes | None:
        entry = entries.get(path)
        return setup.private.read_blob(entry.sha) if entry is not None and entry.size < 5_000_000 else None

    spec = prepare(project, setup.private, tree)
    sandbox = setup.sandbox
    return ProjectChecked(
        project=project.name,
        command=project.check,
        base=base,
        tree=tree,
        sandbox=SandboxFound(
            works=sandbox.works,
            unsandboxed=setup.without,
            reason=sandbox.reason,
            hint=sandbox.hint,
            control_group=bool(sandbox.scope),
        ),
        limits=CheckLimits(seconds=setup.limits.seconds, memory_mb=setup.limits.memory_mb),
        proposed="" if project.check.strip() else proposed_command(entries.keys(), read, home),
        dependencies=tuple(bind.target for bind in spec.dependencies),
        mounts=tuple(bind.target for bind in spec.mounts),
        toolchains=tuple(sorted(bind.target for bind in spec.toolchains.binds.values())),
        mounts_absent=tuple(spec.absent),
        programs_absent=tuple(spec.missing),
    )
