"""Whether landed commits are still on a branch, or were reverted there later. Reads only; never guesses.

A commit counts as reverted where a later commit of the branch names it ("This reverts commit …", also as part of a merge
that was reverted).

A rebase or a cherry-pick leaves the change under another commit: the one with the same paths and the same diff.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from navigator.git.runner import Git, LogEntry, read_log
from navigator.model import patterns

MOST_COMMITS = 5_000
"""Commits of a branch that one look reads, newest first."""

_SECONDS = 30.0
_MOST_BYTES = 64 * 1024 * 1024
_MOST_MERGES = 200
"""Reverted merges whose commits are listed; MOST_COMMITS of them for each."""

_NAMES = patterns.compile(
    r"^This reverts commit ([0-9a-f]{7,64})(?:,\s+reversing\s+changes made to ([0-9a-f]{7,64}))?",
    patterns.MULTILINE,
)
_SECTION = patterns.compile(rb"^([0-9a-f]{40}(?:[0-9a-f]{24})?)\n", patterns.MULTILINE)
_DIFF = ("diff-tree", "--stdin", "-r", "--root", "--no-renames", "--no-ext-diff", "--no-textconv")


@dataclass(frozen=True, slots=True)
class LandedAs:
    """A landed commit. `known_as`: the commit of the same change on the branch, as an earlier look found it."""

    commit: str
    known_as: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a branch says of a landed commit that is on it.

    Attributes:
        found_as: the commit of the change on the branch; the landed one itself, or another one with the same patch.
        reverted_by: the commit that took it back, "" where none was found.
    """

    found_as: str
    reverted_by: str = ""


def look_for_reverts(
    git: Git, tip: str, wanted: Sequence[LandedAs], *, since: str, most: int = MOST_COMMITS
) -> tuple[dict[str, Seen], bool]:
    """Look through a branch for landed commits and their reverts.

    Args:
        git: a runner on the user's repository.
        tip: the branch's commit.
        wanted: commits that landed.
        since: a time from before the oldest of them; older commits are not looked at.
        most: commits that are read.

    Returns:
        What was seen, by landed commit; those that are not on the branch are missing. And whether the whole of the
        history since then was read: if not, a revert may have been missed.

    Raises:
        GitError: git failed, or the history is too large for the limits on time and output.
    """
    listed = (f"--max-count={most + 1}", f"--since={since}", "--end-of-options", tip)
    history = read_log(git, *listed, paths=True, timeout=_SECONDS, max_output=_MOST_BYTES)
    whole = len(history) <= most
    history = history[:most]
    names = [name for one in wanted for name in (one.commit, one.known_as) if name]
    present = set(_listed(git, "--no-walk=unsorted", "--ignore-missing", given=names))
    merged = present - set(_listed(git, given=[*sorted(present), f"^{tip}"]))
    seen: dict[str, Seen] = {}
    for one in wanted:
        on_branch = next((name for name in (one.commit, one.known_as) if name in merged), "")
        if on_branch:
            seen[one.commit] = Seen(on_branch)
    lost = [one.commit for one in wanted if one.commit in present and one.commit not in seen]
    seen |= {commit: Seen(twin) for commit, twin in _twins(git, history, lost).items()}
    seen |= _named_reverts(git, history, seen)
    return seen, whole


def _listed(git: Git, *words: str, given: Sequence[str], check: bool = True) -> list[str]:
    return git.commits(*words, given=given, check=check, timeout=_SECONDS, max_output=_MOST_BYTES)


def _twins(git: Git, history: Sequence[LogEntry], lost: Sequence[str]) -> dict[str, str]:
    """For commits that are not on the branch: the oldest one there with the same paths and the same patch."""
    # Of a merge the log says no paths; without revisions it would begin at HEAD.
    words = ("--no-walk=unsorted",) if lost else ("--max-count=0",)
    found = read_log(git, *words, paths=True, given=lost, timeout=_SECONDS, max_output=_MOST_BYTES)
    wanted = {commit.sha: frozenset(commit.paths) for commit in found if commit.paths}
    sets = frozenset(wanted.values())
    paths = {commit.sha: frozenset(commit.paths) for commit in history if len(commit.parents) < 2}
    like = {sha: changed for sha, changed in paths.items() if changed in sets}
    ids, theirs = _patch_ids(git, wanted), _patch_ids(git, like)
    oldest = {(like[sha], theirs[sha]): sha for sha in like if sha in theirs}
    pairs = ((commit, oldest.get((wanted[commit], ids[commit]))) for commit in ids)
    return {commit: twin for commit, twin in pairs if twin}


