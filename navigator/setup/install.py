"""An installation: where its files are, writing and removing them, systemd, and what can be observed of its servers."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from navigator.config.settings import SystemdSettings
from navigator.model import patterns
from navigator.model.errors import Conflict, MissingPart, UsageError
from navigator.model.states import Role
from navigator.model.text import safe_line
from navigator.setup.elsewhere import There
from navigator.setup.files import (
    WHY_LEFT_ALONE,
    PlannedFile,
    action_for,
    read_text,
    remove_empty,
    state_of,
    write,
)
from navigator.swap.machine import HERE, Machine
from navigator.swap.ssh import SshConnection

Scope = Literal["user", "system"]

SERVER_UNITS = {
    Role.GENERATOR: "navigator-generator.service",
    Role.REVIEWER: "navigator-reviewer.service",
}
SCRIPTS = ("model-swap.sh", "wait-for-vram.sh")
"""What another machine needs beside the units."""


@dataclass(frozen=True, slots=True)
class Places:
    """The files of one scope.

    Attributes:
        scope: whose systemd.
        units: the folder with the units.
        config: the folder of swap.conf.
        on: the machine.
        scripts: the folder on that machine for the swap script; None where it is used as it is installed here.
    """

    scope: Scope
    units: Path
    config: Path
    on: Machine = HERE
    scripts: Path | None = None

    @property
    def keys(self) -> Path:
        """The folder with the keys (0700)."""
        return self.config / "keys"

    @property
    def swap_conf(self) -> Path:
        """What model-swap.sh reads."""
        return self.config / "swap.conf"

    @property
    def server_keys(self) -> Path:
        """The YAML file by which SGLang gets both keys, since a command line is open to everybody."""
        return self.keys / "sglang.yaml"

    @property
    def api_key(self) -> Path:
        """The key of the ordinary endpoints, alone in a file."""
        return self.keys / "api.key"

    @property
    def admin_key(self) -> Path:
        """The key of the administrator's endpoints, alone in a file."""
        return self.keys / "admin.key"

    @property
    def keys_env(self) -> Path:
        """Both keys as variables, for Navigator itself: on this machine, wherever the servers are."""
        if not self.on.host:
            return self.keys / "keys.env"
        return user_places().keys / f"{patterns.sub('[^A-Za-z0-9.@-]', '_', self.on.host)}.env"

    def unit(self, name: str) -> Path:
        """The file of a unit."""
        return self.units / name

    @property
    def systemctl(self) -> list[str]:
        """The command that speaks to this scope's systemd."""
        return ["systemctl", "--user"] if self.scope == "user" else ["systemctl"]


def user_places() -> Places:
    """The places in the user's own configuration folder."""
    config = Path(os.environ.get("XDG_CONFIG_HOME", "") or "~/.config").expanduser()
    return Places("user", config / "systemd" / "user", config / "navigator")


def places_of(scope: Scope, on: Machine = HERE) -> Places:
    """The places of a scope on a machine: "system" is /etc, for units that somebody wrote by hand, "user" a home."""
    if scope == "system":
        return Places("system", Path("/etc/systemd/system"), Path("/etc/navigator"), on)
    return places_on(on) if isinstance(on, There) else user_places()


def places_on(machine: There) -> Places:
    """The places in the home of who ssh logs in as. The folder of the scripts is `SCRIPT_THERE`'s of the strategy."""
    home, config = machine.home()
    scripts = home / ".local" / "share" / "navigator"
    return Places("user", config / "systemd" / "user", config / "navigator", on=machine, scripts=scripts)


@contextmanager
def places_at(host: str | None) -> Iterator[Places]:
    """The user's places, on another machine where a host is named; the connection is closed afterwards.

    Raises:
        UsageError: ssh cannot take this as a host.
    """
    if host is None:
        yield user_places()
        return
    try:
        SystemdSettings(host=host)
    except ValueError:
        raise UsageError(
            f"{host!r} is no host for ssh.", hint="Use a name from ~/.ssh/config, or user@host."
        ) from None
    with closing(SshConnection(host)) as connection:
        yield places_on(There(connection))


# Writing and removing

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


def unit_state(places: Places, unit: str) -> str:
    """systemd's state of a unit: active, inactive, failed …; "unknown" if it does not answer."""
    done = places.on.run([*places.systemctl, "is-active", unit], _SYSTEMCTL_SECONDS)
    said = done.out.decode(errors="replace").split() if done is not None else []
    return safe_line(said[0]) if said else "unknown"


