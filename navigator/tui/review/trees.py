"""Diffs and files of proposals, read from the private repositories. Everything here blocks: call it in a thread."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import TYPE_CHECKING

from navigator.config.paths import StatePaths
from navigator.model.diff import FileDiff
from navigator.model.errors import NotFound
from navigator.model.models import Project

if TYPE_CHECKING:
    from navigator.git.private import PrivateRepo


class Trees:
    """The private repositories of a state folder, opened once each.

    Reading a tree writes nothing. Opening one writes only where the user's repository has moved since it was last
    opened: then the file that names it is replaced, whole, by what the conductor would write there too.
    """

    def __init__(self, paths: StatePaths) -> None:
        self._root = paths.private
        self._opened: dict[int, PrivateRepo] = {}
        self._lock = threading.Lock()

    def diff(self, project: Project, a: str, b: str) -> list[FileDiff]:
        """What differs between two trees or commits.

        Raises:
            NavigatorError: the repository is gone, or lacks one of them.
        """
        return self._private(project).diff(a, b)

    def lines(self, project: Project, tree: str, path: str) -> list[str]:
        """The lines of a file without their endings; a last line without one counts too.

        Raises:
            NotFound: the tree has no such file.
        """
        text = self.text(project, tree, path)
        lines = text.split("\n")
        return lines[:-1] if lines[-1] == "" else lines

    def text(self, project: Project, tree: str, path: str) -> str:
        """A file as text: UTF-8, else Latin-1.

        Raises:
            NotFound: the tree has no such file.
        """
        from navigator.git.diffs import decode_lines

        return decode_lines(self.content(project, tree, path))

    def content(self, project: Project, tree: str, path: str) -> bytes:
        """A file's bytes.

        Raises:
            NotFound: the tree has no such file.
        """
        private = self._private(project)
        entry = private.tree_entries(tree).get(path)
        if entry is None or entry.mode == "160000":
            raise NotFound(f"{path} is not in this version.")
        return private.read_blob(entry.sha)

    def lines_of(self, project: Project, tree: str, paths: Collection[str]) -> dict[str, list[str]]:
        """The lines of those of some files that the tree has."""
        if not paths:
            return {}
        entries = self._private(project).tree_entries(tree)
        return {path: self.lines(project, tree, path) for path in paths if path in entries}

    def _private(self, project: Project) -> PrivateRepo:
        from navigator.git.private import PrivateRepo

        with self._lock:
            if project.id not in self._opened:
                if not any(self._root.glob(f"{project.id}-*.git")):
                    raise NotFound(
                        f"The proposed changes of {project.name} are not in the state folder.",
                        hint="Was it copied without its private/ folder?",
                    )
                self._opened[project.id] = PrivateRepo.open(self._root, project)
            return self._opened[project.id]
