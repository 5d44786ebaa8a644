"""How other programs reach Navigator: `navigator hook` and `navigator mcp`."""

from __future__ import annotations

import sys

import click

from navigator.actions.projects import Hook
from navigator.cli import output
from navigator.cli.command import Commands, command
from navigator.cli.session import ProjectName, carry_out, state_paths, take_config_projects


@click.group(cls=Commands)
def hook() -> None:
    """Install or remove a post-commit hook that queues each commit for review."""


@command(hook)
def install(project: ProjectName) -> None:
    """Install the hook in PROJECT's repository, where there is none of another program."""
    carry_out(Hook(project=project))


@command(hook)
def remove(project: ProjectName) -> None:
    """Remove the hook."""
    carry_out(Hook(project=project, install=False))


@command(json=False)
def mcp(
    *,
    read_only: bool = False,
) -> None:
    """Serve the Model Context Protocol on stdin and stdout, for editors and agents that start it.

    \b
    Tools: list_projects, queue_task, review_ref, list_proposals, show_proposal, status.
    Nothing there decides, lands or changes settings. docs/mcp.md shows how clients are told of it.

    Args:
        read_only: Leave out the tools that queue tasks and reviews.
    """
    from navigator.mcp.server import McpServer
    from navigator.mcp.tools import Tools

    if sys.stdin.isatty():
        output.note("Waiting for an MCP client on stdin; Ctrl-D ends it.")
    take_config_projects()
    McpServer(Tools(state_paths(), read_only=read_only)).serve(sys.stdin.buffer, sys.stdout.buffer)
