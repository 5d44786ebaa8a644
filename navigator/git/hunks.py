"""Some hunks of a proposal as a tree of their own.

Made from bytes: the lines of a chosen hunk's range come from the proposal's file, all others from the base's. git's own diff
says where the ranges are; no patch is applied, so nothing can be found at another place than where it was shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from navigator.git.diffs import ABSENT, RawChange
from navigator.git.private import FileChange, PathRefused, PrivateRepo
from navigator.git.runner import GitError, Person
from navigator.model.diff import FileDiff, Hunk, choices
from navigator.model.errors import UsageError

_MAKER = Person("Navigator", "part@navigator.invalid")


class ChoiceRefused(UsageError):
    """A choice of hunks that makes no proposal of its own; the message says why."""

    code: ClassVar[str] = "hunk_choice"


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a choice of hunks comes to.

    Attributes:
        tree: the base with the chosen hunks, in the private repository.
        labels: what was chosen, in the order of the diff.
        rest: what was not.
        paths: every path that the part touches, both names of a rename among them.
    """

    tree: str
    labels: tuple[str, ...]
    rest: tuple[str, ...]
    paths: tuple[str, ...]


def all_labels(files: Sequence[FileDiff]) -> tuple[str, ...]:
    """Everything of a diff that can be chosen, in order."""
    return tuple(label for number, file in enumerate(files, 1) for label in choices(file, number))


def choose(files: Sequence[FileDiff], wanted: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The labels that are meant and those that are left, each in the order of the diff.

    Raises:
        ChoiceRefused: none or all of them, or one that the diff does not have.
    """
    known = all_labels(files)
    asked = {label.strip().upper() for label in wanted if label.strip()}
    unknown = sorted(asked - set(known))
    if unknown:
        raise ChoiceRefused(
            f"There is no {unknown[0]} in this change.", hint=f"It has {', '.join(known[:40])}."
        )
    chosen = tuple(label for label in known if label in asked)
    if not chosen:
        raise ChoiceRefused("No hunk is chosen.", hint=f"Name some of {', '.join(known[:40])}.")
    if len(chosen) == len(known):
        raise ChoiceRefused(
            "Every hunk is chosen: that is the whole proposal.", hint="Approve the proposal itself."
        )
    return chosen, tuple(label for label in known if label not in asked)


def build_part(private: PrivateRepo, base: str, tree: str, wanted: Iterable[str]) -> Chosen:
    """The base with some hunks of a proposal. Writes into the private repository only.

    Args:
        base: the proposal's base commit.
        tree: the proposal's tree.
        wanted: labels of the diff between them, as `choices` gives them.

    Raises:
        ChoiceRefused: the labels make no part, or git cannot write the tree they come to.
    """
    compared = private.compare(base, tree)
    chosen, rest = choose(compared.files, wanted)
    sides = {change.path: change for change in compared.raw}
    shas = {sha for c in compared.raw for sha in (c.old_sha, c.new_sha) if sha.strip("0")}
    blobs = private.read_blobs(sorted(shas))
    blobs["0" * len(private.facts.zero)] = b""
    changes: dict[str, FileChange] = {}
    for number, file in enumerate(compared.files, 1):
        picked = [label for label in choices(file, number) if label in chosen]
        if picked:
            changes.update(_changes(file, picked, sides, blobs))
    try:
        made = private.write_tree(base, changes)
    except PathRefused as error:
        raise ChoiceRefused(
            f"{', '.join(chosen)} cannot be split off without the rest: {error.message}",
            hint="Choose the hunk that makes room for it too.",
        ) from error
    return Chosen(made, chosen, rest, tuple(changes))


def _changes(
    file: FileDiff, picked: Sequence[str], sides: dict[str, RawChange], blobs: dict[str, bytes]
) -> dict[str, FileChange]:
    """What becomes of a file's path, or of both paths of a rename, with some of its hunks."""
    if file.status == "T" and len(picked) < len(file.hunks):
        raise ChoiceRefused(
            f"{file.path} becomes another kind of file: its hunks go together.",
            hint=f"Choose {' and '.join(hunk.label for hunk in file.hunks)}.",
        )
    whole = len(picked) == max(1, len(file.hunks))
    if file.status == "R":
        new = sides[file.new_path]
        return {
            file.old_path: FileChange(None),
            file.new_path: FileChange(blobs[new.new_sha], new.new_mode),
        }
    side = sides[file.path]
    if whole:
        if side.new_mode == ABSENT:
            return {side.path: FileChange(None)}
        return {side.path: FileChange(blobs[side.new_sha], side.new_mode)}
    labels = set(picked)
    hunks = [hunk for hunk in file.hunks if hunk.label in labels]
    old, new_content = blobs[side.old_sha], blobs[side.new_sha]
    if mixed(old, new_content, file.hunks) != new_content:
        raise GitError(f"The hunks of {file.path} do not make the file.", hint="Report this.")
    mode = side.new_mode if file.hunks[0].label in labels else side.old_mode
    return {side.path: FileChange(mixed(old, new_content, hunks), mode)}


def mixed(old: bytes, new: bytes, hunks: Sequence[Hunk]) -> bytes:
    """`old` with the ranges of some hunks as they are in `new`. Line endings, encodings and a missing last newline are
    the bytes that were there: a line is what ends with LF."""
    before, after = _split_lines(old), _split_lines(new)
    made: list[bytes] = []
    at = 0
    for hunk in hunks:
        first, start = (
            _first_line(hunk.old_start, hunk.old_count),
            _first_line(hunk.new_start, hunk.new_count),
        )
        made += before[at:first]
        made += after[start : start + hunk.new_count]
        at = first + hunk.old_count
    return b"".join([*made, *before[at:]])


def _first_line(start: int, count: int) -> int:
    """A range's first line from 0; the start of an empty range names the line before it."""
    return start - 1 if count else start


def _split_lines(content: bytes) -> list[bytes]:
    *ended, last = content.split(b"\n")
    return [line + b"\n" for line in ended] + ([last] if last else [])


def commit_part(private: PrivateRepo, tree: str, base: str, message: str) -> str:
    """A part's tree as a commit on its base, in the private repository: what the rest is written on. Pinned."""
    commit = private.git.commit(tree, base, message, _MAKER)
    private.pin_base(commit)
    return commit
