"""Which flags an SGLang has: from its own argument parser, in a separate process; and its known vulnerabilities.

Asking imports torch and takes up to a minute. SGLang itself is never imported here.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from navigator.model import patterns
from navigator.model.errors import MissingPart
from navigator.model.json_text import read_json
from navigator.model.text import safe_line
from navigator.swap.machine import HERE, Machine

_ASK_SECONDS = 180.0
_VERSION_SECONDS = 30.0
_MARK = "navigator-flags:"

_VERSION_PROGRAM = "import importlib.metadata as m\nprint('navigator-flags:' + m.version('sglang'))"


@dataclass(frozen=True, slots=True)
class Installed:
    """An SGLang; `on` is its machine."""

    python: Path
    version: str
    on: Machine = HERE


@dataclass(frozen=True, slots=True)
class FlagTable:
    """The flags of one version, with their dashes."""

    version: str
    names: frozenset[str]


@dataclass(frozen=True, slots=True)
class FlagSource:
    """An SGLang whose parser is asked by `program`, which its python runs: `list_flags.py`."""

    installed: Installed
    program: Path

    def table(self) -> FlagTable:
        """The flags.

        Raises:
            MissingPart: the SGLang cannot say what it takes.
        """
        return FlagTable(self.installed.version, frozenset(self._ask([])["flags"]))

    def errors(self, command_lines: Sequence[Sequence[str]]) -> list[str]:
        """What the parser says to each command line (the words after `sglang.launch_server`); "" where nothing is wrong."""
        return list(self._ask([list(words) for words in command_lines])["errors"])

    def _ask(self, command_lines: list[list[str]]) -> dict[str, Any]:
        return _run_program(self.installed, self.program, json.dumps(command_lines))


def version_key(version: str) -> tuple[int, ...]:
    """A version's leading numbers, for ordering: `0.5.23.post1` → (0, 5, 23)."""
    match = patterns.search(r"\A\d+(?:\.\d+)*", version)
    return tuple(map(int, match.group().split("."))) if match else ()


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


def require_sglang(named: str | None, on: Machine) -> Installed:
    """As `find_sglang`.

    Raises:
        MissingPart: there is none.
    """
    found = find_sglang(named, on)
    if found is None:
        raise MissingPart(
            f"No SGLang was found{f' on {on.host}' if on.host else ''}, so its flags are unknown.",
            hint="Install it from Navigator's checkout with `pip install '.[serve]'` in an environment of its own and give that"
            " with --sglang PATH.",
        )
    return found


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
    return Installed(python, safe_line(said), on)


def _run_program(installed: Installed, program: Path, question: str) -> dict[str, Any]:
    hint = f"Run `{installed.python} -m sglang.launch_server --help`: it should list the flags."
    words = [str(installed.python), str(program)]
    if (
        installed.on.host
    ):  # which does not have the file; python -c imports from where it is started, so not from the home
        words = ["bash", "-c", 'cd / && exec "$@"', "navigator", words[0], "-c", program.read_text("utf-8")]
    offline = {"HF_HUB_OFFLINE": "1"}
    done = installed.on.run(words, _ASK_SECONDS, given=question.encode(), variables=offline)
    said = _marked(done.out) if done is not None else None
    if done is None or done.code != 0 or said is None:
        words = done.err.decode(errors="replace").split("\n") if done is not None else []
        last = next((safe_line(line) for line in reversed(words) if line.strip()), "it did not answer")
        raise MissingPart(f"SGLang {installed.version} does not list its flags: {last}", hint=hint)
    answer: dict[str, Any] = read_json(said)
    return answer


def _marked(stdout: bytes) -> str | None:
    """What our program printed, among what the libraries it imports may print."""
    for line in stdout.decode(errors="replace").splitlines():
        if line.startswith(_MARK):
            return line.removeprefix(_MARK)
    return None


FIXED = "0.5.21"
"""The first SGLang without a known vulnerability that lets others run code on the server (CVE-2026-93034 and older ones)."""


def is_vulnerable(version: str) -> bool:
    """Whether a version is older than `FIXED`; a post-release counts as its release, one that cannot be read is not known."""
    own = version_key(version)
    return bool(own) and own < version_key(FIXED)
