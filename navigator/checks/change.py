"""Content checks for the path policy: tests removed and secrets added by a change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from navigator.checks.removed_tests import MOST_BYTES, FileText, removed_tests
from navigator.git.diffs import RawChange
from navigator.git.runner import GitError
from navigator.model.models import PolicyItem
from navigator.model.secrets import find_secret
from navigator.model.states import PolicyAction
from navigator.model.text import safe_line
from navigator.process.bounded import WorkerLost, run_bounded

REMOVED_TESTS = "removed_tests"
SECRETS_ADDED = "secrets_added"
UNEXAMINED = "unexamined"

_SECONDS = 20.0
"""Of processor time, for all files of a change."""


def texts_of(
    raw: Sequence[RawChange], read_blob: Callable[[str], bytes], *, without: Collection[str] = ()
) -> list[FileText]:
    """The changed files of a difference as texts; what is not text counts as absent."""
    return [
        FileText(
            change.path,
            _decoded_blob(change.old_mode, change.old_sha, read_blob),
            _decoded_blob(change.new_mode, change.new_sha, read_blob),
        )
        for change in raw
        if change.path not in without
    ]


def _decoded_blob(mode: str, sha: str, read_blob: Callable[[str], bytes]) -> str | None:
    if not mode.startswith("100"):  # no regular file, or none
        return None
    try:
        content = read_blob(sha)
    except (GitError, KeyError):
        return None
    if b"\0" in content or len(content) > MOST_BYTES:
        return None
    return content.decode("utf-8", "surrogateescape")


def content_items(
    raw: Sequence[RawChange], read_blob: Callable[[str], bytes], *, without: Collection[str] = ()
) -> list[PolicyItem]:
    """What the developer confirms file by file because of what a change does in it.

    Args:
        without: paths that are refused anyway.
    """
    files = texts_of(raw, read_blob, without=without)
    try:
        return run_bounded(text_items, files, size=_characters(files), seconds=_SECONDS)
    except WorkerLost:
        words = "could not be examined within the limits of time and memory: read the change itself"
        return [must_confirm(UNEXAMINED, file.path, words) for file in files]


def text_items(files: Sequence[FileText]) -> list[PolicyItem]:
    """`content_items` for texts already read; runs in the worker process."""
    items = [must_confirm(REMOVED_TESTS, path, words) for path, words in removed_tests(files).items()]
    found = ((file.path, added_secret(file.old, file.new)) for file in files)
    items += [must_confirm(SECRETS_ADDED, path, f"adds a secret: {words}") for path, words in found if words]
    return items


def _characters(files: Sequence[FileText]) -> int:
    return sum(len(text) for file in files for text in (file.old, file.new) if text is not None)


def must_confirm(rule: str, path: str, detail: str) -> PolicyItem:
    """A policy item that the developer must confirm for one path."""
    return PolicyItem(rule=rule, path=path, action=PolicyAction.CONFIRM, detail=safe_line(detail)[:400])


# Keys that a change adds: private keys, and tokens of known providers


def added_secret(old: str | None, new: str | None) -> str:
    """What secret the added lines hold, in words with the line's number; "" where none is found.

    The secret itself is never in the answer.
    """
    if new is None:
        return ""
    known = Counter((old or "").split("\n"))
    added: list[tuple[int, str]] = []
    for number, line in enumerate(new.split("\n"), 1):
        if known[line] > 0:
            known[line] -= 1
        else:
            added.append((number, line))
    found = find_secret("\n".join(line for _, line in added).encode("utf-8", "surrogateescape"))
    if found:
        words, place = found
        return f"{words} (line {added[place - 1][0]})"
    return ""
