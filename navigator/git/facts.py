"""What a project's repository is, read without running anything of it. The only module that imports GitPython.

GitPython finds the directories, which starts no process. It starts git with the caller's environment, so everything else goes
through the runner.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from navigator.config.paths import typed_path
from navigator.git.runner import Git
from navigator.model.errors import NavigatorError
from navigator.process.guarded import read_file

if TYPE_CHECKING:
    from navigator.model.models import Project

HOOK_MARK = b"# Made by `navigator hook install`."
LARGEST_HOOK = 1 << 16
"""Bytes; Navigator's own has about a thousand."""

_SHA1_DIGITS = 40

_OPERATIONS = (
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("BISECT_LOG", "bisect"),
)


class RepositoryError(NavigatorError):
    """A folder that Navigator cannot work on; the subclasses say why."""

    code: ClassVar[str] = "repository"


class NotARepository(RepositoryError):
    """There is no git repository at the path."""

    code = "not_a_repository"


class NoCommit(RepositoryError):
    """HEAD, or the base that the project names, has no commit yet."""

    code = "no_commit"


class UnsafeOwner(RepositoryError):
    """The repository belongs to another user, and git has not been told to trust it."""

    code = "unsafe_owner"


class AbsentBlobs(RepositoryError):
    """A partial clone that lacks files of the commit to work on; Navigator never fetches."""

    code = "absent_blobs"


@dataclass(frozen=True, slots=True)
class RepoFacts:
    """A repository at one moment.

    Attributes:
        path: the folder as the project names it, resolved.
        git_dir: the git directory of this worktree; `common_dir` the one that all its worktrees share.
        work_tree: where the files are; None in a bare repository.
        head_commit: the commit of HEAD.
        branch: short name of the branch HEAD is on; None when detached.
        object_format: "sha1" or "sha256".
        root_commit: the first commit of HEAD's first-parent line, which identifies the history wherever it
            is; "" in a shallow clone, where that commit is unknown.
        hooks: names of the hooks that a normal commit here might run. Navigator never runs them.
        branches: each local branch with its commit.
        operation: "merge", "rebase", "cherry-pick", "revert" or "bisect" while one is under way, else "".
        checked_out: branches that some worktree has checked out or is rebasing.
        partial: a partial clone, which may lack blobs.
    """

    path: Path
    git_dir: Path
    common_dir: Path
    work_tree: Path | None
    head_commit: str = ""
    branch: str | None = None
    object_format: str = "sha1"
    root_commit: str = ""
    partial: bool = False
    operation: str = ""
    hooks: tuple[str, ...] = ()
    branches: Mapping[str, str] = field(default_factory=dict)
    checked_out: frozenset[str] = frozenset()

    @property
    def zero(self) -> str:
        """The object id of nothing, in this repository's format."""
        return "0" * (64 if self.object_format == "sha256" else 40)

    @property
    def outside(self) -> tuple[Path, ...]:
        """Folders that no executable may come from."""
        return (self.common_dir,) if self.work_tree is None else (self.common_dir, self.work_tree)

    def git(self, *, work_tree: bool = False, user_config: bool = False) -> Git:
        """A hardened runner on this repository; with its files only when `work_tree` is set."""
        tree = self.work_tree if work_tree else None
        return Git(self.git_dir, work_tree=tree, user_config=user_config, outside=self.outside)


_STEERING = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY")
"""Set by git for hooks and aliases; GitPython and the programs of `[on]` would take them for the project's."""


@lru_cache(maxsize=1)
def _import_gitpython() -> None:
    """Not before it is needed: it takes a tenth of a second, and most commands never look at a repository.

    The import runs the first `git` of the PATH, which may be the repository's: it is shown none, and "quiet" lets it go on.
    """
    name, quiet = "GIT_PYTHON_GIT_EXECUTABLE", "GIT_PYTHON_REFRESH"
    before = {key: value for key, value in os.environ.items() if key in (name, quiet)}
    os.environ |= {name: os.devnull, quiet: "quiet"}
    import git  # noqa: F401

    del os.environ[name], os.environ[quiet]
    os.environ |= before


