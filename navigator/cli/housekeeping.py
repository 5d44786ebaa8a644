"""`navigator gc`, `navigator export` and `navigator forget`."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import click

from navigator.cli import output
from navigator.cli.command import Value, command, given
from navigator.cli.session import confirmed, locked_dependencies, reading, state_paths
from navigator.config.paths import StatePaths, state_dir
from navigator.engine.acting import learn_secrets
from navigator.git.private import PrivateRepo, is_commit_id
from navigator.model import patterns
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.secrets import Redactor
from navigator.model.text import plural
from navigator.setup.forget import KINDS, Trace, made_here
from navigator.store.lock import StateLock

if TYPE_CHECKING:
    from navigator.journey.dependencies import Dependencies
    from navigator.model.models import Project
    from navigator.store.reads.reader import Reader

_AGE = patterns.compile(r"(\d+)([dwh])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def moment_of(age: str) -> str | None:
    """The UTC time that long ago (`12h`, `30d`, `8w`), ISO 8601; None for any other text and for dates before year 1."""
    match = _AGE.fullmatch(age.strip())
    if match is None:
        return None
    try:
        moment = datetime.now(UTC) - int(match[1]) * _UNITS[match[2]]
    except OverflowError:
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@command()
def gc(*, older_than: Annotated[str, Value("AGE")] = "30d") -> None:
    """Delete the texts of old answers, old events, and the private git objects of tasks that ended. Figures are kept.

    Args:
        older_than: 12h, 30d, 8w, …
    """
    before = moment_of(older_than)
    if before is None:
        raise UsageError(f"{older_than!r} is not an age.", hint="Examples: 12h, 30d, 8w.")
    with locked_dependencies(state_paths()) as deps:
        with deps.store.transaction() as tx:
            answers, events = tx.forget_answers(before), tx.forget_events(before)
        dropped, exam = _drop_proposals(deps, before), _drop_exam(deps)
    also = f" and {plural(exam, 'exam item')}" if exam else ""
    said = (
        f"Deleted the texts of {plural(answers, 'answer')}, {plural(events, 'event')} and"
        f" the objects of {plural(dropped, 'proposal')}{also}."
    )
    gone = {"answers": answers, "events": events, "proposals": dropped, "exam_items": exam}
    output.show(gone | {"before": before}, lambda _: output.say(said))


def _drop_proposals(deps: Dependencies, before: str) -> int:
    """Free the objects of proposals that were settled before a UTC time; returns how many."""
    from navigator.sheet.parts import kept_name

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


def _drop_exam(deps: Dependencies) -> int:
    """Free the objects of retired exam items; returns how many."""
    from navigator.exam.items import drop_retired

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
            output.note(f"{project.name}: its exam items stay: {error.message}")
            continue
        if gone := drop_retired(private, [item for item in asked if item.project_id == project.id]):
            private.collect(_bases_in_use(deps.reader, project))
            dropped += gone
    return dropped


@command(json=False)
def export(folder: Annotated[Path, Value("DIR")]) -> None:
    """Write everything as JSON lines, one file per table, to DIR.

    Secrets are redacted: those with a known form, and the values in files that no model is shown.
    """
    from navigator.store.schema import tables

    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise Conflict(f"{folder} is not empty.", hint="Choose another folder.")
        (folder / f"{tables()[0]}.jsonl").touch()
    except OSError as error:
        raise UsageError(
            f"{folder} cannot be written: {error.strerror}.", hint="Choose another folder."
        ) from error
    redact = Redactor()
    paths = state_paths()
    with reading(paths) as store:
        learn_secrets(redact, paths, store.projects(include_removed=True), output.note)
        for table in tables():
            count = 0
            with (folder / f"{table}.jsonl").open("w", encoding="utf-8") as stream:
                for row in store.export_rows(table):
                    stream.write(json.dumps(redact.data(row), ensure_ascii=False, sort_keys=True) + "\n")
                    count += 1
            output.note(f"{table}.jsonl  {count}")


@command(yes=True)
def forget(*, keep: Annotated[tuple[str, ...], Value(type=click.Choice(KINDS))] = ()) -> None:
    """Remove what Navigator made on this machine: hooks, branches, systemd units, cached flags, settings, state.

    It lists everything first. Branches that are not merged stay, and so does what Navigator did not make.
    To remove the program itself, use what installed it, e.g. `pipx uninstall navigator-cascade`.

    Args:
        keep: Leave these.
    """
    paths = StatePaths(state_dir())
    lock = StateLock(paths)
    if paths.root.is_dir() and not lock.acquire(patience=2.0):
        raise Conflict("A conductor is running.", hint="`navigator run --stop` ends it.")
    click.get_current_context().call_on_close(lock.release)  # also where the answer is no
    found = [one for one in _find_traces(paths) if one.kind not in keep]
    goes = [one for one in found if not one.kept]
    for one in () if given("--json") else found:
        size = f", {max(1, one.bytes // 1024):,} KiB" if one.bytes else ""
        output.say(f"  {one.kind:<9} {one.place}{f'  (stays: {one.kept})' if one.kept else size}")
    if goes:
        confirmed(f"Remove {plural(len(goes), 'thing')}?")
    rows = [{"kind": one.kind, "place": one.place, "reason": one.kept or _removed(one)} for one in found]
    gone = sum(not row["reason"] for row in rows)
    lock.release()
    if "state" not in keep:
        paths.lock.unlink(missing_ok=True)
    with suppress(OSError):  # it keeps what is not Navigator's
        paths.root.rmdir()
    documents = [row | {"removed": not row["reason"]} for row in rows]

    def text(_: object) -> None:
        for one, row in zip(found, rows, strict=True):
            if row["reason"] and not one.kept:
                output.say(f"✗ {row['place']}: {row['reason']}")
        output.say(f"{plural(gone, 'thing')} removed." if goes else "There is nothing to remove.")

    output.show({"forgotten": documents}, text)
    sys.exit(int(gone < len(goes)))


def _find_traces(paths: StatePaths) -> list[Trace]:
    from navigator.store.database import open_reader
    from navigator.store.reads.reader import Reader

    if not paths.database.exists():
        return made_here(paths, None)
    connection = open_reader(paths.database)
    try:
        return made_here(paths, Reader(connection))
    finally:
        connection.close()


def _removed(one: Trace) -> str:
    """Why it could not be removed; "" where it is gone."""
    try:
        one.remove()
    except NavigatorError as error:
        return error.message
    except OSError as error:
        return error.strerror or "it cannot be removed"
    return ""
