"""What a proposal may touch. Read from raw tree records, never from the text of a diff.

Refused means that the proposal cannot be approved at all. Confirmed means that the developer says yes to
that one path, in a dialog of its own: files that run on a developer's machine or in its tools, or that
steer other tools, merely because they are there. A change to ordinary source runs only when somebody runs
it; these run on `cd`, on opening an editor, on `make`, on `pip install`, on a push.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cache

from navigator.checks.change import content_items, must_confirm
from navigator.context.scope import in_scope, is_secret
from navigator.git.diffs import ABSENT, RawChange
from navigator.git.runner import GitError
from navigator.model import patterns
from navigator.model.json_text import table
from navigator.model.models import PolicyItem, Project
from navigator.model.states import PolicyAction
from navigator.model.text import INVISIBLE, safe_line

_SYMLINK, _GITLINK, _EXECUTABLE = "120000", "160000", "100755"

_REFUSE = PolicyAction.REFUSE

_WINDOWS_DEVICE = patterns.compile(
    r"(?i)^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\..*)?$"
)


def _refuse(rule: str, path: str, detail: str) -> PolicyItem:
    return PolicyItem(rule=rule, path=path, action=_REFUSE, detail=detail)


def is_git_folder(part: str) -> bool:
    """Whether some file system takes this name for `.git`: characters that HFS+ ignores (CVE-2014-9390), NTFS short
    names, streams, trailing dots."""
    name = INVISIBLE.sub("", unicodedata.normalize("NFKC", part)).casefold()
    name = name.split(":", 1)[0].rstrip(" .")
    return name == ".git" or patterns.fullmatch(r"\.?git~[0-9]+", name) is not None


def _name_problem(path: str) -> tuple[str, str] | None:
    """Why a path may not be written at all, as (rule, words), or None."""
    if not path or path.startswith("/") or patterns.search(r"\A[A-Za-z]:", path):
        return "outside", "is not a path inside the project"
    if "\\" in path:
        return "outside", "has a backslash, which other systems read as a folder boundary"
    if INVISIBLE.search(path) or any(
        unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for char in path
    ):
        return (
            "path_characters",
            f"has invisible, control, direction or undecodable characters in its name: {safe_line(ascii(path))}",
        )
    for part in path.split("/"):
        if part in {"", ".", ".."}:
            return "outside", "has an empty part, or one that is `.` or `..`"
        if is_git_folder(part):
            return "git_folder", f"{part!r} is git's own folder, or would be on another file system"
        if _WINDOWS_DEVICE.match(part) or part.endswith((" ", ".")) or ":" in part:
            return "reserved_name", f"{part!r} cannot exist on every file system that git serves"
    return None


def _fold(path: str) -> str:
    """What a case-insensitive, normalising file system takes a path for."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())


def _prefixes(path: str) -> Iterable[str]:
    """The folders above a path and the path itself."""
    parts = path.split("/")
    return ("/".join(parts[:n]) for n in range(1, len(parts) + 1))


def check_paths(
    paths: Iterable[str], base_paths: Collection[str] = (), *, removed: Collection[str] = ()
) -> tuple[PolicyItem, ...]:
    """Refuse what no proposal may write, by its name alone.

    Args:
        paths: the paths that are written or made.
        base_paths: every path of the base, against which names that differ only in case are found.
        removed: base paths that the same proposal removes, so that a rename in case alone is no collision.

    Returns:
        One item a path that is refused, in the order of `paths`.
    """
    items: list[PolicyItem] = []
    base = set(base_paths)
    gone = set(removed)
    standing: dict[str, str] = {}
    known: set[str] = set()
    for path in base - gone:
        for prefix in _prefixes(path):
            if prefix not in known:
                known.add(prefix)
                standing.setdefault(_fold(prefix), prefix)
    for path in dict.fromkeys(paths):
        problem = _name_problem(path)
        if problem is not None and not (problem[0] == "reserved_name" and path in base):
            items.append(_refuse(problem[0], path, problem[1]))
            continue
        for prefix in _prefixes(path):
            if prefix in known:
                continue
            other = standing.get(_fold(prefix))
            if other is not None and other != prefix:
                said = f"differs from {safe_line(other)} only in letter case or Unicode normalisation"
                items.append(_refuse("case_collision", path, said))
                break
            known.add(prefix)
            standing.setdefault(_fold(prefix), prefix)
    return tuple(items)


_Reason = tuple[str, str]


