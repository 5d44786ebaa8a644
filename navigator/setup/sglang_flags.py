"""Which flags an SGLang has: from its own argument parser in a separate process, or from a packaged table.

Asking imports torch and takes up to a minute, so the answer is cached by version and by the state of the installed
package. SGLang itself is never imported here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from navigator.config.paths import write_private
from navigator.model import patterns
from navigator.model.errors import MissingPart, UsageError
from navigator.model.json_text import read_json, table
from navigator.model.text import safe_line
from navigator.swap.remote.machine import HERE, Machine

Kind = Literal["switch", "value", "other"]
"""switch: takes no value. value: takes one. other: an action of its own, which `--config` files do not take."""

_ASK_SECONDS = 180.0
_VERSION_SECONDS = 30.0
_MARK = "navigator-flags:"

_ASKING = "list_flags.py"

_VERSION_PROGRAM = (
    "import importlib.metadata as m, importlib.util as u\n"
    "s = u.find_spec('sglang')\n"
    "print('navigator-flags:' + m.version('sglang') + '\\t' + (s.origin or ''))"
)


@dataclass(frozen=True, slots=True)
class FlagTable:
    """The flags of one version.

    Attributes:
        version: of SGLang.
        flags: name with its dashes → kind.
        origin: "parser" when an installed SGLang was asked, "table" when the packaged list answers.
    """

    version: str
    flags: dict[str, Kind]
    origin: Literal["parser", "table"]

    def __contains__(self, name: str) -> bool:
        return name in self.flags


@dataclass(frozen=True, slots=True)
class Installed:
    """An SGLang. `package` is its `__init__.py`, by which a changed installation is noticed; `on` is its machine."""

    python: Path
    version: str
    package: str
    on: Machine = HERE


@dataclass(slots=True)
class FlagSource:
    """Where the flags of a rendering come from: an installed SGLang, or a packaged table by version.

    Args:
        table_dir: the folder with the packaged tables (`sglang-VERSION.txt`) and the program that asks a parser.
        cache_dir: where a parser's answers are kept.
        installed: the SGLang to ask; None renders for `version` from the table.
        version: of the table, where nothing is installed.
    """

    table_dir: Path
    cache_dir: Path
    installed: Installed | None = None
    version: str = ""
    _table: FlagTable | None = field(default=None, init=False)

    def table(self) -> FlagTable:
        """The flags, asked for once.

        Raises:
            MissingPart: the installed SGLang cannot say what it takes.
            UsageError: there is no table of the wanted version.
        """
        if self._table is None:
            if self.installed is None:
                self._table = packaged_table(self.table_dir, self.version)
            else:
                answer = self._ask([])
                self._table = FlagTable(self.installed.version, answer["flags"], "parser")
        return self._table

    def errors(self, command_lines: Sequence[Sequence[str]]) -> list[str]:
        """What is wrong with each command line (the words after `sglang.launch_server`); "" where nothing is.

        An installed SGLang's parser judges names and values. The packaged tables know names, and whether a value follows.
        """
        if self.installed is not None:
            return list(self._ask([list(words) for words in command_lines])["errors"])
        return [_against_table(self.table(), words) for words in command_lines]

    def _ask(self, command_lines: list[list[str]]) -> dict[str, Any]:
        assert self.installed is not None
        question = json.dumps(command_lines)
        program = self.table_dir / _ASKING
        state = _cache_key(self.installed, question, program)
        kept = self.cache_dir / f"sglang-{self.installed.version}-{state}.json"
        if self.installed.on.host:
            return _run_program(self.installed, program, question)  # a change there would not be noticed
        with contextlib.suppress(OSError, ValueError):
            answer = read_json(kept.read_bytes())
            if isinstance(answer, dict) and {"flags", "errors"} <= answer.keys():
                return answer
        answer = _run_program(self.installed, program, question)
        with contextlib.suppress(OSError):  # a cache: without it the next call only waits again
            self.cache_dir.mkdir(parents=True, exist_ok=True)
            write_private(kept, json.dumps(answer).encode())
        return answer


def packaged_versions(table_dir: Path) -> list[str]:
    """The versions that have a packaged table, oldest first."""
    found = [path.stem.removeprefix("sglang-") for path in table_dir.glob("sglang-*.txt")]
    return sorted(found, key=version_key)


def version_key(version: str) -> tuple[int, ...]:
    """A version's leading numbers, for ordering: `0.5.23.post1` → (0, 5, 23)."""
    match = patterns.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, match.group().split("."))) if match else ()


