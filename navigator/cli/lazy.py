"""Groups of commands: how they are listed, and one whose commands are imported when they are called."""

from __future__ import annotations

import importlib
from typing import Any

import click

_SENTENCE = 400
"""Characters of a command's first sentence; click cuts it to 45."""


class Commands(click.Group):
    """A group that shows the first sentence of each command whole, and names the nearest command for one that is not there."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands, one sentence each."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [
            (name, command.get_short_help_str(_SENTENCE)) for name, command in found if command is not None
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name for one that is not there."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], names, 1)
            path = ctx.command_path
            also = f" Did you mean `{path} {near[0]}`?" if near else f" `{path} --help` lists them."
            raise click.UsageError(f"There is no command {args[0]!r}.{also}")
        return super().resolve_command(ctx, args)


class LazyGroup(Commands):
    """A group whose commands live in modules of their own, imported on use.

    Args:
        table: command → (module below `navigator.cli`, one line of help); with the help there, `--help` imports nothing.
    """

    def __init__(self, *args: Any, table: dict[str, tuple[str, str]], **named: Any) -> None:
        super().__init__(*args, **named)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module that defines one command."""
        if cmd_name not in self.table:
            return None
        module = importlib.import_module(f"navigator.cli.{self.table[cmd_name][0]}")
        command = getattr(module, cmd_name.replace("-", "_"))
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self.table.items()])
