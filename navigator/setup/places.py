"""Where the files of an installation are, and where those of one by hand for the system's systemd are."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from navigator.model import patterns
from navigator.model.states import Role
from navigator.swap.remote.machine import HERE, Machine, There

Scope = Literal["user", "system"]

SERVER_UNITS = {
    Role.GENERATOR: "navigator-generator.service",
    Role.REVIEWER: "navigator-reviewer.service",
}
CONDUCTOR_UNIT = "navigator.service"
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

    @property
    def all_units(self) -> list[str]:
        """Every unit an installation may have written. The conductor's is where the conductor is."""
        return [*SERVER_UNITS.values(), *([] if self.on.host else [CONDUCTOR_UNIT])]


def user_places() -> Places:
    """The places in the user's own configuration folder."""
    config = Path(os.environ.get("XDG_CONFIG_HOME", "") or "~/.config").expanduser()
    return Places("user", config / "systemd" / "user", config / "navigator")


def places_on(machine: There) -> Places:
    """The places in the home of who ssh logs in as. The folder of the scripts is `SCRIPT_THERE`'s of the strategy."""
    home, config = machine.home()
    scripts = home / ".local" / "share" / "navigator"
    return Places("user", config / "systemd" / "user", config / "navigator", on=machine, scripts=scripts)


def system_places(on: Machine = HERE) -> Places:
    """The places in /etc, for units that somebody wrote by hand."""
    return Places("system", Path("/etc/systemd/system"), Path("/etc/navigator"), on)