def take_back(*, dry_run: bool = False) -> list[Removal]:
    """Remove the files of the installation on this machine that are unchanged, and have systemd reload.

    Raises:
        Conflict: a unit still runs.
    """
    places = user_places()
    running = [unit for unit in SERVER_UNITS.values() if unit_state(places, unit) in _RUNS]
    if running and not dry_run:
        raise Conflict(
            f"{', '.join(running)} is still running.",
            hint=f"Stop it first: {' '.join([*places.systemctl, 'stop', *running])}",
        )
    # The two plain key files have no checksum line: they are ours if the file that has one holds the same keys.
    ours = _keys_in(places.server_keys)
    sealed = [*map(places.unit, SERVER_UNITS.values()), places.swap_conf]
    removals = [_remove(path, None, dry_run=dry_run) for path in sealed]
    removals += [_remove(path, ours, dry_run=dry_run) for path in (places.admin_key, places.api_key)]
    removals += [_remove(path, None, dry_run=dry_run) for path in (places.server_keys, places.keys_env)]
    if not dry_run and any(one.action == "removed" for one in removals):
        remove_empty(places.keys)
        remove_empty(places.config)
        reload_systemd(places)
    return removals


def _remove(path: Path, keys: frozenset[str] | None, *, dry_run: bool) -> Removal:
    if keys is None:
        state = state_of(path)
    else:
        text = read_text(path)
        state = "absent" if text is None else "ours" if text.strip() in keys else "changed"
    if state == "absent":
        return Removal(path, "absent")
    if state in WHY_LEFT_ALONE:
        return Removal(path, "kept", WHY_LEFT_ALONE[state])
    if not dry_run:
        try:
            path.unlink()
        except OSError as error:
            return Removal(path, "kept", f"cannot be removed: {error.strerror}")
    return Removal(path, "removed")


def _keys_in(path: Path) -> frozenset[str]:
    if state_of(path) != "ours":
        return frozenset()
    text = read_text(path) or ""
    return frozenset(patterns.findall(r'^[a-z-]+: "([^"]+)"$', text, flags=patterns.MULTILINE))


def _systemctl(places: Places, *words: str) -> str:
    done = places.on.run([*places.systemctl, *words], _SYSTEMCTL_SECONDS)
    if done is None:
        return f"systemctl is not installed, or did not answer within {_SYSTEMCTL_SECONDS:g} seconds"
    said = done.err.decode(errors="replace").strip().splitlines()
    return "" if done.code == 0 else safe_line(said[-1] if said else f"exit code {done.code}")


# What units say, and who listens where

_LISTEN = "0A"
_FLAG = patterns.compile(r"(--[a-z][\w-]*)(?:[ =]+(\"(?:[^\"\\]|\\.)*\"|-?[^\s\\-][^\s\\]*))?")
_EXEC = patterns.compile(r"^ExecStart=((?:\\\n|[^\n])*)", patterns.MULTILINE)


def open_to_others(port: int) -> bool | None:
    """Whether something listens on a TCP port at an address that is not the loopback; None if nothing listens."""
    lines: list[str] = []
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        with contextlib.suppress(OSError):
            lines += table.read_text().splitlines()
    found: bool | None = None
    for line in lines:
        with contextlib.suppress(ValueError, IndexError):  # a heading
            fields = line.split()
            address, _, number = fields[1].partition(":")
            if fields[3] == _LISTEN and int(number, 16) == port:
                found = bool(found) or not _is_loopback(address)
    return found


def _is_loopback(address: str) -> bool:
    """An address as the kernel prints it: 32-bit words, each with its bytes reversed."""
    if len(address) == 8:
        return address[6:] == "7F"
    mapped = address[:24] == "0000000000000000FFFF0000" and address[30:] == "7F"
    return mapped or address == "00000000000000000000000001000000"


def flags_of_unit(text: str) -> dict[str, str]:
    """The flags in a unit's ExecStart, with their values; "" for switches."""
    command = _EXEC.search(text)
    if command is None:
        return {}
    joined = command.group(1).replace("\\\n", " ")
    return {name: value.strip('"') for name, value in _FLAG.findall(joined)}


def program_of_unit(text: str) -> str:
    """The program that a unit's ExecStart runs; "" where it has none."""
    command = _EXEC.search(text)
    words = command.group(1).split() if command else []
    return words[0].strip('"') if words else ""
