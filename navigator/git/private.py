"""The private repository of a project: where proposals are made, outside of the user's repository.

A bare repository in the state folder borrows the user's objects through `objects/info/alternates` and writes
only into itself. The base of every proposal is packed into it whole, so a proposal survives whatever the user's
repository later prunes, rebases away or deletes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from navigator.config.paths import write_private
from navigator.git.diffs import ABSENT, RawChange, TreeDiff, parse_comparison, path_bytes, path_text
from navigator.git.facts import AbsentBlobs, RepoFacts, read_facts, read_places
from navigator.git.private_layout import OWN_OBJECTS, borrow_objects, clear_private_locks, create
from navigator.git.runner import Git, GitError, TreeEntry
from navigator.model import patterns
from navigator.model.diff import FileDiff
from navigator.model.errors import NavigatorError

if TYPE_CHECKING:
    from navigator.model.models import Project

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_OID = patterns.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_NAME = patterns.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_PAIR = patterns.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64})\n")
_KEPT_INDEXES = 4
_EXCLUDED_BASES = 8
_CACHED_LINES = 200_000
_LEFTOVER_SECONDS = 7200.0
_BLOB_CACHE_BYTES = 32 * 1024 * 1024

_COMPARE = (
    "-r", "-z", "--raw", "-p", "--full-index", "--find-renames=100%", "--no-ext-diff", "--no-textconv", "--no-color",
    "--diff-algorithm=histogram", "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip

# One at a time: the list of shallow commits is read, changed and replaced.
_PINNING = threading.Lock()


class PathRefused(NavigatorError):
    """A path that no tree can hold: git refuses it, or it collides with a file or folder."""

    code: ClassVar[str] = "path_refused"


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of one path.

    Attributes:
        content: the file's new bytes; None when the path is deleted.
        mode: git's mode for it; None leaves the choice to the writer (the base's mode, else `100644`).
    """

    content: bytes | None
    mode: str | None = None


@dataclass(slots=True)
class LineCounts:
    """Lines added and removed between two trees, and the paths that differ; a binary file has no lines."""

    added: int = 0
    removed: int = 0
    paths: list[str] = field(default_factory=list)


class LruCache(Generic[K, V]):
    """A thread-safe LRU cache, bounded by total weight.

    Args:
        limit: the most weight that is kept.
        weigh: weight of one value; 1 each by default, so that `limit` counts entries.
    """

    def __init__(self, limit: int, weigh: Callable[[V], int] = lambda _: 1) -> None:
        self._limit = limit
        self._weigh = weigh
        self._held: OrderedDict[K, V] = OrderedDict()
        self._weight = 0
        self._lock = threading.Lock()

    def get(self, key: K) -> V | None:
        """The value of `key`, or None."""
        with self._lock:
            value = self._held.get(key)
            if value is not None:
                self._held.move_to_end(key)
            return value

    def put(self, key: K, value: V) -> V:
        """Store `value` unless the key is present; evict the least recently used. Returns `value`."""
        with self._lock:
            if key not in self._held:
                self._weight += self._weigh(value)
                self._held[key] = value
            self._held.move_to_end(key)
            while self._weight > self._limit and len(self._held) > 1:
                _, old = self._held.popitem(last=False)
                self._weight -= self._weigh(old)
        return value


def _lines_of(comparison: TreeDiff) -> int:
    return 1 + sum(len(hunk.lines) for file in comparison.files for hunk in file.hunks)


def is_commit_id(text: str) -> bool:
    """Whether a text looks like a full object id. git itself never creates a branch with such a name."""
    return _OID.fullmatch(text) is not None


def _oid(text: str) -> str:
    """`text` if it is a full object id; names never reach git from here."""
    if _OID.fullmatch(text) is None:
        raise ValueError(f"not a full object id: {text!r}")
    return text


