"""The `navigator` command. Each group of commands is imported when it is called."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from navigator import __version__
from navigator.cli.command import Commands
from navigator.model.errors import NavigatorError, UsageError

# Every package on the machine is looked through for plugins of pydantic otherwise, and those found are run.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")

# command -> (module, one line of help); the help is kept here so that `--help` imports nothing.
_COMMANDS: dict[str, tuple[str, str]] = {
    "setup": ("setup", "Find model servers, write the settings, add projects"),
    "demo": ("demo", "Run everything on sample projects, with simulated models"),
    "status": ("status", "Show what is waiting, what the GPU holds and what is running"),
    "doctor": ("setup", "Check the installation; say what is missing and how to get it"),
    "config": ("setup", "Show or check the settings"),
    "project": ("project", "Add, list, change, check and remove projects"),
    "task": ("task", "Add, list, cancel and retry tasks"),
    "review": ("review", "Have existing work reviewed: commits, ranges, branches, uncommitted changes"),
    "fix": ("review", "Queue a task that fixes what a review of existing work found"),
    "hook": ("review", "Install or remove a hook that queues each commit for review"),
    "context": ("prompts", "Show what a model is given for a task, why, and what it costs"),
    "run": ("run", "Run the conductor: write, swap, review, swap back, revise"),
    "proposals": ("proposals", "List the proposals that wait for your decision"),
    "diff": ("diff", "Show a proposal's change, with the findings"),
    "approve": ("decide", "Approve proposals and land them"),
    "split": ("decide", "Make a separate proposal from some hunks"),
    "reject": ("decide", "Reject proposals"),
    "send-back": ("decide", "Send proposals, reports and answers back with a note"),
    "escalate": ("decide", "Have proposals reviewed next, or by the final model"),
    "finding": ("decide", "Say whether a finding is right, wrong or not worth a change"),
    "undo": ("decide", "Undo landings, or withdraw approvals"),
    "merge": ("decide", "Merge what landed on Navigator's branches into yours"),
    "stats": ("stats", "Show revise rate, swaps, throughput, outcomes and edits"),
    "exam": ("exam", "Prepare, run and show the reviewer's exam: changes whose right verdict is known"),
    "backtest": ("exam", "Find out which bugs of your history the reviewer would have caught"),
    "report": ("stats", "Say what happened, what waits and what went wrong"),
    "swap": ("swap", "Show what the GPU holds, swap models, show past swaps"),
    "forecast": ("forecast", "Estimate what a batch costs, from measured or given figures"),
    "mcp": ("run", "Serve MCP on stdin and stdout: other tools queue tasks and read results"),
    "lab": ("lab", "Measurements on your card: does speculation pay, does the second model pay"),
    "prompts": ("prompts", "List, show and try prompt templates"),
    "gc": ("housekeeping", "Delete what old tasks left behind"),
    "forget": ("housekeeping", "Remove what Navigator made on this machine"),
    "export": ("housekeeping", "Write everything as JSON lines"),
}


@click.group(
    cls=Commands,
    table=_COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="navigator")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """A fast local model writes, a strong one reviews, you decide. Without a command, the screens open."""
    if ctx.invoked_subcommand is None:
        open_screens()


def open_screens(*, time_scale: float | None = None) -> None:
    """Run the Textual app until the developer quits.

    Raises:
        UsageError: there is no terminal to draw on.
    """
    # Textual's own variable: textual-serve has the app talk to a browser through pipes.
    if not (os.environ.get("TEXTUAL_DRIVER") or (sys.stdin.isatty() and sys.stdout.isatty())):
        raise UsageError(
            "The screens need a terminal.", hint="Without one, use the commands: `navigator --help`."
        )
    from navigator.tui.app import run_app

    run_app(time_scale=time_scale)


def main(argv: list[str] | None = None) -> None:
    """Entry point: typed errors become one line on stderr and their exit code; with --json also the document on stdout."""
    from navigator.cli.output import note
    from navigator.model.secrets import Redactor

    redact = Redactor()
    words = sys.argv[1:] if argv is None else argv
    try:
        code: Any = cli.main(args=argv, prog_name="navigator", standalone_mode=False)
    except click.exceptions.Abort:
        _print_error(words, "Stopped.", "", "stopped")
        click.echo("Stopped.", err=True)
        sys.exit(1)
    except click.ClickException as error:
        _print_error(words, redact(error.format_message()), "", "usage" if error.exit_code == 2 else "error")
        shown = io.StringIO()
        error.show(shown)
        note(redact(shown.getvalue().rstrip("\n")))
        sys.exit(error.exit_code)
    except BrokenPipeError:
        # The reader of the output has closed it (`navigator proposals | head`).
        sys.stderr.close()
        sys.exit(1)
    except Exception as raised:
        typed = raised if isinstance(raised, NavigatorError) else _of_the_database(raised)
        if typed is None:
            raise
        _print_error(
            words, redact(typed.message), redact(typed.hint), getattr(typed, "remote_code", typed.code)
        )
        note(f"navigator: {redact(str(typed))}")
        sys.exit(getattr(typed, "remote_exit_code", typed.exit_code))
    sys.exit(code if isinstance(code, int) else 0)


def _of_the_database(error: Exception) -> NavigatorError | None:
    """What SQLite raised, in words that name the newest backup where the file is damaged; None for any other error."""
    import sqlite3

    from navigator.cli.session import state_paths
    from navigator.store.database import translated

    return translated(error, state_paths().database) if isinstance(error, sqlite3.Error) else None


def _print_error(words: Sequence[str], message: str, hint: str, code: str) -> None:
    """Print the error as JSON, if --json was given.

    A command prints its own document last, so stdout is still empty. Words after `--` are text, not options.
    """
    if "--json" not in words[: words.index("--") if "--" in words else None]:
        return
    from navigator.cli.output import print_json

    print_json({"error": {"message": message, "hint": hint, "code": code}})
