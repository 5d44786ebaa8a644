"""`navigator project`: take repositories into care."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from navigator.cli import output
from navigator.cli.project_check import check
from navigator.cli.session import act, reading, take_config_projects
from navigator.domain.errors import NavigatorError, UsageError
from navigator.domain.text import safe_line

if TYPE_CHECKING:
    from navigator.domain.models import Project
    from navigator.store.reads.reader import Reader

_BASES = {"": "the current branch", "worktree": "the checkout as it stands, uncommitted work included"}


@click.group()
def project() -> None:
    """Repositories in Navigator's care."""


@project.command("add")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--name", default="", help="How to call it; the folder's name by default.")
@click.option("--check", default="", metavar="CMD", help="Its own test command, e.g. 'pytest -q'.")
@click.option("--landing", type=click.Choice(["branch", "current"]), default="branch", show_default=True)
@click.option(
    "--base",
    default="",
    metavar="BRANCH",
    help="The branch to work from, the current one by default; or 'worktree': the files as they stand, uncommitted too.",
)
@click.option("--json", "as_json", is_flag=True)
def add(path: Path, name: str, check: str, landing: str, base: str, as_json: bool) -> None:
    """Take the git repository at PATH into care. Nothing in it is touched."""
    args = {
        "path": str(path.expanduser().absolute()),
        "name": name,
        "check": check,
        "landing": landing,
        "base": base,
    }
    result = act("project.add", args)
    if as_json:
        output.print_json(result)
        return
    made = result["project"]
    output.say(f'Added {made["name"]} ({made["path"]}). Next: navigator task add {made["name"]} "…"')
    if made["check"]:
        output.say(
            f"Its tests were not run yet: `navigator project check {made['name']}` tries them on the base."
        )


@project.command("scan")
@click.argument("folder", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--yes", is_flag=True, help="Add all that are found, without asking.")
@click.option("--json", "as_json", is_flag=True)
def scan(folder: Path, yes: bool, as_json: bool) -> None:
    """Find git repositories under FOLDER and add those chosen."""
    from navigator.workspace.git.discover import find_repositories

    with reading() as store:
        known = {held.path for held in store.projects()}
    found = [path for path in find_repositories(folder) if str(path) not in known]
    added, failed = [], []
    for path in found:
        if not yes and not (sys.stdin.isatty() and click.confirm(f"Add {safe_line(str(path))}?", err=True)):
            continue
        try:
            added.append(act("project.add", {"path": str(path)})["project"])
        except NavigatorError as error:
            failed.append({"path": str(path), "reason": str(error)})
            output.note(f"{path}: {error}")
    if as_json:
        output.print_json({"found": [str(path) for path in found], "projects": added, "failed": failed})
    else:
        output.say(f"Found {len(found)} new, added {len(added)}.")
        if found and not added and not yes and not sys.stdin.isatty():
            output.note("Without a terminal nothing is asked: --yes adds all.")
    if failed:
        sys.exit(1)


@project.command("list")
@click.option("--json", "as_json", is_flag=True)
def list_projects(as_json: bool) -> None:
    """All projects, with what waits in each."""
    take_config_projects()
    with reading() as store:
        projects = store.projects()
        tasks = store.tasks()
        tests = {held.id: _tests(store, held) for held in projects}
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
        output.say("No projects yet. navigator project add PATH")
        return
    output.emit(
        output.table(
            ("project", "queued", "wait", "landing", "tests on the base", "path"), rows, right=(1, 2)
        )
    )


def _tests(store: Reader, held: Project) -> str:
    """What the project's tests said when they were last run on a base of it; "" without a test command."""
    from navigator.workspace.sandbox.compare import base_words

    if not held.check.strip():
        return ""
    last = store.newest_baseline(held.id)
    return safe_line(base_words(last if last is not None and last.command == held.check else None))


@project.command("show")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True)
def show(name: str, as_json: bool) -> None:
    """One project: its settings, its repository, its tasks."""
    from navigator.workspace.git.facts import read_facts

    with reading() as store:
        held = store.project(name)
        tasks = store.tasks(project=held.name)
        tests = _tests(store, held)
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
    output.say(f"  lands on {'its current branch' if held.landing == 'current' else 'navigator/<batch>'}")
    output.say(f"  check: {held.check or 'none'}")
    if tests:
        output.say(f"  tests on the base: {tests}")
    if facts.hooks:
        output.say(f"  hooks that do not run at a landing: {', '.join(facts.hooks)}")
    for task in tasks:
        output.say(f"  {task.id}  {task.state.value:<18} {safe_line(task.text.splitlines()[0])[:80]}")


project.add_command(check)


@project.command("move")
@click.argument("name")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True)
def move(name: str, path: Path, as_json: bool) -> None:
    """Say where the repository of NAME stands now. It must be the same one, by its first commit."""
    result = act("project.move", {"name": name, "path": str(path.expanduser().absolute())})
    if as_json:
        output.print_json(result)
        return
    output.say(f"{result['project']['name']} is at {result['project']['path']}.")


@project.command("remove")
@click.argument("names", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True)
def remove(names: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Let go of projects. Their repositories are untouched; what happened stays in the store."""
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("Without a terminal nothing is asked.", hint="Add --yes.")
        click.confirm(f"Remove {', '.join(names)} from Navigator?", abort=True, err=True)
    result = act("project.remove", {"names": list(names)})
    if as_json:
        output.print_json(result)
    else:
        output.say(f"Removed {', '.join(result['removed'])}.")
