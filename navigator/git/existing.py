"""Existing work as changes to review: a commit, a range, a branch, what is staged, what is not committed.

Everything is read from the user's repository and copied into the private one; nothing of the user's is written or run. What a
commit says of itself is its author's word: it is filtered and bounded here, and shown to people and models as data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from navigator.git.diffs import parse_raw
from navigator.git.facts import RepoFacts, commit_named, resolve_base
from navigator.git.private import PrivateRepo
from navigator.git.runner import LogEntry, read_log
from navigator.git.snapshot import MAKER, take_snapshot
from navigator.model import patterns
from navigator.model.errors import NavigatorError, UsageError
from navigator.model.secrets import Redactor
from navigator.model.text import cut_title, safe_line, safe_text

MOST_COMMITS = 1_000
"""Commits in one range at most."""

_MESSAGE = 4_000
"""Characters of one commit's message that the reviewer is shown."""

_MESSAGES = 12_000
"""Characters of all messages of a range."""

_RANGE = patterns.compile(r"(?P<from>.*?)(?P<dots>\.{2,3})(?P<to>.*)", patterns.DOTALL)

_BY_FORM = Redactor()
"""Takes tokens out of messages before they are cut: half a token is not recognised."""


class NothingToReview(NavigatorError):
    """The name leads to no change; the message says why."""

    code: ClassVar[str] = "nothing_to_review"


@dataclass(frozen=True, slots=True)
class WantedReview:
    """What to review: `ref` is a commit or a range (`A..B`), "" for HEAD. At most one of the four is given.

    `each`: every commit of a range or a branch is a change of its own.
    """

    ref: str = ""
    branch: str = ""
    staged: bool = False
    worktree: bool = False
    each: bool = False


@dataclass(frozen=True, slots=True)
class Existing:
    """One change.

    Attributes:
        ref: what it is, as people name it: `a1b2c3d4e5f6`, `main..topic`, `staged`, `worktree`.
        base: the commit that it is compared with.
        head: the commit that holds it.
        title: one line.
        text: what its authors say of it, filtered and bounded.
        author: of the newest commit, filtered; "" for uncommitted work.
    """

    ref: str
    base: str
    head: str
    title: str
    text: str
    author: str = ""


@dataclass(frozen=True, slots=True)
class Listed:
    """The changes, oldest first, and how many merge commits were left out: what they bring in is reviewed where it was made."""

    changes: tuple[Existing, ...]
    merges: int = 0


def find_changes(
    private: PrivateRepo,
    facts: RepoFacts,
    wanted: WantedReview,
    withheld: Callable[[str], bool],
    base: str = "",
) -> Listed:
    """The changes that a name refers to. The caller pins them (`PrivateRepo.pin_bases`): the user may amend and rebase.

    Args:
        facts: of the user's repository, just read.
        withheld: whether a path may hold secrets; untracked ones are left out.
        base: the project's base branch; a branch is compared with where it left that.

    Raises:
        NothingToReview: there is no such commit, or nothing in it.
        NoWorktree: uncommitted work cannot be read.
        GitError: the repository is damaged.
    """
    if wanted.worktree:
        return Listed((_worktree(private, facts, withheld),))
    if wanted.staged:
        return Listed((_staged(private, facts),))
    if wanted.branch:
        tip = _commit_of(facts, f"refs/heads/{wanted.branch}", f"the branch {wanted.branch}")
        start = _trunk(facts, wanted.branch, base)
        return _range(private, facts, start, tip, wanted.branch, each=wanted.each)
    match = _RANGE.fullmatch(wanted.ref)
    if match is None:
        sha = _commit_of(facts, wanted.ref or "HEAD", wanted.ref or "HEAD")
        return Listed((_single(private, _read_commits(facts, [sha], walk=False)[0]),))
    ends = [match["from"] or "HEAD", match["to"] or "HEAD"]
    start, tip = (_commit_of(facts, name, name) for name in ends)
    return _range(private, facts, start, tip, wanted.ref, each=wanted.each)


def commit_changes(private: PrivateRepo, facts: RepoFacts, shas: Sequence[str]) -> tuple[Existing, ...]:
    """Single commits by their full ids; merges and commits that exist no more are left out."""
    known = [commit for commit in _read_commits(facts, shas, walk=False) if len(commit.parents) < 2]
    return tuple(_single(private, commit) for commit in known)


