"""`navigator demo`: sample repositories, queued tasks, and a whole rehearsed session on them."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from navigator.cli import output
from navigator.cli.run import conduct, show_session
from navigator.config.paths import STATE_VARIABLE, StatePaths, private_folder
from navigator.domain.errors import Conflict

_CONFIG = """# Written by `navigator demo`: a rehearsal, no real model.
[generator]
model = "rehearsal/Qwen3.5-35B-A3B"
[reviewer]
model = "rehearsal/Qwen3.5-122B-A10B"
[swap]
strategy = "rehearsal"
"""

DEFAULT_SCALE = 0.02
_QUESTIONS_FROM = 12
"""With at least so many tasks, two of them are a scan and a report."""


@click.command()
@click.option("--headless", is_flag=True, help="Without the screens; the default where there is no terminal.")
@click.option("--projects", type=click.IntRange(1, 200), default=24, show_default=True)
@click.option("--tasks", type=click.IntRange(1, 2000), default=36, show_default=True)
@click.option(
    "--time-scale",
    type=float,
    default=None,
    help=f"Times every simulated second; {DEFAULT_SCALE} by default.",
)
@click.option("--seed", type=int, default=7, show_default=True)
@click.option(
    "--state", type=click.Path(path_type=Path, file_okay=False), default=None, help="Where to keep it."
)
@click.option("--json", "as_json", is_flag=True)
def demo(
    headless: bool,
    projects: int,
    tasks: int,
    time_scale: float | None,
    seed: int,
    state: Path | None,
    as_json: bool,
) -> None:
    """The whole cascade on sample projects, with a rehearsal of the models. Needs no GPU and no network."""
    from navigator.config.settings import time_scale as scale_of

    named = time_scale is not None or os.environ.get("NAVIGATOR_TIME_SCALE")
    scale = scale_of(time_scale) if named else DEFAULT_SCALE
    paths = _state(state)
    _use(paths)
    output.note(f"REHEARSAL on sample projects in {paths.root} (times are scaled by {scale:g}).")
    prepare(paths, projects=projects, tasks=tasks, seed=seed)
    if not (headless or as_json) and sys.stdout.isatty() and sys.stdin.isatty():
        from navigator.cli.screens import open_screens

        try:
            open_screens(time_scale=scale, seed=seed)
        finally:
            _say_the_way_back(paths)
        return
    document = conduct(paths, until="idle", quiet=as_json, time_scale=scale, seed=seed)
    document["derived"] += take_a_part()
    if as_json:
        output.print_json(document)
    else:
        show_session(document)
        if document["derived"]:
            output.say("One hunk of a proposal was taken as a proposal of its own; the rest is queued again.")
        output.say(
            f"\nLook at it:\n  export {STATE_VARIABLE}={paths.root} NAVIGATOR_CONFIG={paths.root / 'demo.toml'}"
        )
        output.say(f"  {_command()} proposals")


def take_a_part() -> int:
    """What a developer does who wants some hunks of a proposal and not the others: returns how many parts were made.

    The first proposal of several hunks that the reviewer wants revised, else the first of several, gives its first hunk; the
    rest waits to be written anew on top of it. A folder that has a part already gets no other.
    """
    from navigator.cascade.verbs.split import Split, SplitArgs
    from navigator.cascade.views.inbox import waiting_proposals
    from navigator.cli.session import act, reading
    from navigator.domain.states import Verdict
    from navigator.workspace.git.hunks import all_labels
    from navigator.workspace.git.private import PrivateRepo

    paths = StatePaths(Path(os.environ[STATE_VARIABLE]))
    with reading(paths) as store:
        waiting = waiting_proposals(store)
        if any(proposal.parent for proposal in store.proposals()):
            return 0
        waiting.sort(key=lambda one: one.review is None or one.review.verdict is not Verdict.REVISE)
        for proposal in waiting:
            private = PrivateRepo.open(paths.private, store.project(proposal.project_id))
            labels = all_labels(private.diff(proposal.base_commit, proposal.tree))
            if len(labels) > 1:
                break
        else:
            return 0
    act(Split(), SplitArgs(proposal=proposal.id, hunks=(labels[0],), tree=proposal.tree))
    return 1


def _say_the_way_back(paths: StatePaths) -> None:
    """After the screens: how to open them again, and whether a conductor goes on working."""
    from navigator.cascade.socket.client import request
    from navigator.domain.errors import NavigatorError

    try:
        request(paths.socket, "status", {}, timeout=5)
        working = True
    except NavigatorError:
        working = False
    place = shlex.quote(str(paths.root))
    output.say(
        f"Come back:\n  export {STATE_VARIABLE}={place} "
        f"NAVIGATOR_CONFIG={shlex.quote(str(paths.root / 'demo.toml'))}\n  {_command()}"
    )
    output.say(
        f"A conductor goes on working; `{_command()} stop` ends it." if working else "No conductor works on."
    )


def _command() -> str:
    """How to call Navigator again from here: by name where the shell finds it, else as it was called."""
    if shutil.which("navigator") or Path(sys.argv[0]).name != "navigator":
        return "navigator"
    return sys.argv[0]


def _state(chosen: Path | None) -> StatePaths:
    """The demo's own state folder, never the developer's: a new one unless --state or the variable names one."""
    if chosen is not None:
        return StatePaths(private_folder(chosen.expanduser().absolute())).ensure()
    named = os.environ.get(STATE_VARIABLE)
    if named:
        return StatePaths(private_folder(Path(named).expanduser().absolute())).ensure()
    return StatePaths(private_folder(Path(tempfile.mkdtemp(prefix="navigator-demo-")))).ensure()


def _use(paths: StatePaths) -> None:
    """Point this process, and those it starts, at the demo's state and settings."""
    config = paths.root / "demo.toml"
    config.write_text(_CONFIG, encoding="utf-8")
    os.environ[STATE_VARIABLE] = str(paths.root)
    os.environ["NAVIGATOR_CONFIG"] = str(config)


def prepare(paths: StatePaths, *, projects: int, tasks: int, seed: int) -> dict[str, Any]:
    """Make sample repositories and queue tasks on them, once for a state folder.

    Raises:
        Conflict: the folder holds projects that the demo did not make.
    """
    from navigator.cascade.verbs.projects import AddProject, AddProjectArgs
    from navigator.cascade.verbs.task_add import AddTasks, AddTasksArgs, NewTask
    from navigator.cli.session import act, reading
    from navigator.rehearsal.samples.repositories import sample_projects, sample_questions, sample_tasks
    from navigator.workspace.git.samples import make_repository

    with reading(paths) as store:
        known = store.projects()
    if any(not project.demo for project in known):
        raise Conflict(
            f"{paths.root} holds real projects.", hint="Give the demo a folder of its own: --state DIR."
        )
    if known:
        return {"projects": len(known)}
    made = sample_projects(projects, seed)
    root = private_folder(paths.root / "samples")
    for sample in made:
        folder = root / sample.name
        make_repository(folder, sample.files, executable=sample.executable)
        act(AddProject(), AddProjectArgs(path=str(folder), name=sample.name, check=sample.check, demo=True))
    asked = sample_questions(made) if tasks >= _QUESTIONS_FROM else []
    queued = tuple(
        NewTask(
            project=task.project,
            text=task.text,
            kind=task.kind,
            complexity=task.complexity,
            files=tuple(task.files),
        )
        for task in [*sample_tasks(tasks - len(asked), seed, made), *asked]
    )
    act(AddTasks(), AddTasksArgs(tasks=queued))
    return {"projects": len(made), "tasks": len(queued)}
