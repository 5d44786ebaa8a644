"""`navigator project`: the repositories that Navigator works on."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from navigator.actions.project_check import CheckProject, ProjectChecked, SandboxFound
from navigator.actions.projects import AddProject, RemoveProjects, SetProject
from navigator.cli import output
from navigator.cli.lazy import Commands
from navigator.cli.session import act, carry_out, complete_projects, reading, take_config_projects
from navigator.model.errors import NavigatorError, UsageError
from navigator.model.secrets import MOST_VALUES
from navigator.model.states import CheckOutcome
from navigator.model.text import plural, safe_line, safe_text

if TYPE_CHECKING:
    from navigator.model.models import Project
    from navigator.store.reads.reader import Reader


_SHOWN = 30


@click.group(cls=Commands)
def project() -> None:
    """Manage the repositories that Navigator works on."""


@project.command("check")
@click.argument("name", shell_complete=complete_projects)
@click.option("--set", "command", metavar="CMD", help="Save CMD as the project's test command first.")
@output.JSON
def check(name: str, command: str | None, as_json: bool) -> None:
    """Run NAME's test command once on its base, in the sandbox, and explain what is missing.

    Exit code 0: the tests pass. 1: they fail; proposals are not blamed for that. 3: they could not run, or none ran.
    """
    _announce(name, command)
    done = act(CheckProject(name=name, command=command))
    found = ProjectChecked.model_validate(done.data)
    if as_json:
        output.print_json(done.data)
    else:
        _show_check(found)
    if found.outcome is not CheckOutcome.PASSED:
        sys.exit(1 if found.outcome is CheckOutcome.FAILED else 3)


def _announce(name: str, command: str | None) -> None:
    """Say that the tests start: they may take minutes. Says nothing where there is nothing to run."""
    take_config_projects()
    with reading() as store:
        held = store.project(name)
    command = held.check if command is None else command
    if command.strip():
        output.note(f"Running the tests on the base: `{safe_line(command.strip())}` …")


def _show_check(found: ProjectChecked) -> None:
    output.say(f"{found.project}  base {found.base[:12]}")
    if found.baseline is None:
        _propose(found)
        return
    output.say(f"  command: {safe_line(found.command)}")
    _sandbox(found.sandbox)
    for title, paths in (
        ("dependencies", found.dependencies),
        ("mounts", found.mounts),
        ("toolchains", found.toolchains),
    ):
        if paths:
            output.say(f"  {title}, read-only inside: {', '.join(map(safe_line, paths))}")
    for mount in found.mounts_absent:
        output.say(
            f"  ! check_mounts lists {safe_line(mount)}, which does not exist or is a link of the repository."
        )
    if found.unredacted:
        output.say(
            f"  ! Files with secrets hold more than {MOST_VALUES:,} values: the rest is not redacted in what tests print."
        )
    baseline = found.baseline
    failed = baseline.outcome is CheckOutcome.FAILED
    mark = {CheckOutcome.PASSED: "✓", CheckOutcome.FAILED: "✗"}.get(baseline.outcome, "–")
    line, _, rest = baseline.detail.partition("\n")
    output.say(f"{mark} {baseline.outcome.value}: {safe_line(line)}  ({output.duration(baseline.seconds)})")
    for name in baseline.failures[:_SHOWN]:
        output.say(f"    {safe_line(name)}")
    if len(baseline.failures) > _SHOWN:
        output.say(f"    and {len(baseline.failures) - _SHOWN} more")
    if failed:
        output.say("  They fail without any proposal: a proposal is blamed only for further failures.")
    if failed and not baseline.failures:
        output.say(
            "  The output names no failing test, so failures of a proposal cannot be compared with these."
        )
    if baseline.outcome is not CheckOutcome.PASSED:
        output.say(safe_text(rest.strip()))


def _propose(found: ProjectChecked) -> None:
    output.say("– untested: the project has no test command.")
    if found.proposed:
        output.say(f"  It seems to be: {found.proposed}")
        output.say(f"  Save and try it: navigator project check {found.project} --set {found.proposed!r}")
    else:
        output.say(f"  Set one: navigator project check {found.project} --set CMD")


def _sandbox(sandbox: SandboxFound) -> None:
    if sandbox.unsandboxed:
        output.say(
            "  ! runs UNSANDBOXED because of `[checks] unsandboxed`: code that a model wrote runs as you."
        )
    elif sandbox.works:
        group = ", in its own control group" if sandbox.control_group else ""
        output.say(f"  sandbox: bubblewrap, no network, no home{group}")
    else:
        output.say(f"  ✗ no sandbox: {safe_line(sandbox.reason)}")
        output.say(f"  → {safe_text(sandbox.hint)}")


_BASES = {"": "the current branch", "worktree": "the checkout with its uncommitted changes"}
_LANDING = click.Choice(["branch", "current"])
_LANDING_HELP = "Where approved changes land: a separate branch navigator/…, or the current branch."
_BASE_HELP = "The branch to work from; default: the current one. 'worktree': the checkout with its uncommitted changes."


@project.command("add")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", default="", help="Name of the project; default: the folder's name.")
@click.option("--check", default="", metavar="CMD", help="The project's test command, e.g. 'pytest -q'.")
@click.option("--landing", type=_LANDING, default="branch", show_default=True, help=_LANDING_HELP)
@click.option("--base", default="", metavar="BRANCH", help=_BASE_HELP)
@output.JSON
def add(path: Path, name: str, check: str, landing: str, base: str, as_json: bool) -> None:
    """Add the git repository at PATH. Nothing in it is changed."""
    place = str(path.expanduser().absolute())
    document = {"path": place, "name": name, "check": check, "landing": landing, "base": base}
    carry_out(AddProject.read(document), as_json=as_json)


@project.command("set")
@click.argument("name", shell_complete=complete_projects)
@click.option(
    "--path",
    type=click.Path(path_type=Path),
    default=None,
    help="Where its repository is now. The first commit must be the same.",
)
@click.option("--check", default=None, metavar="CMD", help="The project's test command; '' for none.")
@click.option("--landing", type=_LANDING, default=None, help=_LANDING_HELP)
@click.option("--base", default=None, metavar="BRANCH", help=f"{_BASE_HELP} '' for the current branch.")
@click.option(
    "--escalate/--no-escalate",
    default=None,
    help="Let its proposals be sent to the final model when you escalate one, or when one touches a careful path.",
)
@click.option(
    "--review-branch",
    "review_branches",
    multiple=True,
    metavar="PATTERN",
    help="Review the new commits of branches such as 'agent/*'; may be repeated. '' for none.",
)
@output.JSON
def set_project(
    name: str,
    path: Path | None,
    check: str | None,
    landing: str | None,
    base: str | None,
    escalate: bool | None,
    review_branches: tuple[str, ...],
    as_json: bool,
) -> None:
    """Change the settings of project NAME."""
    verb = SetProject.read(
        {
            "name": name,
            "path": str(path.expanduser().absolute()) if path is not None else None,
            "check": check,
            "landing": landing,
            "base": base,
            "escalate": escalate,
            "review_branches": review_branches or None,
        }
    )
    carry_out(verb, as_json=as_json)


@project.command("scan")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--yes", is_flag=True, help="Add all that are found, without asking.")
@output.JSON
def scan(folder: Path, yes: bool, as_json: bool) -> None:
    """Find git repositories under FOLDER and add them."""
    found = new_below(folder)
    if found and not as_json:
        show_found(found)
    asked = bool(found) and not yes and sys.stdin.isatty()
    added, failed = add_all(found) if yes or (asked and may_add(found)) else ([], [])
    if as_json:
        paths = [str(path) for path, _ in found]
        output.print_json({"found": paths, "projects": added, "failed": failed})
    else:
        output.say(f"Found {len(found)} new, added {len(added)}.")
        if found and not (yes or asked):
            output.note("There is no terminal to ask at; --yes adds all.")
    if failed:
        sys.exit(1)


def new_below(folder: Path, *, anew: bool = False) -> list[tuple[Path, str]]:
    """The repositories below a folder that are no project yet, each with the command that would run its tests.

    With `anew` all of them: no state folder is made to look.
    """
    from navigator.git.facts import find_repositories, read_facts
    from navigator.sandbox.propose import proposed_for

    known: set[str] = set()
    if not anew:
        with reading() as store:
            known = {held.path for held in store.projects()}
    rows: list[tuple[Path, str]] = []
    for path in find_repositories(folder):
        try:
            if str(path) not in known:
                rows.append((path, proposed_for(read_facts(path))))
        except NavigatorError as error:
            output.note(f"{path}: {error.message}")
    return rows


def may_add(found: Sequence[tuple[Path, str]]) -> bool:
    """Ask at the terminal."""
    return click.confirm(f"Add {plural(len(found), 'project')}?", default=True, err=True)


def show_found(found: Sequence[tuple[Path, str]]) -> None:
    """The repositories and their test commands, on stderr."""
    rows = [
        (path, command or "none found: nothing is tested, and no finding can be proved by a test")
        for path, command in found
    ]
    click.echo(output.table(("repository", "its tests would be run, in the sandbox, by"), rows), err=True)


def add_all(found: Sequence[tuple[Path, str]]) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Add them; returns the projects, and paths with the reason why they could not be added."""
    added, failed, nobody = [], [], ""
    for path, command in found:
        try:
            made = act(AddProject(path=str(path), check=command)).data
        except NavigatorError as error:
            failed.append({"path": str(path), "reason": str(error)})
            output.note(f"{path}: {error}")
            continue
        added.append(made["project"])
        nobody = made["nobody"] or nobody
    if nobody:
        output.prose(nobody, err=True)
    return added, failed


