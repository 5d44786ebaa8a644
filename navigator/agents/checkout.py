"""An agent's throw-away copy of a project: written from a pinned tree, and read back as changes to that tree.

What the agent leaves is not trusted. Nothing of its `.git` is read or run, no link is followed, and every folder is opened
below the one before, so that a link put there meanwhile leads nowhere.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from navigator.agents.errors import AgentFailed
from navigator.domain.text import safe_line
from navigator.workspace.edits.overlay import MAX_RESULT
from navigator.workspace.edits.source_protocol import FileChange
from navigator.workspace.git.diffs import path_bytes, path_text
from navigator.workspace.git.private import TreeEntry
from navigator.workspace.git.runner import Git, Person, person_environment
from navigator.workspace.git.source import TreeSource
from navigator.workspace.sandbox.tree import write_out

_LINK, _SUBMODULE = "120000", "160000"
_MOST_ENTRIES = 400_000
_MOST_CHANGED = 500
_DEEPEST = 200
_AGENT = Person("Navigator", "agent@navigator.invalid")
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Changed:
    """What an agent made of its copy: changes by path, and what cannot be taken, as (path, sentence)."""

    changes: dict[str, FileChange]
    problems: tuple[tuple[str, str], ...] = ()


class Checkout:
    """One copy.

    Args:
        folder: where it is, on this machine.
        source: the base that a proposal is made on; paths that it withholds from models are not in the copy.
    """

    def __init__(self, folder: Path, source: TreeSource) -> None:
        self.folder = folder
        self._source = source
        self._private = source.private

    def write(self, tree: str, *, most_bytes: int) -> None:
        """Write the files, with `tree` in place of the base's, and a repository with one commit. Blocks.

        Args:
            tree: the base's own, or that of the proposal that is to be revised: its changes are uncommitted then.

        Raises:
            TreeRefused: it is too large. OSError: the disk is full.
        """
        base = self._source.treeish
        write_out(
            self._private,
            self._private.tree_of(base),
            self.folder,
            most_bytes=most_bytes,
            left_out=self._left_out,
        )
        self._commit()
        if tree != self._private.tree_of(base):
            self._overlay(tree)

    def _left_out(self, path: str) -> bool:
        entry = self._source.entries.get(path)
        return entry is not None and entry.mode != _LINK and bool(self._source.why_hidden(path))

    def _commit(self) -> None:
        """A repository of the agent's own, so that its `git diff` and `git log` work. Navigator never reads it again."""
        place = self.folder / ".git"
        place.mkdir()
        Git(place).run("init", "-q", "--bare", "--template=", "--initial-branch=main")
        git = Git(place, work_tree=self.folder)
        for setting in ("core.bare=false", f"user.name={_AGENT.name}", f"user.email={_AGENT.email}"):
            git.run("config", *setting.split("=", 1))
        git.run("add", "-A", "-f", ".")
        git.run("commit", "-q", "--allow-empty", "-m", "The project", env=person_environment(_AGENT, _AGENT))

    def _overlay(self, tree: str) -> None:
        """Put the changes of an earlier proposal on top."""
        for change in self._private.raw_diff(self._source.treeish, tree):
            place = self.folder / change.path
            place.unlink(missing_ok=True)
            if not change.new_mode.startswith("100"):
                continue
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(self._private.read_blob(change.new_sha))
            place.chmod(0o755 if change.new_mode == "100755" else 0o644)

    def changes(self) -> Changed:
        """What differs from the base now. Blocks.

        New files that the copy's `.gitignore` files name are build products, and left out.
        """
        found = _Reading(self._private.facts.object_format, self._source.entries, self._left_out)
        top = os.open(self.folder, _FOLDER)
        try:
            found.walk(top)
            ignored = self._ignored(found.new)
            found.take([path for path in found.new if path not in ignored], top)
        finally:
            os.close(top)
        return Changed({} if found.problems else found.changes, tuple(found.problems))

    def _ignored(self, paths: Iterable[str]) -> set[str]:
        feed = b"".join(path_bytes(path) + b"\0" for path in paths)
        if not feed:
            return set()
        # With the private repository's configuration, not the copy's, which may name programs.
        git = Git(self._private.git_dir, work_tree=self.folder, outside=self._private.git.outside)
        out = git.run("check-ignore", "-z", "--stdin", "--no-index", input=feed, check=False).stdout
        return {path_text(path) for path in out.split(b"\0") if path}