def packaged_table(table_dir: Path, version: str) -> FlagTable:
    """The table of exactly `version`.

    Raises:
        UsageError: there is none; the hint names those there are.
    """
    path = table_dir / f"sglang-{version}.txt"
    if version not in packaged_versions(table_dir):
        raise UsageError(
            f"There is no list of the flags of SGLang {version}.",
            hint=f"There are lists for {', '.join(packaged_versions(table_dir))}; or install SGLang and use --sglang PATH.",
        )
    flags: dict[str, Kind] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, _, kind = line.partition(" ")
        if name.startswith("--"):
            flags[name] = kind if kind in ("switch", "value") else "other"  # type: ignore[assignment]
    return FlagTable(version, flags, "table")


def find_sglang(named: str | None = None, on: Machine = HERE) -> Installed | None:
    """The SGLang at `named` (a python, a venv's folder or its `sglang` command), else the one on PATH; None if none.

    Raises:
        MissingPart: `named` holds no SGLang that can say its version.
    """
    candidates = _pythons_there(named, on) if on.host else _pythons_here(named)
    for candidate in candidates:
        if (found := _installed(candidate, on)) is not None:
            return found
    if named is not None:
        where = f"{named} on {on.host}" if on.host else named
        raise MissingPart(
            f"There is no SGLang at {where}.",
            hint="Name a virtual environment that has SGLang, or its python.",
        )
    return None


def _pythons_here(named: str | None) -> list[Path]:
    if named is not None:
        found = [python_of(Path(named).expanduser())]
    else:
        command, active = shutil.which("sglang"), os.environ.get("VIRTUAL_ENV", "")
        found = [python_of(Path(place)) for place in (command, active) if place]
    return [python for python in found if python is not None]


def _pythons_there(named: str | None, on: Machine) -> list[Path]:
    """What may be SGLang's python on another machine: asking each is one question, looking first would be another."""
    # A tilde is the home there.
    script = (
        'case $1 in "~/"*) printf %s "$HOME/${1#"~/"}" ;; ?*) printf %s "$1" ;; *) command -v sglang ;; esac'
    )
    done = on.run(("bash", "-c", script, "navigator", named or ""), _VERSION_SECONDS)
    place = done.out.decode(errors="replace").strip() if done is not None else ""
    if not place.startswith("/") or not place.isprintable():
        return []
    path = Path(place)
    if path.name.startswith("python"):
        return [path]
    return [path / "bin" / "python", path / "python", path.parent / "python"]


def python_of(path: Path) -> Path | None:
    """The python that belongs to a path: itself, the one of a venv's folder, or the one beside a command in `bin/`.

    Links are kept: a venv's python is a link, and only under its own name does it see the venv's packages.
    """
    folder = path if path.is_dir() else path.parent
    if path.is_file() and path.name.startswith("python"):
        return path.absolute()
    for candidate in (folder / "bin" / "python", folder / "python"):
        if candidate.is_file():
            return candidate.absolute()
    return None


def _installed(python: Path, on: Machine = HERE) -> Installed | None:
    done = on.run([str(python), "-c", _VERSION_PROGRAM], _VERSION_SECONDS)
    said = _marked(done.out) if done is not None else None
    if done is None or done.code != 0 or said is None:
        return None
    version, _, package = said.partition("\t")
    return Installed(python, safe_line(version), package, on)


