"""An agent's throw-away copy of a project: written from a pinned tree, and read back as changes to that tree.

What the agent leaves is not trusted. Nothing of its `.git` is read or run, no link is followed, and every folder is opened
below the one before, so that a link put there meanwhile leads nowhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import pkgutil
import tempfile
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from navigator.agents.acp import AgentFailed
from navigator.context.source import TreeSource
from navigator.edits.overlay import MAX_RESULT
from navigator.git.diffs import path_bytes, path_text
from navigator.git.private import FileChange
from navigator.git.runner import Git, Person, TreeEntry, person_environment
from navigator.model.text import safe_line
from navigator.process.guarded import FOLDER, NotPlain, holding, kind_of, read_with_mode, walk, write_file
from navigator.sandbox.folders import remove, write_out

_LINK, _SUBMODULE = "120000", "160000"
_MOST_ENTRIES = 400_000
_MOST_CHANGED = 500
_LARGEST_IGNORE, _MOST_IGNORES = 1 << 20, 20_000
_DEEPEST = 200
_BYPRODUCTS = pkgutil.get_data(__package__, "byproducts") or b""
_AGENT = Person("Navigator", "agent@navigator.invalid")


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
            with holding(self.folder, change.path, make=True) as (folder, name):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(name, dir_fd=folder)
                if change.new_mode.startswith("100"):
                    mode = 0o755 if change.new_mode == "100755" else 0o644
                    write_file(folder, name, self._private.read_blob(change.new_sha), mode)

    def changes(self) -> Changed:
        """What differs from the base now. Blocks.

        New files that the copy's `.gitignore` files name are build products, and left out; so are by-products of tools.
        """
        found = _Reading(self._private.facts.object_format, self._source.entries, self._left_out)
        top = os.open(self.folder, FOLDER)
        try:
            found.walk(top)
            ignored = self._ignored(found.new, found.ignores)
            found.take([path for path in found.new if path not in ignored], top)
        except NotPlain:
            raise AgentFailed(f"The agent left more than {_MOST_ENTRIES} files.") from None
        finally:
            os.close(top)
        return Changed({} if found.problems else found.changes, tuple(found.problems))

    def _ignored(self, paths: Collection[str], ignores: Mapping[str, bytes]) -> set[str]:
        """Those of `paths` that these `.gitignore` files name, or that are by-products of tools. git sees copies of the files,
        never the agent's folder."""
        feed = b"".join(path_bytes(path) + b"\0" for path in paths)
        if not feed:
            return set()
        above = {path[: at + 1] for path in paths for at, sign in enumerate(path) if sign == "/"} | {""}
        with tempfile.TemporaryDirectory(prefix="ignores-", dir=self._private.work_folder()) as folder:
            for path, content in {".gitignore": b"", **ignores}.items():
                if path.removesuffix(".gitignore") in above:
                    write_file(Path(folder), path, content if "/" in path else _BYPRODUCTS + content)
            # With the private repository's configuration, not the copy's, which may name programs.
            git = Git(self._private.git_dir, work_tree=Path(folder), outside=self._private.git.outside)
            words = ("check-ignore", "-z", "--stdin", "--no-index")
            out = git.run(*words, input=feed, check=False).stdout
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
        self.ignores: dict[str, bytes] = {}

    def walk(self, top: int) -> None:
        """Compare every entry with the base's, and note what is new or gone."""
        seen: set[str] = set()
        for path, folder, name in walk(top, most=_MOST_ENTRIES, deepest=_DEEPEST):
            seen.add(path)
            if name == ".gitignore":
                self._note_ignores(path, folder, name)
            base = self._entries.get(path)
            if base is None:
                self.new.append(path)
            elif self._left_out(path):
                self.problems.append((path, "It is a file that models may not see: leave it alone."))
            elif not self._same(base, folder, name):
                self._take(path, _read_file(folder, name))
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
            try:
                with holding(top, path) as (folder, name):
                    held = _read_file(folder, name)
            except OSError:
                continue  # its folder went away
            self._take(path, held)

    def _note_ignores(self, path: str, folder: int, name: str) -> None:
        """A `.gitignore` that is no plain file, or a very large one, ignores nothing."""
        held = _read_file(folder, name, _LARGEST_IGNORE)
        if isinstance(held, FileChange) and held.mode != _LINK and len(self.ignores) < _MOST_IGNORES:
            self.ignores[path] = held.content or b""

    def _take(self, path: str, held: FileChange | str) -> None:
        if isinstance(held, str):
            self.problems.append((path, held))
        else:
            self.changes[path] = held

    def _same(self, base: TreeEntry, folder: int, name: str) -> bool:
        held = _read_file(folder, name, most=base.size)
        if isinstance(held, str) or held.mode != base.mode:
            return False
        content = held.content or b""
        return hashlib.new(self._format, b"blob %d\0" % len(content) + content).hexdigest() == base.sha


def _read_file(folder: int, name: str, most: int = MAX_RESULT) -> FileChange | str:
    """A file's bytes and git's mode for it, or why it cannot be taken."""
    try:
        if kind_of(folder, name) == "a link":
            return FileChange(os.fsencode(os.readlink(name, dir_fd=folder)), _LINK)
        content, mode = read_with_mode(folder, name, most)
    except OSError as error:
        return f"It cannot be taken: {safe_line(error.strerror or 'no reason given')}."
    return FileChange(content, "100755" if mode & 0o100 else "100644")


# Where agents work on this machine: a folder for each run.


@asynccontextmanager
async def run_folder(root: Path) -> AsyncIterator[Path]:
    """An empty folder for one run, below `root` of the state folder; gone afterwards.

    Raises:
        OSError: the disk is full.
    """
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix="run-", dir=root)).resolve()
    try:
        yield scratch
    finally:
        await asyncio.shield(asyncio.to_thread(remove, scratch))