class PrivateRepo:
    """One project's private repository. Methods may be called from any thread."""

    def __init__(self, git_dir: Path, facts: RepoFacts) -> None:
        self.git_dir = git_dir
        self.facts = facts
        self.git = Git(git_dir, outside=facts.outside)
        self._trees: LruCache[str, str] = LruCache(64)
        self._entries: LruCache[str, dict[str, TreeEntry]] = LruCache(8)
        self._compared: LruCache[tuple[str, str, int], TreeDiff] = LruCache(_CACHED_LINES, _lines_of)
        self._blobs: LruCache[str, bytes] = LruCache(_BLOB_CACHE_BYTES, len)

    @classmethod
    def open(cls, root: Path, project: Project, facts: RepoFacts | None = None) -> PrivateRepo:
        """Open the private repository of a project, and make it where it does not exist yet.

        Args:
            root: the folder that holds all private repositories.
            project: whose; its id and root commit name the folder, so a new database never
                uses another repository's objects.
            facts: what is known of the user's repository; read when not given.

        Raises:
            RepositoryError: the user's repository cannot be worked on.
        """
        known = facts if facts is not None else read_facts(project.path)
        identity = project.root_commit or known.root_commit or "unknown"
        git_dir = root.resolve() / f"{project.id}-{identity[:16]}-{known.object_format}.git"
        objects = str(known.common_dir / "objects")
        if "\n" in objects:
            raise PathRefused(
                "The repository's path holds a line break.",
                hint="Move it: git cannot borrow objects from there.",
            )
        if not (git_dir / "HEAD").exists():
            create(git_dir, known)
        else:
            clear_private_locks(git_dir)
        borrow_objects(git_dir, objects)
        return cls(git_dir, known)

    @classmethod
    def to_read(cls, root: Path, project: Project) -> PrivateRepo:
        """As `open`, for what pins no base: an ordinary checkout is not asked what only writing needs to know of it."""
        return cls.open(root, project, read_places(project.path) if project.root_commit else None)

    def pin_base(self, commit: str) -> str:
        """Make the private repository hold `commit`, its tree and all its files itself; returns the tree.

        Raises:
            AbsentBlobs: a partial clone lacks some of the files.
            GitError: the commit does not exist, or the user's repository is damaged.
        """
        self.pin_bases((commit,))
        return self.tree_of(commit)

    def pin_bases(self, commits: Iterable[str]) -> None:
        """`pin_base` for many, in one pack.

        Raises:
            AbsentBlobs, GitError: see `pin_base`.
        """
        wanted = [_oid(commit) for commit in dict.fromkeys(commits)]
        with _PINNING:
            pinned = self._pinned()
            if missing := [commit for commit in wanted if commit not in set(pinned)]:
                self._pack_bases(missing, pinned)

    def _pinned(self) -> list[str]:
        """The commits that are pinned, by name."""
        return self.git.run("for-each-ref", "--format=%(objectname)", "refs/navigator/base/").text.split()

    def _pack_bases(self, commits: Sequence[str], pinned: Sequence[str]) -> None:
        """Pack commits without their history: listed as shallow, each ends every walk."""
        shallow = self.git_dir / "shallow"
        listed = shallow.read_text("ascii").split() if shallow.exists() else []
        every = dict.fromkeys((*listed, *commits))
        if len(every) > len(listed):
            write_private(shallow, "".join(f"{commit}\n" for commit in every).encode("ascii"))
        # What an earlier base holds is here already.
        wanted = [*commits, "--not", *(f"{old}^{{tree}}" for old in pinned[-_EXCLUDED_BASES:])]
        try:
            self.git.run(
                "pack-objects",
                "--revs",
                "--quiet",
                "--delta-base-offset",
                str(self.git_dir / "objects" / "pack" / "pack"),
                input=("\n".join(wanted) + "\n").encode("ascii"),
                timeout=1800,
            )
        except GitError as error:
            if not self.facts.partial:
                raise
            raise AbsentBlobs(
                f"{self.facts.path} is a partial clone that lacks files of {commits[0][:12]}.",
                hint="Fetch them with `git checkout` of that commit, or `git fetch --refetch`.",
            ) from error
        lines = "".join(f"update refs/navigator/base/{commit} {commit}\n" for commit in commits)
        self.git.run("update-ref", "--stdin", input=lines.encode("ascii"))

    def tree_of(self, treeish: str) -> str:
        """The tree of a commit, or the tree itself."""
        known = self._trees.get(_oid(treeish))
        if known is not None:
            return known
        return self._trees.put(treeish, self.git.run("rev-parse", "--verify", f"{treeish}^{{tree}}").text)

    def tree_entries(self, treeish: str) -> dict[str, TreeEntry]:
        """Every file of a tree by path. The dictionary is shared: do not change it."""
        known = self._entries.get(_oid(treeish))
        if known is not None:
            return known
        return self._entries.put(treeish, self.git.entries(treeish))

    def read_blob(self, sha: str) -> bytes:
        """The content of one file by its object id."""
        return self.read_blobs((sha,))[sha]

    def read_blobs(self, shas: Iterable[str]) -> dict[str, bytes]:
        """The contents of many files by object id, through one git process.

        Raises:
            GitError: one of them does not exist here.
        """
        wanted = dict.fromkeys(_oid(sha) for sha in shas)
        result: dict[str, bytes] = {}
        for sha in wanted:
            known = self._blobs.get(sha)
            if known is not None:
                result[sha] = known
        missing = [sha for sha in wanted if sha not in result]
        for sha, content in self.git.contents(missing).items():
            result[sha] = self._blobs.put(sha, content)
        return result

    def write_tree(self, base_treeish: str, changes: Mapping[str, FileChange]) -> str:
        """A new tree: the base with some files written, made or removed. Returns its object id.

        A change without a mode keeps the base's mode, or is a plain file where the path is new. git's own
        checks of paths (`.git` in every disguise of HFS+ and NTFS) are on.

        Raises:
            PathRefused: a path git does not accept, or a file where a folder is.
        """
        entries = self.tree_entries(base_treeish)
        removed = [path for path, change in changes.items() if change.content is None]
        written = {path: change for path, change in changes.items() if change.content is not None}
        _check_shape(entries, removed, written)
        with tempfile.TemporaryDirectory(prefix="blobs-", dir=self.work_folder()) as folder:
            shas = self._write_blobs(Path(folder), [change.content or b"" for change in written.values()])
        placed = [
            (change.mode or (entries[path].mode if path in entries else "100644"), sha, path)
            for (path, change), sha in zip(written.items(), shas, strict=True)
        ]
        return self._build(base_treeish, removed, placed)

    def place(self, treeish: str, changes: Iterable[RawChange]) -> str:
        """A new tree: `treeish` with the new side of raw changes put in, blob for blob. Returns its object
        id.

        Raises:
            PathRefused: a file would replace a folder, or the other way round.
        """
        known = tuple(changes)
        removed = [change.path for change in known if change.new_mode == ABSENT]
        placed = [
            (change.new_mode, change.new_sha, change.path) for change in known if change.new_mode != ABSENT
        ]
        _check_shape(self.tree_entries(treeish), removed, [path for _, _, path in placed])
        return self._build(treeish, removed, placed)

    def _build(self, treeish: str, removed: Iterable[str], placed: Iterable[tuple[str, str, str]]) -> str:
        """Write a tree through a copy of the base's index; `placed` holds (mode, object id, path)."""
        nothing = self.facts.zero.encode("ascii")
        lines = [b"0 %b\t%b\0" % (nothing, path_bytes(path)) for path in removed]
        lines += [
            b"%b %b\t%b\0" % (mode.encode(), _oid(sha).encode(), path_bytes(path))
            for mode, sha, path in placed
        ]
        with tempfile.TemporaryDirectory(prefix="tree-", dir=self.work_folder()) as folder:
            index = Path(folder) / "index"
            self._copy_base_index(treeish, index)
            git = Git(self.git_dir, index=index, outside=self.git.outside)
            done = git.run("update-index", "-z", "--index-info", input=b"".join(lines), check=False)
            # A path that git does not accept is only named on standard error ("Ignoring path …"): the exit
            # status is 0, and the tree would silently lack the file.
            if done.status < 0 or os.strerror(errno.ENOSPC) in done.stderr:
                # Killed, or out of room: that says nothing about the paths.
                raise GitError(
                    f"A tree could not be written in {self.git_dir}: {done.stderr or 'git was killed'}.",
                    hint="Free some space, and try again.",
                    status=done.status,
                    stderr=done.stderr,
                )
            if done.status != 0 or done.stderr:
                raise PathRefused(
                    f"git does not accept a path of this change: {done.stderr.partition(chr(10))[0]}",
                    hint="Such a path could write outside of the project; the change is not made.",
                )
            made = git.run("write-tree", env=self.own_objects_env(), check=False)
            # A base that was not pinned has trees that are borrowed, and can only be written on with those in sight.
            return made.text if made.status == 0 else git.run("write-tree").text

    def own_objects_env(self) -> dict[str, str]:
        """Environment that makes git write only to the private object store, ignoring the user's."""
        return {"GIT_OBJECT_DIRECTORY": str(self.git_dir / OWN_OBJECTS)}

    def work_folder(self) -> Path:
        """Where temporary files go that git is to find beside the repository."""
        folder = self.git_dir / "navigator"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

    def _write_blobs(self, folder: Path, contents: list[bytes]) -> list[str]:
        """Store file contents as they are, through one git process; returns their ids in order."""
        if not contents:
            return []
        names = []
        for number, content in enumerate(contents):
            (folder / str(number)).write_bytes(content)
            names.append(f"{folder.relative_to(self.git_dir)}/{number}\n")
        words = ("hash-object", "-w", "--no-filters", "--stdin-paths")
        feed = "".join(names).encode("ascii")
        shas = self.git.run(*words, input=feed, env=self.own_objects_env()).text.split()
        for sha, content in zip(shas, contents, strict=True):
            self._blobs.put(sha, content)
        return shas

    def _copy_base_index(self, treeish: str, target: Path) -> None:
        """Give `target` an index that holds a tree; the last few are kept for the next proposals on the same base."""
        kept = self.work_folder() / f"index-{_oid(treeish)}"
        try:
            shutil.copyfile(kept, target)
            # touch() would put an empty file where another thread has just removed this one.
            os.utime(kept)
            return
        except FileNotFoundError:
            # Never made, or just removed by another thread.
            target.unlink(missing_ok=True)
            Git(self.git_dir, index=target, outside=self.git.outside).run("read-tree", treeish)
        spare = target.with_name("spare")
        shutil.copyfile(target, spare)
        spare.replace(kept)
        ages: list[tuple[float, Path]] = []
        for path in self.work_folder().glob("index-*"):
            with contextlib.suppress(FileNotFoundError):
                if path.is_file():
                    ages.append((path.stat().st_mtime, path))
        for _, old in sorted(ages, reverse=True)[_KEPT_INDEXES:]:
            old.unlink(missing_ok=True)

    def compare(self, a: str, b: str, context: int = 3) -> TreeDiff:
        """Compare two trees or commits, through one git process: raw records and hunks.

        Renames are found only where the content is the same to the byte. No program that attributes or
        configuration name is run. Hunks are labelled H1, H2, … through the whole comparison.
        """
        key = (_oid(a), _oid(b), context)
        known = self._compared.get(key)
        if known is not None:
            return known
        out = self.git.run("diff-tree", *_COMPARE, f"--unified={context}", a, b).stdout
        return self._compared.put(key, parse_comparison(out))

    def raw_diff(self, a: str, b: str) -> list[RawChange]:
        """Every path that differs, with modes and ids, without renames: what policy reads."""
        return list(self.compare(a, b).raw)

    def diff(self, a: str, b: str, context: int = 3) -> list[FileDiff]:
        """What differs, as files and hunks: what people and the reviewer read."""
        return list(self.compare(a, b, context).files)

    def trees_of(self, commits: Iterable[str]) -> dict[str, str]:
        """The trees of many commits, through one git process."""
        wanted = [_oid(commit) for commit in dict.fromkeys(commits)]
        if not wanted:
            return {}
        found = self.git.run("rev-parse", *(f"{commit}^{{tree}}" for commit in wanted)).text.split()
        return dict(zip(wanted, found, strict=True))

    def count_lines(self, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], LineCounts]:
        """What differs between pairs of trees, counted without reading the differences; one git process for all."""
        feed = "".join(f"{_oid(a)} {_oid(b)}\n" for a, b in pairs)
        if not feed:
            return {}
        words = ("--stdin", "-r", "-z", "--numstat", "--no-ext-diff", "--no-textconv", "--find-renames=100%")
        out = self.git.run("diff-tree", *words, input=feed.encode("ascii")).stdout
        counted: dict[tuple[str, str], LineCounts] = {}
        found = LineCounts()
        records = iter(out.split(b"\0"))
        for record in records:
            # The ids of a pair stand before its first path, or before the next pair where nothing differs.
            while match := _PAIR.match(record):
                found = counted[match[1].decode(), match[2].decode()] = LineCounts()
                record = record[match.end() :]
            fields = record.split(b"\t", 2)
            if len(fields) != 3:
                continue
            path = fields[2]
            if not path:  # a rename: the old path and the new one follow
                next(records, b"")
                path = next(records, b"")
            found.paths.append(path_text(path))
            found.added += int(fields[0]) if fields[0].isdigit() else 0
            found.removed += int(fields[1]) if fields[1].isdigit() else 0
        return counted

    def keep(self, name: str, tree: str, base: str) -> None:
        """Keep a proposal's tree and base under a name of letters, digits, `_` and `-`, such as `P7`."""
        self.keep_all({name: (tree, base)})

    def keep_all(self, names: Mapping[str, tuple[str, str]]) -> None:
        """`keep` for many: name to (tree, base)."""
        lines = "".join(
            f"update refs/navigator/keep/{_name(name)}/{part} {_oid(value)}\n"
            for name, pair in names.items()
            for part, value in zip(("tree", "base"), pair, strict=True)
        )
        self.git.run("update-ref", "--stdin", input=lines.encode("ascii"))

    def drop(self, name: str) -> None:
        """Drop what `keep` held, if anything. `collect` frees the space."""
        where = f"refs/navigator/keep/{_name(name)}"
        self.git.run(
            "update-ref", "--stdin", input=f"delete {where}/tree\ndelete {where}/base\n".encode("ascii")
        )

    def kept(self) -> dict[str, tuple[str, str]]:
        """What `keep` holds: name to (tree, base)."""
        out = self.git.run("for-each-ref", "--format=%(refname) %(objectname)", "refs/navigator/keep/").text
        held: dict[str, dict[str, str]] = {}
        for line in out.splitlines():
            ref, sha = line.split()
            *_, name, part = ref.split("/")
            held.setdefault(name, {})[part] = sha
        return {name: (both["tree"], both["base"]) for name, both in held.items() if len(both) == 2}

    def collect(self, bases: Collection[str] = ()) -> None:
        """Free the space of what nothing refers to any more. Objects younger than two hours stay.

        Args:
            bases: further base commits to hold, such as those of tasks that have no proposal yet.
        """
        with _PINNING:
            needed = {base for _, base in self.kept().values()} | set(bases)
            gone = [base for base in self._pinned() if base not in needed]
            lines = "".join(f"delete refs/navigator/base/{base}\n" for base in gone)
            self.git.run("update-ref", "--stdin", input=lines.encode("ascii"))
            # Without --local: what is borrowed and still needed comes in, so that the repository is
            # complete.
            self.git.run("repack", "-a", "-d", "-q", timeout=1800)
            for env in ({}, self.own_objects_env()):
                self.git.run("prune", "--expire=2.hours.ago", timeout=1800, env=env)
            # What a kill left behind.
            for folder in self.work_folder().glob("*-*"):
                if folder.is_dir() and time.time() - folder.stat().st_mtime > _LEFTOVER_SECONDS:
                    shutil.rmtree(folder, ignore_errors=True)


def _name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"not a name for a reference: {name!r}")
    return name


def _check_shape(entries: Mapping[str, TreeEntry], removed: Iterable[str], written: Iterable[str]) -> None:
    """Refuse what git's index would silently resolve by throwing other files away."""
    gone, new = set(removed), set(written)
    for path in sorted(gone - entries.keys()):
        raise PathRefused(f"{path} cannot be deleted: the base has no such file.", hint="Check the path.")
    for path in sorted(new):
        if not path or "\0" in path or any(part in {"", ".", ".."} for part in path.split("/")):
            raise PathRefused(f"{path!r} is not a path inside the project.", hint="Start at its top folder.")
    files = (entries.keys() - gone) | new
    for path in sorted(new - entries.keys()):
        parts = path.split("/")
        above = next((p for p in ("/".join(parts[:n]) for n in range(1, len(parts))) if p in files), None)
        if above is not None:
            raise PathRefused(f"{path} cannot be made: {above} is a file.", hint="Delete that file first.")
        if any(other.startswith(f"{path}/") for other in files):
            raise PathRefused(f"{path} cannot be made: a folder has that name.", hint="Choose another.")