def _run_program(installed: Installed, program: Path, question: str) -> dict[str, Any]:
    hint = f"Run `{installed.python} -m sglang.launch_server --help`: it should list the flags."
    words = [str(installed.python), str(program)]
    if (
        installed.on.host
    ):  # which does not have the file; python -c imports from where it is started, so not from the home
        words = ["bash", "-c", 'cd / && exec "$@"', "navigator", words[0], "-c", program.read_text("utf-8")]
    offline = {"HF_HUB_OFFLINE": "1"}
    done = installed.on.run(words, _ASK_SECONDS, given=question.encode(), variables=offline)
    if done is None:
        raise MissingPart(
            f"SGLang {installed.version} did not list its flags within {_ASK_SECONDS:g} seconds.", hint=hint
        )
    said = _marked(done.out)
    if done.code != 0 or said is None:
        words = done.err.decode(errors="replace").strip().splitlines()
        last = safe_line(words[-1]) if words else f"exit code {done.code}"
        raise MissingPart(f"SGLang {installed.version} does not list its flags: {last}", hint=hint)
    answer: dict[str, Any] = read_json(said)
    return answer


def _marked(stdout: bytes) -> str | None:
    """What our program printed, among what the libraries it imports may print."""
    for line in stdout.decode(errors="replace").splitlines():
        if line.startswith(_MARK):
            return line.removeprefix(_MARK)
    return None


def _cache_key(installed: Installed, question: str, program: Path) -> str:
    """Changes when the installation, the question or the program that asks it does."""
    words = [str(installed.python), installed.package, question]
    arguments = Path(installed.package).parent / "srt" / "server_args.py"
    for name in (installed.package, arguments, program):
        with contextlib.suppress(OSError):
            status = Path(name).stat()
            words.append(f"{status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def _against_table(table: FlagTable, words: Sequence[str]) -> str:
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("--"):
            return f"no flag takes {word}"
        name, joined, _ = word.partition("=")
        if name not in table:
            return f"{name} is unknown to SGLang {table.version}"
        if table.flags[name] == "switch" or joined:
            continue
        if rest and not rest[0].startswith("--"):
            rest.pop(0)
        elif table.flags[name] == "value":
            return f"{name} needs a value"
    return ""


# Known vulnerabilities


@dataclass(frozen=True, slots=True)
class Advisory:
    """One vulnerability of SGLang. `last` is the newest affected version; `without_keys`: API keys close it."""

    name: str
    last: str
    what: str
    without_keys: bool = False


def advisories_for(version: str) -> list[Advisory]:
    """The vulnerabilities of a version; [] for one newer than all of them, or unreadable."""
    own = version_key(version)
    known = [Advisory(**entry) for entry in table(__package__, "advisories.toml")["advisory"]]
    return [each for each in known if own and own <= version_key(each.last)]


def advisories_read() -> str:
    """The month in which the advisories were last read."""
    month: str = table(__package__, "advisories.toml")["read"]
    return month


_CACHES = ("--mamba-radix-cache-strategy", "--mamba-scheduler-strategy")
"""The flag for the cache of recurrent states; the second is its name before 0.5.23."""

_NEXTN_SCHEMA_FIXED = "0.5.23"


@dataclass(frozen=True, slots=True)
class KnownFault:
    """One fault: where it is described, what happens, and what to do."""

    name: str
    what: str
    remedy: str


LAZY_BUFFER = KnownFault(
    "sglang#36537",
    "NEXTN on a hybrid model with extra_buffer: once the cache has been 60% full, drafts are rejected until a restart",
    "Use --mamba-radix-cache-strategy extra_buffer_lazy, or no speculation.",
)
NEXTN_SCHEMA = KnownFault(
    "sglang#28407",
    "NEXTN with a JSON schema, which reviews and scans are asked with: answers can break the schema",
    f"Install {_NEXTN_SCHEMA_FIXED} or newer, or use no speculation.",
)


def known_faults(version: str, flags: Mapping[str, str], *, hybrid: bool) -> list[KnownFault]:
    """The faults that a server of this version runs into with these flags.

    Args:
        version: of SGLang; "" where it is unknown.
        flags: name with its dashes → value.
        hybrid: the model has layers with linear attention.
    """
    if flags.get("--speculative-algorithm", "").upper() != "NEXTN":
        return []
    found = []
    cache = next((flags[name] for name in _CACHES if name in flags), "auto")
    # Which versions have it is not known: every one counts. By default a hybrid model gets extra_buffer with speculation.
    if hybrid and cache in ("auto", "extra_buffer"):
        found.append(LAZY_BUFFER)
    own = version_key(version)
    if own and own < version_key(_NEXTN_SCHEMA_FIXED):
        found.append(NEXTN_SCHEMA)
    return found
