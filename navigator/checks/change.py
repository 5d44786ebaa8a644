"""What the texts of a change say about it: tests that go, how tests are run, secrets that come; for the path policy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from navigator.checks.removed_tests import MOST_BYTES, FileText, changed_settings, removed_tests
from navigator.git.diffs import ABSENT, RawChange
from navigator.git.runner import GitError
from navigator.model import patterns
from navigator.model.models import PolicyItem
from navigator.model.secrets import find_secret
from navigator.model.states import PolicyAction
from navigator.model.text import safe_line
from navigator.process.bounded import WorkerLost, run_bounded

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
            _decoded_blob(change.old_mode, change.old_sha, read_blob),
            _decoded_blob(change.new_mode, change.new_sha, read_blob),
        )
        for change in raw
        if change.path not in without
    ]


def _decoded_blob(mode: str, sha: str, read_blob: Callable[[str], bytes]) -> str | None:
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
        return run_bounded(text_items, files, size=_characters(files), seconds=_SECONDS)
    except WorkerLost:
        words = "could not be examined within the limits of time and memory: read the change itself"
        return [confirm(UNEXAMINED, file.path, words) for file in files]


def text_items(files: Sequence[FileText]) -> list[PolicyItem]:
    """The same, of texts that were read."""
    items = [confirm(REMOVED_TESTS, path, words) for path, words in removed_tests(files).items()]
    for file in files:
        if settings := changed_settings(file):
            items.append(confirm(TEST_SETTINGS, file.path, settings))
        if secret := added_secret(file.old, file.new):
            items.append(confirm(SECRETS_ADDED, file.path, f"adds a secret: {secret}"))
    return items


def _characters(files: Sequence[FileText]) -> int:
    return sum(len(text) for file in files for text in (file.old, file.new) if text is not None)


def confirm(rule: str, path: str, detail: str) -> PolicyItem:
    """What the developer confirms about one path."""
    return PolicyItem(rule=rule, path=path, action=PolicyAction.CONFIRM, detail=safe_line(detail)[:400])


# Keys and passwords that a change adds: private keys, tokens of known providers, and values that look random

_LONGEST_LINE = 1_000
_FEWEST_BITS = 3.3
"""Bits per character: words of a language stay below it, keys of sixteen characters and more above."""

_ASSIGNED = patterns.compile(
    r"(?i)\b[\w.-]*(?:api_?-?key|secret|token|passw(?:or)?d|passphrase|pwd|credential|private_?-?key|access_?-?key|auth_?-?key"
    r"|client_?-?secret|signing_?-?key|encryption_?-?key)[\w.-]*[\"']?\s{0,20}(?:[:=]|=>|:=)\s*[\"'`](?P<value>[^\"'`\s]{12,200})[\"'`]"
)
_BARE = patterns.compile(
    r"(?i)^\s*(?:export\s+)?[\w.-]*(?:API_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|PRIVATE_?KEY|ACCESS_?KEY)[\w.-]*\s*[=:]\s*(?P<value>[^\s\"'`#;,]{16,200})\s*$"
)
_IN_ADDRESS = patterns.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^/\s:@\"']{1,80}:(?P<value>[^/\s:@\"'{}$<>]{6,200})@[\w.-]+",
    patterns.IGNORECASE,
)
_STAND_IN = patterns.compile(
    r"(?i)example|change_?-?me|placeholder|your[_-]|dummy|sample|fake|test|xxxx|0000|1234567|abcdef|password|secret|redacted"
    r"|<[^>]*>|\$\{|\{\{|%\(|\*\*\*|\.\.\.|environ|getenv|process\.env|localhost|foobar|lorem"
)


def added_secret(old: str | None, new: str | None) -> str:
    """What secret the added lines hold, in words with the line's number; "" where none is found.

    The secret itself is never in the answer.
    """
    if new is None:
        return ""
    known = Counter((old or "").splitlines())
    added: list[tuple[int, str]] = []
    for number, line in enumerate(new.splitlines(), 1):
        if known[line] > 0:
            known[line] -= 1
        else:
            added.append((number, line[:_LONGEST_LINE]))
    if not added:
        return ""
    found = find_secret("\n".join(line for _, line in added).encode("utf-8", "surrogateescape"))
    if found:
        words, place = found
        return f"{words} (line {added[place - 1][0]})"
    for number, line in added:
        if _looks_random(line):
            return f"line {number} looks like a key or a password written into the text"
    return ""


def _looks_random(line: str) -> bool:
    for pattern in (_ASSIGNED, _BARE, _IN_ADDRESS):
        for match in pattern.finditer(line):
            value = match["value"]
            if pattern is _IN_ADDRESS:
                if not _STAND_IN.search(value):
                    return True
            elif not _STAND_IN.search(value) and _random(value):
                return True
    return False


def _random(value: str) -> bool:
    """Letters and digits mixed as no word is; paths, addresses, versions and names in code are none."""
    if len(value) < 16 or patterns.fullmatch(r"[\w.]+\(.*|[a-z]+://.*|[./~].*|[\w-]+(?:\.[\w-]+)+", value):
        return False
    kinds = sum(bool(patterns.search(kind, value)) for kind in ("[a-z]", "[A-Z]", "[0-9]"))
    if kinds < 2 or not patterns.search("[0-9]", value):
        return False
    counts = Counter(value)
    bits = -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
    return bits >= _FEWEST_BITS