@project.command("list")
@output.JSON
def list_projects(as_json: bool) -> None:
    """List all projects, with what is queued and waiting in each."""
    take_config_projects()
    with reading() as store:
        projects = store.projects()
        tasks = store.tasks()
        tests = {held.id: _tests_words(store, held) for held in projects}
    rows = [
        (
            held.name,
            sum(task.project_id == held.id and task.state.value == "queued" for task in tasks),
            sum(task.project_id == held.id and task.state.value == "awaiting_approval" for task in tasks),
            held.landing,
            tests[held.id] or "no test command",
            f"{held.path}{'  from config' if held.source == 'config' else ''}",
        )
        for held in projects
    ]
    if as_json:
        told = [held.model_dump(mode="json") | {"tests": tests[held.id]} for held in projects]
        output.print_json({"projects": told})
        return
    if not projects:
        output.say(
            "No projects yet. `navigator project add PATH` adds one, `navigator setup --projects DIR` all below a folder."
        )
        return
    output.emit(
        output.table(
            ("project", "queued", "wait", "landing", "tests on the base", "path"), rows, right=(1, 2)
        )
    )


def _tests_words(store: Reader, held: Project) -> str:
    """What the project's tests said when they were last run on a base of it; "" without a test command."""
    from navigator.sandbox.suite import base_words

    if not held.check.strip():
        return ""
    last = store.newest_baseline(held.id)
    return safe_line(base_words(last if last is not None and last.command == held.check else None))


