"""Whether commands can be run in bubblewrap here, found out with every flag that a real run uses."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from navigator.domain.text import safe_line
from navigator.workspace.git.runner import safe_path

OLDEST = (0, 8)
"""bubblewrap 0.8 brought `--disable-userns`, 0.7 `--size`: both are relied on."""

_SECONDS = 20.0

_APPARMOR = (
    "This kernel lets only named programs make user namespaces (Ubuntu 24.04 and later). Load the profile for bwrap: "
    "sudo apt install apparmor-profiles && sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict "
    "/etc/apparmor.d/ && sudo systemctl reload apparmor."
)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """What the probe found.

    Attributes:
        bwrap: the program; "" where there is no sandbox.
        reason: why there is none, in words.
        hint: what to do about it.
        scope: words before a command that give it a control group of its own, where systemd lends one.
    """

    bwrap: str = ""
    reason: str = ""
    hint: str = ""
    scope: tuple[str, ...] = ()

    @property
    def works(self) -> bool:
        """Whether commands can be run in it."""
        return bool(self.bwrap)


def isolation(bwrap: str) -> list[str]:
    """The flags that shut a command in, without the files it sees: no network, no capabilities, no further namespaces."""
    return [
        bwrap,
        "--unshare-user",
        "--unshare-all",
        "--die-with-parent",
        "--new-session",
        "--disable-userns",
        "--assert-userns-disabled",
        "--cap-drop",
        "ALL",
        "--hostname",
        "sandbox",
        "--clearenv",
    ]


def system_files() -> list[str]:
    """The operating system, read-only: `/usr` and what of `/etc` programs need to start. No home, no `/var`, no `/run`."""
    words = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "lib", "lib32", "lib64", "libx32", "sbin"):
        place = Path("/") / name
        if place.is_symlink():
            words += ["--symlink", str(place.readlink()), str(place)]
        elif place.is_dir():
            words += ["--ro-bind", str(place), str(place)]
    for place in (Path("/nix/store"), Path("/run/current-system/sw")):
        if place.is_dir():
            words += ["--ro-bind", str(place.resolve()), str(place)]
    for name in _ETC:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return words


_ETC = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "ssl/certs",
    "ssl/openssl.cnf",
    "pki/tls/certs",
    "ca-certificates",
    "localtime",
    "nsswitch.conf",
    "protocols",
    "services",
    "mime.types",
    "os-release",
    "debian_version",
)


def kernel_files(tmpfs_mb: int) -> list[str]:
    """`/proc`, `/dev` and the folders that are memory, each of a stated size."""
    tmp, small = str(tmpfs_mb << 20), str(max(16, tmpfs_mb // 4) << 20)
    return [
        *("--proc", "/proc", "--dev", "/dev"),
        # Read-only as a whole: whoever is root outside could else set what belongs to the whole kernel (core_pattern).
        *("--remount-ro", "/proc"),
        *("--perms", "1777", "--size", small, "--tmpfs", "/dev/shm"),
        *("--remount-ro", "/dev"),
        *("--perms", "1777", "--size", tmp, "--tmpfs", "/tmp"),
        *("--size", small, "--tmpfs", "/home/sandbox"),
        *("--size", small, "--tmpfs", "/run"),
    ]


def probe() -> Sandbox:
    """Look once a process, and remember: whether bubblewrap is here, new enough, and allowed to do all that is asked."""
    return _probe(safe_path())


@lru_cache(maxsize=8)
def _probe(path: str) -> Sandbox:
    found = shutil.which("bwrap", path=path)
    if found is None:
        return Sandbox(
            reason="bubblewrap is not installed",
            hint="Install it (`apt install bubblewrap`, `dnf install bubblewrap`), then `navigator doctor`.",
        )
    version = _said([found, "--version"])[1]
    match = re.search(r"(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        return Sandbox(
            reason=f"bubblewrap is too old: {safe_line(version.strip())[:60] or 'it does not say its version'}",
            hint=f"Install {'.'.join(map(str, OLDEST))} or newer.",
        )
    # The whole set of flags: a kernel may allow a user namespace and refuse its network or its /proc.
    command = [
        *isolation(found),
        *system_files(),
        *kernel_files(16),
        *("--setenv", "PATH", "/usr/bin:/bin", "--chdir", "/tmp", "--remount-ro", "/"),
        *("--", "/bin/sh", "-c", "touch /tmp/x && test ! -e /home/sandbox/x"),
    ]
    status, said = _said(command)
    if status == 0:
        return Sandbox(bwrap=found, scope=_scope(path))
    first = safe_line(said.strip().partition("\n")[0])[:160]
    return Sandbox(
        reason=f"bubblewrap cannot work here: {first or f'exit status {status}'}", hint=_hint(said)
    )


def _hint(said: str) -> str:
    if _setting("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return _APPARMOR
    if _setting("kernel/unprivileged_userns_clone") == "0":
        return "Allow user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1."
    if _setting("user/max_user_namespaces") == "0":
        return "Allow user namespaces: sudo sysctl user.max_user_namespaces=10000."
    if "uid map" in said or "RTM_NEWADDR" in said:
        return _APPARMOR
    return "In a container, allow user namespaces to it; or set `[checks] unsandboxed = true`, which runs tests unprotected."


def _setting(name: str) -> str:
    try:
        return Path("/proc/sys", name).read_text("ascii").strip()
    except OSError:
        return ""


def _scope(path: str) -> tuple[str, ...]:
    """`systemd-run --user --scope`, where a user's systemd answers: it bounds memory and processes of the whole."""
    found = shutil.which("systemd-run", path=path)
    if found is None or not os.environ.get("XDG_RUNTIME_DIR"):
        return ()
    words = (found, "--user", "--scope", "--quiet", "--collect")
    status, _ = _said([*words, "-p", "MemoryMax=64M", "-p", "TasksMax=16", "--", "/bin/sh", "-c", ":"])
    return words if status == 0 else ()


def scope_environment() -> dict[str, str]:
    """What `systemd-run --user` needs to find its manager; the command itself gets none of it."""
    names = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
    return {name: os.environ[name] for name in names if name in os.environ}


def _said(command: list[str]) -> tuple[int, str]:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={"PATH": os.defpath, "LC_ALL": "C", **scope_environment()},
            cwd="/",
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    return done.returncode, done.stdout.decode("utf-8", "replace")
