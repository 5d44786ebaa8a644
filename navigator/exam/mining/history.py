"""The newest commits of a user's repository with the size of each: read only, with git's hardened runner."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from navigator.checks.removed_tests import is_test_file
from navigator.git.diffs import path_text
from navigator.git.facts import RepoFacts
from navigator.model import patterns
from navigator.model.text import safe_line, safe_text

_MOST_OUTPUT = 64 * 1024 * 1024
_LONGEST_MESSAGE = 4_000

_CODE = patterns.compile(
    r"\.(?:pyi?|[cm]?[jt]sx?|go|rs|java|kts?|scala|rb|php|cs|swift|dart|exs?|lua|c|cc|cpp|cxx|h|hh|hpp|m|mm|zig|nim|jl|pl|sh)$",
    patterns.IGNORECASE,
)
_NOT_CODE = patterns.compile(
    r"(?:^|/)(?:docs?|examples?|bench(?:marks?)?|vendor|third_party|node_modules)/", patterns.IGNORECASE
)

_FIX = patterns.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bugs?|bugfix|hotfix|repair(?:s|ed)?|regression|crash(?:es|ed)?|wrong(?:ly)?|incorrect(?:ly)?"
    r"|correct(?:s|ed|ly)?|broken|prevent(?:s|ed)?|avoid(?:s|ed)?|race|leak(?:s|ed)?|overflow|off.by.one|typeerror|keyerror"
    r"|valueerror|handle[sd]?|edge.case|don'?t|do not|never|properly)\b",
    patterns.IGNORECASE,
)
_SAME_BEHAVIOUR = patterns.compile(
    r"\b(?:refactor(?:s|ed|ing)?|renam(?:e[sd]?|ing)|simplif(?:y|ies|ied)|clean(?:s|ed|ing|up)?|tidy|style|format(?:ted|ting)?|lint"
    r"|typing|annotat(?:e[sd]?|ions?)|docstrings?|comments?|extract(?:s|ed)?|inline[sd]?|moderni[sz]e[sd]?|pyupgrade|f-?strings?"
    r"|black|ruff|isort|mypy|flake8|pep ?8|reorgani[sz]e[sd]?|reorder(?:s|ed)?|whitespace|typos?|readab(?:le|ility)|spelling"
    r"|redundant|unused|type hints?|restructur(?:e[sd]?|ing)|shorten(?:s|ed)?|rewrite|rework(?:s|ed)?|use)\b",
    patterns.IGNORECASE,
)
_NEW = patterns.compile(
    r"\b(?:feat(?:ure)?|add(?:s|ed|ing)?|extends?|supports?|implements?|introduces?|new|allows?|enables?|quick)\b",
    patterns.IGNORECASE,
)
_NO_CHANGE_OF_CODE = patterns.compile(
    r"^(?:merge|revert|release|bump|version|prepare release|back to development|\[?pre-commit)\b",
    patterns.IGNORECASE,
)


def is_code(path: str) -> bool:
    """Whether a path is by its name source code of the product: no test, example or documentation."""
    return _CODE.search(path) is not None and not is_test_file(path) and _NOT_CODE.search(path) is None


@dataclass(frozen=True, slots=True)
class Counted:
    """One changed path with its added and removed lines; both are 0 for a binary file."""

    path: str
    added: int
    removed: int


@dataclass(frozen=True)
class Commit:
    """One commit that is no merge, with its only parent and what it changes. `subject` and `body` are filtered text."""

    sha: str
    parent: str
    subject: str
    body: str
    files: tuple[Counted, ...]

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
        return _NO_CHANGE_OF_CODE.search(self.subject) is not None

    @property
    def fixes(self) -> bool:
        """Whether its subject speaks of a fix."""
        return _FIX.search(self.subject) is not None and not self.routine

    @property
    def adds(self) -> bool:
        """Whether its subject speaks of something new."""
        return _NEW.search(self.subject) is not None

    @property
    def keeps_behaviour(self) -> bool:
        """Whether its author says that it changes how the code reads, not what it does, and it leaves the tests alone."""
        said = _SAME_BEHAVIOUR.search(self.subject) is not None and _FIX.search(self.subject) is None
        return said and not self.routine and not self.tested


def read_history(facts: RepoFacts, head: str, limit: int) -> list[Commit]:
    """The newest commits that `head` contains, newest first, without merges and root commits.

    Args:
        head: a full commit id.
        limit: commits that are looked at.

    Raises:
        GitError: the repository is damaged, or its history is too large to be listed.
    """
    mark = secrets.token_hex(16)
    found = facts.git().run(
        "log",
        "-z",
        "--no-merges",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--no-show-signature",
        "--no-notes",
        "--encoding=UTF-8",
        "--numstat",
        f"--max-count={limit}",
        f"--format=tformat:{mark}%x00%H%x00%P%x00%s%x00%b%x00",
        head,
        "--",
        max_output=_MOST_OUTPUT,
    )
    commits = (_commit(record) for record in found.stdout.split(mark.encode("ascii"))[1:])
    return [commit for commit in commits if commit is not None]


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


def _commit(record: bytes) -> Commit | None:
    """One record of the log; None for a root commit, and for one that git wrote in a form that is not known."""
    fields = record.split(b"\0")
    if len(fields) < 5:
        return None
    sha, parents, subject, body = (field.decode("utf-8", "replace") for field in fields[1:5])
    if len(parents.split()) != 1:
        return None
    counts = (_counted(field) for field in fields[5:])
    return Commit(
        sha=sha,
        parent=parents.strip(),
        subject=safe_line(subject).strip()[:300],
        body=safe_text(body).strip()[:_LONGEST_MESSAGE],
        files=tuple(count for count in counts if count is not None),
    )


def _counted(field: bytes) -> Counted | None:
    words = field.lstrip(b"\n").split(b"\t", 2)
    if len(words) != 3 or not words[2]:
        return None
    added, removed = (int(word) if word.isdigit() else 0 for word in words[:2])
    return Counted(path_text(words[2]), added, removed)
