"""A project in a real repository, whose check is run on trees made of it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from navigator.git.private import FileChange, PrivateRepo
from navigator.model.models import Project
from navigator.sandbox.probe import probe
from navigator.sandbox.suite import SuiteRun, prepare, run_suite
from navigator.sandbox.supervise import Limits
from tests.journey.support import git, make_repository


def no_sandbox() -> str:
    """Why there is none here, and what to do; "" where there is one."""
    return "" if probe().works else f"sandbox: {probe().reason}. {probe().hint}"


needs_sandbox = pytest.mark.skipif(bool(no_sandbox()), reason=no_sandbox())


def processes_saying(words: str) -> list[str]:
    """Command lines of this machine that are exactly `words`."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return [line for line in found if line.strip() == words]


class Bench:
    """One repository, its private repository, and runs of its check."""

    def __init__(self, folder: Path, files: Mapping[str, str], check: str = "true", **fields: Any) -> None:
        self.folder = folder
        self.path = make_repository(
            folder / "code", {name: text.encode() for name, text in files.items()}
        ).resolve()
        self.project = Project(id=1, name="code", path=str(self.path), check=check, **fields)
        self.private = PrivateRepo.open(folder / "private", self.project)
        self._pin()

    def _pin(self) -> None:
        self.base = git(self.path, "rev-parse", "HEAD")
        self.private.pin_base(self.base)

    def commit(self, message: str) -> None:
        """What is staged becomes the base."""
        git(self.path, "commit", "-q", "-m", message)
        self._pin()

    def tree(self, **_: Any) -> str:
        """The base's tree."""
        return self.private.tree_of(self.base)

    def changed(self, files: Mapping[str, str | None]) -> str:
        """A tree with some files written or (None) removed."""
        changes = {
            name: FileChange(content=None if text is None else text.encode(), mode=None)
            for name, text in files.items()
        }
        return self.private.write_tree(self.base, changes)

    def run(
        self, tree: str | None = None, check: str | None = None, limits: Limits | None = None, **options: Any
    ) -> SuiteRun:
        """The check on a tree; the base's where none is given."""
        project = self.project if check is None else self.project.model_copy(update={"check": check})
        wanted = tree or self.tree()
        spec = prepare(project, self.private, wanted)
        scratch = self.folder / "scratch"
        chosen = limits or Limits(120, 2048)
        sandbox = options.pop("sandbox", None) or probe()
        made = run_suite(spec, self.private, wanted, chosen, sandbox, scratch, **options)
        assert not list(scratch.glob("*")), "a run leaves nothing behind"
        return made