def _open_places(path: Path) -> RepoFacts:
    """Where the parts of the repository at `path` are, as GitPython finds them."""
    _import_gitpython()
    from git import Repo
    from git.exc import InvalidGitRepositoryError, NoSuchPathError

    try:
        with Repo(path, expand_vars=False) as repo:
            git_dir = Path(repo.git_dir).resolve()
            common_dir = Path(repo.common_dir).resolve()
            # A bare repository has no working tree even when its folder happens to be named `.git`.
            work_tree = (
                None if repo.bare or repo.working_tree_dir is None else Path(repo.working_tree_dir).resolve()
            )
    except NoSuchPathError:
        raise NotARepository(f"{path} does not exist.", hint="Give the folder of a git repository.") from None
    except (InvalidGitRepositoryError, ValueError):
        raise NotARepository(
            f"{path} is not a git repository.",
            hint="Give its top folder (the one that holds `.git`), or run `git init` and commit there first.",
        ) from None
    except PermissionError as error:
        raise NotARepository(
            f"{path} cannot be read: {error.strerror}.", hint="Check who may read it."
        ) from None
    return RepoFacts(path, git_dir, common_dir, work_tree)


def own_settings(git: Git, key: str, *, repository: bool = False) -> list[str]:
    """Every value of a setting in the system's and the user's own configuration, in order.

    Args:
        git: a runner with `user_config`.
        key: the setting; `~` in its value is expanded where the key holds a path.
        repository: the repository's own configuration too. Never for a setting that grants trust.
    """
    scopes = {"system", "global", "local", "worktree"} if repository else {"system", "global"}
    kind = ("--type=path",) if key.lower().endswith(("path", "file")) else ()
    found = git.run("config", "--null", "--show-scope", *kind, "--get-all", key, check=False)
    fields = os.fsdecode(found.stdout).split("\0")
    return [value for scope, value in zip(fields[::2], fields[1::2], strict=False) if scope in scopes]


def _require_owner(places: RepoFacts) -> None:
    """Refuse a repository of another user unless git's own safe.directory trusts it.

    Navigator names git directories outright, which switches git's own check off; so it is asked here once.
    """
    mine = os.geteuid()
    looked_at = {places.git_dir, places.common_dir, places.work_tree or places.git_dir}
    if all(folder.stat().st_uid == mine for folder in looked_at):
        return
    where = places.work_tree or places.git_dir
    names: list[str] = []
    for name in own_settings(places.git(user_config=True), "safe.directory"):
        # An empty value takes back what came before it: git-config(1), safe.directory.
        names = [*names, name] if name else []
    for name in names:
        if name == "*" or name.rstrip("/") == str(where):
            return
        if name.endswith("/*") and where.is_relative_to(name[:-2]):
            return
    raise UnsafeOwner(
        f"{where} belongs to another user.",
        hint=f"If you trust it: git config --global --add safe.directory {where}",
    )


def commit_named(git: Git, name: str) -> str:
    """The commit that `name` resolves to; "" if there is none, or if it is ambiguous."""
    found = git.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", check=False)
    return found.text if found.status == 0 and found.text.isalnum() else ""


def _hooks(places: RepoFacts) -> tuple[str, ...]:
    """Names of the executable hooks that a commit by the user would find, also where core.hooksPath leads
    elsewhere."""
    folder = places.common_dir / "hooks"
    elsewhere = own_settings(places.git(user_config=True), "core.hooksPath", repository=True)
    if elsewhere:
        folder = (places.work_tree or places.git_dir) / elsewhere[-1]
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return ()
    return tuple(
        e.name
        for e in entries
        if e.suffix != ".sample" and e.is_file() and os.access(e, os.X_OK) and not _is_own_hook(e)
    )


def _is_own_hook(path: Path) -> bool:
    """Whether a hook is Navigator's own: it has nothing to do at a landing."""
    try:
        return HOOK_MARK in read_file(path.parent, path.name, LARGEST_HOOK)
    except OSError:
        return False  # a link, or too large: it is somebody else's


def _operation(git_dir: Path) -> str:
    return next((word for name, word in _OPERATIONS if (git_dir / name).exists()), "")


