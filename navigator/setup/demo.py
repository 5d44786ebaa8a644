"""The demo's state folder: its settings, sample repositories, and tasks that are queued on them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

from navigator.actions.projects import SAMPLE, AddProject
from navigator.actions.tasks import AddTasks
from navigator.config.paths import CONFIG_VARIABLE, STATE_VARIABLE, StatePaths, private_folder
from navigator.engine.acting import act, reading
from navigator.git.runner import Git
from navigator.model.errors import Conflict
from navigator.rehearsal.samples import sample_projects, sample_questions, sample_tasks
from navigator.store.database import open_reader

CONFIG = """# Written by `navigator demo`: a rehearsal, no real model.
[generator]
model = "rehearsal/Qwen3.5-35B-A3B"
[reviewer]
model = "rehearsal/Qwen3.5-122B-A10B"
[swap]
strategy = "rehearsal"
"""
"""The demo's settings."""

_QUESTIONS_FROM = 12
"""With at least so many tasks, two of them are a scan and a report."""


def demo_folder(chosen: Path | None) -> tuple[StatePaths, bool]:
    """The demo's state folder, never the developer's own, and whether it is a new temporary one."""
    named = chosen or os.environ.get(STATE_VARIABLE)
    if not named:
        return StatePaths(private_folder(Path(tempfile.mkdtemp(prefix="navigator-demo-")))).ensure(), True
    return StatePaths(private_folder(Path(named).expanduser().absolute())).ensure(), False


def use(paths: StatePaths) -> None:
    """Point this process, and those it starts, at the demo's state and settings.

    Raises:
        OtherWorld: it is a folder of real work; nothing was written into it.
    """
    if paths.database.exists():
        open_reader(paths.database, rehearsal=True).close()
    config = paths.root / "demo.toml"
    config.write_text(CONFIG, encoding="utf-8")
    os.environ[STATE_VARIABLE] = str(paths.root)
    os.environ[CONFIG_VARIABLE] = str(config)


def prepare(paths: StatePaths, *, projects: int, tasks: int) -> None:
    """Create sample repositories and queue tasks on them, once per state folder."""
    with reading(paths) as store:
        if store.projects():
            return
    made = sample_projects()[:projects]
    root = private_folder(paths.root / "samples")
    for sample in made:
        folder = root / sample.name
        make_repository(folder, sample.files, executable=sample.executable)
        act(paths, AddProject(path=str(folder), name=sample.name, check=sample.check))
    asked = sample_questions(made) if tasks >= _QUESTIONS_FROM else []
    queued = [*sample_tasks(tasks - len(asked), made), *asked]
    known = {"project", "text", "kind", "complexity", "files"}
    act(paths, AddTasks.read({"tasks": [{name: getattr(task, name) for name in known} for task in queued]}))


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
    git = Git(folder / ".git", work_tree=folder)
    git.run("init", "--quiet", "--template=", "--initial-branch=main")
    # The sample has its own user, so that approving works where git has none configured.
    git.run("config", "user.name", "Navigator demo")
    git.run("config", "user.email", "demo@navigator.invalid")
    git.run("config", SAMPLE, "true")
    git.run("add", "--all")
    git.run("commit", "--quiet", "--no-gpg-sign", "-m", "Start the sample project")