@project.command("show")
@click.argument("name", shell_complete=complete_projects)
@output.JSON
def show(name: str, as_json: bool) -> None:
    """Show one project: its settings, its repository and its tasks."""
    from navigator.git.facts import read_facts

    with reading() as store:
        held = store.project(name)
        tasks = store.tasks(project=held.name)
        tests = _tests_words(store, held)
    facts = read_facts(held.path)
    document = {
        "project": held.model_dump(mode="json"),
        "tests": tests,
        "repository": {
            "head": facts.head_commit,
            "branch": facts.branch,
            "object_format": facts.object_format,
            "bare": facts.bare,
            "hooks": list(facts.hooks),
        },
        "tasks": [task.model_dump(mode="json") for task in tasks],
    }
    if as_json:
        output.print_json(document)
        return
    output.say(f"{held.name}  {held.path}")
    output.say(f"  branch {facts.branch or '(detached)'} at {facts.head_commit[:12]}, {facts.object_format}")
    output.say(f"  works from {_BASES.get(held.base, held.base)}")
    output.say(f"  lands on {'its current branch' if held.landing == 'current' else 'navigator/<day>'}")
    output.say(f"  check: {held.check or 'none'}")
    if tests:
        output.say(f"  tests on the base: {tests}")
    if facts.hooks:
        output.say(f"  hooks that do not run at a landing: {', '.join(facts.hooks)}")
    for task in tasks:
        output.say(f"  {task.id}  {task.state.value:<18} {safe_line(task.text.splitlines()[0])[:80]}")


@project.command("remove")
@click.argument("names", nargs=-1, required=True, shell_complete=complete_projects)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@output.JSON
def remove(names: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Remove projects. Their repositories are not changed; history and figures stay in the database."""
    if not yes and not sys.stdin.isatty():
        raise UsageError("There is no terminal to ask at.", hint="Add --yes.")
    carry_out(RemoveProjects(names=names), as_json=as_json, yes=yes)
