"""Projects: add a repository, change its settings, follow it to another path, remove it."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from navigator.actions.base import Question, Told, Verb, plural
from navigator.journey.change import cancel, withdraw_approval
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.models import Model, Project
from navigator.model.states import FOR_DEVELOPER, LOOP_TASK_STATES, TaskState

if TYPE_CHECKING:
    from navigator.git.facts import RepoFacts
    from navigator.journey.dependencies import Dependencies
    from navigator.sheet.waiting import Waiting
    from navigator.store.reads.cards import Card
    from navigator.store.reads.reader import Reader
    from navigator.store.writes.writer import Transaction

Landing = Literal["branch", "current"]

SAMPLE = "navigator.sample"
"""The git setting that says of a repository that `navigator demo` made it."""


class ProjectDone(Model):
    """The project as it is now; `proposed`: the test command that its files suggest, where it has none; `nobody`: that no
    landing there could name its author, where that is so; `changed`: the settings that were changed."""

    project: Project
    proposed: str = ""
    nobody: str = ""
    changed: tuple[str, ...] = ()


class AddProjectArgs(Model):
    """The repository at `path`; `name` is the folder's name if empty."""

    path: str
    name: str = ""
    check: str = ""
    landing: Landing = "branch"
    base: str = ""


class AddProject(Verb[AddProjectArgs, ProjectDone]):
    """Nothing in the repository is changed."""

    name = "project.add"
    args = AddProjectArgs
    result = ProjectDone

    async def perform(self, deps: Dependencies, args: AddProjectArgs) -> ProjectDone:
        from navigator.git.facts import read_facts
        from navigator.landing.plan import why_nobody
        from navigator.sandbox.propose import proposed_for

        facts = await asyncio.to_thread(read_facts, args.path)
        require_fitting(deps.reader, facts)
        require_base(facts, args.base)
        home = str(Path(facts.path).resolve())
        projects = deps.reader.projects()
        known = next((project.name for project in projects if project.path == home), None)
        if known is not None:
            raise Conflict(
                f"{home} is already a project: {known}.", hint="`navigator project list` shows all."
            )
        taken = {project.name for project in projects}
        if args.name and args.name in taken:
            raise Conflict(f"There is already a project {args.name!r}.", hint="Choose another --name.")
        with deps.store.transaction() as tx:
            project = tx.add_project(
                name=args.name or _free_name(Path(home).name, taken),
                path=home,
                base=args.base,
                landing=args.landing,
                check=args.check,
                root_commit=facts.root_commit,
            )
        proposed = "" if project.check else await asyncio.to_thread(proposed_for, facts)
        nobody = await asyncio.to_thread(why_nobody, facts)
        return ProjectDone(project=project, proposed=proposed, nobody=nobody)

    def tell(self, result: ProjectDone) -> list[Told]:
        made = result.project
        tests = f"`navigator project check {made.name}` tries its tests." if made.check else untested(result)
        hint = "\n".join(filter(None, (f'Next: navigator task add {made.name} "…"', tests, result.nobody)))
        return [Told(made.name, f"added ({made.path})", hint=hint)]


def untested(result: ProjectDone) -> str:
    """What is off for a project without a test command, and how to set one: in a sentence or two."""
    name, command = result.project.name, shlex.quote(result.proposed or "CMD")
    seems = f" It seems to be `{result.proposed}`:" if result.proposed else " Set one:"
    return (
        "No test command: proposals are not tested, no finding can be proved by a test, and the reviewer's exam takes no items"
        " from here."
        f"{seems} navigator project check {name} --set {command}"
    )


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


class SetProjectArgs(Model):
    """The settings to change; None leaves one as it is. `path`: where the repository is now."""

    name: str
    path: str | None = None
    check: str | None = None
    landing: Landing | None = None
    base: str | None = None
    escalate: bool | None = None
    review_branches: tuple[str, ...] | None = None


class SetProject(Verb[SetProjectArgs, ProjectDone]):
    """Change how a project is worked on, or follow it. One from the settings file is changed there."""

    name = "project.set"
    args = SetProjectArgs
    result = ProjectDone

    def refuse(self, reader: Reader, args: SetProjectArgs) -> NavigatorError | None:
        return in_settings(reader.project(args.name), "settings" if args.path is None else "path")

    async def perform(self, deps: Dependencies, args: SetProjectArgs) -> ProjectDone:
        from navigator.git.facts import read_facts

        project = deps.reader.project(args.name)
        self.require(deps.reader, args)
        changes: dict[str, Any] = args.model_dump(exclude={"name"}, exclude_none=True)
        if not changes:
            raise UsageError("Name a setting to change.", hint="`navigator project set --help` lists them.")
        if args.path is not None or args.base is not None:
            facts = await asyncio.to_thread(read_facts, args.path or project.path)
            if args.path is not None:
                require_same(project, facts)
                changes["path"] = str(facts.path)
            require_base(facts, args.base or "")
        if "check" in changes:
            changes["check"] = changes["check"].strip()
        if "review_branches" in changes:
            changes["review_branches"] = tuple(
                one.strip() for one in changes["review_branches"] if one.strip()
            )
        async with deps.project_lock(project.id) if args.path is not None else nullcontext():
            with deps.store.transaction() as tx:
                made = tx.update_project(project.id, **changes)
            if args.path is not None:
                deps.forget_private(project.id)
        return ProjectDone(project=made, changed=tuple(changes))

    def tell(self, result: ProjectDone) -> list[Told]:
        now = result.project
        if result.changed == ("path",):
            return [Told(now.name, f"moved to {now.path}")]
        lands = "the current branch" if now.landing == "current" else "navigator/…"
        base = now.base or "the current branch"
        final = ", may be sent to the final model" if now.escalate else ""
        reviews = f", reviews {', '.join(now.review_branches)}" if now.review_branches else ""
        return [
            Told(
                now.name, f"lands on {lands}, works from {base}, tests: {now.check or 'none'}{final}{reviews}"
            )
        ]