def _named_reverts(git: Git, history: Sequence[LogEntry], seen: dict[str, Seen]) -> dict[str, Seen]:
    """Commits that a message of the branch says it reverts, alone or within a merge; the oldest such message counts."""
    names = {name: commit for commit, found in seen.items() for name in (commit, found.found_as)}
    found: dict[str, Seen] = {}
    merges = 0
    for later in history:
        for match in _NAMES.finditer(later.message):
            target, made_to = match[1], match[2]
            reverted = {commit for name, commit in names.items() if name.startswith(target)}
            if made_to and not reverted and merges < _MOST_MERGES:
                merges += 1
                reverted = {names[name] for name in _brought(git, target, made_to) & names.keys()}
            for commit in reverted:
                found[commit] = Seen(seen[commit].found_as, later.sha)
    return found


def _brought(git: Git, merge: str, made_to: str) -> set[str]:
    """The commits that a merge brought to the branch it was made on; none where one of the two is not there."""
    return set(_listed(git, f"--max-count={MOST_COMMITS}", given=[merge, f"^{made_to}"], check=False))


def _patch_ids(git: Git, commits: Iterable[str]) -> dict[str, str]:
    """A digest of each commit's diff, without line numbers; none where a file is binary.

    Like `git patch-id --verbatim`, which is younger than the oldest git that is supported. Without `--verbatim` a patch id
    ignores white space, and a change of nothing else would be its own reverse.
    """
    listed = "".join(f"{commit}\n" for commit in commits).encode()
    if not listed:
        return {}
    out = git.run(*_DIFF, "-p", input=listed, max_output=_MOST_BYTES, timeout=_SECONDS).stdout
    parts = _SECTION.split(out)[1:]
    found: dict[str, str] = {}
    for name, patch in zip(parts[::2], parts[1::2], strict=True):
        lines = patch.split(b"\n")
        if not any(line.startswith(b"Binary files ") for line in lines):
            kept = b"\n".join(line for line in lines if not line.startswith((b"@@ ", b"index ")))
            found[name.decode("ascii")] = hashlib.sha256(kept).hexdigest()
    return found


_BLAME_SECONDS = 30.0
_LARGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class Line:
    """A line as a commit left it; `changed_by` is the first commit that changed or removed it, "" while it is there.

    `subject` and `at` (seconds since 1970) are that commit's.
    """

    text: str
    changed_by: str = ""
    subject: str = ""
    at: int = 0


def became_of(git: Git, commit: str, tip: str, path: str, line: int) -> Line | None:
    """What became of a line between `commit` and `tip`; None where `tip` does not hold the commit, or that no such line.

    Raises:
        GitError: git failed, or took too long.
    """
    inside = git.run("merge-base", "--is-ancestor", "--end-of-options", commit, tip, check=False)
    if inside.status != 0:
        return None
    found = git.run(
        *("blame", "--reverse", "--porcelain", f"-L{line},{line}", f"{commit}..{tip}", "--", path),
        check=False,
        timeout=_BLAME_SECONDS,
        max_output=_LARGEST,
    )
    lines = found.stdout.decode("utf-8", "replace").split("\n")
    text = next((one[1:] for one in lines if one.startswith("\t")), None)
    if found.status != 0 or text is None:
        # Nothing to go through where nothing came after: git calls that range empty.
        return None if commit != tip else _now(git, commit, path, line)
    last = lines[0].partition(" ")[0]
    if last == tip:
        return Line(text)
    log = ("log", "--reverse", "--ancestry-path", "--format=%H %ct %s", "--end-of-options", f"{last}..{tip}")
    after = git.run(*log, "--", path, timeout=_BLAME_SECONDS, max_output=_LARGEST).stdout.decode(
        "utf-8", "replace"
    )
    sha, _, rest = after.partition("\n")[0].partition(" ")
    when, _, subject = rest.partition(" ")
    return Line(text, sha, subject, int(when)) if sha else Line(text)


def _now(git: Git, commit: str, path: str, line: int) -> Line | None:
    content = git.run("cat-file", "blob", f"{commit}:{path}", check=False, max_output=_LARGEST)
    lines = content.stdout.decode("utf-8", "replace").split("\n")
    return Line(lines[line - 1]) if content.status == 0 and 0 < line <= len(lines) else None
