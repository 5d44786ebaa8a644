"""The one place where git is started: no shell, no hooks, no prompts, no network.

A repository is not trusted. Its own configuration may name programs (hooks, fsmonitor, filters, textconv,
external diffs, a promisor remote's upload-pack); git's SECURITY notes say that running git in such a
repository is not safe. So every call here names the git directory outright (no discovery, so no embedded bare
repository), clears the environment of every `GIT_*` variable, reads no configuration but the repository's,
and overrides what would run a program. Commands that would ask for filters or textconv need flags besides;
their callers give them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, ClassVar

from navigator.model import patterns
from navigator.model.errors import MissingPart, NavigatorError
from navigator.model.json_text import table
from navigator.model.text import safe_text
from navigator.process.runner import TIME, run

MIN_GIT = (2, 34)
"""The oldest git whose flags and environment variables are relied on here."""

DEFAULT_TIMEOUT = 120.0
"""Seconds."""

DEFAULT_MAX_OUTPUT = 256 * 1024 * 1024
"""Bytes of standard output; more than any tree listing or proposal diff that can be shown."""

_WHEN = "2000-01-01T00:00:00+0000"
"""Always the same, so that the same work is the same commit."""


class GitError(NavigatorError):
    """A git command failed. `status` is its exit status, `stderr` what it said, made safe to show."""

    code: ClassVar[str] = "git"

    def __init__(self, message: str, *, hint: str = "", status: int = -1, stderr: str = "") -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.stderr = stderr


class GitTimeout(GitError):
    """A git command took longer than it was given, and was ended."""

    code = "git_timeout"


class GitOutputTooLarge(GitError):
    """A git command wrote more than it was allowed, and was ended."""

    code = "git_output"


@dataclass(frozen=True, slots=True)
class GitResult:
    """What a git command left: its exit status, standard output as bytes, standard error made safe."""

    status: int
    stdout: bytes
    stderr: str

    @property
    def text(self) -> str:
        """Standard output as text without surrounding blank space; undecodable bytes as surrogates."""
        return os.fsdecode(self.stdout).strip()


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a tree: mode in octal digits, object id, size in bytes (0 for a submodule)."""

    mode: str
    sha: str
    size: int


@dataclass(frozen=True, slots=True)
class Person:
    """Author or committer of a commit."""

    name: str
    email: str


def person_environment(author: Person, committer: Person) -> dict[str, str]:
    """The variables that make git use these people, in commits and in reflogs."""
    return {
        "GIT_AUTHOR_NAME": author.name,
        "GIT_AUTHOR_EMAIL": author.email,
        "GIT_COMMITTER_NAME": committer.name,
        "GIT_COMMITTER_EMAIL": committer.email,
    }


def signing_environment() -> dict[str, str]:
    """The caller's variables through which gpg and ssh find agents and ask for passphrases."""
    return {name: os.environ[name] for name in _git_table()["signing"] if name in os.environ}


def _git_table() -> dict[str, Any]:
    known: dict[str, Any] = table(__package__, "git.toml")
    return known


@cache
def _version_of(executable: str) -> tuple[int, ...]:
    environment = {"PATH": os.defpath, "LC_ALL": "C"}
    out = run([executable, "version"], DEFAULT_TIMEOUT, env=environment, cwd="/").out.decode(
        "ascii", "replace"
    )
    match = patterns.search(r"(\d+)\.(\d+)(?:\.(\d+))?", out)
    return tuple(int(part or 0) for part in match.groups()) if match else (0, 0, 0)


def safe_path(outside: Iterable[Path] = ()) -> str:
    """The PATH without relative entries and without folders inside any of `outside`.

    A repository must not be able to supply its own `git` or `gpg` when the PATH holds one of its folders.
    """
    return _safe_path(os.environ.get("PATH", os.defpath), tuple(outside))


@lru_cache(maxsize=256)
def _safe_path(path: str, outside: tuple[Path, ...]) -> str:
    """Cached, because resolving every entry of a PATH costs as much as starting a process."""
    barred = tuple(folder.resolve() for folder in outside)
    entries = (entry for entry in path.split(os.pathsep) if Path(entry).is_absolute())
    return os.pathsep.join(e for e in entries if not any(Path(e).resolve().is_relative_to(b) for b in barred))


def find_git(outside: Iterable[Path] = ()) -> Path:
    """The git executable: absolute, and not inside any of the folders of `outside`.

    Raises:
        MissingPart: there is none, or it is older than `MIN_GIT`.
    """
    return _find_git(os.environ.get("PATH", os.defpath), tuple(outside))


@lru_cache(maxsize=256)
def _find_git(path: str, outside: tuple[Path, ...]) -> Path:
    barred = tuple(folder.resolve() for folder in outside)
    for entry in _safe_path(path, outside).split(os.pathsep):
        found = shutil.which("git", path=entry) if entry else None
        # The entry may be a link into the repository's own folder.
        if found is None or any(Path(found).resolve().is_relative_to(folder) for folder in barred):
            continue
        version = _version_of(found)
        if version < MIN_GIT:
            raise MissingPart(
                f"{found} is git {'.'.join(map(str, version))}.",
                hint=f"Navigator needs git {'.'.join(map(str, MIN_GIT))} or newer.",
            )
        return Path(found)
    raise MissingPart("git is not on the PATH.", hint="Install git, then run `navigator doctor`.")


