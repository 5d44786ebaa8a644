"""The newest commits of a user's repository with the size of each: read only, with git's hardened runner."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from navigator.checks.removed_tests import is_test_file
from navigator.context.source import TreeSource
from navigator.git.diffs import path_text
from navigator.git.facts import RepoFacts
from navigator.git.private import FileChange, PrivateRepo
from navigator.git.runner import Git, GitError, LogEntry, Person, TreeEntry, person_environment, read_log
from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.models import Project
from navigator.model.secrets import find_secret
from navigator.model.text import safe_line, safe_text

_MOST_OUTPUT = 64 * 1024 * 1024
_LONGEST_MESSAGE = 4_000


def word_patterns(group: str) -> dict[str, patterns.Pattern[str]]:
    """The patterns of one group of `commits.toml`, by their names."""
    found = table(__package__, "commits.toml")[group]
    return {name: patterns.compile("".join(parts), patterns.IGNORECASE) for name, parts in found.items()}


_SAYS = word_patterns("history")


def is_code(path: str) -> bool:
    """Whether a path is by its name source code of the product: no test, example or documentation."""
    return (
        _SAYS["code"].search(path) is not None
        and not is_test_file(path)
        and _SAYS["not_code"].search(path) is None
    )


@dataclass(frozen=True, slots=True)
class Counted:
    """One changed path with its added and removed lines; both are 0 for a binary file."""

    path: str
    added: int
    removed: int


@dataclass(frozen=True)
class Commit:
    """One commit that is no merge, with its only parent and what it changes. `subject` and `body` are filtered text.

    `author` is an address, to tell people apart; `when` it was committed, in seconds since 1970.
    """

    sha: str
    parent: str
    subject: str
    body: str
    files: tuple[Counted, ...]
    author: str = ""
    when: int = 0

    @cached_property
    def code(self) -> tuple[Counted, ...]:
        """The changed files that are code of the product."""
        return tuple(file for file in self.files if is_code(file.path))

    @cached_property
    def code_lines(self) -> int:
        """Changed lines of code."""
        return sum(file.added + file.removed for file in self.code)

    @property
    def lines(self) -> int:
        """Changed lines in all."""
        return sum(file.added + file.removed for file in self.files)

    @cached_property
    def tested(self) -> bool:
        """Whether it changes tests too."""
        return any(is_test_file(file.path) for file in self.files)

    @property
    def routine(self) -> bool:
        """Whether its subject says that it is a release or the like."""
        return _SAYS["no_change_of_code"].search(self.subject) is not None

    @property
    def fixes(self) -> bool:
        """Whether its subject speaks of a fix."""
        return _SAYS["fix"].search(self.subject) is not None and not self.routine

    @property
    def adds(self) -> bool:
        """Whether its subject speaks of something new."""
        return _SAYS["new"].search(self.subject) is not None

    @property
    def keeps_behaviour(self) -> bool:
        """Whether its author says that it changes how the code reads, not what it does, and it leaves the tests alone."""
        said = (
            _SAYS["same_behaviour"].search(self.subject) is not None
            and _SAYS["fix"].search(self.subject) is None
        )
        return said and not self.routine and not self.tested


def read_history(facts: RepoFacts, head: str, limit: int) -> list[Commit]:
    """The newest commits that `head` contains, newest first, without merges and root commits.

    Args:
        head: a full commit id.
        limit: commits that are looked at.

    Raises:
        GitError: the repository is damaged, or its history is too large to be listed.
    """
    words = (f"--max-count={limit}", "--no-merges", head, "--")
    listed = read_log(facts.git(), *words, counts=True, max_output=_MOST_OUTPUT)
    return [_commit(entry) for entry in listed if len(entry.parents) == 1]


_TAKEN_BACK = patterns.compile(
    r"(?:reverts commit|fixes:?|fixup of|regression from) ([0-9a-f]{7,40})\b", patterns.IGNORECASE
)
_REVERT = patterns.compile(r'^Revert "(.+)"')


def named_faulty(commits: Iterable[Commit]) -> frozenset[str]:
    """The commits that a later one says to revert or to fix, by id or by subject."""
    listed = list(commits)
    ids = {match[1].lower() for commit in listed for match in _TAKEN_BACK.finditer(commit.body)}
    subjects = {match[1] for commit in listed if (match := _REVERT.match(commit.subject))}
    return frozenset(
        commit.sha
        for commit in listed
        if commit.subject in subjects or any(commit.sha.startswith(one) for one in ids)
    )


def _commit(entry: LogEntry) -> Commit:
    counts = (_parse_counts(field) for field in entry.paths)
    return Commit(
        sha=entry.sha,
        parent=entry.parents[0],
        subject=safe_line(entry.subject).strip()[:300],
        body=safe_text(entry.body).strip()[:_LONGEST_MESSAGE],
        files=tuple(count for count in counts if count is not None),
        author=entry.address.lower(),
        when=entry.when,
    )


def _parse_counts(field: bytes) -> Counted | None:
    words = field.lstrip(b"\n").split(b"\t", 2)
    if len(words) != 3 or not words[2]:
        return None
    added, removed = (int(word) if word.isdigit() else 0 for word in words[:2])
    return Counted(path_text(words[2]), added, removed)


# What may never be an exam item: a change of files that no model is shown, or one that holds a secret.

_LARGEST_GUARDED = 2 * 1024 * 1024


def why_withheld(private: PrivateRepo, project: Project, base: str, tree: str, words: str) -> str:
    """Why the change from `base` to `tree` is shown to no model; "" where it may be.

    Args:
        words: the texts that go with the change, such as a commit's message.
    """
    if find_secret(words.encode("utf-8", "surrogateescape")) is not None:
        return "its message holds a secret"
    before, after = TreeSource(private, base, project), TreeSource(private, tree, project)
    for change in private.raw_diff(base, tree):
        if before.why_hidden(change.path) or after.why_hidden(change.path):
            return "it changes a file that no model is shown"
        for source in (before, after):
            if source.size(change.path) > _LARGEST_GUARDED:
                return "it changes a very large file"
            content = source.read(change.path)
            if content is not None and find_secret(content) is not None:
                return "it changes a file that holds a secret"
    return ""


# Takes a commit's change of code back on today's tree, in the private repository: three-way by file, cleanly or not at all.

_MAKER = Person("Navigator", "exam@navigator.invalid")
_WHEN = "2000-01-01T00:00:00+0000"
"""Always the same, so that the same tree makes the same commit."""

_PLAIN = frozenset({"100644", "100755"})


class Rejected(Exception):
    """Why no item comes of a candidate: a few words, the same for the same reason, since they are counted."""


def taken_back(private: PrivateRepo, commit: Commit, head: str) -> str:
    """The tree of `head` without what `commit` changed in code; tests and documents stay as they are today.

    Raises:
        Rejected: later commits changed the same lines, or a file came or went.
        GitError: a repository is damaged.
    """
    before, after, now = (private.tree_entries(tree) for tree in (commit.parent, commit.sha, head))
    changes: dict[str, FileChange] = {}
    for file in commit.code:
        path = _today(file.path, now)
        sides = [now.get(path), after.get(file.path), before.get(file.path)]
        if any(entry is None or entry.mode not in _PLAIN for entry in sides):
            raise Rejected("a file was added, moved or removed by it or since")
        changes[path] = FileChange(_merged(private, [entry for entry in sides if entry is not None]))
    tree = private.write_tree(head, changes)
    if tree == private.tree_of(head):
        raise Rejected("it is taken back already")
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
        raise Rejected("a file is binary")
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
        raise Rejected("later commits changed the same lines")
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
