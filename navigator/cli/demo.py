"""`navigator demo`: sample repositories, queued tasks, and a whole rehearsed session on them."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Annotated

import click

from navigator.cli import output
from navigator.cli.command import Value, command, switch_given
from navigator.cli.run import conduct, show_session
from navigator.cli.session import live_status
from navigator.config.paths import STATE_VARIABLE, StatePaths
from navigator.model.models import utc_now
from navigator.setup.demo import demo_folder, prepare, use

DEFAULT_SCALE = 0.02


@command()
def demo(
    *,
    headless: bool = False,
    projects: Annotated[int, Value(type=click.IntRange(1, 24))] = 24,
    tasks: Annotated[int, Value(type=click.IntRange(1, 120))] = 36,
    time_scale: float | None = None,
    state: Path | None = None,
) -> None:
    """Run the whole workflow on sample projects with simulated models. Needs no GPU and no network.

    Args:
        headless: Run without the screens; the default without a terminal.
        projects: Number of projects.
        tasks: Number of tasks.
        time_scale: Factor on every simulated second; 0.02 by default.
        state: State folder. Without it: a temporary folder, which --headless removes at the end.
    """
    from navigator.rehearsal.engine import time_scale as scale_of

    named = time_scale is not None or os.environ.get("NAVIGATOR_TIME_SCALE")
    scale = scale_of(time_scale) if named else DEFAULT_SCALE
    paths, temporary = demo_folder(state)
    use(paths)
    output.note(f"REHEARSAL on sample projects in {paths.root} (times are scaled by {scale:g}).")
    prepare(paths, projects=projects, tasks=tasks)
    quiet = bool(switch_given("--json"))
    if not (headless or quiet) and sys.stdout.isatty() and sys.stdin.isatty():
        from navigator.cli.main import open_screens

        try:
            open_screens(time_scale=scale)
        finally:
            _say_how_to_return(paths, scale, temporary=temporary)
        return
    began = utc_now()
    document = conduct(paths, until="idle", quiet=quiet, time_scale=scale)

    def text(_: object) -> None:
        show_session(document, began)
        _say_untested()
        if temporary:
            output.say(
                "\nNothing is kept. To look at the proposals, run navigator demo in a terminal or with --state DIR."
            )
        else:
            output.say(f"\nLook at the result:\n{_environment(paths, scale)}\n  navigator proposals")

    output.show(document, text)
    if temporary:
        shutil.rmtree(paths.root)


def _say_untested() -> None:
    """Why no test ran, where the sandbox is the reason, and what to install."""
    from navigator.sandbox.probe import probe

    sandbox = probe()
    if not sandbox.works:
        output.say(f"Nothing was tested: {sandbox.reason}. {sandbox.hint}", fg="yellow")


def _say_how_to_return(paths: StatePaths, scale: float, *, temporary: bool) -> None:
    """After the screens: how to open them again, whether a conductor is still running, and where the files are."""
    output.say(f"To open the demo again:\n{_environment(paths, scale)}\n  navigator")
    if live_status() is not None:
        output.say("The conductor is still running; `navigator run --stop` ends it.")
    if temporary:
        output.say(f"Remove the demo when you are done: rm -r {shlex.quote(str(paths.root))}")


def _environment(paths: StatePaths, scale: float) -> str:
    """The shell line that points later commands at the demo."""
    place, config = (shlex.quote(str(path)) for path in (paths.root, paths.root / "demo.toml"))
    return f"  export {STATE_VARIABLE}={place} NAVIGATOR_CONFIG={config} NAVIGATOR_TIME_SCALE={scale:g}"