def recent_commits(facts: RepoFacts, limit: int) -> list[tuple[str, str]]:
    """The newest commits of HEAD, merges left out: id and subject, filtered for a screen."""
    shas = facts.git().commits("--no-merges", f"--max-count={limit}", given=[facts.head_commit])
    return [(commit.sha, commit.subject) for commit in _read_commits(facts, shas, walk=False)]


def held_commits(facts: RepoFacts, shas: Sequence[str]) -> list[str]:
    """Those of some commits that a branch, a tag or a checkout still contains: what was amended since is left out."""
    if not shas:
        return []
    present = facts.git().commits("--no-walk=unsorted", "--ignore-missing", given=shas)
    # `--all` counts the heads of every worktree.
    gone = (
        facts.git()
        .run("rev-list", "--stdin", "--not", "--all", input="\n".join([*present, ""]).encode("ascii"))
        .text.split()
    )
    return [sha for sha in shas if sha in present and sha not in gone]


def new_commits(facts: RepoFacts, tip: str, without: Sequence[str], limit: int) -> list[str]:
    """The newest commits of a branch, merges left out, that none of `without` contains; oldest first."""
    words = ("--no-merges", "--ignore-missing", f"--max-count={limit}")
    found = facts.git().commits(*words, given=[tip, *(f"^{sha}" for sha in without if sha)])
    return found[::-1]


def branch_with(facts: RepoFacts, sha: str, base: str = "") -> str:
    """A branch that contains a commit: the project's base or the one that is checked out before others; "" where none does."""
    words = ("for-each-ref", "--format=%(refname:lstrip=2)", f"--contains={sha}", "refs/heads/")
    found = facts.git().run(*words, check=False)
    names = found.text.splitlines() if found.status == 0 else []
    preferred = (resolve_base(facts, base)[0].removeprefix("refs/heads/"), facts.branch)
    return next((name for name in (*preferred, *names) if name in names), "")


def _trunk(facts: RepoFacts, branch: str, base: str) -> str:
    """What a branch is compared with: the project's base, or, where that is the branch itself, the usual main branch."""
    name, commit = resolve_base(facts, base)
    if name != f"refs/heads/{branch}":
        return commit
    for other in ("refs/remotes/origin/HEAD", "refs/heads/main", "refs/heads/master"):
        if other != name and (commit := commit_named(facts.git(), other)):
            return commit
    raise NothingToReview(
        f"{safe_line(branch)} is itself the base of the project.",
        hint="Set the base: `navigator project set NAME --base BRANCH`; or review a range.",
    )


def _commit_of(facts: RepoFacts, name: str, shown: str) -> str:
    if "\0" in name or "\n" in name or name.startswith("-"):
        raise UsageError(f"{safe_line(shown)!r} is not a commit, a range or a branch.")
    if not (commit := commit_named(facts.git(), name)):
        raise UsageError(
            f"{facts.path} has no commit {safe_line(shown)!r}.",
            hint="Give a commit, a branch or a range such as main..topic. `git branch` lists the branches.",
        )
    return commit


def _read_commits(facts: RepoFacts, revisions: Sequence[str], *, walk: bool = True) -> list[LogEntry]:
    """Commits with their messages, newest first. Ids that name no commit are left out where nothing is walked."""
    if not revisions:
        return []
    # With an order or a count after `--no-walk`, git walks after all.
    walking = ("--topo-order", f"--max-count={MOST_COMMITS + 1}")
    words = walking if walk else ("--no-walk=unsorted", "--ignore-missing")
    return [
        replace(
            commit,
            author=_BY_FORM(safe_line(commit.author).strip())[:100],
            subject=_BY_FORM(safe_line(commit.subject).strip())[:300],
            body=_bounded(_BY_FORM(safe_text(commit.body).strip()), _MESSAGE),
        )
        for commit in read_log(facts.git(), *words, given=revisions)
    ]


def _single(private: PrivateRepo, commit: LogEntry) -> Existing:
    """One commit, against its first parent."""
    base = commit.parents[0] if commit.parents else _empty(private)
    text = _message_text(f"Commit {commit.sha[:12]} by {commit.author}. Its message:", [commit])
    return Existing(commit.sha[:12], base, commit.sha, _titled(commit.subject), text, commit.author)


