"""`navigator merge`: what landed on Navigator's branches, into yours."""

from __future__ import annotations

import sys
from typing import Any

import click

from navigator.cli import output
from navigator.cli.session import complete_projects, reading
from navigator.git.facts import read_facts
from navigator.journey.dependencies import at_home
from navigator.landing import merge as merging
from navigator.landing.plan import LandingRefused
from navigator.model.errors import UsageError
from navigator.model.text import safe_line


@click.command()
@click.argument("projects", nargs=-1, metavar="[PROJECT]…", shell_complete=complete_projects)
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@output.JSON
def merge(projects: tuple[str, ...], yes: bool, as_json: bool) -> None:
    """Merge what landed on Navigator's branches into the branches that are checked out.

    Without PROJECT: of all projects. What git cannot merge cleanly is left as it was, with the command to do it by hand.
    """
    with reading() as store:
        chosen = [store.project(name) for name in projects] or store.projects()
        landed = {project.name: store.landed_commits(project.id) for project in chosen}
    waiting: list[tuple[str, Any, str]] = []
    for project in chosen:
        with at_home(project):
            facts = read_facts(project.path)
        waiting += [(project.name, facts, branch) for branch in merging.unmerged(facts, landed[project.name])]
    if not as_json:
        for name, facts, branch in waiting:
            output.say(f"{name}: {branch} into {facts.branch or 'no branch'}")
            for line in merging.subjects(facts, branch):
                output.say(f"  {safe_line(line)}")
    if waiting and not yes:
        if not sys.stdin.isatty():
            raise UsageError("There is no terminal to confirm at, and nothing was done.", hint="Add --yes.")
        click.confirm("Merge them" if len(waiting) > 1 else "Merge it", abort=True, err=True)
    rows: list[dict[str, str]] = []
    for name, facts, branch in waiting:
        row = {"project": name, "branch": branch, "commit": "", "reason": ""}
        try:
            # Read again: the branch before it may have moved HEAD.
            row["commit"] = merging.merge(read_facts(facts.path), branch)
        except LandingRefused as error:
            row["reason"] = f"{error.message} {error.hint}"
        rows.append(row)
    if as_json:
        output.print_json({"merges": rows})
    elif not rows:
        output.say("Nothing waits to be merged.")
    for row in () if as_json else rows:
        said = f"merged, {row['commit'][:12]}" if row["commit"] else row["reason"]
        output.say(f"{'✓' if row['commit'] else '✗'} {row['project']}: {row['branch']}: {said}")
    sys.exit(int(any(row["reason"] for row in rows)))
