"""The sandbox for one run: which command line starts it, and in which environment the tests find themselves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from navigator.model.json_text import table
from navigator.model.models import Project
from navigator.sandbox.binds import Bind, Toolchains, asked_mounts, dependency_folders, toolchains_for
from navigator.sandbox.probe import (
    Sandbox,
    isolation,
    kernel_files,
    key_filter,
    scope_environment,
    system_files,
)
from navigator.sandbox.supervise import Limits

HOME = "/home/sandbox"
_FILTER = 9
"""The file descriptor from which bubblewrap reads the filter of system calls."""


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What a project's tests will see, decided before anything is written.

    `missing` are programs of the command that this machine lacks, `absent` mounts that were asked for and are not there.
    """

    project: Project
    command: str
    dependencies: tuple[Bind, ...]
    mounts: tuple[Bind, ...]
    toolchains: Toolchains
    absent: tuple[str, ...]

    @property
    def missing(self) -> tuple[str, ...]:
        """Programs that the command names and nothing here has."""
        return tuple(self.toolchains.missing)

    @property
    def binds(self) -> tuple[Bind, ...]:
        """Everything that is bound beside the tree."""
        return (*self.toolchains.binds.values(), *self.dependencies, *self.mounts)


def furnish(project: Project, tracked: Collection[str]) -> SandboxSpec:
    """Find what the project's check needs of this machine. Reads the checkout's folders; runs nothing.

    Args:
        tracked: every path of the tree that will be checked.
    """
    checkout = Path(project.path)
    dependencies = dependency_folders(checkout, tracked)
    mounts, absent = asked_mounts(project, tracked)
    environments = [
        Path(bind.target) for bind in (*dependencies, *mounts) if (Path(bind.source) / "pyvenv.cfg").is_file()
    ]
    toolchains = toolchains_for(project.check, tracked, checkout, environments)
    return SandboxSpec(project, project.check, dependencies, mounts, toolchains, absent)


def inner_environment(spec: SandboxSpec) -> dict[str, str]:
    """The whole environment of the tests: nothing of the caller's but the places of toolchains."""
    checkout = Path(spec.project.path)
    first: list[str] = []
    env: dict[str, str] = {}
    for bind in spec.dependencies:
        place = Path(bind.target)
        if place.parent != checkout:
            continue
        if (Path(bind.source) / "pyvenv.cfg").is_file() and "VIRTUAL_ENV" not in env:
            env["VIRTUAL_ENV"] = str(place)
            first.append(str(place / "bin"))
        if place.name == "node_modules":
            first.append(str(place / ".bin"))
    inside = table(__package__, "inside.toml")
    path = [*first, *spec.toolchains.path, *inside["path"]]
    return {
        **inside["environment"],
        **env,
        **spec.toolchains.env,
        "PATH": os.pathsep.join(dict.fromkeys(path)),
    }


