"""Reads what `git diff-tree -z --raw -p` wrote, as bytes, into the forms that policy and screens use.

The raw records say which paths changed; the patch only supplies hunks. Nothing is concluded from the patch's
file headers, because a diff's text may name one file and change another; a section belongs to the raw record
at its position. Hunk bodies are read by the counts of their header, so no content can pass for a header.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from navigator.git.runner import GitError
from navigator.model import patterns
from navigator.model.diff import DiffLine, FileDiff, Hunk, LineKind

ABSENT = "000000"
"""The mode of a side on which a path does not exist."""

_HUNK = patterns.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", patterns.DOTALL)
_SIGNS: dict[int, LineKind] = {ord(" "): " ", ord("+"): "+", ord("-"): "-"}


@dataclass(frozen=True, slots=True)
class RawChange:
    """One path that differs between two trees. Modes are six octal digits, `000000` where the path is
    absent."""

    old_mode: str
    new_mode: str
    old_sha: str
    new_sha: str
    status: str
    path: str

    def reversed(self) -> RawChange:
        """The way back."""
        status = {"A": "D", "D": "A"}.get(self.status, self.status)
        return RawChange(self.new_mode, self.old_mode, self.new_sha, self.old_sha, status, self.path)


@dataclass(frozen=True, slots=True)
class TreeDiff:
    """Two trees compared once: every changed path without renames, and the same as files with hunks."""

    raw: tuple[RawChange, ...]
    files: tuple[FileDiff, ...]


_Lines = tuple[tuple[LineKind, bytes, bool], ...]
"""A hunk's lines before their encoding is known: (sign, content, no newline after it)."""

_Hunks = list[tuple[tuple[int, int, int, int], bytes, _Lines]]
"""What the patch holds on one file: for each hunk its counts, its section heading and its lines."""


def _without_rename(old: str, change: RawChange) -> Iterator[RawChange]:
    """A raw record without renames: a removal and an addition instead."""
    if change.status not in "RC":
        yield change
        return
    nothing = "0" * len(change.old_sha)
    if change.status == "R":
        yield RawChange(change.old_mode, ABSENT, change.old_sha, nothing, "D", old)
    yield RawChange(ABSENT, change.new_mode, nothing, change.new_sha, "A", change.path)


def path_text(path: bytes) -> str:
    """A path as text; bytes that are not UTF-8 become surrogates, which `path_bytes` turns back."""
    return path.decode("utf-8", "surrogateescape")


def path_bytes(path: str) -> bytes:
    """The opposite of `path_text`."""
    return path.encode("utf-8", "surrogateescape")


def decode_lines(content: bytes) -> str:
    """Text of a file for showing: UTF-8, else Latin-1, which maps every byte to one character."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def parse_comparison(output: bytes) -> TreeDiff:
    """Read the output of `git diff-tree -r -z --raw -p --full-index`.

    Raises:
        GitError: the output does not have the form that git documents.
    """
    records, patch = parse_raw(output)
    sections = _sections(patch)
    files: list[FileDiff] = []
    label = 0
    for old, change in records:
        # A type change (file to symlink) is written as a removal and an addition.
        parts = [part for _ in range(2 if change.status == "T" else 1) if (part := next(sections, None))]
        hunks: list[Hunk] = []
        for _, found in parts:
            hunks += _built(found, label + len(hunks))
        label += len(hunks)
        files.append(
            FileDiff(
                status=change.status,
                old_path="" if change.status == "A" else old,
                new_path="" if change.status == "D" else change.path,
                old_mode="" if change.old_mode == ABSENT else change.old_mode,
                new_mode="" if change.new_mode == ABSENT else change.new_mode,
                binary=any(binary for binary, _ in parts),
                hunks=tuple(hunks),
            )
        )
    plain = [one for record in records for one in _without_rename(*record)]
    return TreeDiff(tuple(sorted(plain, key=lambda one: path_bytes(one.path))), tuple(files))


def parse_raw(output: bytes) -> tuple[list[tuple[str, RawChange]], bytes]:
    """Split git's raw records (`--raw -z`), each with the path before a rename, from the patch that follows a lone NUL."""
    records: list[tuple[str, RawChange]] = []
    at = 0

    def field() -> bytes:
        nonlocal at
        end = output.find(b"\0", at)
        if end < 0:
            raise GitError("git diff-tree wrote a record that does not end.", hint="Report this.")
        found = output[at:end]
        at = end + 1
        return found

    while output[at : at + 1] == b":":
        meta = field().decode("ascii")
        words = meta[1:].split(" ")
        if len(words) != 5:
            raise GitError(f"git diff-tree wrote {meta!r}.", hint="Report this, with `git version`.")
        status = words[4][:1]
        old = path_text(field())
        new = path_text(field()) if status in "RC" else old
        records.append((old, RawChange(words[0], words[1], words[2], words[3], status, new)))
    if output[at : at + 1] == b"\0":
        at += 1
    return records, output[at:]