class Git:
    """Runs git against one git directory.

    Args:
        git_dir: the git directory, absolute. Discovery never takes place.
        work_tree: where the files are, for the few commands that look at them.
        index: another index file than the repository's own.
        config: further `key=value` settings for every call.
        user_config: read the system's and the user's own configuration too. Only for reading who the user is.
        outside: folders that no executable may come from; the git directory, the folder it is in when
            it is named `.git`, and `work_tree` are always among them.
    """

    def __init__(
        self,
        git_dir: Path,
        *,
        work_tree: Path | None = None,
        index: Path | None = None,
        config: Sequence[str] = (),
        user_config: bool = False,
        outside: Sequence[Path] = (),
    ) -> None:
        if not git_dir.is_absolute():
            raise ValueError(f"git directory is not absolute: {git_dir}")
        self.git_dir = git_dir
        self.work_tree = work_tree
        self.index = index
        self.config = tuple(config)
        self.user_config = user_config
        named = (*outside, git_dir, *((work_tree,) if work_tree is not None else ()))
        around = (folder.parent for folder in named if folder.name == ".git")
        self.outside = tuple(dict.fromkeys((*named, *around)))

    def environment(self) -> dict[str, str]:
        """The whole environment of a call: nothing of the caller's `GIT_*` reaches git."""
        known = _git_table()
        names = [*known["kept"], *(known["identity"] if self.user_config else ())]
        env: dict[str, str] = {name: os.environ[name] for name in names if name in os.environ}
        env |= {**known["environment"], "PATH": safe_path(self.outside), "GIT_DIR": str(self.git_dir)}
        if not self.user_config:
            env |= known["environment_apart"]
        if self.work_tree is not None:
            env["GIT_WORK_TREE"] = str(self.work_tree)
        if self.index is not None:
            env["GIT_INDEX_FILE"] = str(self.index)
        return env

    def run(
        self,
        *args: str,
        input: bytes | None = None,
        check: bool = True,
        max_output: int = DEFAULT_MAX_OUTPUT,
        timeout: float = DEFAULT_TIMEOUT,
        env: Mapping[str, str] | None = None,
        config: Sequence[str] = (),
    ) -> GitResult:
        """Run `git args…` and wait for it.

        Args:
            args: words of the command; `--end-of-options` or `--` comes before any word the caller did not
                write.
            input: bytes for standard input, which is closed otherwise.
            check: raise when the exit status is not 0.
            max_output: bytes of standard output after which the command is ended.
            timeout: seconds after which the command is ended.
            env: variables on top of the hardened environment.
            config: `key=value` settings on top of the hardened ones.

        Raises:
            GitError: git failed and `check` is set; `GitTimeout`, `GitOutputTooLarge` for the limits.
            MissingPart: there is no git to run.
        """
        settings = [
            part for setting in (*_git_table()["hardened"], *self.config, *config) for part in ("-c", setting)
        ]
        command = [str(find_git(self.outside)), *settings, *args]
        cwd = self.work_tree or self.git_dir
        environment = {**self.environment(), **(env or {})}
        try:
            done = run(command, timeout, given=input, most=max_output, env=environment, cwd=cwd)
        except OSError as error:
            raise GitError(
                f"git could not be started in {cwd}: {error.strerror}.",
                hint="Is the repository still there? Check with `navigator project show NAME`.",
            ) from error
        if done.cut == TIME:
            raise GitTimeout(
                f"`git {args[0]}` took longer than {timeout:.0f} s in {self.git_dir}.",
                hint="Is the disk slow, or another git at work there? Try again.",
            )
        if done.cut:
            raise GitOutputTooLarge(
                f"`git {args[0]}` wrote more than {max_output} bytes in {self.git_dir}.",
                hint="Narrow the project with `include`.",
            )
        said = safe_text(done.err.decode("utf-8", "replace")).strip()
        if check and done.code != 0:
            first = said.splitlines()[0] if said else "no error message"
            raise GitError(
                f"`git {args[0]}` failed in {self.git_dir}: {first}.",
                hint="Run `git fsck` in the repository to check it.",
                status=done.code,
                stderr=said,
            )
        return GitResult(done.code, done.out, said)

    def contents(self, shas: Iterable[str], max_output: int = DEFAULT_MAX_OUTPUT) -> dict[str, bytes]:
        """The contents of files by object id, through one git process.

        Raises:
            GitError: one of them does not exist here, or is no file.
        """
        wanted = list(dict.fromkeys(shas))
        if not wanted:
            return {}
        out = self.run("cat-file", "--batch", input=_stdin_lines(wanted), max_output=max_output).stdout
        found: dict[str, bytes] = {}
        at = 0
        for sha in wanted:
            end = out.index(b"\n", at)
            words = out[at:end].split()
            if len(words) != 3 or words[1] != b"blob":
                raise GitError(f"Object {sha} cannot be read as a file.", hint="Is the repository complete?")
            size = int(words[2])
            found[sha] = out[end + 1 : end + 1 + size]
            at = end + 2 + size
        return found

    def entries(self, treeish: str) -> dict[str, TreeEntry]:
        """Every file of a tree by path."""
        found: dict[str, TreeEntry] = {}
        listed = self.run("ls-tree", "-r", "-z", "--long", "--full-tree", treeish).stdout
        for record in listed.split(b"\0")[:-1]:
            meta, _, path = record.partition(b"\t")
            mode, _, sha, size = meta.decode("ascii").split()
            entry = TreeEntry(mode, sha, int(size) if size.isdigit() else 0)
            found[path.decode("utf-8", "surrogateescape")] = entry
        return found

    def attributes(self, paths: Iterable[str], *names: str) -> list[tuple[str, str, str]]:
        """(path, attribute, value) for those of some attributes that are set on paths of the working tree."""
        feed = b"".join(path.encode("utf-8", "surrogateescape") + b"\0" for path in paths)
        out = self.run("check-attr", "-z", "--stdin", *names, input=feed).stdout if feed else b""
        fields = [field.decode("utf-8", "surrogateescape") for field in out.split(b"\0")]
        found = zip(fields[0::3], fields[1::3], fields[2::3], strict=False)
        return [one for one in found if one[2] not in {"unspecified", "unset"}]

    def commits(self, *words: str, given: Sequence[str], **limits: Any) -> list[str]:
        """The ids that `git rev-list` lists for revisions; none for no revisions, or where it fails without `check`."""
        if not given:
            return []
        listed = self.run("rev-list", *words, "--stdin", input=_stdin_lines(given), **limits)
        return listed.text.split() if listed.status == 0 else []

    def commit(self, tree: str, parent: str, message: str, maker: Person) -> str:
        """A tree as a commit on `parent` ("" for none), always with the same date; returns its object id."""
        dates = {"GIT_AUTHOR_DATE": _WHEN, "GIT_COMMITTER_DATE": _WHEN}
        words = ("commit-tree", tree, *(("-p", parent) if parent else ()), "-F", "-")
        env = person_environment(maker, maker) | dates
        return self.run(*words, input=message.encode("utf-8"), env=env).text


