"""The checkout as it is, uncommitted work included, as a commit of the private repository: for a review of that work.

git runs on the private repository with the checkout as its working tree and an index of its own. So every object is written
there, the user's index is not even opened for writing, and no filter is known: the private configuration defines none. Line
endings are converted as the attributes and the user's settings say, which runs no program.

What the checkout holds and a snapshot does not: paths under a `filter` (LFS) or a `working-tree-encoding` stay as HEAD has them,
since only a program or a guess could turn them into what git would store; so do files larger than `MAX_FILE`; submodules are
not entered; untracked secrets and repositories inside the checkout are left out.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from navigator.git.diffs import path_bytes
from navigator.git.facts import RepoFacts, RepositoryError, own_settings
from navigator.git.private import PrivateRepo
from navigator.git.runner import Git, GitError, Person
from navigator.process.guarded import NotPlain, holding

# What a checkout holds that HEAD does not, read without running anything that the repository names.


@dataclass(slots=True)
class Uncommitted:
    """What the checkout and the index hold that HEAD does not, by how git sees it.

    Attributes:
        tracked: paths of the index or of HEAD whose content, mode or presence differs.
        untracked: paths that git neither tracks nor ignores; one that ends in `/` is a folder.
        dropped: taken out of the index; the file may still be there.
        conflicts: paths that a merge left undecided.
        submodules: those of `tracked` that are submodules.
    """

    tracked: list[str] = field(default_factory=list)
    untracked: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    submodules: set[str] = field(default_factory=set)


def uncommitted(facts: RepoFacts, *, untracked: Literal["normal", "all"] = "normal") -> Uncommitted:
    """Read what is not committed. Runs nothing of the repository, and does not refresh the index on disk.

    `git status` compares content through clean filters and looks into submodules, both of which run programs
    that the repository names. So every filter that its configuration defines is blanked for the call, and
    submodules are left alone; a filtered file (LFS) whose timestamp changed is therefore listed though it may
    be unchanged.
    """
    if facts.work_tree is None:
        return Uncommitted()
    git = facts.git(work_tree=True)
    ignores = own_settings(facts.git(user_config=True), "core.excludesFile")
    status = git.run(
        "status",
        "--porcelain=v2",
        "-z",
        f"--untracked-files={untracked}",
        "--ignore-submodules=all",
        "--no-renames",
        "--no-ahead-behind",
        config=(*blank_filters(git), *(f"core.excludesFile={path}" for path in ignores[-1:])),
    )
    found = Uncommitted()
    for record in status.stdout.split(b"\0"):
        kind = os.fsdecode(record[:1])
        # Counted fields come before the path in each kind of record: git-status(1), porcelain format 2.
        before = {"1": 8, "u": 10, "?": 1}.get(kind)
        if before is None:
            continue
        *fields, path = record.split(b" ", before)
        name = os.fsdecode(path)
        if kind == "1" and fields[4] == b"000000":
            found.dropped.append(name)
            continue
        if kind == "1" and b"160000" in fields[3:6]:
            found.submodules.add(name)
        {"1": found.tracked, "u": found.conflicts, "?": found.untracked}[kind].append(name)
    return found


def uncommitted_paths(facts: RepoFacts, *, limit: int = 1000) -> tuple[str, ...]:
    """Paths whose content in the checkout or the index is not that of HEAD, untracked files included, at most
    `limit`; see `uncommitted`."""
    found = uncommitted(facts)
    paths = dict.fromkeys((*found.tracked, *found.dropped, *found.conflicts, *found.untracked))
    return tuple(paths)[:limit]


def blank_filters(git: Git) -> tuple[str, ...]:
    """Settings that switch off every filter the repository's configuration defines."""
    found = git.run("config", "--null", "--name-only", "--get-regexp", r"^filter\..*\.[a-z]+$", check=False)
    names = {key.split(".", 1)[1].rsplit(".", 1)[0] for key in os.fsdecode(found.stdout).split("\0") if key}
    settings: list[str] = []
    for name in sorted(names):
        if "=" in name or "\n" in name:
            # `-c` splits at the first "=", so such a name cannot be overridden: fail closed.
            raise GitError(
                "A filter in the repository's configuration has a name that cannot be switched off.",
                hint="Rename it in .git/config.",
            )
        settings += [f"filter.{name}.{key}=" for key in ("clean", "smudge", "process")]
        settings.append(f"filter.{name}.required=false")
    return tuple(settings)


MAX_FILE = 10 * 1024 * 1024
"""Bytes; larger changed files stay as HEAD has them, larger new ones are left out."""

MAX_TOTAL = 256 * 1024 * 1024
"""Bytes of changed files in one snapshot."""

_CONVERTED = ("filter", "working-tree-encoding")
"""Attributes by which git converts a file with a program, or into another encoding."""

_CONVERSIONS = ("core.autocrlf", "core.eol", "core.fileMode", "core.symlinks")
MAKER = Person("Navigator snapshot", "snapshot@navigator.invalid")


class NoWorktree(RepositoryError):
    """The checkout cannot be snapshotted; the message says why."""

    code: ClassVar[str] = "no_worktree"


