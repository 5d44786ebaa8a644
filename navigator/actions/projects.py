"""Projects: add a repository, change its settings, remove it, have each of its commits reviewed, try its tests."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from navigator.actions.base import Done, Question, Told, Verb, done
from navigator.journey.moves import cancel, withdraw_approval
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.models import Project
from navigator.model.states import FOR_DEVELOPER, LOOP_TASK_STATES, TaskState
from navigator.model.text import plural

if TYPE_CHECKING:
    from navigator.git.facts import RepoFacts
    from navigator.journey.dependencies import Dependencies
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

Landing = Literal["branch", "current"]

SAMPLE = "navigator.sample"
"""The git setting that says of a repository that `navigator demo` made it."""


class AddProject(Verb):
    """The repository at `path`; `name` is the folder's name if empty. Nothing in the repository is changed."""

    op = "project.add"

    path: str
    name: str = ""
    check: str = ""
    landing: Landing = "branch"
    base: str = ""

    async def perform(self, deps: Dependencies) -> Done:
        from navigator.git.facts import read_facts, resolve_base
        from navigator.landing.plan import why_nobody
        from navigator.sandbox.propose import proposed_for, untested

        facts = await asyncio.to_thread(read_facts, self.path)
        require_fitting(deps.reader, facts)
        resolve_base(facts, self.base)  # refused now, not when the first task fails
        home = str(Path(facts.path).resolve())
        taken = {project.name for project in deps.reader.projects()}
        with deps.store.transaction() as tx:
            project = tx.add_project(
                name=self.name or _free_name(Path(home).name, taken),
                path=home,
                base=self.base,
                landing=self.landing,
                check=self.check,
                root_commit=facts.root_commit,
            )
        proposed = (
            "" if project.check else await asyncio.to_thread(proposed_for, facts.git(), facts.head_commit)
        )
        nobody = await asyncio.to_thread(why_nobody, facts)
        tests = f"`navigator project check {project.name}` tries its tests."
        if not project.check:
            tests = untested(project.name, proposed)
        hint = "\n".join(filter(None, (f'Next: navigator task add {project.name} "…"', tests, nobody)))
        told = Told(project.name, f"added ({project.path})", hint=hint)
        return done([told], project=project, proposed=proposed, nobody=nobody)


def require_fitting(reader: Reader, facts: RepoFacts) -> None:
    """Refuse a repository of the user's in a rehearsal: the samples say in their configuration what they are.

    Raises:
        Conflict: it is none of them.
    """
    from navigator.git.facts import own_settings

    if reader.rehearsal and not own_settings(facts.git(), SAMPLE, repository=True):
        raise Conflict(
            f"{facts.path} is a repository of yours, and this is a rehearsal: it works on sample repositories only.",
            hint="Set NAVIGATOR_STATE to another folder and NAVIGATOR_CONFIG to settings with real models.",
        )


class SetProject(Verb):
    """Change how a project is worked on, or follow it to `path`. None leaves a setting as it is. One from the settings file is
    changed there."""

    op = "project.set"

    name: str
    path: str | None = None
    check: str | None = None
    landing: Landing | None = None
    base: str | None = None
    escalate: bool | None = None
    review_branches: tuple[str, ...] | None = None

    def refuse(self, reader: Reader) -> NavigatorError | None:
        return in_settings(reader.project(self.name), "settings" if self.path is None else "path")

    async def perform(self, deps: Dependencies) -> Done:
        from navigator.git.facts import read_facts, require_same, resolve_base

        project = deps.reader.project(self.name)
        self.require(deps.reader)
        changes: dict[str, Any] = self.model_dump(exclude={"name"}, exclude_none=True)
        if not changes:
            raise UsageError("Name a setting to change.", hint="`navigator project set --help` lists them.")
        if self.path is not None or self.base is not None:
            facts = await asyncio.to_thread(read_facts, self.path or project.path)
            if self.path is not None:
                require_same(facts, project)
                changes["path"] = str(facts.path)
            resolve_base(facts, self.base or "")
        if "check" in changes:
            changes["check"] = changes["check"].strip()
        if "review_branches" in changes:
            changes["review_branches"] = tuple(
                one.strip() for one in changes["review_branches"] if one.strip()
            )
        async with deps.repositories.lock(project.id) if self.path is not None else nullcontext():
            with deps.store.transaction() as tx:
                now = tx.update_project(project.id, **changes)
            if self.path is not None:
                deps.repositories.forget(project.id)
        said = ", ".join(f"{name.replace('_', ' ')} is {_shown(getattr(now, name))}" for name in changes)
        return done([Told(now.name, said)], project=now, changed=list(changes))


def _shown(value: object) -> str:
    return ", ".join(value) if isinstance(value, tuple) else str(value) or "not set"