def _stdin_lines(revisions: Iterable[str]) -> bytes:
    return "".join(f"{one}\n" for one in revisions).encode("ascii")


# Commits as `git log` tells of them: one way of asking, one way of reading.

_QUIET = (
    "--no-show-signature", "--no-notes", "--no-color", "--no-decorate", "--no-mailmap", "--no-ext-diff", "--no-textconv",
    "--no-renames", "--encoding=UTF-8",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One commit. Nothing in it is filtered: it is its author's word.

    Attributes:
        address: of its author; `when` it was committed, in seconds since 1970.
        paths: what it changed (of a merge, none), if asked; with counts, each as `added TAB removed TAB path`.
    """

    sha: str
    parents: tuple[str, ...]
    author: str
    address: str
    when: int
    subject: str
    body: str
    paths: tuple[bytes, ...] = ()

    @property
    def message(self) -> str:
        """Subject and body."""
        return f"{self.subject}\n\n{self.body}".strip()


def read_log(
    git: Git,
    *words: str,
    paths: bool = False,
    counts: bool = False,
    given: Sequence[str] = (),
    timeout: float = DEFAULT_TIMEOUT,
    max_output: int = DEFAULT_MAX_OUTPUT,
) -> list[LogEntry]:
    """The commits that `git log` lists, in its order.

    Args:
        words: what to list, its options first.
        paths: list the changed paths too; `counts`: with their changed lines.
        given: revisions; without them, `words` name some.

    Raises:
        GitError: git failed, or a limit was passed.
    """
    # No path and no message holds it, so nothing in the repository can look like the beginning of a commit.
    mark = os.urandom(16).hex()
    listed = "--numstat" if counts else "--name-only"
    wanted = (listed, "-r", "--root") if paths or counts else ("--no-patch",)
    form = f"--format=tformat:{mark}%H%x00%P%x00%an%x00%aE%x00%ct%x00%s%x00%b%x00"
    out = git.run(
        *("log", "-z", *_QUIET, *wanted, form, *words, *(("--stdin",) if given else ())),
        input=_stdin_lines(given),
        timeout=timeout,
        max_output=max_output,
    ).stdout
    found = []
    for record in out.split(mark.encode("ascii"))[1:]:
        *fields, rest = record.split(b"\0", 7)
        sha, parents, author, address, when, subject, body = (
            field.decode("utf-8", "replace") for field in fields
        )
        changed = tuple(name for name in rest.lstrip(b"\n\0").split(b"\0") if name.strip(b"\n"))
        moment = int(when) if when.isdecimal() else 0
        found.append(LogEntry(sha, tuple(parents.split()), author, address, moment, subject, body, changed))
    return found