@dataclass(frozen=True, slots=True)
class Program:
    """Something else than the check to run in the sandbox: its words, what it needs beside the project, its variables."""

    words: tuple[str, ...]
    binds: tuple[Bind, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


def sandboxed(
    sandbox: Sandbox,
    spec: SandboxSpec,
    limits: Limits,
    tree: Path,
    scratch: Path,
    program: Program | None = None,
) -> tuple[list[str], dict[str, str]]:
    """The command line that runs the check in bubblewrap, and the environment bubblewrap itself is started in.

    Args:
        tree: the written tree; inside, it is at the project's own path.
        scratch: a folder of this run, for what builds write.
        program: run in place of the check.
    """
    program = program or Program(("/bin/sh", "-c", spec.command))
    home = spec.project.path
    build = scratch / "build"
    build.mkdir(exist_ok=True)
    inside = Path(home)
    seccomp = scratch / "seccomp"
    seccomp.write_bytes(key_filter())
    words = [
        *_outside(sandbox, limits),
        *("/bin/sh", "-c", f'exec "$@" {_FILTER}<"$0"', str(seccomp)),
        *isolation(sandbox.bwrap),
        *("--seccomp", str(_FILTER)),
        *system_files(),
        *kernel_files(limits.tmpfs_mb),
    ]
    for name, text in _identity().items():
        (scratch / name).write_text(text, "ascii")
        words += ["--ro-bind", str(scratch / name), f"/etc/{name}"]
    for bind in sorted(spec.toolchains.binds.values(), key=lambda bind: bind.target):
        words += bind.words()
    words += [
        *Bind(str(tree), home, writable=True).words(),
        *Bind(str(build), "/build", writable=True).words(),
    ]
    for bind in (*spec.dependencies, *spec.mounts):
        if not _through_link(tree, inside, Path(bind.target)):
            words += bind.words()
    for bind in program.binds:
        words += bind.words()
    for name, value in {**inner_environment(spec), **program.env}.items():
        words += ["--setenv", name, value]
    words += ["--chdir", home, "--remount-ro", "/", "--", *_inside(limits), *program.words]
    return words, {"PATH": os.defpath, "LC_ALL": "C", **(scope_environment() if sandbox.scope else {})}


def _through_link(tree: Path, home: Path, target: Path) -> bool:
    """Whether a bind inside the project would follow a link that the tree holds."""
    if not target.is_relative_to(home):
        return False
    at = tree
    for part in target.relative_to(home).parts:
        at = at / part
        if at.is_symlink() or (at.exists() and not at.is_dir()):
            return True
    return False


def may_stand_at(path: str) -> bool:
    """Whether a project at this path can be shown there inside: not in place of the system's own folders."""
    place = Path(path)
    return (
        place.is_absolute()
        and len(place.parts) > 1
        and str(place) not in table(__package__, "inside.toml")["reserved"]
        and not any(place.is_relative_to(reserved) for reserved in ("/proc", "/dev"))
    )


def unsandboxed(
    spec: SandboxSpec, limits: Limits, tree: Path, scratch: Path
) -> tuple[list[str], dict[str, str]]:
    """The command line that runs the check without a sandbox, in the written tree, and its environment.

    Dependency folders are linked into the tree. Programs there may still import the user's own checkout.
    """
    home, tmp, build = (scratch / name for name in ("home", "tmp", "build"))
    for folder in (home, tmp, build):
        folder.mkdir(exist_ok=True)
    for bind in spec.dependencies:
        if _through_link(tree, Path(spec.project.path), Path(bind.target).parent):
            continue
        place = tree / Path(bind.target).relative_to(spec.project.path)
        if not place.exists() and not place.is_symlink():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(bind.source)
    moved = {HOME: str(home), "/tmp": str(tmp), "/build": str(build)}
    outside = {"PATH", "VIRTUAL_ENV", "GOMODCACHE"}
    env = {
        name: value if name in outside else _moved(value, moved)
        for name, value in inner_environment(spec).items()
    }
    for name, usual in (("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")):
        if name in env:
            env[name] = os.environ.get(name) or str(Path.home() / usual)
    return [*_prefix(), *_inside(limits, processes=False), "/bin/sh", "-c", spec.command], env


def _moved(value: str, moved: Mapping[str, str]) -> str:
    for old, new in moved.items():
        if value == old or value.startswith(f"{old}/"):
            return new + value[len(old) :]
    return value


def _outside(sandbox: Sandbox, limits: Limits) -> list[str]:
    """Words before bubblewrap: a control group where systemd lends one, and a low standing with the kernel."""
    words = list(sandbox.scope)
    if words:
        words += ["-p", f"MemoryMax={limits.memory_mb}M", "-p", "MemorySwapMax=0"]
        words += ["-p", f"TasksMax={limits.processes}", "--"]
    return [*words, *_prefix()]


def _prefix() -> list[str]:
    """The GPU's feeder and the screen come before tests, and tests go first when memory runs out."""
    words: list[str] = []
    if nice := shutil.which("nice", path=os.defpath):
        words += [nice, "-n", "10"]
    if choom := shutil.which("choom", path=os.defpath):
        words += [choom, "-n", "900", "--"]
    return words


def _inside(limits: Limits, *, processes: bool = True) -> list[str]:
    """Limits set inside: that on processes then counts the sandbox's own, not all that the user runs.

    Data, not address space: runtimes reserve much more of that than they ever use.
    """
    prlimit = shutil.which("prlimit", path=os.defpath)
    if prlimit is None:
        return []
    return [
        prlimit,
        *((f"--nproc={limits.processes}",) if processes else ()),
        f"--data={limits.memory_mb << 20}",
        f"--fsize={limits.disk_mb << 20}",
        "--core=0",
        "--",
    ]


def _identity() -> dict[str, str]:
    uid, gid = os.geteuid(), os.getegid()
    return {
        "passwd": f"sandbox:x:{uid}:{gid}::{HOME}:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
        "group": f"sandbox:x:{gid}:\nnogroup:x:65534:\n",
        "hosts": "127.0.0.1 localhost sandbox\n::1 localhost\n",
    }
