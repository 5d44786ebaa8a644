"""A real `systemd --user`, started by hand beside whatever runs as process 1: its own control groups, home and units.

systemd wants /run/systemd/system to exist, which would mislead other programs; so it gets a mount namespace with an empty
/run. Its private socket stands in the home, where this side of the namespace reaches it too. No journal: units append to files.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MANAGER = Path("/lib/systemd/systemd")
_PATIENCE = 20.0

_START = """
set -eu
for tree in /sys/fs/cgroup/systemd /sys/fs/cgroup/unified /sys/fs/cgroup; do
    [ -e "$tree/cgroup.procs" ] || continue
    mkdir -p "$tree/$GROUP"
    echo $$ >"$tree/$GROUP/cgroup.procs"
done
exec unshare --mount --propagation private sh -c \
    'mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system &&
     exec "$0" --user --log-target=console --log-level=notice' "$MANAGER"
"""


def missing() -> str:
    """Why there can be none here; "" where there can."""
    if not MANAGER.exists() or shutil.which("systemctl") is None:
        return "systemd: apt install systemd"
    if os.geteuid() != 0:
        return "root: only root can run them"
    for name in ("unshare", "curl", "flock"):
        if shutil.which(name) is None:
            return f"{name}: not installed"
    return ""


@dataclass(frozen=True)
class UserSystemd:
    """A manager that runs. `home` holds units, sockets and logs."""

    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """What a program needs to find this manager and no other."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_RUNTIME_DIR": str(self.home / "run"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
        }

    def ctl(self, *words: str, check: bool = True) -> str:
        """`systemctl --user WORDS`; what it printed."""
        done = subprocess.run(
            ["systemctl", "--user", "--no-pager", *words],
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert not check or done.returncode == 0, done.stderr
        return done.stdout.strip()

    def unit(self, name: str, text: str) -> None:
        """Write a unit and have it read."""
        (self.home / ".config" / "systemd" / "user" / name).write_text(text, "utf-8")
        self.ctl("daemon-reload")

    def state(self, name: str) -> str:
        """`active`, `inactive`, `failed` or on the way between."""
        return self.ctl("show", name, "-p", "ActiveState", "--value")

    def main_pid(self, name: str) -> int:
        """The unit's main process; 0 when it has none."""
        return int(self.ctl("show", name, "-p", "MainPID", "--value") or 0)

    def forget(self) -> None:
        """End every unit of the tests, at once, and remove them."""
        folder = self.home / ".config" / "systemd" / "user"
        names = [path.name for path in folder.glob("*.service")]
        for name in names:
            self.ctl("kill", "-s", "KILL", name, check=False)
        if names:
            self.ctl("stop", *names, check=False)
            self.ctl("reset-failed", *names, check=False)
        for name in names:
            (folder / name).unlink()
        self.ctl("daemon-reload")


@contextlib.contextmanager
def user_systemd(home: Path) -> Iterator[UserSystemd]:
    """A manager for as long as the block runs; whatever it started ends with it."""
    for folder in (home / "run", home / ".config" / "systemd" / "user"):
        folder.mkdir(mode=0o700, parents=True)
    manager = UserSystemd(home)
    group = f"navigator-test-{os.getpid()}-{id(manager):x}"  # several may run beside one another
    with (home / "manager.log").open("wb") as log:
        process = subprocess.Popen(
            ["sh", "-c", _START],
            env=manager.environment | {"GROUP": group, "MANAGER": str(MANAGER)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait_until_up(manager, process)
        yield manager
        manager.forget()
    finally:
        process.terminate()
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _remove_groups(group)


def _wait_until_up(manager: UserSystemd, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        if "NAME=" in manager.ctl("show-environment", check=False) or manager.ctl(
            "show", "-p", "Version", check=False
        ):
            return
        time.sleep(0.05)
    log = (manager.home / "manager.log").read_text("utf-8", "replace")
    raise AssertionError(f"systemd --user did not start:\n{log[-2000:]}")


def _remove_groups(group: str) -> None:
    for tree in Path("/sys/fs/cgroup").glob("*/cgroup.procs"):
        _remove_group(tree.parent / group)
    _remove_group(Path("/sys/fs/cgroup") / group)


def _remove_group(folder: Path) -> None:
    """Whoever still is in it (a unit that ignored everything) is ended; then it is removed, inner folders first."""
    if not folder.is_dir():
        return
    for procs in folder.rglob("cgroup.procs"):
        for pid in procs.read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
    deadline = time.monotonic() + 5
    for inner in [*sorted((p for p in folder.rglob("*") if p.is_dir()), reverse=True), folder]:
        while time.monotonic() < deadline:
            try:
                inner.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)
            else:
                break
