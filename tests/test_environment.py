"""What the tests find around them does not depend on the machine: some run once more where everything is otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOME = (
    "tests/test_environment.py::test_nothing_is_inherited",
    "tests/journey/test_on_events.py::test_the_example_pushes_a_branch_and_opens_a_request",
    "tests/store/test_schema.py::test_only_the_standard_library_pydantic_and_the_domain_are_imported",
    "tests/tui/diff/test_intraline.py",
    "tests/git/test_hook.py::test_each_commit_is_noted",
    "tests/git/test_landing.py::test_nothing_changes_until_execution_and_then_one_branch",
)
HOSTILE = """
[user]
    name = Jürgen Weiß
    email = jürgen@beispiel.example
[init]
    defaultBranch = trunk
    templateDir = {folder}/template
[commit]
    gpgsign = true
[core]
    autocrlf = true
    hooksPath = {folder}/hooks
"""


def test_nothing_is_inherited() -> None:
    git = subprocess.run(["git", "config", "--list"], cwd="/", capture_output=True, text=True, check=True)
    assert git.stdout.splitlines() == [
        "user.name=Dev Eloper",
        "user.email=dev@example.org",
        "init.defaultbranch=main",
        "maintenance.auto=false",
        "protocol.file.allow=always",
    ]
    left = {name for name in os.environ if name.startswith(("GIT_", "LC_", "XDG_", "PYTHON", "SSH_"))}
    # Navigator itself sets the second.
    assert left - {"GIT_CONFIG_NOSYSTEM"} <= {"GIT_PYTHON_REFRESH"}
    assert "NO_COLOR" not in os.environ and "EDITOR" not in os.environ and "https_proxy" not in os.environ
    assert not any("trap" in Path(place).parts for place in sys.path)
    assert (os.environ["LANG"], time.tzname) == ("C.UTF-8", ("UTC", "UTC"))
    umask = os.umask(0o022)
    assert umask == 0o022


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_hostile_machine_changes_nothing(tmp_path: Path) -> None:
    home, trap = tmp_path / "home", tmp_path / "trap"
    for folder in (home, trap, tmp_path / "hooks"):
        folder.mkdir()
    for name in ("pre-commit", "reference-transaction", "post-checkout"):
        (tmp_path / "hooks" / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "hooks" / name).chmod(0o755)
    for place in (home / ".gitconfig", tmp_path / "system"):
        place.write_text(HOSTILE.format(folder=tmp_path), encoding="utf-8")
    for module in ("sitecustomize", "sqlite3", "navigator"):
        (trap / f"{module}.py").write_text("raise ImportError('a trap')\n")
    hostile = {
        "HOME": str(home),
        "LANG": "tr_TR.UTF-8",
        "LC_ALL": "tr_TR.UTF-8",
        "TZ": "Asia/Kathmandu",
        "GIT_DIR": str(ROOT / ".git"),
        "GIT_CONFIG_SYSTEM": str(tmp_path / "system"),
        "GIT_AUTHOR_NAME": "Jürgen Weiß",
        "PYTHONPATH": str(trap),
        "PYTHONDEVMODE": "1",
        "NO_COLOR": "1",
        "COLUMNS": "20",
        "EDITOR": "false",
        "https_proxy": "http://127.0.0.1:9",
        "SSH_AUTH_SOCK": str(tmp_path / "agent"),
        "XDG_CONFIG_HOME": str(home / "configuration"),
        "NAVIGATOR_CONFIG": str(tmp_path / "none.toml"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "1", "-p", "no:cacheprovider", *SOME],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]} | hostile,
        umask=0o077,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
