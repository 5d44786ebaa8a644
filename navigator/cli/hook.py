"""`navigator hook`: have each commit reviewed."""

from __future__ import annotations

import click

from navigator.actions.projects import Hook
from navigator.cli import output
from navigator.cli.lazy import Commands
from navigator.cli.session import carry_out, complete_projects

_PROJECT = click.argument("project", shell_complete=complete_projects)


@click.group(cls=Commands)
def hook() -> None:
    """Install or remove a post-commit hook that queues each commit for review."""


@hook.command("install")
@_PROJECT
@output.JSON
def install(project: str, as_json: bool) -> None:
    """Install the hook in PROJECT's repository, where there is none of another program."""
    carry_out(Hook(project=project), as_json=as_json)


@hook.command("remove")
@_PROJECT
@output.JSON
def remove(project: str, as_json: bool) -> None:
    """Remove the hook."""
    carry_out(Hook(project=project, install=False), as_json=as_json)
