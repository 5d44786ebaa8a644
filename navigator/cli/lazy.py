"""A group of commands, each in a module of its own that is imported when the command is called."""

from __future__ import annotations

import importlib
from typing import Any

import click


class LazyGroup(click.Group):
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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest name for one that is not there."""
        if args and args[0] not in self.table and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], self.table, 1)
            path = ctx.command_path
            also = f" Did you mean `{path} {near[0]}`?" if near else f" `{path} --help` lists them."
            raise click.UsageError(f"There is no command {args[0]!r}.{also}")
        return super().resolve_command(ctx, args)