class _Reading:
    """One look at a copy."""

    def __init__(
        self, object_format: str, entries: Mapping[str, TreeEntry], left_out: Callable[[str], bool]
    ) -> None:
        self._format = object_format
        self._entries = entries
        self._left_out = left_out
        self.changes: dict[str, FileChange] = {}
        self.problems: list[tuple[str, str]] = []
        self.new: list[str] = []

    def walk(self, top: int) -> None:
        """Compare every entry with the base's, and note what is new or gone."""
        seen: set[str] = set()
        for path, folder, name in _entries(top):
            seen.add(path)
            base = self._entries.get(path)
            if base is None:
                self.new.append(path)
            elif self._left_out(path):
                self.problems.append((path, "It is a file that models may not see: leave it alone."))
            elif not self._same(base, folder, name):
                self._take(path, _read(folder, name))
        for path, entry in self._entries.items():
            if path not in seen and entry.mode != _SUBMODULE and not self._left_out(path):
                self.changes[path] = FileChange(None)

    def take(self, paths: Sequence[str], top: int) -> None:
        """Take files that the base does not have."""
        if len(paths) + len(self.changes) > _MOST_CHANGED:
            count = len(paths) + len(self.changes)
            self.problems.append(("", f"{count} files changed; the most is {_MOST_CHANGED}."))
            return
        for path in paths:
            *above, name = path.split("/")
            folder: int | None = os.dup(top)
            for part in above:
                inner = _inner(folder, part) if folder is not None else None
                if folder is not None:
                    os.close(folder)
                folder = inner
            if folder is not None:
                self._take(path, _read(folder, name))
                os.close(folder)

    def _take(self, path: str, held: FileChange | str) -> None:
        if isinstance(held, str):
            self.problems.append((path, held))
        else:
            self.changes[path] = held

    def _same(self, base: TreeEntry, folder: int, name: str) -> bool:
        held = _read(folder, name, most=base.size)
        if isinstance(held, str) or held.mode != base.mode:
            return False
        content = held.content or b""
        return hashlib.new(self._format, b"blob %d\0" % len(content) + content).hexdigest() == base.sha


def _entries(top: int) -> Iterator[tuple[str, int, str]]:
    """Every file below an open folder: its path, and the open folder that holds it with its name there."""
    count = 0
    stack: list[tuple[str, int]] = [("", os.dup(top))]
    try:
        while stack:
            above, folder = stack.pop()
            try:
                for name in sorted(os.listdir(folder)):  # noqa: PTH208
                    count += 1
                    if name.casefold() == ".git":
                        continue
                    if count > _MOST_ENTRIES:
                        raise AgentFailed(f"The agent left more than {_MOST_ENTRIES} files.")
                    inner = _inner(folder, name) if above.count("/") < _DEEPEST else None
                    if inner is not None:
                        stack.append((f"{above}{name}/", inner))
                    else:
                        yield f"{above}{name}", folder, name
            finally:
                os.close(folder)
    finally:
        for _, folder in stack:
            os.close(folder)


def _inner(folder: int, name: str) -> int | None:
    """The folder of that name, open; None where it is something else."""
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError:
        return None


def _read(folder: int, name: str, most: int = MAX_RESULT) -> FileChange | str:
    """A file's bytes and git's mode for it, or why it cannot be taken."""
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            return FileChange(os.fsencode(os.readlink(name, dir_fd=folder)), _LINK)
        if not stat.S_ISREG(found.st_mode):
            return "It is no plain file."
        if found.st_size > most:
            return f"It has {found.st_size} bytes; the most is {most}."
        with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:  # noqa: PTH123
            mode = os.fstat(file.fileno()).st_mode
            content = file.read(most + 1) if stat.S_ISREG(mode) else b""
    except OSError as error:
        return f"It cannot be read: {safe_line(error.strerror or 'no reason given')}."
    if not stat.S_ISREG(mode):
        return "It is no plain file."
    return FileChange(content, "100755" if mode & 0o100 else "100644")
