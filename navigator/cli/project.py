"""`navigator project`: the repositories that Navigator works on."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from navigator.actions.projects import AddProject, CheckProject, Landing, RemoveProjects, SetProject
from navigator.cli import output, session
from navigator.cli.command import Commands, Folder, ProjectName, Value, command, switch_given
from navigator.config.paths import is_folder, typed_path
from navigator.git.facts import find_repositories, read_facts, repository_of
from navigator.model.errors import NavigatorError, UsageError
from navigator.model.models import Baseline
from navigator.model.states import CheckOutcome
from navigator.model.text import plural, safe_line
from navigator.sandbox.propose import proposed_for, untested

if TYPE_CHECKING:
    from navigator.model.models import Project
    from navigator.store.reads.reader import Reader


@click.group(cls=Commands)
def project() -> None:
    """Manage the repositories that Navigator works on."""


@command(project)
def check(name: ProjectName) -> None:
    """Run PROJECT's test command once on its base, in the sandbox, and explain what is missing.

    Exit code 0: the tests pass. 1: they fail; proposals are not blamed for that. 3: they could not run, or none ran.
    """
    from navigator.setup.doctor import check_lines

    session.take_config_projects()
    with session.reading() as store:
        tests = store.project(name).check.strip()
    if tests:  # they may take minutes
        output.note(f"Running the tests on the base: `{safe_line(tests)}` …")
    done = session.act(CheckProject(name=name))
    baseline = Baseline.model_validate(done.data["baseline"]) if done.data["baseline"] else None
    codes = {CheckOutcome.PASSED: 0, CheckOutcome.FAILED: 1}
    code = codes.get(baseline.outcome, 3) if baseline else 3
    output.show(done.data, lambda found: output.say("\n".join(check_lines(found, baseline))), code=code)


@command(project)
def add(
    path: Path,
    *,
    name: str = "",
    check: Annotated[str, Value("CMD")] = "",
    landing: Landing = "branch",
    base: Annotated[str, Value("BRANCH")] = "",
) -> None:
    """Add the git repository at PATH. Nothing in it is changed.

    Args:
        name: Name of the project; default: the folder's name.
        check: The project's test command, e.g. 'pytest -q'.
        landing: Where approved changes land: a separate branch navigator/…, or the current branch.
        base: The branch to work from; default: the current one.
    """
    place = str(typed_path(path))
    session.carry_out(AddProject(path=place, name=name, check=check, landing=landing, base=base))


@command(project, "set")
def set_project(
    name: ProjectName,
    *,
    path: Path | None = None,
    check: Annotated[str | None, Value("CMD")] = None,
    landing: Landing | None = None,
    base: Annotated[str | None, Value("BRANCH")] = None,
    escalate: bool | None = None,
    review_branch: Annotated[tuple[str, ...], Value("PATTERN")] = (),
) -> None:
    """Change the settings of PROJECT.

    Args:
        path: Where its repository is now. The first commit must be the same.
        check: The project's test command; '' for none.
        landing: Where approved changes land: a separate branch navigator/…, or the current branch.
        base: The branch to work from; '' for the current one.
        escalate: Let its proposals be sent to the final model when you escalate one, or when one touches a careful path.
        review_branch: Review the new commits of branches such as 'agent/*'; may be repeated. '' for none.
    """
    verb = SetProject(
        name=name,
        path=str(typed_path(path)) if path is not None else None,
        check=check,
        landing=landing,
        base=base,
        escalate=escalate,
        review_branches=review_branch or None,
    )
    session.carry_out(verb)


@command(project, yes=True)
def scan(folder: Folder) -> None:
    """Find git repositories under FOLDER and add them. Without a terminal, none is added unless --yes is given."""
    document = add_below(folder)
    told = f"Found {len(document['found'])} new, added {len(document['projects'])}."
    output.show(document, lambda _: output.say(told), code=bool(document["failed"]))


def add_below(folder: Path) -> dict[str, Any]:
    """Show the repositories below a folder that are no project yet, each with the command that would run its tests, and add
    them: with --yes, or where the answer at the terminal is yes.
    """
    found = list(_below(folder))
    if not found:
        output.note(f"No new repositories below {folder}.")
    else:
        rows = [
            (path, tests or "none found: nothing is tested, nor any finding proved") for path, tests in found
        ]
        output.table(rows, "repository", "its tests would be run, in the sandbox, by", err=True)
    added: list[dict[str, Any]] = []
    failed: list[dict[str, str]] = []
    nobody = ""
    for path, tests in found if _may_add(len(found)) else ():
        try:
            made = session.act(AddProject(path=str(path), check=tests)).data
        except NavigatorError as error:
            failed.append({"path": str(path), "reason": str(error)})
            output.note(f"{path}: {error}")
            continue
        added.append(made["project"])
        nobody = made["nobody"] or nobody
    if nobody:
        output.prose(nobody, err=True)
    return {"found": [path for path, _ in found], "projects": added, "failed": failed}


def _may_add(count: int) -> bool:
    if switch_given("--yes") or not count:
        return True
    if sys.stdin.isatty():
        return click.confirm(f"Add {plural(count, 'project')}?", default=True, err=True)
    output.note("There is no terminal to ask at; --yes adds all.")
    return False


def _below(folder: Path) -> Iterator[tuple[Path, str]]:
    with session.reading() as store:
        known = {entry.path for entry in store.projects()}
    for path in find_repositories(folder):
        try:
            if str(path) not in known:
                facts = read_facts(path)
                yield path, proposed_for(facts.git(), facts.head_commit)
        except NavigatorError as error:
            output.note(f"{path}: {error.message}")


@command(project, "list")
def list_projects() -> None:
    """List all projects, with what is queued and waiting in each."""
    session.take_config_projects()
    with session.reading() as store:
        projects, tasks = store.projects(), store.tasks()
        tests = {entry.id: _tests_words(store, entry) for entry in projects}
    counts = Counter((task.project_id, task.state.value) for task in tasks)
    rows = [
        (
            *(entry.name, counts[entry.id, "queued"], counts[entry.id, "awaiting_approval"], entry.landing),
            tests[entry.id] or "no test command",
            f"{entry.path}{'  from config' if entry.source == 'config' else ''}",
        )
        for entry in projects
    ]
    told = [entry.model_dump(mode="json") | {"tests": tests[entry.id]} for entry in projects]
    heads = ("project", "queued", "waiting", "landing", "tests on the base", "path")
    output.show({"projects": told}, lambda _: output.table(rows, *heads, empty=_NONE_YET))


_NONE_YET = "No projects yet. `navigator project add PATH` adds one, `navigator setup --projects DIR` all below a folder."


def _tests_words(store: Reader, entry: Project) -> str:
    """What the project's tests said when they were last run on a base of it; "" without a test command."""
    from navigator.sandbox.suite import base_words

    if not entry.check.strip():
        return ""
    last = store.newest_baseline(entry.id)
    return safe_line(base_words(last if last is not None and last.command == entry.check else None))


