"""Which commit brought in a bug: the one that wrote the lines which its fix changed or removed (SZZ: Śliwerski, Zimmermann
and Zeller 2005), found by `git blame` through renames, moves and mechanical commits. Reads only.

Blank lines, comments, docstrings, imports, punctuation and lines that the fix only moved are not asked about. Where a fix
changed the lines of several commits, the one with the most lines counts if it has at least half of them.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from pathlib import Path

from navigator.exam.history import Commit, is_code, word_patterns
from navigator.git.facts import read_facts, require_same, resolve_base
from navigator.git.private import PrivateRepo
from navigator.git.reverts import Line, became_of
from navigator.journey.dependencies import Dependencies
from navigator.model import patterns
from navigator.model.diff import DiffLine, FileDiff, Hunk
from navigator.model.errors import NavigatorError
from navigator.model.models import Finding, Project, utc_now
from navigator.model.records import Afterlife
from navigator.store.reads.outcomes import LandedFinding

log = logging.getLogger(__name__)

MOST_LINES, MOST_FILES = 1_000, 40
"""Changed lines of code and files of a commit that is reviewed: a larger one is no change that anybody reviews."""

_FIX_LINES, _FIX_FILES = 200, 8
"""Changed lines and files of code of a fix: a larger one does more than mend one bug."""

_SAYS = word_patterns("blame")
_ISSUE = patterns.compile(r"\b(?:fix(?:e[sd])?)\b:? *#\d+", patterns.IGNORECASE)
_TYPES = patterns.compile(r"(?:^|[^-\w])(?:\w*types|type|typed)\b", patterns.IGNORECASE)
_MANY_LINES, _MANY_FILES = 150, 8
"""Changed lines or files from which on a commit that calls itself mechanical is looked through."""

_NOTHING = patterns.compile(
    r"\A(?:(?:#|//|/\*|\*|--|<!--|\"\"\"|'''|:param |:return|\.\. )[\s\S]*"
    r"|(?:import|from|use|using|package|require|#include)(?:\W[\s\S]*)?|export [*{][\s\S]*|\w+(?:, *\w+)+[, \\)]*|\"[\w./@-]+\",?"
    r"|[\W_]*(?:else|try|finally|pass|break|continue|return|end|do|then|begin|default|nil|None|null|true|false|self|this)[\W_]*"
    r"|[\W_]*)"
)
_LOOKS = patterns.compile(r"\b(?:var|let|const|final|auto)\b|[\s\"'`,;:()]+")
"""What may differ between two lines that say the same."""

_MOSTLY, _MORE = 4, 8
"""A fix that adds more lines than so many times those that it changes, and a few, adds what was missing."""

_SAME, _STEPS = 0.5, 4
"""How alike a line and the one that took its place are, and how often the line before is asked about."""

_LARGE, _LONGEST, _MOST_COMPARED = 5_000, 300, 40
"""Changed lines of a commit, characters of a line and lines of a hunk that are compared."""

_WORD = patterns.compile(r"\w+|[^\w\s]")
_SHA = patterns.compile(r"[0-9a-f]{40}")
_LARGEST = 100_000
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Place:
    """A line of a file as a commit left it."""

    sha: str
    path: str
    line: int


@dataclass(frozen=True)
class Blamed:
    """What a fix leads to.

    Attributes:
        commit: the commit that is blamed; None where there is no telling, and `why` says why.
        share: of the `lines` of the fix that were asked about, those that the commit wrote.
        places: those lines as they were in that commit: (path, line) each.
        suspects: every commit that one of the lines leads to.
    """

    commit: str | None
    share: float = 0.0
    lines: int = 0
    places: tuple[tuple[str, int], ...] = ()
    suspects: frozenset[str] = frozenset()
    why: str = ""


def _ignored(private: PrivateRepo, head: str) -> frozenset[str]:
    """The commits that the project itself has `git blame` look through."""
    entry = private.tree_entries(head).get(".git-blame-ignore-revs") if head else None
    if entry is None or entry.size > _LARGEST:
        return frozenset()
    lines = private.read_blob(entry.sha).decode("utf-8", "replace").split("\n")
    return frozenset(line.strip() for line in lines if _SHA.fullmatch(line.strip()))


def repairs(commits: Iterable[Commit]) -> list[Commit]:
    """The commits that mend a bug by what they say of themselves, newest first."""
    return [
        commit
        for commit in commits
        if commit.code
        and commit.code_lines <= _FIX_LINES
        and len(commit.code) <= _FIX_FILES
        and not commit.routine
        and (
            says_fix(commit.subject)
            or (_ISSUE.search(commit.body) and not _SAYS["no_bug"].search(commit.subject))
        )
        and not (_TYPES.search(commit.subject) and all(_has_annotations(file.path) for file in commit.code))
    ]


def says_fix(subject: str) -> bool:
    """Whether a commit says in its subject that it mends a bug of the product."""
    return _SAYS["fix"].search(subject) is not None and _SAYS["no_bug"].search(subject) is None


def _has_annotations(path: str) -> bool:
    """Whether types in a file are annotations, which change nothing when it runs."""
    return path.endswith((".py", ".pyi"))


def mechanical(commits: Iterable[Commit]) -> list[str]:
    """Commits that change how much code looks, not what it does, by their own words, or by as many lines out as in."""
    return [commit.sha for commit in commits if _is_mechanical(commit)]


def _is_mechanical(commit: Commit) -> bool:
    added, removed = (sum(getattr(file, side) for file in commit.files) for side in ("added", "removed"))
    many = commit.lines >= _MANY_LINES or len(commit.files) >= _MANY_FILES
    even = len(commit.files) >= 3 * _MANY_FILES and abs(added - removed) * 20 <= added + removed
    return many and (even or _SAYS["mechanical"].search(commit.subject) is not None)


class Blame:
    """Asks git who wrote lines.

    Args:
        commits: the history that is looked at, newest first.
        branches: for each commit, by which merge it came to the main line; see `brought_by`.
    """

    def __init__(self, private: PrivateRepo, commits: Sequence[Commit], branches: dict[str, str]) -> None:
        self._private = private
        self._known = {commit.sha: commit for commit in commits}
        self._age = {commit.sha: place for place, commit in enumerate(commits)}
        self._branches = branches
        self._through = frozenset(mechanical(commits)) | _ignored(private, commits[0].sha if commits else "")

    def of(self, fix: Commit) -> Blamed:
        """What a fix leads to. Runs git: call it in a thread.

        Raises:
            GitError: the repository is damaged.
        """
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        asked = 0
        files = [
            file
            for file in self._private.diff(fix.parent, fix.sha, context=0)
            if not file.binary and is_code(file.path) and not _SAYS["aside"].search(file.path)
        ]
        added, removed = (set(_telling_lines(files, sign)) for sign in "+-")
        for file in files:
            wanted = self._wanted(fix, file, added) if file.old_path else {}
            asked += len(wanted)
            for line, at in self._blame(fix.parent, file.old_path, wanted) if wanted else ():
                if (first := self._first(at, *wanted[line])) is not None:
                    found[first.sha].append((first.path, first.line))
        return self._judged(fix, found, asked, len(added - removed))

    def _judged(self, fix: Commit, found: dict[str, list[tuple[str, int]]], asked: int, new: int) -> Blamed:
        suspects = frozenset(found)
        if not asked or new > _MOSTLY * asked + _MORE:
            why = "it only adds lines, or nearly, or changes none that say anything"
            return Blamed(None, why=why, suspects=suspects)
        # The author of the fix knows best.
        named = [match[1].lower() for match in _SAYS["named"].finditer(f"{fix.subject}\n{fix.body}")]
        if named:
            found = {sha: at for sha, at in found.items() if any(map(sha.startswith, named))}
            if not found:
                return Blamed(None, why="its message names another commit", suspects=suspects)
            asked = sum(map(len, found.values()))
        sha = max(found, key=lambda one: (len(found[one]), -self._age.get(one, len(self._age))), default="")
        commit = self._known.get(sha)
        share = len(found.get(sha, ())) / asked
        why = ""
        if commit is None:
            why = "its lines are older than what was read, or came with a merge or the first commit"
        elif share <= 0.5:
            why = "its lines are of several commits"
        elif sha in self._through or commit.code_lines > MOST_LINES or len(commit.files) > MOST_FILES:
            why = "its lines came with a large or mechanical commit"
        elif commit.routine:
            why = "its lines came back with a revert, or with a release"
        elif self._branches.get(sha, sha) == self._branches.get(fix.sha, fix.sha):
            why = "it mends its own branch, before that was merged"
        return Blamed(None if why else sha, share, asked, tuple(found.get(sha, ())), suspects, why)

    def _wanted(self, fix: Commit, file: FileDiff, added: set[str]) -> dict[int, tuple[str, list[str]]]:
        """The lines before the fix that it changed or removed, by number: text, and the parts that it changed.

        Those that say nothing are left out.
        """
        text = self._private.read_blob(self._private.tree_entries(fix.parent)[file.old_path].sha)
        prose = _prose(text.decode("utf-8", "replace")) if _has_annotations(file.old_path) else frozenset()
        return {
            line.old: (line.text, _changed(line.text, hunk))
            for hunk in file.hunks
            if _bare(hunk, "-") != _bare(hunk, "+")
            for line in hunk.lines
            if line.kind == "-" and line.old is not None and line.old not in prose
            if _LOOKS.sub("", line.text) not in added and not _NOTHING.fullmatch(line.text.strip()[:500])
        }

    def _first(self, at: _Place, text: str, parts: Sequence[str], most: int = _STEPS) -> _Place | None:
        """Where the parts of a line were written first; None where git only guessed that it is the same line.

        A commit that changed other parts of the line did not bring in the bug: the line before it is asked about.
        """
        commit = self._known.get(at.sha)
        if commit is None or at.sha in self._through or commit.lines > _LARGE:
            return at
        files = self._private.diff(commit.parent, at.sha, context=0)
        hunks = (hunk for file in files if file.new_path == at.path for hunk in file.hunks)
        hunk = next((one for one in hunks if one.new_start <= at.line < one.new_start + one.new_count), None)
        written = next((one.text for one in hunk.lines if one.new == at.line), "") if hunk else ""
        if hunk is None or _like(written, text) < _SAME:
            return None
        before = max(_side(hunk, "-"), key=lambda one: _like(one.text, written), default=None)
        old = next((file.old_path for file in files if file.new_path == at.path), "")
        if before is None or before.old is None or not old or not most or _like(before.text, written) < _SAME:
            return at
        if not all(part in _spaced_words(before.text) for part in parts):
            return at
        for _, place in self._blame(commit.parent, old, (before.old,)):
            return self._first(place, before.text, parts, most - 1) or at
        return at

    def _blame(self, commit: str, path: str, lines: Iterable[int]) -> Iterable[tuple[int, _Place]]:
        """For each of some lines: its number, and where it was written."""
        words = [word for first, last in _runs(lines) for word in ("-L", f"{first},{last}")]
        with tempfile.TemporaryDirectory(prefix="blame-", dir=self._private.work_folder()) as folder:
            ignored = Path(folder) / "through"
            ignored.write_text("".join(f"{sha}\n" for sha in sorted(self._through)), "ascii")
            out = self._private.git.run(
                "blame", "--line-porcelain", "-w", "-M", "-C", "--no-textconv", *words,
                f"--ignore-revs-file={ignored}", commit, "--", path,
                timeout=_SECONDS,
                # What is pinned here ends a walk; the user's own list of where history ends is the right one.
                env={"GIT_SHALLOW_FILE": str(self._private.facts.common_dir / "shallow")},
            ).stdout  # fmt: skip
        sha, number, asked = "", 0, 0
        for line in out.split(b"\n"):
            if line.startswith(b"\t"):
                continue
            if line.startswith(b"filename "):
                name = line.removeprefix(b"filename ")
                if not name.startswith(b'"'):
                    yield asked, _Place(sha, name.decode("utf-8", "surrogateescape"), number)
            elif (match := _HEADER.fullmatch(line)) is not None:
                sha, number, asked = match[1].decode("ascii"), int(match[2]), int(match[3])


def _side(hunk: Hunk, sign: str) -> list[DiffLine]:
    return [line for line in hunk.lines if line.kind == sign][:_MOST_COMPARED]


def _like(one: str, other: str) -> float:
    """How alike two lines are, from 0 to 1."""
    return SequenceMatcher(None, one.strip()[:_LONGEST], other.strip()[:_LONGEST], autojunk=False).ratio()


def _spaced_words(text: str) -> str:
    """The words and signs of a line, each between spaces."""
    return f" {' '.join(_WORD.findall(text[:_LONGEST]))} "


def _changed(text: str, hunk: Hunk) -> list[str]:
    """The parts of a line that the fix changed, as `_spaced_words`; where it put something in, what is around that."""
    after = max(_side(hunk, "+"), key=lambda one: _like(one.text, text), default=None)
    if after is None or _like(after.text, text) < _SAME:
        return [_spaced_words(text)]
    mine, new = _spaced_words(text).split(), _spaced_words(after.text).split()
    steps = SequenceMatcher(None, mine, new, autojunk=False).get_opcodes()
    spans = [(a, b) if a < b else (max(0, a - 1), a + 1) for kind, a, b, _, _ in steps if kind != "equal"]
    return [f" {' '.join(mine[a:b])} " for a, b in spans]


def _telling_lines(files: Iterable[FileDiff], sign: str) -> Iterable[str]:
    """The lines of one sign, without what is only looks; those that say nothing are left out."""
    for file in files:
        for hunk in file.hunks:
            for line in hunk.lines:
                if line.kind == sign and not _NOTHING.fullmatch(line.text.strip()[:500]):
                    yield _LOOKS.sub("", line.text)


def _bare(hunk: Hunk, sign: str) -> str:
    """One side of a hunk without what is only looks."""
    return _LOOKS.sub("", "".join(line.text for line in hunk.lines if line.kind == sign))


_HEADER = patterns.compile(rb"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?")


def _runs(lines: Iterable[int]) -> list[tuple[int, int]]:
    """Numbers as ranges, first and last."""
    runs: list[tuple[int, int]] = []
    for line in sorted(lines):
        if runs and line == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], line)
        else:
            runs.append((line, line))
    return runs


def _prose(text: str) -> frozenset[int]:
    """The lines of a Python file within strings of three quotes, told by counting quotes."""
    inside: set[int] = set()
    mark = ""
    for number, line in enumerate(text.split("\n"), 1):
        if mark:
            inside.add(number)
            if line.count(mark) % 2:
                mark = ""
            continue
        for one in ('"""', "'''"):
            if line.count(one) % 2:
                mark = one
                if line.strip().startswith((one, f"r{one}", f"f{one}")):
                    inside.add(number)
    return frozenset(inside)


