"""Everything that Navigator made on this machine, and how to remove it: outside of the state folder first, that folder last.

Also what old tasks left in the state folder, and everything in it as JSON lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from navigator.config.paths import StatePaths, config_path
from navigator.exam.items import drop_retired
from navigator.git.facts import RepoFacts, RepositoryError, read_facts
from navigator.git.hook import HookRefused, hook_state, remove_hook
from navigator.git.private import PrivateRepo, is_commit_id
from navigator.journey.dependencies import Dependencies
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.models import Project
from navigator.model.secrets import Redactor
from navigator.sandbox.folders import SET_ASIDE, remove, used_bytes
from navigator.setup.install import take_back
from navigator.sheet.parts import kept_name
from navigator.store.database import open_reader
from navigator.store.reads.reader import Reader
from navigator.store.schema import tables

KINDS = ("hooks", "branches", "units", "settings", "state")

_STATE = ("navigator.", "conductor.", "screens.json", SET_ASIDE)
"""How names of files in the state folder begin."""
_FOLDERS = ("agents", "backups", "checks", "commits", "lab", "private", "rehearsal")


@dataclass(frozen=True, slots=True)
class Trace:
    """One thing that Navigator made: what `remove` takes away, unless `kept` says why not."""

    kind: str
    place: str
    remove: Callable[[], object]
    bytes: int = 0
    kept: str = ""

    def take_away(self) -> str:
        """Remove it; returns why it could not be removed, "" where it is gone."""
        try:
            self.remove()
        except NavigatorError as error:
            return error.message
        except OSError as error:
            return error.strerror or "it cannot be removed"
        return ""


def traces(paths: StatePaths) -> list[Trace]:
    """All that can be found on this machine."""
    if not paths.database.exists():
        return _made_here(paths, None)
    with closing(open_reader(paths.database)) as connection:
        return _made_here(paths, Reader(connection))


def _made_here(paths: StatePaths, reader: Reader | None) -> list[Trace]:
    """`reader` is None where there is no database."""
    found: list[Trace] = []
    for project in reader.projects(include_removed=True) if reader is not None else ():
        try:
            facts = read_facts(project.path)
        except RepositoryError as error:
            found.append(Trace("hooks", str(project.path), _nothing, kept=error.message))
            continue
        found += [
            *_hook(facts),
            *_branches(facts, project, reader.landed_commits(project.id) if reader else ()),
        ]
    for one in take_back(dry_run=True):
        if one.action != "absent":
            found.append(Trace("units", str(one.path), partial(_unit, one.path), kept=one.reason))
    if (settings := config_path()).exists():
        found.append(Trace("settings", str(settings), partial(_settings, settings), settings.stat().st_size))
    return found + list(_state_traces(paths))


def _settings(path: Path) -> None:
    path.unlink()
    if path.parent.name == "navigator":
        with suppress(OSError):  # prompts, keys and templates of the user's own are still in it
            path.parent.rmdir()


def _unit(path: Path) -> None:
    """All units at once: a second time there is nothing left."""
    done = {one.path: one for one in take_back()}
    if path in done and done[path].action == "kept":
        raise NavigatorError(f"It {done[path].reason}.")


def _hook(facts: RepoFacts) -> Iterator[Trace]:
    try:
        state = hook_state(facts)
    except HookRefused:
        return
    if state.installed:
        yield Trace("hooks", str(state.path), partial(remove_hook, facts))


def _branches(facts: RepoFacts, project: Project, landed: frozenset[str] | tuple[()]) -> Iterator[Trace]:
    git = facts.git()
    for name in sorted(name for name in facts.branches if name.startswith("navigator/")):
        tip = git.run("rev-parse", "--verify", "--quiet", f"refs/heads/{name}", check=False).text
        held = git.run("merge-base", "--is-ancestor", tip, facts.head_commit, check=False).status == 0
        kept = "" if held else "it is not merged: `navigator merge`, or `git branch -D`"
        if tip not in landed:
            kept = "its last commit is not one that Navigator landed"
        kept = f"it is checked out in {project.path}" if name in facts.checked_out else kept
        delete = partial(git.run, "update-ref", "-d", f"refs/heads/{name}", tip)
        yield Trace("branches", f"{facts.path}: {name}", delete, kept=kept)


def _state_traces(paths: StatePaths) -> Iterator[Trace]:
    if not paths.root.is_dir():
        return
    for path in sorted(set(paths.root.iterdir()) - {paths.lock}):  # which is held meanwhile, and goes last
        folder = path.is_dir() and not path.is_symlink()
        if folder and (path.name in _FOLDERS or path.name.startswith(SET_ASIDE)):
            yield Trace("state", str(path), partial(_folder, path), used_bytes(path, seconds=600.0))
        elif not folder and path.name.startswith(_STATE):
            yield Trace("state", str(path), partial(path.unlink, missing_ok=True), path.lstat().st_size)
        else:
            yield Trace("state", str(path), _nothing, kept="not Navigator's")


def _nothing() -> None:
    """What is kept is not removed."""


def _folder(path: Path) -> None:
    if not remove(path):
        raise NavigatorError("It cannot be removed.")


# What old tasks left behind


def drop_old(deps: Dependencies, before: str, on_problem: Callable[[str], None]) -> dict[str, int]:
    """Delete the texts of answers, and events, from before a UTC time, the objects of proposals settled before it, and those of
    retired exam items; returns how many of each.

    Args:
        on_problem: called with a message for each project whose repository cannot be opened.
    """
    with deps.store.transaction() as tx:
        answers, events = tx.forget_answers(before), tx.forget_events(before)
    proposals, items = _drop_proposals(deps, before), _drop_exam(deps, on_problem)
    return {"answers": answers, "events": events, "proposals": proposals, "exam_items": items}


def _drop_proposals(deps: Dependencies, before: str) -> int:
    """Free the objects of proposals that were settled before a UTC time; returns how many."""
    dropped = 0
    finished = deps.reader.finished_proposals(before)
    for project in deps.reader.projects(include_removed=True):
        old = [proposal for proposal in finished if proposal.project_id == project.id]
        if not old:
            continue
        private = PrivateRepo.open(deps.paths.private, project)
        for proposal in old:
            private.drop(kept_name(proposal))
            dropped += 1
        private.collect(_bases_in_use(deps.reader, project, {proposal.task_id for proposal in old}))
    return dropped


def _bases_in_use(reader: Reader, project: Project, gone: Collection[str] = ()) -> set[str]:
    """Bases still in use: an attempt that is not written yet has only its base."""
    tasks = reader.tasks(project=project.id)
    bases = {base for task in tasks if task.id not in gone for base in (task.base_commit, task.base)}
    return {base for base in bases if is_commit_id(base)}


def _drop_exam(deps: Dependencies, on_problem: Callable[[str], None]) -> int:
    """Free the objects of retired exam items; returns how many."""
    items = deps.reader.exam_items(retired=True)
    asked = [item for item in items if not item.retired]
    dropped = 0
    with_items = {item.project_id for item in items}
    for project in deps.reader.projects(include_removed=True):
        if project.id not in with_items:
            continue
        try:
            private = PrivateRepo.open(deps.paths.private, project)
        except NavigatorError as error:
            on_problem(f"{project.name}: its exam items stay: {error.message}")
            continue
        if gone := drop_retired(private, [item for item in asked if item.project_id == project.id]):
            private.collect(_bases_in_use(deps.reader, project))
            dropped += gone
    return dropped


# Everything, to take elsewhere


def write_rows(reader: Reader, folder: Path, redact: Redactor) -> Iterator[tuple[str, int]]:
    """Write each table of the database as JSON lines to a folder, which is made if absent; yields a file's name and its rows.

    Raises:
        Conflict: the folder is not empty. UsageError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Conflict(f"{folder} is not empty.", hint="Choose another folder.")
        (folder / f"{tables()[0]}.jsonl").touch()
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written: {error.strerror}.", hint="Choose another folder."
        ) from error
    for table in tables():
        count = 0
        with (folder / f"{table}.jsonl").open("w", encoding="utf-8") as stream:
            for row in reader.export_rows(table):
                stream.write(json.dumps(redact.data(row), ensure_ascii=False, sort_keys=True) + "\n")
                count += 1
        yield f"{table}.jsonl", count