@command(project)
def show(name: ProjectName) -> None:
    """Show one project: its settings, its repository and its tasks."""
    with session.reading() as store:
        entry = store.project(name)
        tasks = store.tasks(project=entry.name)
        tests = _tests_words(store, entry)
    facts = read_facts(entry.path)
    repository = {
        "head": facts.head_commit,
        "branch": facts.branch,
        "object_format": facts.object_format,
        "bare": facts.work_tree is None,
        "hooks": list(facts.hooks),
    }
    lines = [
        f"branch {facts.branch or '(detached)'} at {facts.head_commit[:12]}, {facts.object_format}",
        f"works from {entry.base or 'the current branch'}",
        f"lands on {'its current branch' if entry.landing == 'current' else 'navigator/<day>'}",
        f"check: {entry.check or 'none'}",
    ]
    if tests:
        lines.append(f"tests on the base: {tests}")
    if facts.hooks:
        lines.append(f"hooks that do not run at a landing: {', '.join(facts.hooks)}")
    lines += [
        f"{task.id}  {task.state.value:<18} {safe_line(task.text.splitlines()[0])[:80]}" for task in tasks
    ]
    document = {"project": entry, "tests": tests, "repository": repository, "tasks": tasks}
    output.show(document, lambda _: output.say("\n  ".join([f"{entry.name}  {entry.path}", *lines])))


@command(project, yes=True)
def remove(names: Annotated[tuple[str, ...], Value("PROJECT…")]) -> None:
    """Remove projects. Their repositories are not changed; history and figures stay in the database."""
    session.carry_out(RemoveProjects(names=names))


def project_of(folder: Path) -> str:
    """The name of the project whose repository `folder` is in; it is added if it is none yet.

    Raises:
        UsageError: the folder is in no repository. RepositoryError: Navigator cannot work on it.
    """

    top = repository_of(folder)
    if top is None:
        raise UsageError(
            f"{folder.resolve()} is in no git repository.",
            hint="Go to a repository's folder, or name a project: `navigator project list`.",
        )
    with session.reading() as store:
        known = next((entry.name for entry in store.projects() if entry.path == str(top)), None)
    if known is not None:
        return known
    added = session.act(AddProject(path=str(top))).data
    name = str(added["project"]["name"])
    output.note(f"{name} is now a project ({top}). Nothing in it is changed.")
    output.prose(untested(name, added["proposed"]), err=True)
    return name


def targets(words: tuple[str, ...]) -> tuple[str, str]:
    """What `[PROJECT] [REF]` means: the project's name, and "" where no commit or range is given.

    A project can be named by its folder too. One word is a project where there is one of that name, else a commit here.

    Raises:
        UsageError: there are more than two words. NotFound: there is no such project.
    """
    if len(words) > 2:
        raise UsageError("At most a project and a commit or range are expected.")
    first, second = (*words, "", "")[:2]
    with session.reading() as store:
        names = [entry.name for entry in store.projects()]
        if first in names:
            return first, second
        if first in (".", "..") or ("/" in first and is_folder(typed_path(first))):
            return project_of(typed_path(first)), second
        if second:
            store.project(first)  # names the nearest one
    return project_of(Path.cwd()), first
