"""Commits as `git log` tells of them: one way of asking, one way of reading."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from navigator.git.runner import DEFAULT_MAX_OUTPUT, DEFAULT_TIMEOUT, Git

_QUIET = (
    "--no-show-signature", "--no-notes", "--no-color", "--no-decorate", "--no-mailmap", "--no-ext-diff", "--no-textconv",
    "--no-renames", "--encoding=UTF-8",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One commit. Nothing in it is filtered: it is its author's word. `paths`: what it changed (of a merge, none), if asked."""

    sha: str
    parents: tuple[str, ...]
    author: str
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
    given: bytes | None = None,
    timeout: float = DEFAULT_TIMEOUT,
    max_output: int = DEFAULT_MAX_OUTPUT,
) -> list[LogEntry]:
    """The commits that `git log` lists, in its order.

    Args:
        words: what to list, its options first.
        paths: list the changed paths too.
        given: revisions, for `--stdin`.

    Raises:
        GitError: git failed, or a limit was passed.
    """
    # No path and no message holds it, so nothing in the repository can look like the beginning of a commit.
    mark = secrets.token_hex(16)
    wanted = ("--name-only", "-r", "--root") if paths else ("--no-patch",)
    form = f"--format=tformat:{mark}%H%x00%P%x00%an%x00%s%x00%b%x00"
    out = git.run(
        "log", "-z", *_QUIET, *wanted, form, *words, input=given, timeout=timeout, max_output=max_output
    ).stdout
    found = []
    for record in out.split(mark.encode("ascii"))[1:]:
        *fields, rest = record.split(b"\0", 5)
        sha, parents, author, subject, body = (field.decode("utf-8", "replace") for field in fields)
        changed = tuple(name for name in rest.lstrip(b"\n\0").split(b"\0") if name.strip(b"\n"))
        found.append(LogEntry(sha, tuple(parents.split()), author, subject, body, changed))
    return found
