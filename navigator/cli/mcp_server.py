"""`navigator mcp`: the MCP server, started by its client."""

from __future__ import annotations

import sys

import click

from navigator.cli.session import state_paths, take_config_projects


@click.command()
@click.option("--read-only", is_flag=True, help="Leave out the tools that queue tasks and reviews.")
def mcp(read_only: bool) -> None:
    """Serve the Model Context Protocol on stdin and stdout, for editors and agents that start it.

    \b
    Tools: list_projects, queue_task, review_ref, list_proposals, show_proposal, status.
    Nothing there decides, lands or changes settings. docs/mcp.md shows how clients are told of it.
    """
    from navigator.mcp.server import McpServer
    from navigator.mcp.tools import Tools

    if sys.stdin.isatty():
        click.echo("Waiting for an MCP client on stdin; Ctrl-D ends it.", err=True)
    take_config_projects()
    McpServer(Tools(state_paths(), read_only=read_only)).serve(sys.stdin.buffer, sys.stdout.buffer)
