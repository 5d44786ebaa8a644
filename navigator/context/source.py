"""The files of one pinned tree, as edits and context read them."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from pathlib import Path

from navigator.context.scope import IGNORE_FILE, ignore_rules, in_scope, is_secret
from navigator.git.diffs import path_text
from navigator.git.private import PrivateRepo
from navigator.git.runner import TreeEntry
from navigator.model.models import Project
from navigator.model.secrets import MOST_VALUES, Redactor, values_in
from navigator.process.guarded import NotPlain, read_file

_FILE_MODES = frozenset({"100644", "100755"})
_MAX_HITS = 8 * 1024 * 1024


class TreeSource:
    """A tree of the private repository, read lazily; contents arrive in batches and stay cached there.

    `paths` shows what the project is about, without secrets, symlinks, submodules and what `.navigatorignore` names at this
    commit. `read` and `mode` answer for every path of the tree, so that a hidden file is not mistaken for a new one.
    """

    def __init__(self, private: PrivateRepo, treeish: str, project: Project) -> None:
        self.private = private
        self.treeish = treeish
        self.project = project

    @property
    def entries(self) -> dict[str, TreeEntry]:
        """Every file of the tree by path; shared, not to be changed."""
        return self.private.tree_entries(self.treeish)

    def paths(self) -> Collection[str]:
        """The paths that may be shown to a model, in order."""
        return self._shown

    @cached_property
    def _shown(self) -> tuple[str, ...]:
        return tuple(path for path in self.entries if not self.why_hidden(path))

    @cached_property
    def _folders(self) -> frozenset[str]:
        parted = (path.split("/") for path in self.entries)
        return frozenset("/".join(parts[:n]) for parts in parted for n in range(1, len(parts)))

    @cached_property
    def _ignored(self) -> Callable[[str], bool]:
        """Whether a path is named in the ignore file, where that is a plain file."""
        rules = self.entries.get(IGNORE_FILE)
        plain = rules is not None and rules.mode in _FILE_MODES
        return ignore_rules(self.private.read_blob(rules.sha) if rules and plain else None)

    def why_hidden(self, path: str) -> str:
        """Why a path of the tree may not be shown, by what is known without its content; "" where it may, or is not there."""
        entry = self.entries.get(path)
        if entry is None:
            return ""
        if entry.mode not in _FILE_MODES:
            return "not a plain file"
        if is_secret(path):
            return "may hold secrets"
        if not in_scope(path, self.project):
            return "outside of the project's include and exclude"
        if self._ignored(path):
            return f"named in {IGNORE_FILE}"
        return "" if path.isprintable() else "its path has characters that cannot be shown"

    def read(self, path: str) -> bytes | None:
        """The bytes of a file, or the target of a symlink; None where there is no file."""
        entry = self.entries.get(path)
        if entry is None or entry.mode == "160000":
            return None
        return self.private.read_blob(entry.sha)

    def mode(self, path: str) -> str | None:
        """Git's mode of what is at the path, `040000` for a folder; None where there is nothing."""
        entry = self.entries.get(path)
        if entry is not None:
            return entry.mode
        return "040000" if path in self._folders else None

    def size(self, path: str) -> int:
        """Bytes of a file; 0 where there is none."""
        entry = self.entries.get(path)
        return entry.size if entry is not None else 0

    def prefetch(self, paths: Iterable[str]) -> None:
        """Read many files through one git process, so that each `read` that follows is free."""
        entries = self.entries
        self.private.read_blobs(entries[p].sha for p in paths if p in entries and entries[p].mode != "160000")

    def mentions(self, words: Collection[str]) -> dict[str, set[str]]:
        """Which of the paths hold which of the words, as whole words; one git process, text files only."""
        hits: dict[str, set[str]] = {}
        shown = set(self.paths())
        wanted = [part for word in words for part in ("-e", word)]
        for line in self._grep("-w", "-o", *wanted).split(b"\n") if words else ():
            where, _, word = line.partition(b"\0")
            path = path_text(where.partition(b":")[2])
            if path in shown:
                hits.setdefault(path, set()).add(word.decode("utf-8", "replace"))
        return hits

    def containing(self, text: str) -> set[str]:
        """Which of the paths hold a text as it is; one git process, text files only."""
        names = self._grep("-l", "-e", text).split(b"\0")
        return set(self.paths()) & {path_text(name.partition(b":")[2]) for name in names}

    def _grep(self, *words: str) -> bytes:
        plain = ("grep", "-I", "-F", "-z", "--no-textconv", "--no-color", "--full-name")
        tree = self.private.tree_of(self.treeish)
        return self.private.git.run(*plain, *words, tree, check=False, max_output=_MAX_HITS).stdout


# The values of the files that no model is shown, so that they can be redacted where tests or models repeat them

log = logging.getLogger(__name__)

_LARGEST = 256 * 1024
"""Bytes of a file whose values are learnt; keys and settings are far smaller."""


def learn_withheld(redact: Redactor, project: Project, private: PrivateRepo, tree: str) -> None:
    """Have `redact` know the values of the withheld files of a tree, and of those at the top of the checkout.

    The latter need not be tracked: tests reach them through mounts, or without a sandbox. Blocks: call it in a thread.
    """
    before = redact.left_out
    for path, entry in private.tree_entries(tree).items():
        if is_secret(path) and entry.size <= _LARGEST and entry.mode.startswith("100"):
            redact.learn(values_in(private.read_blob(entry.sha)))
    try:
        for name in [item.name for item in os.scandir(project.path) if is_secret(item.name)]:
            with contextlib.suppress(NotPlain):
                redact.learn(values_in(read_file(Path(project.path), name, _LARGEST)))
    except OSError as error:
        log.warning(
            "%s: files with secrets cannot be read, so their values are not redacted: %s", project.name, error
        )
    if left := redact.left_out - before:
        log.warning(
            "%s: files with secrets hold too many values: %d are not redacted beyond the first %d in all",
            project.name,
            left,
            MOST_VALUES,
        )
