"""What tests and the programs they start find around them: the same on every machine.

`tests/conftest.py` imports this before anything else, in each of its processes. Nothing is inherited but what is named here.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

_KEPT = (
    *("PATH", "TMPDIR", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "PYENV_ROOT", "PYENV_VERSION"),
    *("NAVIGATOR_KILLS", "NAVIGATOR_EXAMPLES", "NAVIGATOR_FUZZ_SECONDS", "NAVIGATOR_RECORD"),
    *("NAVIGATOR_REAL_AGENTS", "NAVIGATOR_REAL_HISTORY"),
)
_PREFIXES = ("PYTEST_", "TEXTUAL_SNAPSHOT_")
_GITCONFIG = """
[user]
    name = Dev Eloper
    email = dev@example.org
[init]
    defaultBranch = main
[maintenance]
    auto = false
[protocol "file"]
    allow = always
"""


def _found() -> dict[str, str]:
    """Where the home folder of whoever runs the tests holds what they use: engines, agents and Rust's toolchains."""
    home = Path.home()
    caches = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    usual = {
        "NAVIGATOR_ENGINES": caches / "navigator-engines",
        "NAVIGATOR_AGENTS": caches / "navigator-agents",
        "CARGO_HOME": home / ".cargo",
        "RUSTUP_HOME": home / ".rustup",
    }
    named = {name: os.environ.get(name) or str(place) for name, place in usual.items()}
    return {
        name: place for name, place in named.items() if name.startswith("NAVIGATOR") or Path(place).is_dir()
    }


def _clean() -> tempfile.TemporaryDirectory[str]:
    """Replace the environment; return the home folder, to be removed at the end."""
    before = dict(os.environ)
    kept = {name: before[name] for name in before if name in _KEPT or name.startswith(_PREFIXES)}
    kept |= _found()
    if "NO_COLOR" in before:
        kept["PY_COLORS"] = "0"  # the answer of pytest; what it runs has another
    # This process has read the variable already, and xdist gives its workers what the first process began with.
    named = kept["PYTEST_PYTHONPATH"] = before.get("PYTEST_PYTHONPATH") or before.get("PYTHONPATH", "")
    shadowing = {*named.split(os.pathsep)} - {str(Path(__file__).parent.parent)}
    sys.path[:] = [place for place in sys.path if not place or place not in shadowing]
    home = tempfile.TemporaryDirectory(prefix="navigator-tests-")
    Path(home.name, ".gitconfig").write_text(_GITCONFIG, encoding="utf-8")
    os.environ.clear()
    os.environ.update(
        kept,
        HOME=home.name,
        GIT_CONFIG_NOSYSTEM="1",
        LANG="C.UTF-8",
        NAVIGATOR_REHEARSAL="tests.scripted",
        TZ="UTC",
        TERM="xterm-256color",
        COLORTERM="truecolor",
        COLUMNS="80",
        LINES="24",
        PAGER="cat",
    )
    time.tzset()
    os.umask(0o022)
    return home


HOME = _clean()

from navigator.store import database  # noqa: E402 - only now: it may read a variable

DURABLE = database.SYNCHRONOUS
database.SYNCHRONOUS = "OFF"  # no test cuts the power: in its own process a commit does not wait for the disk
