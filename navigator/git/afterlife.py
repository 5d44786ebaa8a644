"""What became of a line after a commit: whether it is still there, and else which commit changed it. Reads only."""

from __future__ import annotations

from dataclasses import dataclass

from navigator.git.runner import Git

_SECONDS = 30.0
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
        timeout=_SECONDS,
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
    after = git.run(*log, "--", path, timeout=_SECONDS, max_output=_LARGEST).stdout.decode("utf-8", "replace")
    sha, _, rest = after.partition("\n")[0].partition(" ")
    when, _, subject = rest.partition(" ")
    return Line(text, sha, subject, int(when)) if sha else Line(text)


def _now(git: Git, commit: str, path: str, line: int) -> Line | None:
    content = git.run("cat-file", "blob", f"{commit}:{path}", check=False, max_output=_LARGEST)
    lines = content.stdout.decode("utf-8", "replace").split("\n")
    return Line(lines[line - 1]) if content.status == 0 and 0 < line <= len(lines) else None
