"""Whether commands can be run in bubblewrap here, found out with every flag that a real run uses."""

from __future__ import annotations

import errno
import os
import shutil
import struct
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from navigator.git.runner import safe_path
from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.text import safe_line
from navigator.process.runner import TIME, run

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


_KEY_CALLS = (
    (0xC000003E, 248, 250),  # x86-64, and x32 by its bit
    (0x40000003, 286, 288),  # i386
    (0xC00000B7, 217, 219),  # arm64
    (0x40000028, 309, 311),  # arm
    (0xC00000F3, 217, 219),  # riscv64
)
"""Architecture (`AUDIT_ARCH_*`), and the first and last number of add_key, request_key and keyctl, which are neighbours."""

_X32_BIT = 0x40000000


def key_filter() -> bytes:
    """A seccomp program that answers ENOSYS to the calls for the kernel's keyrings, which no namespace shuts off.

    Source: linux/filter.h, linux/seccomp.h, and each architecture's table of system calls.
    """
    load, equal, at_least, above, mask, give = 0x20, 0x15, 0x35, 0x25, 0x54, 0x06
    allow, refuse = 0x7FFF0000, 0x00050000 | errno.ENOSYS
    program: list[tuple[int, int, int, int]] = []
    for architecture, first, last in _KEY_CALLS:
        program += [
            (load, 0, 0, 4),
            (equal, 0, 6, architecture),
            (load, 0, 0, 0),
            (mask, 0, 0, 0xFFFFFFFF ^ _X32_BIT),
            (at_least, 0, 2, first),
            (above, 1, 0, last),
            (give, 0, 0, refuse),
            (give, 0, 0, allow),
        ]
    program.append((give, 0, 0, allow))
    return b"".join(struct.pack("=HBBI", *step) for step in program)


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
    for name in table(__package__, "inside.toml")["etc"]:
        words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    return words


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
    if sys.platform != "linux":
        return Sandbox(reason="there is no sandbox on this system", hint="The sandbox for tests needs Linux.")
    found = shutil.which("bwrap", path=path)
    if found is None:
        return Sandbox(
            reason="bubblewrap is not installed",
            hint="Install it (`apt install bubblewrap`, `dnf install bubblewrap`), then `navigator doctor`.",
        )
    version = _run_program([found, "--version"])[1]
    match = patterns.search(r"(\d+)\.(\d+)", version)
    if match is None or (int(match[1]), int(match[2])) < OLDEST:
        return Sandbox(
            reason=f"bubblewrap is too old: {safe_line(version.strip())[:60] or 'it does not say its version'}",
            hint=f"Install {'.'.join(map(str, OLDEST))} or newer.",
        )
    # The whole set of flags: a kernel may allow a user namespace and refuse its network or its /proc.
    command = [
        *isolation(found),
        *("--seccomp", "0"),
        *system_files(),
        *kernel_files(16),
        *("--setenv", "PATH", "/usr/bin:/bin", "--chdir", "/tmp", "--remount-ro", "/"),
        *("--", "/bin/sh", "-c", "touch /tmp/x && test ! -e /home/sandbox/x"),
    ]
    status, said = _run_program(command, key_filter())
    if status == 0:
        return Sandbox(bwrap=found, scope=_scope(path))
    first = safe_line(said.strip().partition("\n")[0])[:160]
    return Sandbox(
        reason=f"bubblewrap cannot work here: {first or f'exit status {status}'}", hint=_hint(said)
    )


_USER_NAMESPACES = (
    ("kernel/apparmor_restrict_unprivileged_userns", "1", _APPARMOR),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        "Allow user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1.",
    ),
    ("user/max_user_namespaces", "0", "Allow user namespaces: sudo sysctl user.max_user_namespaces=10000."),
)
"""Settings in /proc/sys, the values that forbid user namespaces, and what to do about them."""


def _hint(said: str) -> str:
    for name, forbids, hint in _USER_NAMESPACES:
        if _setting(name) == forbids:
            return hint
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
    status, _ = _run_program([*words, "-p", "MemoryMax=64M", "-p", "TasksMax=16", "--", "/bin/sh", "-c", ":"])
    return words if status == 0 else ()


def scope_environment() -> dict[str, str]:
    """What `systemd-run --user` needs to find its manager; the command itself gets none of it."""
    names = ("XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
    return {name: os.environ[name] for name in names if name in os.environ}


def _run_program(command: list[str], given: bytes = b"") -> tuple[int, str]:
    try:
        env = {"PATH": os.defpath, "LC_ALL": "C", **scope_environment()}
        done = run(command, _SECONDS, given=given, merged=True, env=env, cwd="/")
    except OSError as error:
        return -1, str(error)
    said = (
        f"it did not end within {_SECONDS:g} s" if done.cut == TIME else done.out.decode("utf-8", "replace")
    )
    return done.code, said