def checked_out_branches(common_dir: Path, git: Git) -> frozenset[str]:
    """Branches that must not move because a worktree has them checked out or is rebasing them."""
    names: set[str] = set()
    for line in os.fsdecode(git.run("worktree", "list", "--porcelain").stdout).splitlines():
        if line.startswith("branch refs/heads/"):
            names.add(line.removeprefix("branch refs/heads/"))
    worktrees = common_dir / "worktrees"
    folders = [common_dir, *(worktrees.iterdir() if worktrees.is_dir() else ())]
    for folder in folders:
        for name in ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"):
            try:
                text = os.fsdecode(read_file(folder, name, LARGEST_HOOK)).strip()
            except OSError:
                continue
            names.add(text.removeprefix("refs/heads/"))
    return frozenset(names)


def _open(path: Path | str) -> RepoFacts:
    """Find the parts of the repository at `path`, and see that it may be worked on."""
    for name in _STEERING:
        os.environ.pop(name, None)
    where = typed_path(path).resolve()
    places = _ordinary(where) or _open_places(where)
    if places.work_tree not in (None, where):
        raise NotARepository(
            f"{where} is not the top folder of a checkout.", hint=f"Give {places.work_tree} instead."
        )
    _require_owner(places)
    return places


def _read_head(git: Git, where: Path) -> tuple[str, str, str]:
    """The format of object ids, the commit of HEAD, and the reference that HEAD is on ("HEAD" when detached)."""
    asked = ("rev-parse", "--show-object-format", "HEAD", "--symbolic-full-name", "HEAD")
    # Without it a tag of that name has git print no reference.
    found = git.run(*asked, config=("core.warnAmbiguousRefs=false",), check=False)
    if not found.stdout:
        raise NotARepository(
            f"git does not accept {where}: {found.stderr.partition(chr(10))[0]}",
            hint="`git status` there says more.",
        )
    if found.status != 0:
        raise NoCommit(f"{where} has no commit yet.", hint="Make a first commit there, then try again.")
    kind, commit, ref = found.text.split("\n")
    return kind, commit, ref


def _ordinary(where: Path) -> RepoFacts | None:
    """A checkout with its own `.git` folder, on a branch that is a file of its own, with its commit; None for all others.

    Most are like this, and importing GitPython takes longer than all else that a list of proposals needs, or than a landing.
    """
    git_dir = where / ".git"
    if git_dir.is_symlink() or (git_dir / "commondir").exists() or (git_dir / "reftable").exists():
        return None
    try:
        branch = read_file(git_dir, "HEAD", LARGEST_HOOK).decode().strip().removeprefix("ref: ")
        commit = read_file(git_dir, branch, LARGEST_HOOK).decode().strip()
    except (OSError, ValueError):
        return None
    settings = _settings(git_dir)
    if (
        b"worktree" in settings
        or b"include" in settings
        or settings.count(b"bare") != settings.count(b"bare = false")
    ):
        return None  # its files may be elsewhere, or nowhere
    if not branch.startswith("refs/heads/") or len(commit) != _SHA1_DIGITS or not commit.isalnum():
        return None
    return RepoFacts(where, git_dir, git_dir, where, head_commit=commit)


def read_base(path: Path | str, base: str = "") -> str:
    """The commit that new work starts from, as `resolve_base` says, without reading all facts.

    Where the base is the branch HEAD is on, no process is started.

    Raises:
        NotARepository, NoCommit, UnsafeOwner: with what to do about it.
    """
    places = _open(path)
    if not base:
        return places.head_commit or _read_head(places.git(), places.path)[1]
    return _named_base(places.git(), places.path, base)[1]


def read_places(path: Path | str) -> RepoFacts:
    """Where the parts of the repository at `path` are, with its format and its commit, and no other facts.

    Raises:
        NotARepository, NoCommit, UnsafeOwner: with what to do about it.
    """
    places = _open(path)
    if places.head_commit:
        return places
    object_format, head, _ = _read_head(places.git(), places.path)
    return replace(places, object_format=object_format, head_commit=head)


def read_facts(path: Path | str) -> RepoFacts:
    """Read what the repository at `path` is. Runs nothing of it and writes nothing into it.

    Args:
        path: the top folder of a checkout, or a bare repository.

    Raises:
        NotARepository, NoCommit, UnsafeOwner: with what to do about it.
    """
    places = _open(path)
    git = places.git()
    object_format, head, ref = _read_head(git, places.path)
    shallow = (places.common_dir / "shallow").exists()
    root = "" if shallow else _root_commit(git.git_dir, git.outside, head)
    listed = git.run("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/heads/").stdout
    tips = (os.fsdecode(line).partition(" ") for line in listed.splitlines())
    return replace(
        places,
        head_commit=head,
        branch=ref.removeprefix("refs/heads/") if ref.startswith("refs/heads/") else None,
        object_format=object_format,
        root_commit=root,
        partial=_is_partial(places, git),
        operation=_operation(places.git_dir),
        hooks=_hooks(places),
        branches={name: tip for tip, _, name in tips},
        checked_out=checked_out_branches(places.common_dir, git),
    )


