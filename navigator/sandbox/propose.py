"""Which test command a project seems to have: read from its files, nothing run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from typing import Any

from navigator.git.runner import Git
from navigator.model import patterns
from navigator.model.json_text import read_json, read_toml, table
from navigator.process.bounded import WorkerLost, run_bounded

Read = Callable[[str], bytes | None]
"""Content of a file of the tree by path; None where there is none."""

_CASES = patterns.compile(rb"TestCase\b|\bload_tests\b")
"""What only unittest's own runner needs: without it, it finds no test in a file."""
_TEST_FILES = 200
"""Test files that are looked into, at most."""
_TARGET = patterns.compile(r"^(test|check)\s*:(?:[^=]|$)", patterns.MULTILINE)


def proposed_command(paths: Collection[str], read: Read) -> str:
    """The command that the project's manifests speak of; "" where none does."""
    for find in (_make, _node, _python_command, _others):
        command = find(paths, read)
        if command:
            return command
    return ""


def proposed_for(git: Git, treeish: str) -> str:
    """The same for a tree of a repository."""
    entries = git.entries(treeish)

    def read(path: str) -> bytes | None:
        entry = entries.get(path)
        return git.contents([entry.sha])[entry.sha] if entry and entry.mode.startswith("100") else None

    return proposed_command(entries.keys(), read)


def untested(name: str, proposed: str) -> str:
    """What is off for a project without a test command, and how to set one: in a sentence or two."""
    command = shlex.quote(proposed or "CMD")
    seems = f" It seems to be `{proposed}`:" if proposed else " Set one:"
    return (
        "No test command: proposals are not tested, no finding can be proved by a test, and the reviewer's exam takes no items"
        " from here."
        f"{seems} navigator project set {name} --check {command}"
    )


def _make(paths: Collection[str], read: Read) -> str:
    for name in ("Makefile", "makefile", "GNUmakefile"):
        if name in paths:
            targets = _TARGET.findall(_text(read(name)))
            if "test" in targets:
                return "make test"
    if "justfile" in paths and patterns.search(r"^test\b.*:", _text(read("justfile")), patterns.MULTILINE):
        return "just test"
    return ""


def _node(paths: Collection[str], read: Read) -> str:
    script = _object(_json(read("package.json")).get("scripts")).get("test", "")
    if not isinstance(script, str) or not script or "no test specified" in script:
        return ""
    locks = table(__package__, "toolchains.toml")["locks"]
    return next((str(command) for lock, command in locks.items() if lock in paths), "npm test")


def _python_command(paths: Collection[str], read: Read) -> str:
    tests = sorted(path for path in paths if patterns.search(r"(?:^|/)(?:test_[^/]+|[^/]+_test)\.py$", path))
    project = _toml(read("pyproject.toml"))
    if not tests and not project:
        return ""
    uses = "pytest.ini" in paths or "conftest.py" in paths or "pytest" in _object(project.get("tool"))
    if tests and not uses:
        # unittest finds nothing in bare functions, and pytest runs unittest's cases too.
        held = [read(path) or b"" for path in tests[:_TEST_FILES]]
        uses = any(b"pytest" in text for text in held) or not any(_CASES.search(text) for text in held)
    words = "pytest -q" if uses else "-m unittest discover"
    if not tests and not uses:
        return ""
    if "uv.lock" in paths:
        return f"uv run {words}" if uses else f"uv run python {words}"
    if uses:
        return "python -m pytest -q"
    folder = next((path.split("/")[0] for path in tests if "/" in path), "")
    return f"python3 {words}" + (f" -s {folder}" if folder in {"tests", "test"} else "")


def _others(paths: Collection[str], read: Read) -> str:
    for manifest, command in table(__package__, "toolchains.toml")["tests"].items():
        if manifest in paths:
            return str(command)
    if "Gemfile" in paths and any(path.startswith("spec/") for path in paths):
        return "bundle exec rspec"
    return ""


def _text(content: bytes | None) -> str:
    return (content or b"")[:200_000].decode("utf-8", "replace")


def _json(content: bytes | None) -> dict[str, Any]:
    try:
        return _object(read_json(_text(content)))
    except ValueError:
        return {}


def _toml(content: bytes | None) -> dict[str, Any]:
    text = _text(content)
    try:
        # Dotted keys take quadratic time: only the shortest texts are read here.
        return run_bounded(read_toml, text, size=len(text) * 8)
    except (ValueError, WorkerLost):
        return {}


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