class RemoveProjectsArgs(Model):
    """Projects by name."""

    names: tuple[str, ...]


class RemovedProject(Model):
    """One of them.

    `cancelled`: the tasks that waited for the developer. `hook`: where its hook was, "" where it had none; `problem`: why it is
    still there.
    """

    name: str
    cancelled: tuple[str, ...] = ()
    hook: str = ""
    problem: str = ""


class RemovedProjects(Model):
    """Their names, and what went with each."""

    removed: tuple[str, ...] = ()
    projects: tuple[RemovedProject, ...] = ()


class RemoveProjects(Verb[RemoveProjectsArgs, RemovedProjects]):
    """Of the repositories nothing is changed but Navigator's hook, which goes; what waits is cancelled; the history stays."""

    name = "project.remove"
    args = RemoveProjectsArgs
    result = RemovedProjects
    small = True

    def refuse(self, reader: Reader, args: RemoveProjectsArgs) -> NavigatorError | None:
        for name in args.names:
            busy = reader.tasks(states=LOOP_TASK_STATES - FOR_DEVELOPER, project=reader.project(name).name)
            if busy:
                return Conflict(
                    f"{name} has {plural(len(busy), 'unfinished task')}.",
                    hint=f"Cancel them first: `navigator task cancel {' '.join(task.id for task in busy[:5])}`.",
                )
        return None

    def question(self, reader: Reader, args: RemoveProjectsArgs) -> Question:
        lines = [f"{item.id}  {item.card.project}  {item.card.title}" for item in _waiting(reader, args)]
        if lines:
            lines.insert(0, f"{plural(len(lines), 'task')} waiting for you will be cancelled:")
        lines.append("A hook of Navigator's is removed; nothing else in the repositories is changed.")
        lines.append("Tasks and figures stay in the database.")
        return Question(f"Remove {', '.join(args.names)} from Navigator?", tuple(lines), "remove")

    async def perform(self, deps: Dependencies, args: RemoveProjectsArgs) -> RemovedProjects:
        self.require(deps.reader, args)
        projects = [deps.reader.project(name) for name in args.names]
        waiting = _waiting(deps.reader, args)
        done = []
        with deps.store.transaction() as tx:
            for item in waiting:
                _cancel(tx, item.card)
            for project in projects:
                tx.remove_project(project.id)
        for project in projects:
            hook, problem = await asyncio.to_thread(_without_hook, project)
            # A hook that is still there then notes nothing.
            shutil.rmtree(deps.paths.commits / str(project.id), ignore_errors=True)
            cancelled = tuple(item.card.task for item in waiting if item.card.project_id == project.id)
            done.append(RemovedProject(name=project.name, cancelled=cancelled, hook=hook, problem=problem))
        return RemovedProjects(removed=tuple(one.name for one in done), projects=tuple(done))

    def tell(self, result: RemovedProjects) -> list[Told]:
        return [
            Told(one.name, "; ".join(_went(one)), "warning" if one.problem else "information")
            for one in result.projects
        ]


def _waiting(reader: Reader, args: RemoveProjectsArgs) -> list[Waiting]:
    """What waits for the developer in the projects named."""
    from navigator.sheet.waiting import waiting

    return [item for name in dict.fromkeys(args.names) for item in waiting(reader, reader.project(name).name)]


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


def _went(one: RemovedProject) -> list[str]:
    said = ["removed"]
    if one.cancelled:
        said.append(f"cancelled {', '.join(one.cancelled)}")
    if one.hook:
        said.append(f"its hook is removed ({one.hook})")
    if one.problem:
        said.append(
            f"its hook may still be there: {one.problem} `navigator hook remove {one.name}` tries again"
        )
    return said


def in_settings(project: Project, key: str) -> Conflict | None:
    """Why a project from the settings file is not changed by command; None for any other."""
    if project.source != "config":
        return None
    return Conflict(
        f"{project.name} is defined in the settings file.",
        hint=f"Change its {key} there; `navigator config path` prints the file.",
    )


def require_same(project: Project, facts: RepoFacts) -> None:
    """Refuse a repository of another history than the project's, by its first commit.

    Raises:
        Conflict: it differs.
    """
    if project.root_commit and facts.root_commit and project.root_commit != facts.root_commit:
        raise Conflict(
            f"{facts.path} is a different repository than {project.name}: its first commit differs.",
            hint="Add it as a project of its own: `navigator project add PATH`.",
        )


def require_base(facts: RepoFacts, base: str) -> None:
    """Refuse a base that is not there now, not when the first task fails.

    Raises:
        NavigatorError: no such branch, or "worktree" of a bare repository.
    """
    from navigator.git.facts import WORKTREE, resolve_base
    from navigator.git.snapshot import require_worktree

    if base == WORKTREE:
        require_worktree(facts)
    elif base:
        resolve_base(facts, base)


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 1
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name
