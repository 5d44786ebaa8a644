"""`navigator forget`: remove what Navigator made."""

from __future__ import annotations

import sys
from contextlib import suppress

import click

from navigator.cli import output
from navigator.config.paths import StatePaths, state_dir
from navigator.model.errors import Conflict, NavigatorError, UsageError
from navigator.model.text import plural
from navigator.setup.forget import KINDS, Trace, made_here
from navigator.store.lock import StateLock


@click.command()
@click.option("--keep", type=click.Choice(KINDS), multiple=True, help="Leave these.")
@click.option("--unmerged", is_flag=True, help="Also delete branches of landed commits that are not merged.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@output.JSON
def forget(keep: tuple[str, ...], unmerged: bool, yes: bool, as_json: bool) -> None:
    """Remove what Navigator made on this machine: hooks, branches, systemd units, cached flags, settings, state.

    It lists everything first. Branches that are not merged stay without --unmerged, and what Navigator did not make stays always.
    What installed the program removes it: `pipx uninstall navigator-cascade`, for example.
    """
    paths = StatePaths(state_dir())
    lock = StateLock(paths)
    if paths.root.is_dir() and not lock.acquire(patience=2.0):
        raise Conflict("A conductor is running.", hint="`navigator run --stop` ends it.")
    found = [one for one in _find_traces(paths, unmerged) if one.kind not in keep]
    goes = [one for one in found if not one.kept]
    if not as_json:
        for one in found:
            size = f", {max(1, one.bytes // 1024):,} KiB" if one.bytes else ""
            output.say(f"  {one.kind:<9} {one.place}{f'  (stays: {one.kept})' if one.kept else size}")
    if goes and not yes:
        if not sys.stdin.isatty():
            raise UsageError("There is no terminal to confirm at, and nothing was done.", hint="Add --yes.")
        click.confirm(f"Remove {plural(len(goes), 'thing')}", abort=True, err=True)
    rows = [{"kind": one.kind, "place": one.place, "removed": False, "reason": one.kept} for one in found]
    for one, row in zip(found, rows, strict=True):
        if not one.kept:
            row["reason"] = _removed(one)
            row["removed"] = not row["reason"]
    lock.release()
    if "state" not in keep:
        paths.lock.unlink(missing_ok=True)
    with suppress(OSError):  # it keeps what is not Navigator's
        paths.root.rmdir()
    gone = sum(bool(row["removed"]) for row in rows)
    if as_json:
        output.print_json({"forgotten": rows})
    else:
        for one, row in zip(found, rows, strict=True):
            if row["reason"] and not one.kept:
                output.say(f"✗ {row['place']}: {row['reason']}")
        output.say(f"{plural(gone, 'thing')} removed." if goes else "There is nothing to remove.")
    sys.exit(int(gone < len(goes)))


def _find_traces(paths: StatePaths, unmerged: bool) -> list[Trace]:
    from navigator.store.database import open_reader
    from navigator.store.reads.reader import Reader

    if not paths.database.exists():
        return made_here(paths, None)
    connection = open_reader(paths.database)
    try:
        return made_here(paths, Reader(connection), unmerged=unmerged)
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
