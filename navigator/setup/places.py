"""Where the files of an installation go, for a user's systemd and for the system's."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from navigator.model import patterns
from navigator.model.errors import UsageError
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
        polkit: the rule by which a user may manage the system's units; None in the user's scope.
        user: who the servers run as; "" for the user whose systemd it is.
        owner: that user's ids, in the system's scope.
        on: the machine.
        scripts: the folder on that machine for the swap script; None where it is used as it is installed here.
    """

    scope: Scope
    units: Path
    config: Path
    polkit: Path | None = None
    user: str = ""
    owner: tuple[int, int] | None = None
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


def system_places(user: str, root: Path = Path("/")) -> Places:
    """The places in /etc, for servers that run as `user`. `root` is put before all of them, for images and tests.

    Raises:
        UsageError: there is no such user.
    """
    try:
        entry = pwd.getpwnam(user if user.isprintable() and not set(user) & set('"\\ ') else "")
    except KeyError:
        raise UsageError(
            f"There is no user {user}.", hint="Name the user that runs the servers: --service-user NAME."
        ) from None
    return Places(
        "system",
        root / "etc/systemd/system",
        root / "etc/navigator",
        root / "etc/polkit-1/rules.d/50-navigator.rules",
        user,
        (entry.pw_uid, entry.pw_gid),
    )
