"""Takes a commit's change of code back on today's tree, in the private repository: three-way by file, cleanly or not at all."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from navigator.exam.mining.history import Commit
from navigator.git.private import PrivateRepo, TreeEntry
from navigator.git.runner import Git, GitError, Person, person_environment
from navigator.git.source_protocol import FileChange

_MAKER = Person("Navigator", "exam@navigator.invalid")
_WHEN = "2000-01-01T00:00:00+0000"
"""Always the same, so that the same tree makes the same commit."""

_PLAIN = frozenset({"100644", "100755"})


class NotReversible(Exception):
    """Why a commit cannot be taken back on today's tree; the text is for the user."""


def taken_back(private: PrivateRepo, commit: Commit, head: str) -> str:
    """The tree of `head` without what `commit` changed in code; tests and documents stay as they are today.

    Raises:
        NotReversible: later commits changed the same lines, or a file came or went.
        GitError: a repository is damaged.
    """
    before, after, now = (private.tree_entries(tree) for tree in (commit.parent, commit.sha, head))
    changes: dict[str, FileChange] = {}
    for file in commit.code:
        path = _today(file.path, now)
        sides = [now.get(path), after.get(file.path), before.get(file.path)]
        if any(entry is None or entry.mode not in _PLAIN for entry in sides):
            raise NotReversible("a file was added, moved or removed by it or since")
        changes[path] = FileChange(_merged(private, [entry for entry in sides if entry is not None]))
    tree = private.write_tree(head, changes)
    if tree == private.tree_of(head):
        raise NotReversible("it is taken back already")
    return tree


def _today(path: str, now: Mapping[str, TreeEntry]) -> str:
    """Where a file is today: at its own path, or, where it moved with its whole package, at the only path that ends so."""
    if path in now:
        return path
    moved = [other for other in now if other.endswith(f"/{path}")]
    return moved[0] if len(moved) == 1 else path


def _merged(private: PrivateRepo, sides: list[TreeEntry]) -> bytes:
    """Today's file with the step from the commit's version back to the one before it."""
    now, after, before = (private.read_blob(entry.sha) for entry in sides)
    if now == after:
        return before
    if any(b"\0" in content[:8000] for content in (now, after, before)):
        raise NotReversible("a file is binary")
    with tempfile.TemporaryDirectory(prefix="merge-", dir=private.work_folder()) as folder:
        names = []
        for name, content in (("now", now), ("after", after), ("before", before)):
            (Path(folder) / name).write_bytes(content)
            names.append(str(Path(folder) / name))
        done = Git(private.git_dir, outside=private.git.outside).run(
            "merge-file", "-p", "--quiet", *names, check=False
        )
    if done.status == 0:
        return done.stdout
    # The exit status counts the conflicts, up to 127; what is above, or negative, is an error.
    if 0 < done.status <= 127:
        raise NotReversible("later commits changed the same lines")
    raise GitError(
        f"`git merge-file` failed in {private.git_dir}: {done.stderr or 'it was ended'}.",
        hint="Is the disk full?",
        status=done.status,
    )


def commit_of(private: PrivateRepo, tree: str) -> str:
    """A commit without parent that holds `tree`, pinned: the base of a change that has none in the user's history."""
    dates = {"GIT_AUTHOR_DATE": _WHEN, "GIT_COMMITTER_DATE": _WHEN}
    commit = private.git.run(
        "commit-tree", tree, "-F", "-", input=b"A tree\n", env=person_environment(_MAKER, _MAKER) | dates
    ).text
    private.pin_base(commit)
    return commit