@dataclass(frozen=True, slots=True)
class WorktreeSnapshot:
    """A checkout at one moment.

    Attributes:
        commit: in the private repository, on `head`; `head` itself where nothing is uncommitted.
        head: the commit that HEAD was on.
        taken: paths whose uncommitted state is in it, deleted ones included.
        left_out: paths with uncommitted work that is not in it.
    """

    commit: str
    head: str
    taken: tuple[str, ...]
    left_out: tuple[str, ...]


def take_snapshot(
    private: PrivateRepo, facts: RepoFacts, withheld: Callable[[str], bool]
) -> WorktreeSnapshot:
    """Put the checkout as it is into the private repository. Nothing of the user's is written or run.

    Args:
        withheld: whether a path may hold secrets; untracked ones are left out.

    Raises:
        NoWorktree: there is no checkout, a merge left conflicts in it, or the uncommitted work is larger than `MAX_TOTAL`.
    """
    work_tree = facts.work_tree
    if work_tree is None:
        raise NoWorktree(
            f"{facts.path} is a bare repository: it has no working tree.", hint="Review a commit."
        )
    found = uncommitted(facts, untracked="all")
    if found.conflicts:
        raise NoWorktree(
            f"{facts.path} has conflicts that are not resolved: {', '.join(found.conflicts[:3])}.",
            hint="Resolve them first.",
        )
    candidates = [*found.tracked, *found.untracked]
    files = (path for path in candidates if not path.endswith("/"))
    apart = {path for path, *_ in facts.git(work_tree=True).attributes(files, *_CONVERTED)}
    apart |= {path for path in found.untracked if path.endswith("/") or withheld(path)}
    apart |= found.submodules
    present: list[str] = []
    gone = [path for path in found.dropped if path not in apart]
    total = 0
    for path in (path for path in candidates if path not in apart):
        size = _file_size(work_tree, path)
        if size is None:
            gone.append(path)
        elif size > MAX_FILE:
            apart.add(path)
        else:
            total += size
            present.append(path)
    if total > MAX_TOTAL:
        raise NoWorktree(
            f"{facts.path} has {total // 2**20} MiB of uncommitted work; a snapshot takes {MAX_TOTAL // 2**20} MiB.",
            hint="Ignore or commit what is large.",
        )
    head = facts.head_commit
    commit = _commit_paths(private, facts, work_tree, present, gone) if present or gone else head
    return WorktreeSnapshot(commit, head, tuple(sorted({*present, *gone})), tuple(sorted(apart)))


def _file_size(work_tree: Path, path: str) -> int | None:
    """Bytes of the file or link at a path; None where there is neither, or only behind a link."""
    try:
        with holding(work_tree, path) as (folder, name):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotPlain):
        return None
    return found.st_size if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode) else None


def _commit_paths(
    private: PrivateRepo, facts: RepoFacts, work_tree: Path, present: list[str], gone: list[str]
) -> str:
    """HEAD's tree with these paths as the checkout has them, as a commit on HEAD."""
    asked = facts.git(user_config=True)
    config = [f"core.attributesFile={facts.common_dir / 'info' / 'attributes'}", "core.safecrlf=false"]
    for key in _CONVERSIONS:
        config += [f"{key}={value}" for value in own_settings(asked, key, repository=True)[-1:]]
    head = facts.head_commit
    private.pin_base(head)
    with tempfile.TemporaryDirectory(prefix="snapshot-", dir=private.work_folder()) as folder:
        index = Path(folder) / "index"
        git = Git(private.git_dir, work_tree=work_tree, index=index, config=config, outside=facts.outside)
        git.run("read-tree", head)
        # Git updates the time of an object that it was about to write and finds in a store that it borrows from. The user's
        # objects must keep their times, so it writes without seeing them.
        own_objects = private.own_objects_env()
        # What is gone goes first: a folder may be where a file was.
        for words, paths in ((("--force-remove",), gone), (("--add", "--remove", "--replace"), present)):
            feed = b"".join(path_bytes(path) + b"\0" for path in paths)
            done = git.run("update-index", *words, "-z", "--stdin", input=feed, check=False, env=own_objects)
            refused = [line for line in done.stderr.splitlines() if not line.startswith("warning:")]
            if done.status != 0 or refused:
                raise NoWorktree(
                    f"git does not take a file of {work_tree}: {next(iter(refused), 'it said nothing')}",
                    hint="Ignore the file.",
                )
        tree = git.run("write-tree", "--missing-ok", env=own_objects).text
    if tree == private.tree_of(head):
        return head
    return private.git.commit(tree, head, "The checkout with its uncommitted work\n", MAKER)


def not_committed_yet(private: PrivateRepo, base: str, tip: str, paths: Iterable[str]) -> tuple[str, ...]:
    """Of these paths, those that differ between a snapshot and `tip` only because the work is not committed there.

    Empty when `base` is no snapshot, or when one of the paths changed at the tip itself: then committing would not help.
    """
    text = private.git.run("cat-file", "commit", base).stdout.decode("utf-8", "replace")
    fields = dict(line.partition(" ")[::2] for line in text.partition("\n\n")[0].splitlines())
    if f"<{MAKER.email}>" not in fields.get("author", ""):
        return ()
    with contextlib.suppress(GitError):
        before, now = private.tree_entries(fields["parent"]), private.tree_entries(tip)
        wanted = tuple(paths)
        if all(before.get(path) == now.get(path) for path in wanted):
            return wanted
    return ()
