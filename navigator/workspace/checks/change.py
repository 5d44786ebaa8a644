"""What the texts of a change say about it: tests that go, how tests are run, secrets that come; for the path policy."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from navigator.domain.models import PolicyItem
from navigator.domain.states import PolicyAction
from navigator.domain.text import safe_line
from navigator.workspace.bounded.run import WorkerLost, run_bounded
from navigator.workspace.checks.added_secrets import added_secret
from navigator.workspace.checks.behaviour import changes_nothing
from navigator.workspace.checks.removed_tests import MOST_BYTES, FileText, changed_settings, removed_tests
from navigator.workspace.git.diffs import ABSENT, RawChange
from navigator.workspace.git.runner import GitError

REMOVED_TESTS = "removed_tests"
TEST_SETTINGS = "test_settings"
SECRETS_ADDED = "secrets_added"
UNEXAMINED = "unexamined"

_SECONDS = 20.0
"""Of processor time, for all files of a change."""

_FILE = "100"


def texts_of(
    raw: Sequence[RawChange], read_blob: Callable[[str], bytes], *, without: Collection[str] = ()
) -> list[FileText]:
    """The changed files of a difference as texts; what is not text counts as absent."""
    return [
        FileText(
            change.path,
            _text(change.old_mode, change.old_sha, read_blob),
            _text(change.new_mode, change.new_sha, read_blob),
        )
        for change in raw
        if change.path not in without
    ]


def _text(mode: str, sha: str, read_blob: Callable[[str], bytes]) -> str | None:
    if mode == ABSENT or not mode.startswith(_FILE):
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
        return run_bounded(text_items, files, size=_size(files), seconds=_SECONDS)
    except WorkerLost:
        words = "could not be examined within the limits of time and memory: read the change itself"
        return [_confirm(UNEXAMINED, file.path, words) for file in files]


def text_items(files: Sequence[FileText]) -> list[PolicyItem]:
    """The same, of texts that were read."""
    items = [_confirm(REMOVED_TESTS, path, words) for path, words in removed_tests(files).items()]
    for file in files:
        if settings := changed_settings(file):
            items.append(_confirm(TEST_SETTINGS, file.path, settings))
        if secret := added_secret(file.old, file.new):
            items.append(_confirm(SECRETS_ADDED, file.path, f"adds a secret: {secret}"))
    return items


def _size(files: Sequence[FileText]) -> int:
    return sum(len(text) for file in files for text in (file.old, file.new) if text is not None)


def _confirm(rule: str, path: str, detail: str) -> PolicyItem:
    return PolicyItem(rule=rule, path=path, action=PolicyAction.CONFIRM, detail=safe_line(detail)[:400])


def no_functional_change(raw: Sequence[RawChange], read_blob: Callable[[str], bytes]) -> bool:
    """Whether the change is of Python alone and leaves what it does as it was."""
    files = texts_of(raw, read_blob)
    try:
        return run_bounded(changes_nothing, files, size=_size(files), seconds=_SECONDS)
    except WorkerLost:
        return False