def _built(found: _Hunks, label: int) -> Iterator[Hunk]:
    """The hunks of one file, labelled from `label` + 1, all in the one encoding that fits every line that is shown."""
    everything = b"\n".join(content for _, _, lines in found for _, content, _ in lines)
    try:
        everything.decode("utf-8")
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = "latin-1"
    for number, (counts, section, contents) in enumerate(found, label + 1):
        lines: list[DiffLine] = []
        at_old, at_new = counts[0], counts[2]
        for sign, content, bare in contents:
            on_old, on_new = sign != "+", sign != "-"
            lines.append(
                DiffLine(
                    kind=sign,
                    text=content.decode(encoding, "replace"),
                    old=at_old if on_old else None,
                    new=at_new if on_new else None,
                    no_newline=bare,
                )
            )
            at_old += on_old
            at_new += on_new
        # git cuts the section after 80 bytes, which may be within a character.
        yield Hunk(f"H{number}", *counts, section.decode(encoding, "ignore").strip(), tuple(lines))


def _sections(patch: bytes) -> Iterator[tuple[bool, _Hunks]]:
    """The patch cut at its file headers: whether each file is binary, and its hunks."""
    lines = patch.split(b"\n")
    at, end = 0, len(lines)
    while at < end:
        if not lines[at].startswith(b"diff --git "):
            if lines[at]:
                raise GitError("git diff-tree wrote a patch of an unknown form.", hint="Report this.")
            at += 1
            continue
        at += 1
        binary = False
        found: _Hunks = []
        while at < end and not lines[at].startswith(b"diff --git "):
            binary = binary or lines[at].startswith((b"Binary files ", b"GIT binary patch"))
            match = _HUNK.fullmatch(lines[at])
            at += 1
            if match is None:
                continue
            counts = (
                int(match[1]),
                int(match[2]) if match[2] is not None else 1,
                int(match[3]),
                int(match[4]) if match[4] is not None else 1,
            )
            body, at = _body(lines, at, counts[1], counts[3])
            found.append((counts, match[5], body))
        yield binary, found


def _body(lines: list[bytes], at: int, old_left: int, new_left: int) -> tuple[_Lines, int]:
    """Read one hunk's lines from `lines[at:]` by its counts; returns them and the index after them."""
    body: list[tuple[LineKind, bytes, bool]] = []
    while at < len(lines) and (old_left > 0 or new_left > 0 or lines[at].startswith(b"\\ ")):
        line = lines[at]
        at += 1
        if line.startswith(b"\\ "):
            sign, content, _ = body[-1]
            body[-1] = (sign, content, True)
            continue
        known = _SIGNS.get(line[0]) if line else None
        if known is None:
            raise GitError("git diff-tree wrote a hunk of an unknown form.", hint="Report this.")
        old_left -= known != "+"
        new_left -= known != "-"
        body.append((known, line[1:], False))
    if old_left or new_left:
        raise GitError("git diff-tree wrote a hunk that is cut short.", hint="Report this.")
    return tuple(body), at
