"""What of this machine a project's tests see: folders that git ignores in the checkout, what the user allows, and toolchains.

Everything here is read-only inside. The checkout is the user's own, the tree is not: a folder is bound only where the tree
has neither a file nor a link.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from navigator.git.runner import safe_path
from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.models import Project

_DEEPEST = 4
_MOST_LOOKED_AT = 20_000
_MOST_FOLDERS = 64
_NEVER = frozenset({".git", ".hg", ".svn"})


@dataclass(frozen=True, slots=True)
class Bind:
    """`source` of this machine is seen as `target` inside. Both absolute; read-only unless `writable`."""

    source: str
    target: str
    writable: bool = False

    def words(self) -> list[str]:
        """As bubblewrap wants it."""
        return ["--bind" if self.writable else "--ro-bind", self.source, self.target]


def dependency_folders(checkout: Path, tracked: Collection[str]) -> tuple[Bind, ...]:
    """Folders of dependencies in the user's checkout that the tree does not hold, top level first.

    Args:
        checkout: the user's checkout; nothing where there is none (a bare repository).
        tracked: every path of the tree that is checked.
    """
    held = {path for name in tracked for path in _above(name)}
    found: list[Bind] = []
    for folder in _candidates(checkout):
        inside = folder.relative_to(checkout).as_posix()
        # A parent that the tree does not have, or has as a file, leaves nothing to bind to.
        parent = inside.rpartition("/")[0]
        if inside in held or (parent and parent not in held) or parent in tracked:
            continue
        try:
            real = folder.resolve()
        except (OSError, RuntimeError):
            continue  # a link that leads to itself
        if real == checkout or checkout.is_relative_to(real) or Path.home().is_relative_to(real):
            continue
        found.append(Bind(str(real), str(folder)))
        if len(found) == _MOST_FOLDERS:
            break
    return tuple(found)


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:n]) for n in range(1, len(parts) + 1))


def _candidates(checkout: Path) -> Iterator[Path]:
    """Folders named like one of dependencies, or holding a Python environment, breadth first, within bounds."""
    level, looked_at = [checkout], 0
    known = table(__package__, "inside.toml")["dependencies"]
    for _ in range(_DEEPEST):
        below: list[Path] = []
        for folder in level:
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            except OSError:
                continue
            for entry in entries:
                looked_at += 1
                if looked_at > _MOST_LOOKED_AT:
                    return
                path = Path(entry.path)
                if entry.name in _NEVER or not _is_folder(entry):
                    continue
                environment = os.path.isfile(path / "pyvenv.cfg")  # noqa: PTH113 it answers for any path
                if environment or (entry.name in known and _may_follow(entry)):
                    yield path
                elif not entry.is_symlink() and not entry.name.startswith("."):
                    below.append(path)
        level = below


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # a link that leads to itself, or a folder that may not be looked into


def _may_follow(entry: os.DirEntry[str]) -> bool:
    """A link of that name is followed only to a folder that is plainly what its name says."""
    return not entry.is_symlink() or entry.name == "node_modules"


def asked_mounts(project: Project, tracked: Collection[str] = ()) -> tuple[tuple[Bind, ...], tuple[str, ...]]:
    """The project's `check_mounts`, read-only at their own place: (those that are there, those that are not).

    A link that the repository holds leads wherever a commit wants it to: what lies behind one counts as not there.
    """
    there: list[Bind] = []
    absent: list[str] = []
    for named in project.check_mounts:
        place = Path(project.path, Path(named).expanduser()).absolute()
        if place.exists() and not _through_tracked_link(place, Path(project.path), tracked):
            there.append(Bind(str(place.resolve()), str(place)))
        else:
            absent.append(named)
    return tuple(there), tuple(absent)


def _through_tracked_link(place: Path, checkout: Path, tracked: Collection[str]) -> bool:
    inside = [step for step in (place, *place.parents) if checkout in step.parents]
    return any(step.is_symlink() and str(step.relative_to(checkout)) in tracked for step in inside)


def digest_of(binds: Collection[Bind]) -> list[str]:
    """`path:time` (ns) of the bound folders and of the files that installers rewrite: it changes when one of them does."""
    told: list[str] = []
    for bind in binds:
        source = Path(bind.source)
        marks = [source, source / ".package-lock.json", source / "modules.txt", *_site_packages(source)]
        told += [f"{mark}:{_time(mark)}" for mark in marks]
    return told


def _site_packages(source: Path) -> list[Path]:
    if not (source / "pyvenv.cfg").is_file():
        return []
    return sorted(source.glob("lib*/python*/site-packages"))[:4]


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


# Interpreters and compilers outside `/usr`: found from the command, bound read-only, and nothing else from the home folder.
#
# A program `ROOT/bin/x` brings ROOT along, unless that is the home folder or one that many programs share (`~/.local`,
# `~/.cargo`): then the file alone. Files that may hold
# credentials (`~/.npmrc`, `~/.cargo/credentials.toml`, `~/.config`) are never bound; Cargo's `config.toml` only if no line of it
# looks like a secret.

_BIN = frozenset({"bin", "sbin", "shims"})
_SYSTEM = ("/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/", "/nix/store/")
_MOST_LINKS = 40

_TABLE = "toolchains.toml"
_ASSIGNMENT = patterns.compile(r"[A-Za-z_]\w*=")
_SECRET_LINE = patterns.compile(r"(?i)^[^#\n]*(?:token|secret|password|credential)", patterns.MULTILINE)


@dataclass
class Toolchains:
    """What a command needs of this machine: binds, folders for its PATH, and variables; `missing` are programs not found."""

    binds: dict[str, Bind] = field(default_factory=dict)
    path: list[str] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)

    def add(self, source: Path, target: Path | None = None) -> None:
        """Bind `source` at `target`, or at its own place."""
        place = str(target or source)
        if not place.startswith(_SYSTEM) and source.exists():
            self.binds[place] = Bind(str(source.resolve()), place)


def programs_of(command: str) -> tuple[str, ...]:
    """The programs that a shell command starts by name, in order; assignments and prefixes such as `env` are passed over."""
    try:
        lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|()\n")
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return ()
    prefixes = table(__package__, _TABLE)["prefixes"]
    found: list[str] = []
    expects = True
    for word in words:
        if not word.strip(";&|()\n"):
            expects = True
        elif expects and not _ASSIGNMENT.match(word) and not word.startswith("-"):
            found.append(word)
            expects = word in prefixes
    return tuple(dict.fromkeys(found))


def toolchains_for(
    command: str, tracked: Collection[str], checkout: Path, environments: Iterable[Path]
) -> Toolchains:
    """Find what `command` needs.

    Args:
        command: the project's check.
        tracked: paths of the tree; manifests at its top say what a runner such as `make` will start.
        checkout: programs inside of it come with its own dependency folders.
        environments: Python environments that are bound, whose interpreters have to be there.
    """
    made = Toolchains()
    search = _search(checkout)
    programs = [program for program in programs_of(command) if program]
    known = table(__package__, _TABLE)
    if any(Path(program).name in known["runners"] for program in programs) or not programs:
        programs += [name for file, names in known["manifests"].items() if file in tracked for name in names]
    for program in list(programs):
        programs += known["along"].get(Path(program).name, ())
    for environment in environments:
        _python_of(made, environment)
    own = [folder / "bin" for folder in environments]
    for program in dict.fromkeys(programs):
        if "/" in program and not program.startswith(("/", "~")):
            continue  # of the project itself
        found = shutil.which(str(Path(program).expanduser()), path=search)
        if found is not None:
            _program(made, Path(found), checkout)
        elif not any((folder / program).exists() for folder in own):
            made.missing.append(program)
    _cargo(made, programs)
    _go(made, programs, search)
    return made


def _search(checkout: Path) -> str:
    """Where programs are looked for: the PATH without the checkout, and without Navigator's own virtual environment."""
    own = (Path(sys.prefix),) if sys.prefix != sys.base_prefix else ()
    return safe_path((checkout, *own))