def _range(private: PrivateRepo, facts: RepoFacts, start: str, tip: str, name: str, *, each: bool) -> Listed:
    """What `tip` has and `start` has not, as one change against where the two parted, or commit by commit."""
    commits = _read_commits(facts, [tip, f"^{start}"])
    if not commits:
        raise NothingToReview(
            f"Nothing to review: {safe_line(name)} has no commits of its own.",
            hint="Perhaps it is merged, or the range is the other way round.",
        )
    if len(commits) > MOST_COMMITS:
        raise NothingToReview(
            f"{safe_line(name)} holds more than {MOST_COMMITS} commits.", hint="Review a shorter range."
        )
    if each:
        own = [commit for commit in commits if len(commit.parents) < 2]
        changes = tuple(_single(private, commit) for commit in reversed(own))
        return Listed(changes, len(commits) - len(own))
    parted = facts.git().run("merge-base", "--end-of-options", start, tip, check=False)
    base = parted.text if parted.status == 0 else _empty(private)
    count = "1 commit" if len(commits) == 1 else f"{len(commits)} commits"
    title = commits[0].subject if len(commits) == 1 else f"{safe_line(name)}: {count}"
    text = _message_text(f"{count} of {safe_line(name)}. Their messages, oldest first:", commits[::-1])
    return Listed((Existing(safe_line(name), base, tip, _titled(title), text, commits[0].author),))


def _staged(private: PrivateRepo, facts: RepoFacts) -> Existing:
    """What the index holds, against HEAD. The index is read where it is, never refreshed."""
    out = facts.git(work_tree=True).run(
        "diff-index", "--cached", "--raw", "-z", "--no-renames", "--full-index", "--ita-invisible-in-index",
        "--ignore-submodules=none", facts.head_commit, "--",
    ).stdout  # fmt: skip
    changes = [change for _, change in parse_raw(out)[0]]
    if undecided := next((change.path for change in changes if change.status == "U"), ""):
        raise NothingToReview(
            f"{facts.path} has conflicts that are not resolved: {safe_line(undecided)}.",
            hint="Resolve them first.",
        )
    if not changes:
        raise NothingToReview(f"Nothing is staged in {facts.path}.", hint="`git add` stages changes.")
    private.pin_base(facts.head_commit)
    tree = private.place(facts.head_commit, changes)
    head = private.git.commit(tree, facts.head_commit, "What is staged\n", MAKER)
    return _uncommitted(facts.head_commit, head, "staged", [change.path for change in changes])


def _worktree(private: PrivateRepo, facts: RepoFacts, withheld: Callable[[str], bool]) -> Existing:
    """The checkout as it is, untracked files included, against HEAD; what is left out is said in the text."""
    taken = take_snapshot(private, facts, withheld)
    if taken.commit == taken.head:
        raise NothingToReview(f"Nothing is uncommitted in {facts.path}.", hint="Review a commit or a range.")
    return _uncommitted(taken.head, taken.commit, "worktree", taken.taken, taken.left_out)


def _uncommitted(base: str, head: str, name: str, paths: Sequence[str], left: Sequence[str] = ()) -> Existing:
    count = "1 file" if len(paths) == 1 else f"{len(paths)} files"
    what = "Staged changes" if name == "staged" else "Uncommitted changes"
    text = f"{what} in {count}. No message says what they are for: judge what the code does."
    if left:
        named = ", ".join(safe_line(path) for path in left[:20])
        text += f"\nNot part of what is shown: {named}{' and others' if len(left) > 20 else ''}."
    return Existing(name, base, head, f"{what} in {count}", text)


def _empty(private: PrivateRepo) -> str:
    """A commit without files: what a root commit is compared with."""
    tree = private.git.run("mktree", input=b"", env=private.own_objects_env()).text
    return private.git.commit(tree, "", "Nothing\n", MAKER)


def _message_text(lead: str, commits: Sequence[LogEntry]) -> str:
    """What the authors say, as the task that the reviewer compares the change with."""
    parts = [commit.message for commit in commits]
    return f"{lead}\n\n{_bounded((chr(10) * 2).join(parts), _MESSAGES)}"


def _titled(line: str) -> str:
    return cut_title(line) or "(no message)"


def _bounded(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}\n[{len(text) - most} characters left out]"
