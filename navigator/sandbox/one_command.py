"""How one test file is run, told from the command that runs all of a project's tests.

pytest and unittest are run with a reporter inside (`reporter.py`), which says what failed where and what was reached. Of Go,
node's own runner, jest, vitest, mocha and cargo only the exit status and the names of failing tests are known.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from navigator.model import patterns
from navigator.model.json_text import read_json

REPORTER = "/build/reporter"
"""Where the reporter lies inside."""

_SETTING = frozenset({"cd", "export", "set", ".", "source", "unset"})
"""Commands that only prepare: they stay in front of the one that runs a test."""

_BETWEEN = patterns.compile(r"&&|;|\n")
_NOT_SIMPLE = patterns.compile(r"[|<>`()]|\$\(|(?<!&)&(?!&)")
_GO_TEST = patterns.compile(r"^func (Test\w*)\(", patterns.MULTILINE)
_PYTEST_FILES = ("pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini", ".pytest.ini")
_ADDOPTS = patterns.compile(r"^\s*addopts\s*=[^\n]*(?:\n[ \t]+[^\n]*|\n\])*", patterns.MULTILINE)
_JS = frozenset({"jest", "vitest", "mocha"})


class NoRunner(Exception):
    """The command does not say how one test file is run; the message says why."""


@dataclass(frozen=True, slots=True)
class OneCommand:
    """A command line that runs one test file. `traced`: the reporter tells what it reached."""

    command: str
    runner: str
    traced: bool = False


FileReading = Callable[[str], str | None]
"""The text of a file of the tree; None where there is none."""


def one_command(check: str, path: str, text: str, read: FileReading) -> OneCommand:
    """The command for the test file `path`.

    Args:
        check: the project's own command.
        text: of the test file.
        read: files of the tree.

    Raises:
        NoRunner: it is none of the runners known here, or the file is not one of its tests.
    """
    parts = [part.strip() for part in _BETWEEN.split(check) if part.strip()]
    before: list[str] = []
    for part in parts:
        try:
            words = shlex.split(part)
        except ValueError as error:
            raise NoRunner(f"the check command cannot be read: {error}") from error
        if not words:
            continue
        if words[0] in _SETTING:
            before.append(part)
            continue
        if _NOT_SIMPLE.search(part):
            continue
        found = _runner(words, path, text, read)
        if found is not None:
            return OneCommand(" && ".join([*before, found.command]), found.runner, found.traced)
    raise NoRunner(f"how `{check[:80]}` runs one test file is not known: pytest, unittest, go test, node --test, "
                   "jest, vitest, mocha and cargo test are")  # fmt: skip


def _runner(words: list[str], path: str, text: str, read: FileReading) -> OneCommand | None:
    names = [PurePosixPath(word).name for word in words]
    for place, name in enumerate(names):
        if name in ("pytest", "py.test", "pytest-3") or (name == "unittest" and words[place - 1] == "-m"):
            if not path.endswith(".py"):
                raise NoRunner(f"{path} is no Python file")
            if name == "unittest":
                return _unittest(words[: place - 1], path)
            return _pytest(words[: place + 1], path, read)
    if names[0] == "go" and words[1:2] == ["test"]:
        return _go(words[0], path, text)
    if names[0] == "cargo" and "test" in words:
        return _cargo(words[: words.index("test") + 1], path)
    return _javascript(words, names, path, read)


def _pytest(head: list[str], path: str, read: FileReading) -> OneCommand:
    more = ["-p", "navigator_reporter", "-p", "no:cacheprovider", "-p", "no:randomly", "--maxfail=0", "-q"]
    settings = "\n".join(found[0] for name in _PYTEST_FILES for found in _ADDOPTS.finditer(read(name) or ""))
    if patterns.search(r"(?:-n|--numprocesses)[= ]?(?:auto|logical|\d)", settings):
        more += ["-n0"]
    if "--cov" in settings:
        more += ["--no-cov"]
    return OneCommand(f"{_environment()} {_shell(head)} {_shell(more)} {shlex.quote(path)}", "pytest", True)


def _unittest(head: list[str], path: str) -> OneCommand:
    return OneCommand(
        f"{_environment()} {_shell(head)} -m navigator_reporter {shlex.quote(path)}", "unittest", True
    )


def _environment() -> str:
    return f'PYTHONPATH="{REPORTER}${{PYTHONPATH:+:$PYTHONPATH}}" PYTHONDONTWRITEBYTECODE=1'


def _shell(words: Sequence[str]) -> str:
    """Words as a shell reads them; what assigns a variable in front of a command stays an assignment."""
    return " ".join(
        word if patterns.fullmatch(r"\w+=[\w./:,+-]*|[\w./:=,@%+-]+", word) else shlex.quote(word)
        for word in words
    )


def _go(go: str, path: str, text: str) -> OneCommand:
    if not path.endswith("_test.go"):
        raise NoRunner(f"{path} is no Go test file")
    names = _GO_TEST.findall(text)
    if not names:
        raise NoRunner(f"{path} has no test function")
    folder = shlex.quote(f"./{PurePosixPath(path).parent}")
    return OneCommand(f"{shlex.quote(go)} test -count=1 -v -run '^({'|'.join(names)})$' {folder}", "go test")


def _cargo(head: list[str], path: str) -> OneCommand:
    place = PurePosixPath(path)
    if place.suffix != ".rs" or place.parent.name != "tests":
        raise NoRunner("cargo runs one file only where it is in tests/")
    folder = str(place.parent.parent)
    moved = "" if folder == "." else f"cd {shlex.quote(folder)} && "
    return OneCommand(f"{moved}{_shell(head)} --test {shlex.quote(place.stem)}", "cargo test")


def _javascript(words: list[str], names: list[str], path: str, read: FileReading) -> OneCommand | None:
    """node's own runner, and those that a package's `test` script starts."""
    if names[0] in ("npm", "pnpm", "yarn", "bun") and "test" in words[1:3]:
        try:
            script = read_json(read("package.json") or "{}")["scripts"]["test"]
            words = shlex.split(script)
        except (ValueError, KeyError, TypeError, AttributeError):
            return None
        names = [PurePosixPath(word).name for word in words]
    if names and names[0] == "npx":
        words, names = words[1:], names[1:]
    if not names or not patterns.search(r"\.[cm]?[jt]sx?$", path):
        return None
    if names[0] == "node" and "--test" in words:
        return OneCommand(f"{_shell([words[0], '--test', path])}", "node --test")
    if names[0] in _JS:
        extra = {"jest": ["--ci", "--runTestsByPath"], "vitest": ["run"], "mocha": []}[names[0]]
        return OneCommand(_shell([names[0], *extra, path]), names[0])
    return None