def program_binds(found: Path, checkout: Path) -> Toolchains:
    """What one program outside of the project needs to start: its own folder, and its interpreter's."""
    made = Toolchains()
    _program(made, found, checkout)
    modules = next(
        (folder for folder in reversed(found.resolve().parents) if folder.name == "node_modules"), None
    )
    if modules is not None:
        made.add(modules)  # a package of npm takes what lies beside it
    return made


def _program(made: Toolchains, found: Path, checkout: Path, depth: int = 0) -> None:
    """Bind one program: every link on the way to it, its root, and the interpreter that its first line names."""
    if str(found).startswith(_SYSTEM):
        _interpreter(made, found, checkout, depth)
        return
    made.path.append(str(found.parent))
    at = found
    for _ in range(_MOST_LINKS):
        _root_of(made, at, checkout)
        if not at.is_symlink():
            break
        at = Path(os.path.normpath(at.parent / at.readlink()))
    _root_of(made, found.resolve(), checkout)
    _interpreter(made, found.resolve(), checkout, depth)


def _root_of(made: Toolchains, program: Path, checkout: Path) -> None:
    if str(program).startswith(_SYSTEM) or program.is_relative_to(checkout):
        return
    root = program.parent.parent if program.parent.name in _BIN else program.parent
    # `cpython-3.12-linux` may itself be a link to `cpython-3.12.7-linux`.
    for place in (program,) if _shared(root) else (root, root.resolve()):
        made.add(place)


