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


@dataclass(frozen=True, slots=True)
class TreeDiff:
    """Two trees compared once: every changed path without renames, and the same as files with hunks."""

    raw: tuple[RawChange, ...]
    files: tuple[FileDiff, ...]


@dataclass(frozen=True, slots=True)
class _Record:
    """One raw record as git wrote it; `old` and `new` differ only where it found a rename."""

    old_mode: str
    new_mode: str
    old_sha: str
    new_sha: str
    status: str
    old: str
    new: str

    def plain(self) -> Iterator[RawChange]:
        """The record without renames: a removal and an addition instead."""
        if self.status not in "RC":
            yield RawChange(self.old_mode, self.new_mode, self.old_sha, self.new_sha, self.status, self.new)
            return
        nothing = "0" * len(self.old_sha)
        if self.status == "R":
            yield RawChange(self.old_mode, ABSENT, self.old_sha, nothing, "D", self.old)
        yield RawChange(ABSENT, self.new_mode, nothing, self.new_sha, "A", self.new)


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
    records, patch = _parse_raw(output)
    sections = _sections(patch)
    files: list[FileDiff] = []
    label = 0
    for record in records:
        # A type change (file to symlink) is written as a removal and an addition.
        parts = [next(sections, None) for _ in range(2 if record.status == "T" else 1)]
        binary = any(part.binary for part in parts if part is not None)
        hunks: list[Hunk] = []
        for part in parts:
            for hunk in part.hunks() if part is not None else ():
                label += 1
                hunks.append(hunk.build(f"H{label}"))
        files.append(
            FileDiff(
                status=record.status,
                old_path="" if record.status == "A" else record.old,
                new_path="" if record.status == "D" else record.new,
                old_mode="" if record.old_mode == ABSENT else record.old_mode,
                new_mode="" if record.new_mode == ABSENT else record.new_mode,
                binary=binary,
                hunks=tuple(hunks),
            )
        )
    plain = sorted(
        (change for record in records for change in record.plain()), key=lambda c: path_bytes(c.path)
    )
    return TreeDiff(tuple(plain), tuple(files))


def _parse_raw(output: bytes) -> tuple[list[_Record], bytes]:
    """Split the raw records, each ended by NUL, from the patch that follows a lone NUL."""
    records: list[_Record] = []
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
        records.append(_Record(words[0], words[1], words[2], words[3], status, old, new))
    if output[at : at + 1] == b"\0":
        at += 1
    return records, output[at:]


@dataclass(frozen=True, slots=True)
class _HunkBytes:
    """A hunk before its file's encoding is known: (sign, content, no newline after it) a line."""

    counts: tuple[int, int, int, int]
    section: bytes
    lines: tuple[tuple[LineKind, bytes, bool], ...]
    encoding: str

    def build(self, label: str) -> Hunk:
        old, old_count, new, new_count = self.counts
        lines: list[DiffLine] = []
        at_old, at_new = old, new
        for sign, content, bare in self.lines:
            on_old, on_new = sign != "+", sign != "-"
            lines.append(
                DiffLine(
                    kind=sign,
                    text=content.decode(self.encoding, "replace"),
                    old=at_old if on_old else None,
                    new=at_new if on_new else None,
                    no_newline=bare,
                )
            )
            at_old += on_old
            at_new += on_new
        # git cuts the section after 80 bytes, which may be within a character.
        section = self.section.decode(self.encoding, "ignore").strip()
        return Hunk(label, old, old_count, new, new_count, section, tuple(lines))


@dataclass(frozen=True, slots=True)
class _Section:
    """What the patch holds on one file."""

    binary: bool
    found: tuple[tuple[tuple[int, int, int, int], bytes, tuple[tuple[LineKind, bytes, bool], ...]], ...]

    def hunks(self) -> Iterator[_HunkBytes]:
        """The hunks, all in the one encoding that fits every line of the file that is shown."""
        everything = b"\n".join(content for _, _, lines in self.found for _, content, _ in lines)
        try:
            everything.decode("utf-8")
            encoding = "utf-8"
        except UnicodeDecodeError:
            encoding = "latin-1"
        for counts, section, lines in self.found:
            yield _HunkBytes(counts, section, lines, encoding)


def _sections(patch: bytes) -> Iterator[_Section]:
    """The patch cut at its file headers."""
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
        found: list[tuple[tuple[int, int, int, int], bytes, tuple[tuple[LineKind, bytes, bool], ...]]] = []
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
        yield _Section(binary, tuple(found))


def _body(
    lines: list[bytes], at: int, old_left: int, new_left: int
) -> tuple[tuple[tuple[LineKind, bytes, bool], ...], int]:
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
