"""`.navigatorignore`: which files of a project a model is never shown, in the syntax of `.gitignore`.

The file is read at the commit that a task stands on, so that a task and its context agree, and only at the project's root.
"""

from __future__ import annotations

from collections.abc import Callable

IGNORE_FILE = ".navigatorignore"
_LONGEST = 256 * 1024


def ignore_rules(content: bytes | None) -> Callable[[str], bool]:
    """Whether a path is ignored, by the content of an ignore file (None where there is none).

    A line that is no pattern is passed over, as git does; of a file longer than 256 KiB only the beginning is read.
    """
    if not content:
        return lambda path: False
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    patterns: list[str] = []
    for line in content[:_LONGEST].decode("utf-8", "replace").splitlines():
        try:
            GitIgnoreSpec.from_lines([line])
        except GitIgnorePatternError:
            continue
        patterns.append(line)
    spec = GitIgnoreSpec.from_lines(patterns)

    def ignored(path: str) -> bool:
        return bool(spec.match_file(path))

    return ignored