def _shared(root: Path) -> bool:
    """Whether a folder is too much: the home, one above it, or one in which every tool keeps its things."""
    home = Path.home()
    return (
        home.is_relative_to(root)
        or root in {home / ".local", home / ".cargo", home / ".config", home / ".cache", home / "bin"}
        or len(root.parts) < 3
    )


def _interpreter(made: Toolchains, program: Path, checkout: Path, depth: int) -> None:
    try:
        with program.open("rb") as file:
            first = file.readline(512)
    except OSError:
        return
    if not first.startswith(b"#!") or depth > 3:
        return
    words = os.fsdecode(first[2:]).split()
    name = words[0] if words else ""
    if name.endswith("/env") and len(words) > 1:
        found = shutil.which(words[-1] if words[1] == "-S" else words[1], path=_search(checkout))
        name = found or ""
    if name.startswith("/") and Path(name).exists():
        _program(made, Path(name), checkout, depth + 1)


def _python_of(made: Toolchains, environment: Path) -> None:
    """The interpreter that a virtual environment borrows, by every link on the way."""
    for name in ("python", "python3"):
        at = environment / "bin" / name
        for _ in range(_MOST_LINKS):
            if not at.is_symlink():
                break
            at = Path(os.path.normpath(at.parent / at.readlink()))
            if not at.is_relative_to(environment):
                _root_of(made, at, environment)


def _cargo(made: Toolchains, programs: Collection[str]) -> None:
    if not any(Path(name).name in {"cargo", "rustc"} for name in programs):
        return
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    inside = Path("/home/sandbox/.cargo")
    made.add(home / "bin")
    for name in ("registry", "git"):
        made.add(home / name, inside / name)
    for name in ("config.toml", "config"):
        # It may say where crates come from offline; it may also hold a token.
        settings = home / name
        if settings.is_file() and not _SECRET_LINE.search(settings.read_text("utf-8", "replace")):
            made.add(settings, inside / name)
    rustup = Path(os.environ.get("RUSTUP_HOME") or Path.home() / ".rustup")
    # In a folder that can be written: rustup makes others beside them.
    proxied = Path("/home/sandbox/.rustup")
    for name in ("toolchains", "settings.toml"):
        made.add(rustup / name, proxied / name)
    made.env |= table(__package__, _TABLE)["variables"]["cargo"]
    made.env |= {"CARGO_HOME": str(inside), "RUSTUP_HOME": str(proxied)}
    if named := os.environ.get("RUSTUP_TOOLCHAIN"):
        made.env["RUSTUP_TOOLCHAIN"] = named


def _go(made: Toolchains, programs: Collection[str], search: str) -> None:
    if not any(Path(name).name in {"go", "gofmt", "gotestsum"} for name in programs):
        return
    found = shutil.which("go", path=search)
    if found is not None:
        _program(made, Path(found), Path("/nowhere"))
    paths = os.environ.get("GOPATH") or str(Path.home() / "go")
    modules = Path(os.environ.get("GOMODCACHE") or Path(paths.split(os.pathsep)[0]) / "pkg" / "mod")
    made.add(modules)
    made.env |= table(__package__, _TABLE)["variables"]["go"] | {"GOMODCACHE": str(modules)}
