"""`navigator demo`: sample repositories, queued tasks, and a whole rehearsed session on them."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated

import click

from navigator.actions.projects import SAMPLE, AddProject
from navigator.cli import output
from navigator.cli.command import Value, command, given
from navigator.cli.run import conduct, show_session
from navigator.cli.session import act, live_status
from navigator.config.paths import STATE_VARIABLE, StatePaths, private_folder
from navigator.model.errors import Conflict
from navigator.model.models import utc_now

_CONFIG = """# Written by `navigator demo`: a rehearsal, no real model.
[generator]
model = "rehearsal/Qwen3.5-35B-A3B"
[reviewer]
model = "rehearsal/Qwen3.5-122B-A10B"
[swap]
strategy = "rehearsal"
"""

DEFAULT_SCALE = 0.02
_PERSON = ("user.name=Navigator demo", "user.email=demo@navigator.invalid")
_QUESTIONS_FROM = 12
"""With at least so many tasks, two of them are a scan and a report."""


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
    paths, temporary = _demo_folder(state)
    _require_own(paths)
    _use(paths)
    output.note(f"REHEARSAL on sample projects in {paths.root} (times are scaled by {scale:g}).")
    prepare(paths, projects=projects, tasks=tasks)
    quiet = bool(given("--json"))
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


def _demo_folder(chosen: Path | None) -> tuple[StatePaths, bool]:
    """The demo's state folder, never the developer's own, and whether it is a new temporary one."""
    named = chosen or os.environ.get(STATE_VARIABLE)
    if not named:
        return StatePaths(private_folder(Path(tempfile.mkdtemp(prefix="navigator-demo-")))).ensure(), True
    return StatePaths(private_folder(Path(named).expanduser().absolute())).ensure(), False


def _require_own(paths: StatePaths) -> None:
    """Refuse a folder of real work before anything is written into it.

    Raises:
        OtherWorld: it is one.
    """
    from navigator.store.database import open_reader

    if paths.database.exists():
        open_reader(paths.database, rehearsal=True).close()


def _use(paths: StatePaths) -> None:
    """Point this process, and those it starts, at the demo's state and settings."""
    config = paths.root / "demo.toml"
    config.write_text(_CONFIG, encoding="utf-8")
    os.environ[STATE_VARIABLE] = str(paths.root)
    os.environ["NAVIGATOR_CONFIG"] = str(config)


def prepare(paths: StatePaths, *, projects: int, tasks: int) -> None:
    """Create sample repositories and queue tasks on them, once per state folder."""
    from navigator.actions.tasks import AddTasks
    from navigator.engine.acting import reading
    from navigator.rehearsal.samples import sample_projects, sample_questions, sample_tasks

    with reading(paths) as store:
        if store.projects():
            return
    made = sample_projects()[:projects]
    root = private_folder(paths.root / "samples")
    for sample in made:
        folder = root / sample.name
        make_repository(folder, sample.files, executable=sample.executable)
        act(AddProject(path=str(folder), name=sample.name, check=sample.check))
    asked = sample_questions(made) if tasks >= _QUESTIONS_FROM else []
    queued = [*sample_tasks(tasks - len(asked), made), *asked]
    known = {"project", "text", "kind", "complexity", "files"}
    act(AddTasks.read({"tasks": [{name: getattr(task, name) for name in known} for task in queued]}))


def make_repository(folder: Path, files: Mapping[str, bytes], *, executable: Collection[str] = ()) -> None:
    """Create a repository at `folder` with one commit of `files` on the branch main.

    Raises:
        Conflict: the folder exists and is not empty.
    """
    if folder.exists() and any(folder.iterdir()):
        raise Conflict(f"{folder} is not empty.", hint="Remove it, or choose another folder.")
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if name in executable:
            path.chmod(0o755)
    from navigator.git.runner import Git

    git = Git(folder / ".git", work_tree=folder, config=_PERSON)
    git.run("init", "--quiet", "--template=", "--initial-branch=main")
    # The sample has its own user, so that approving works where git has none configured.
    git.run("config", "user.name", "Navigator demo")
    git.run("config", "user.email", "demo@navigator.invalid")
    git.run("config", SAMPLE, "true")
    git.run("add", "--all")
    git.run("commit", "--quiet", "--no-gpg-sign", "-m", "Start the sample project")