class RemoveProjects(Verb):
    """Of the repositories nothing is changed but Navigator's hook, which goes; what waits is cancelled; the history stays."""

    op = "project.remove"
    works_on_full_disk = True

    names: tuple[str, ...]

    def refuse(self, reader: Reader) -> NavigatorError | None:
        for name in self.names:
            busy = reader.tasks(states=LOOP_TASK_STATES - FOR_DEVELOPER, project=reader.project(name).name)
            if busy:
                return Conflict(
                    f"{name} has {plural(len(busy), 'unfinished task')}.",
                    hint=f"Cancel them first: `navigator task cancel {' '.join(task.id for task in busy[:5])}`.",
                )
        return None

    def question(self, reader: Reader) -> Question:
        waits = self._waiting(reader)
        lines = [f"{card.id}  {card.project}  {card.title}" for card in waits]
        if lines:
            lines.insert(0, f"{plural(len(lines), 'task')} waiting for you will be cancelled:")
        lines.append("A hook of Navigator's is removed; nothing else in the repositories is changed.")
        lines.append("Tasks and figures stay in the database.")
        return Question(f"Remove {', '.join(self.names)} from Navigator?", tuple(lines), "remove")

    async def perform(self, deps: Dependencies) -> Done:
        self.require(deps.reader)
        projects = [deps.reader.project(name) for name in self.names]
        waiting = self._waiting(deps.reader)
        with deps.store.transaction() as tx:
            for card in waiting:
                _cancel(tx, card)
            for project in projects:
                tx.remove_project(project.id)
        told, rows = [], []
        for project in projects:
            hook, problem = await asyncio.to_thread(_without_hook, project)
            # A hook that is still there then notes nothing.
            shutil.rmtree(deps.paths.commits / str(project.id), ignore_errors=True)
            gone = [card.task for card in waiting if card.project_id == project.id]
            said = ["removed", *([f"cancelled {', '.join(gone)}"] if gone else [])]
            said += [f"its hook is removed ({hook})"] if hook else []
            again = f"`navigator hook remove {project.name}` tries again"
            said += [f"its hook may still be there: {problem} {again}"] if problem else []
            told.append(Told(project.name, "; ".join(said), "warning" if problem else "information"))
            rows.append({"name": project.name, "cancelled": gone, "hook": hook, "problem": problem})
        return done(told, removed=[project.name for project in projects], projects=rows)

    def _waiting(self, reader: Reader) -> list[Card]:
        """What waits for the developer in these projects."""
        from navigator.sheet.waiting import waiting

        names = [reader.project(name).name for name in dict.fromkeys(self.names)]
        return [card for name in names for card in waiting(reader, name)]


def _cancel(tx: Transaction, card: Card) -> None:
    """End a task that waits; an approval whose landing was refused is taken back first."""
    if card.state is TaskState.APPROVED:
        withdraw_approval(tx, card.proposal, tx.read.task(card.task))
    cancel(tx, card.task, "its project was removed")


def _without_hook(project: Project) -> tuple[str, str]:
    """Remove the project's hook, if it has one: where it was, and why it is still there."""
    from navigator.git.facts import read_facts
    from navigator.git.hook import hook_state, remove_hook

    if not Path(project.path).exists():
        return "", ""
    try:
        facts = read_facts(project.path)
        return (str(remove_hook(facts).path), "") if hook_state(facts).installed else ("", "")
    except NavigatorError as error:
        return "", str(error)


def in_settings(project: Project, key: str) -> Conflict | None:
    """Why a project from the settings file is not changed by command; None for any other."""
    if project.source != "config":
        return None
    return Conflict(
        f"{project.name} is defined in the settings file.",
        hint=f"Change its {key} there; `navigator config path` prints the file.",
    )


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


class Hook(Verb):
    """Install or remove the hook that has each commit of a project reviewed. Nothing but the hook's file is written in the
    repository; another program's is left alone."""

    op = "hook"

    project: str
    install: bool = True

    async def perform(self, deps: Dependencies) -> Done:
        project = deps.reader.project(self.project, removed=not self.install)
        folder = deps.paths.commits / str(project.id)

        def change() -> str:
            from navigator.git.facts import read_facts
            from navigator.git.hook import install_hook, remove_hook

            facts = read_facts(project.path)
            return str((install_hook(facts, folder) if self.install else remove_hook(facts)).path)

        path = await asyncio.to_thread(change)
        with deps.store.transaction() as tx:
            tx.event("hook_installed" if self.install else "hook_removed", data={"project": project.name})
        said = (
            f"each commit is queued for review ({path})"
            if self.install
            else "commits are no longer queued for review"
        )
        return done([Told(project.name, said)], project=project.name, path=path, installed=self.install)


# Run a project's own tests on its base, and say what is missing.


class CheckProject(Verb):
    """The run is a new one even where an earlier one is known. Its data has what the tests said of the base (`baseline`, None
    without a command), and what the sandbox shows of this machine: paths visible inside, those that are not there, and a
    command that the manifests suggest.
    """

    op = "project.check"

    name: str

    async def perform(self, deps: Dependencies) -> Done:
        from navigator.journey.checking import baseline_of, check_setup
        from navigator.journey.prompts.material import new_base
        from navigator.sandbox.propose import proposed_for
        from navigator.sandbox.suite import prepare, surroundings

        project = deps.reader.project(self.name)
        setup = await check_setup(deps, project)
        base = await asyncio.to_thread(new_base, project)
        tree = await deps.repositories.locked(project.id, setup.private.pin_base, base)
        spec = await asyncio.to_thread(prepare, project, setup.private, tree)
        baseline, proposed = None, ""
        if project.check.strip():
            baseline = await baseline_of(deps, setup, tree, rerun=True)
        else:
            proposed = await asyncio.to_thread(proposed_for, setup.private.git, tree)
        return done(
            [Told(project.name, baseline.detail.partition("\n")[0] if baseline else "no test command")],
            project=project.name,
            command=project.check,
            base=base,
            tree=tree,
            proposed=proposed,
            **surroundings(spec, setup.sandbox, without=setup.without),
            unredacted=deps.redact.left_out > 0,
            baseline=baseline,
        )