@lru_cache(maxsize=256)
def _root_commit(git_dir: Path, outside: tuple[Path, ...], head: str) -> str:
    """The first commit of the first-parent line; cached, since a commit's history does not change."""
    return Git(git_dir, outside=outside).run("rev-list", "--first-parent", "--max-parents=0", head).text


def _settings(git_dir: Path) -> bytes:
    """A repository's own configuration in small letters; `include`, which may mean anything, where it is no plain file."""
    try:
        return read_file(git_dir, "config", LARGEST_HOOK).lower()
    except OSError:
        return b"include"


def _is_partial(places: RepoFacts, git: Git) -> bool:
    """Whether files may be left with a promisor; git is asked only where the configuration may name one."""
    settings = _settings(places.common_dir)
    if not any(word in settings for word in (b"partialclone", b"promisor", b"worktreeconfig", b"include")):
        return False
    pattern = r"^(extensions\.partialclone|remote\..*\.promisor)$"
    return git.run("config", "--name-only", "--get-regexp", pattern, check=False).status == 0


def require_same(facts: RepoFacts, project: Project) -> None:
    """Refuse a path that now holds another history than the one the project was added with.

    Raises:
        RepositoryError: nothing is read from there, and nothing written.
    """
    if project.root_commit and facts.root_commit and project.root_commit != facts.root_commit:
        raise RepositoryError(
            f"{facts.path} holds a different repository than {project.name}.",
            hint=f"Move it back, or give its new path: `navigator project set {project.name} --path PATH`.",
        )


def resolve_base(facts: RepoFacts, base: str = "") -> tuple[str, str]:
    """The reference and the commit that new work of a project starts from.

    Args:
        base: the project's base branch; "" for the branch HEAD is on, or HEAD itself when detached.

    Returns:
        The full reference name ("HEAD" when detached) and its commit.

    Raises:
        NoCommit: the repository has no such branch.
    """
    if not base:
        return (f"refs/heads/{facts.branch}" if facts.branch else "HEAD"), facts.head_commit
    return _named_base(facts.git(), facts.path, base)


def _named_base(git: Git, path: Path, base: str) -> tuple[str, str]:
    full = (base,) if base.startswith("refs/") else ()
    for name in (*full, f"refs/heads/{base}", f"refs/remotes/{base}", f"refs/tags/{base}"):
        commit = commit_named(git, name)
        if commit:
            return name, commit
    raise NoCommit(
        f"{path} has no branch {base!r}.", hint="Set the project's base to one that `git branch` lists."
    )


# Repositories that can be added, found by looking at names alone

_DEEPEST = 6
"""Folders below the start at most: a home's projects are not deeper."""

_PASSED_OVER = frozenset({"node_modules", "__pycache__", "site-packages", "venv", "target", "dist", "build"})


def find_repositories(folder: Path) -> list[Path]:
    """Top folders of the checkouts and bare repositories under `folder`, resolved and in order of their names.

    A repository is not searched for others inside it; hidden folders, links and folders of dependencies are passed over.
    """
    return list(_walk(folder.resolve(), _DEEPEST))


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    if _is_repository(folder):
        yield folder
        return
    if depth == 0:
        return
    try:
        with os.scandir(folder) as entries:
            inner = sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return  # a folder we may not read holds no project of ours
    for name in inner:
        if not name.startswith(".") and name not in _PASSED_OVER:
            yield from _walk(folder / name, depth - 1)


def repository_of(folder: Path) -> Path | None:
    """Top folder of the repository that `folder` is in, resolved; None where it is in none."""
    here = folder.resolve()
    return next((one for one in (here, *here.parents) if _is_repository(one)), None)


def _is_repository(folder: Path) -> bool:
    if (folder / ".git").exists():
        return True
    return (folder / "HEAD").is_file() and (folder / "objects").is_dir() and (folder / "refs").is_dir()
