"""Which paths of a repository a project is about, which hold secrets, and which `.navigatorignore` names. Pure rules."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from navigator.model import patterns
from navigator.model.json_text import table

if TYPE_CHECKING:
    from navigator.model.models import Project

IGNORE_FILE = ".navigatorignore"
"""Which files a model is never shown, in the syntax of `.gitignore`; read from the root of the task's base commit."""

_LONGEST_IGNORE = 256 * 1024

_SECRETS = table(__package__, "secret_files.toml")
_SECRET_NAMES = patterns.compile("".join(_SECRETS["names"].split()))
_EXAMPLES = patterns.compile(_SECRETS["examples"])
_SECRET_PATHS = patterns.compile(_SECRETS["paths"])


def is_secret(path: str) -> bool:
    """Whether a path by its name holds keys or passwords: `.env*`, `*.pem`, `id_rsa`, `.npmrc`, `kubeconfig`
    and the like.

    `.env.example` and other samples are not secret.
    """
    if _SECRET_PATHS.search(path):
        return True
    parts = path.split("/")
    if any(part in _SECRETS["folders"] for part in parts[:-1]):
        return True
    name = parts[-1]
    return _SECRET_NAMES.match(name) is not None and _EXAMPLES.search(name) is None


@cache
def _pattern(glob: str) -> patterns.Pattern[str]:
    """A glob as a regular expression on the whole path.

    `*` and `?` stay within a folder, `**` crosses folders; a pattern without a slash fits names at any
    depth, and a pattern that fits a folder fits everything below it.
    """
    text = glob.strip()
    anchored = "/" in text.rstrip("/")
    text = text.strip("/")
    out = "" if anchored else "(?:.*/)?"
    at = 0
    while at < len(text):
        if text.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 3
        elif text.startswith("**", at):
            out, at = out + ".*", at + 2
        elif text[at] == "*":
            out, at = out + "[^/]*", at + 1
        elif text[at] == "?":
            out, at = out + "[^/]", at + 1
        else:
            out, at = out + patterns.escape(text[at]), at + 1
    return patterns.compile(out + "(?:/.*)?", patterns.DOTALL)


def fits(path: str, globs: tuple[str, ...]) -> bool:
    """Whether any of the patterns fits the path or a folder above it."""
    return any(_pattern(glob).fullmatch(path) is not None for glob in globs)


def in_scope(path: str, project: Project) -> bool:
    """Whether a project is about this path: within `include` (everything when empty) and not within
    `exclude`."""
    if project.include and not fits(path, project.include):
        return False
    return not fits(path, project.exclude)


def ignore_rules(content: bytes | None) -> Callable[[str], bool]:
    """Whether a path is ignored, by the content of an ignore file (None where there is none).

    A line that is no pattern is skipped, as git does; of a file longer than 256 KiB only the beginning is read.
    """
    if not content:
        return lambda path: False
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    patterns: list[str] = []
    for line in content[:_LONGEST_IGNORE].decode("utf-8", "replace").splitlines():
        try:
            GitIgnoreSpec.from_lines([line])
        except GitIgnorePatternError:
            continue
        patterns.append(line)
    return GitIgnoreSpec.from_lines(patterns).match_file
