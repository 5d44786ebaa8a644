"""Installs and uninstalls: writes files, reloads systemd, removes files that are unchanged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from navigator.model import patterns
from navigator.model.errors import Conflict, MissingPart
from navigator.model.text import safe_line
from navigator.setup.files import PlannedFile, action_for, read_text, remove_empty, state_of, write
from navigator.setup.places import SCRIPTS, Places
from navigator.swap.remote.machine import HERE, Machine

_SYSTEMCTL_SECONDS = 60.0
_RUNS = ("active", "activating", "deactivating", "reloading")


@dataclass(frozen=True, slots=True)
class Removal:
    """What happened to one file of an installation that is removed; a kept one says why."""

    path: Path
    action: Literal["removed", "kept", "absent"]
    reason: str = ""


def carry_out(files: Sequence[PlannedFile]) -> list[Path]:
    """Write what differs; returns the paths written. Keys come first, so that no unit names a file that is not there.

    Raises:
        MissingPart: a folder cannot be written.
    """
    written = []
    for planned in sorted(files, key=lambda each: not each.secret):
        if action_for(planned) == "same":
            continue
        try:
            write(planned)
        except OSError as error:
            raise MissingPart(
                f"{planned.path} cannot be written: {error.strerror}.",
                hint="Files written so far stay. Make the folder writable, then run it again.",
            ) from error
        written.append(planned.path)
    return written


def reload_systemd(places: Places) -> str:
    """Have systemd reload its units; "" on success, else why not."""
    return _systemctl(places, "daemon-reload")


def running_units(places: Places) -> list[str]:
    """The units of the installation that are running; [] also if systemd cannot be asked."""
    return [unit for unit in places.all_units if unit_state(places, unit) in _RUNS]


def unit_state(places: Places, unit: str) -> str:
    """systemd's state of a unit: active, inactive, failed …; "unknown" if it does not answer."""
    done = places.on.run([*places.systemctl, "is-active", unit], _SYSTEMCTL_SECONDS)
    said = done.out.decode(errors="replace").split() if done is not None else []
    return safe_line(said[0]) if said else "unknown"


def take_back(places: Places, *, dry_run: bool = False) -> list[Removal]:
    """Remove the files of an installation that are unchanged.

    Raises:
        Conflict: a unit still runs.
    """
    running = running_units(places)
    if running and not dry_run:
        raise Conflict(
            f"{', '.join(running)} is still running.",
            hint=f"Stop it first: {' '.join([*places.systemctl, 'stop', *running])}",
        )
    # The two plain key files have no checksum line: they are ours if the file that has one holds the same keys.
    ours = _keys_in(places)
    bare = {places.api_key, places.admin_key}
    paths = [places.unit(name) for name in places.all_units]
    paths.append(places.swap_conf)
    paths += [places.scripts / name for name in SCRIPTS] if places.scripts else []
    removals = [
        _remove(path, places.on, ours if path in bare else None, dry_run=dry_run)
        for path in [*paths, *sorted(bare), places.server_keys]
    ]
    removals.append(_remove(places.keys_env, HERE, None, dry_run=dry_run))
    if not dry_run:
        for folder in filter(None, (places.scripts, places.keys, places.config)):
            remove_empty(folder, places.on)
        remove_empty(places.keys_env.parent)
    return removals


def _remove(path: Path, on: Machine, keys: frozenset[str] | None, *, dry_run: bool) -> Removal:
    if keys is None:
        state = state_of(path, on)
    else:
        text = read_text(path, on)
        state = "absent" if text is None else "ours" if text.strip() in keys else "changed"
    if state == "absent":
        return Removal(path, "absent")
    if state != "ours":
        words = "changed since Navigator wrote it" if state == "changed" else "not written by Navigator"
        return Removal(path, "kept", words)
    if not dry_run:
        try:
            on.remove(path)
        except OSError as error:
            return Removal(path, "kept", f"cannot be removed: {error.strerror}")
    return Removal(path, "removed")


def _keys_in(places: Places) -> frozenset[str]:
    path = places.server_keys
    if state_of(path, places.on) != "ours":
        return frozenset()
    text = read_text(path, places.on) or ""
    return frozenset(patterns.findall(r'^[a-z-]+: "([^"]+)"$', text, flags=patterns.MULTILINE))


def _systemctl(places: Places, *words: str) -> str:
    done = places.on.run([*places.systemctl, *words], _SYSTEMCTL_SECONDS)
    if done is None:
        return f"systemctl is not installed, or did not answer within {_SYSTEMCTL_SECONDS:g} seconds"
    said = done.err.decode(errors="replace").strip().splitlines()
    return "" if done.code == 0 else safe_line(said[-1] if said else f"exit code {done.code}")
