"""`navigator gc`, `navigator export` and `navigator forget`."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import click

from navigator.cli import output
from navigator.cli.command import Value, command, switch_given
from navigator.cli.session import confirmed, locked_dependencies, reading, state_paths
from navigator.config.paths import StatePaths, state_dir
from navigator.engine.acting import learn_secrets
from navigator.figures.page import moment_of
from navigator.model.errors import Conflict, UsageError
from navigator.model.secrets import Redactor
from navigator.model.text import plural
from navigator.setup.forget import KINDS, drop_old, traces, write_rows
from navigator.store.lock import StateLock


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
        gone = drop_old(deps, before, output.note)
    also = f" and {plural(gone['exam_items'], 'exam item')}" if gone["exam_items"] else ""
    said = (
        f"Deleted the texts of {plural(gone['answers'], 'answer')}, {plural(gone['events'], 'event')} and"
        f" the objects of {plural(gone['proposals'], 'proposal')}{also}."
    )
    output.show(gone | {"before": before}, lambda _: output.say(said))


@command(json=False)
def export(folder: Annotated[Path, Value("DIR")]) -> None:
    """Write everything as JSON lines, one file per table, to DIR.

    Secrets are redacted: those with a known form, and the values in files that no model is shown.
    """
    redact = Redactor()
    paths = state_paths()
    with reading(paths) as store:
        learn_secrets(redact, paths, store.projects(include_removed=True), output.note)
        for name, rows in write_rows(store, folder, redact):
            output.note(f"{name}  {rows}")


@command(yes=True)
def forget(*, keep: Annotated[tuple[str, ...], Value(type=click.Choice(KINDS))] = ()) -> None:
    """Remove what Navigator made on this machine: hooks, branches, systemd units, settings, state.

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
    found = [one for one in traces(paths) if one.kind not in keep]
    goes = [one for one in found if not one.kept]
    for one in () if switch_given("--json") else found:
        size = f", {max(1, one.bytes // 1024):,} KiB" if one.bytes else ""
        output.say(f"  {one.kind:<9} {one.place}{f'  (stays: {one.kept})' if one.kept else size}")
    if goes:
        confirmed(f"Remove {plural(len(goes), 'thing')}?")
    rows = [{"kind": one.kind, "place": one.place, "reason": one.kept or one.take_away()} for one in found]
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

    output.show({"forgotten": documents}, text, code=gone < len(goes))