@cache
def _special_files() -> tuple[
    dict[str, _Reason], dict[str, _Reason], list[tuple[patterns.Pattern[str], _Reason]]
]:
    """(rule, words) by a file's name, by a folder's name, and by a pattern of names, from `special_files.toml`."""
    entries = [
        (entry, (entry["rule"], entry["why"]))
        for entry in table(__package__, "special_files.toml")["special"]
    ]
    return (
        {name: reason for entry, reason in entries for name in entry.get("names", ())},
        {name: reason for entry, reason in entries for name in entry.get("folders", ())},
        [(patterns.compile(entry["pattern"]), reason) for entry, reason in entries if "pattern" in entry],
    )


def _special_file(path: str) -> tuple[str, str] | None:
    """Why a path is shown in red, as (rule, words), or None."""
    parts = path.casefold().split("/")
    name = parts[-1]
    names, folders, by_pattern = _special_files()
    if name in names:
        return names[name]
    for part in parts[:-1]:
        if part in folders:
            return folders[part]
    for pattern, reason in by_pattern:
        if pattern.fullmatch(name) is not None:
            return reason
    if is_secret(path):
        return "secret", "by its name this file holds keys or passwords"
    return None


def _special_items(path: str) -> list[PolicyItem]:
    """What the developer confirms of a path for what such a file is."""
    reason = _special_file(path)
    return [must_confirm(reason[0], path, reason[1])] if reason else []


def check_new_file(path: str, base_paths: Collection[str]) -> list[PolicyItem]:
    """What the policy says of a new file by its name alone: refusals, and what makes it more than an ordinary file."""
    return [*check_paths([path], base_paths), *_special_items(path)]


def is_binary(content: bytes) -> bool:
    """Whether a file is not text: a NUL byte anywhere in it."""
    return b"\0" in content


def check_policy(
    raw: Sequence[RawChange],
    base_paths: Collection[str],
    read_blob: Callable[[str], bytes],
    *,
    project: Project | None = None,
) -> tuple[PolicyItem, ...]:
    """What the policy says about the difference between a base and a proposal.

    Args:
        raw: the difference without renames, as `PrivateRepo.raw_diff` gives it.
        base_paths: every path of the base.
        read_blob: content by object id; asked for the new and the old side of each changed file.
        project: where given, paths outside of its `include` or within its `exclude` are confirmed.

    Returns:
        Refusals first, then confirmations, each in the order of `raw`.
    """
    written = [change.path for change in raw if change.new_mode != ABSENT]
    removed = {change.path for change in raw if change.new_mode == ABSENT}
    items = list(check_paths(written, base_paths, removed=removed))
    refused = {item.path for item in items}
    for change in raw:
        if change.path in refused:
            continue
        items += _about(change, read_blob)
        if project is not None and not in_scope(change.path, project):
            said = "lies outside of the part of the repository the project is about"
            items.append(must_confirm("scope", change.path, said))
    out = {item.path for item in items if item.action is _REFUSE}
    items += content_items(raw, read_blob, without=out)
    return tuple(sorted(items, key=lambda item: item.action is not _REFUSE))


def _about(change: RawChange, read_blob: Callable[[str], bytes]) -> list[PolicyItem]:
    """The items of one changed path."""
    path, old, new = change.path, change.old_mode, change.new_mode
    if _SYMLINK in (old, new):
        there = "retargets" if new == _SYMLINK else "replaces"
        what = "removes" if new == ABSENT else "makes" if old != _SYMLINK else there
        return [
            _refuse("symlink", path, f"{what} a symbolic link, through which other files could be written")
        ]
    if _GITLINK in (old, new):
        return [_refuse("submodule", path, "adds, moves or removes a submodule")]
    items: list[PolicyItem] = []
    if new != ABSENT:
        if new not in {"100644", _EXECUTABLE}:
            return [_refuse("mode", path, f"has the unknown mode {new}")]
        try:
            content = read_blob(change.new_sha)
        except (GitError, KeyError):
            return [_refuse("unreadable", path, "has content that cannot be read")]
        if is_binary(content):
            return [_refuse("binary", path, "is not text, so the change cannot be reviewed")]
    if new != ABSENT and (new == _EXECUTABLE) != (old == _EXECUTABLE):
        word = "becomes" if new == _EXECUTABLE else "is no longer"
        items.append(must_confirm("executable", path, f"{word} executable"))
    return items + _special_items(path)