def brought_by(private: PrivateRepo, head: str) -> dict[str, str]:
    """For each commit that `head` contains, the commit of its main line (first parents) that brought it there."""
    out = private.git.run(
        "rev-list", "--parents", "--topo-order", "--end-of-options", head,
        env={"GIT_SHALLOW_FILE": str(private.facts.common_dir / "shallow")},
    ).stdout  # fmt: skip
    parents = {line.split()[0]: line.split()[1:] for line in out.decode("ascii").splitlines() if line}
    line, at = [], head
    while at in parents:
        line.append(at)
        at = parents[at][0] if parents[at] else ""
    found: dict[str, str] = {}
    for main in reversed(line):
        left = [main]
        while left:
            one = left.pop()
            if one in parents and one not in found:
                found[one] = main
                left += parents[one]
    return found


# What became of the lines of findings that landed unrepaired: whether a fix changed them within some weeks.

WEEKS = 8
"""How long after its landing a line is looked at."""


async def look_at_findings(deps: Dependencies, project: Project) -> list[Afterlife]:
    """Look for one project's findings that landed in the last weeks, and keep what was seen.

    What was found changed before is not looked at again.
    """
    since = datetime.now(UTC) - timedelta(weeks=WEEKS)
    wanted = deps.reader.landed_findings(project.id, since.isoformat())
    if not wanted:
        return []
    found = await asyncio.to_thread(_look_in, project, wanted)
    with deps.store.transaction() as tx:
        for one in found:
            tx.set_afterlife(one)
    return found


def _look_in(project: Project, wanted: Sequence[LandedFinding]) -> list[Afterlife]:
    try:
        facts = read_facts(project.path)
        require_same(facts, project)
        tip, git = resolve_base(facts, project.base)[1], facts.git()
        return [
            _seen(one, became_of(git, one.commit, tip, one.finding.path, one.finding.line or 0))
            for one in wanted
        ]
    except NavigatorError as error:
        log.warning("%s: lines of findings could not be looked at: %s", project.name, error)
        return []


def _seen(one: LandedFinding, line: Line | None) -> Afterlife:
    late = timedelta(weeks=WEEKS) + datetime.fromisoformat(one.landed.replace("Z", "+00:00"))
    if line is None or not _same(line.text, one.finding):
        fate = "unknown"
    elif not line.changed_by or line.at > late.timestamp():
        fate = "kept"
    else:
        fate = "fixed" if says_fix(line.subject) else "changed"
    return Afterlife(review_id=one.review_id, finding=one.place, fate=fate, at=utc_now())


def _same(text: str, finding: Finding) -> bool:
    """Whether a landed line is the one that the finding quotes: a landing on a base that moved shifts lines."""
    return bool(text.strip()) and (text.strip() in finding.quote or finding.quote.strip() in text)
