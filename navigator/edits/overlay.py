"""A text file as lines, each with its own ending, so that an edit changes nothing but what it names; and the base tree with an
answer's blocks on top of it, in memory."""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher

from navigator.context.source import TreeSource
from navigator.edits.paths import quote

_MOST_STEPS = 10_000_000
"""Pairs of equal lines times lines, which `difflib` takes at worst; more would take seconds."""

_BINARY_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@dataclass(frozen=True, slots=True)
class NewLine:
    """One line of a replacement.

    Attributes:
        text: the line, without its ending.
        keep: index of the replaced line it repeats, whose bytes and ending it keeps; None for a new line.
    """

    text: str
    keep: int | None = None


@dataclass(frozen=True, slots=True)
class TextFile:
    """Lines and what is needed to write them back byte for byte.

    Attributes:
        lines: without endings.
        ends: one per line: LF, CRLF, or "" on a last line that has none.
        codec: `utf-8` or `latin-1`.
        bom: whether the file begins with a UTF-8 byte order mark.
        open_end: the last line has no newline, and never gets one.
        usual: the ending most lines had when the file was read; LF where none had one.
    """

    lines: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    codec: str = "utf-8"
    bom: bool = False
    open_end: bool = False
    usual: str = "\n"

    @classmethod
    def decode(cls, data: bytes) -> TextFile | None:
        """Read bytes as UTF-8, with or without mark, else as Latin-1; None of what is no text: a NUL byte or a UTF-16 mark."""
        if b"\0" in data or data.startswith(_BINARY_BOMS):
            return None
        bom = data.startswith(codecs.BOM_UTF8)
        body = data[len(codecs.BOM_UTF8) :] if bom else data
        codec = "utf-8"
        try:
            text = body.decode(codec)
        except UnicodeDecodeError:
            # A mark in front of what is no UTF-8 stays in the text as three Latin-1 characters.
            codec, bom = "latin-1", False
            text = data.decode(codec)
        lines, ends = _split(text)
        counts = Counter(ends)
        usual = "\r\n" if counts["\r\n"] > counts["\n"] else "\n"
        return cls(lines, ends, codec, bom, bool(ends) and not ends[-1], usual)

    def encode(self) -> bytes:
        """The bytes of the file."""
        text = "".join(line + end for line, end in zip(self.lines, self.ends, strict=True))
        return (codecs.BOM_UTF8 if self.bom else b"") + text.encode(self.codec)

    def unwritable(self, lines: Sequence[str]) -> str:
        """The first character that the file's encoding cannot hold; "" where it holds all."""
        try:
            "".join(lines).encode(self.codec)
        except UnicodeEncodeError as error:
            return "".join(lines)[error.start]
        return ""

    def splice(self, start: int, count: int, pieces: Sequence[NewLine]) -> TextFile:
        """The file with `count` lines from index `start` replaced.

        A kept line stays as it is; a new one takes the ending of the line before it, or after it. A missing final newline
        stays missing.
        """
        first = self.ends[start] if start < len(self.ends) else ""
        above = self.ends[start - 1] if start else ""
        texts: list[str] = []
        ends: list[str] = []
        for piece in pieces:
            texts.append(piece.text if piece.keep is None else self.lines[start + piece.keep])
            end = above or first if piece.keep is None else self.ends[start + piece.keep]
            above = end or self.usual
            ends.append(above)
        lines = self.lines[:start] + tuple(texts) + self.lines[start + count :]
        all_ends = self.ends[:start] + tuple(ends) + self.ends[start + count :]
        if all_ends and self.open_end:
            all_ends = (*all_ends[:-1], "")
        return replace(self, lines=lines, ends=all_ends)


def _split(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Lines and endings. Only LF ends a line: form feeds, U+2028 and lone carriage returns are part of it."""
    if not text:
        return (), ()
    raw = text.split("\n")
    last = raw.pop()
    ends = ["\r\n" if line.endswith("\r") else "\n" for line in raw]
    lines = [line.removesuffix("\r") for line in raw]
    if last:
        lines.append(last)
        ends.append("")
    return tuple(lines), tuple(ends)


def align(old: Sequence[str], new: Sequence[str]) -> list[NewLine]:
    """Say for each new line whether it repeats an old one."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    pieces = [NewLine(new[i], keep=i) for i in range(head)]
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    pieces += _align_middle(middle_old, middle_new, head)
    pieces += [NewLine(new[len(new) - t], keep=len(old) - t) for t in range(tail, 0, -1)]
    return pieces


def _align_middle(old: Sequence[str], new: Sequence[str], offset: int) -> list[NewLine]:
    """Longest runs first; parts that would take too long are taken as new."""
    pieces = [NewLine(line) for line in new]
    times = Counter(old)
    if sum(times[line] for line in new) * min(len(old), len(new)) > _MOST_STEPS:
        return pieces
    for at, start, length in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        for k in range(length):
            pieces[start + k] = NewLine(new[start + k], keep=offset + at + k)
    return pieces


# The base tree with blocks on top of it

MAX_RESULT = 5_000_000
"""Bytes a file may have before and after an edit."""

_LINK, _SUBMODULE, _FOLDER = "120000", "160000", "040000"


@dataclass(slots=True)
class Entry:
    """One path as the blocks so far leave it.

    Attributes:
        path: from the tree's root.
        base: its bytes in the base tree; None where the base has no file there.
        mode: git's mode, kept over edits.
        text: the file now; None where there is none.
        origin: the base bytes its text came from, over renames; None for a new file.
        refusal: why it cannot be edited at all, as a sentence; "" for an ordinary file.
        gone: how it went, as a clause: "was deleted by block 2"; "" where it did not.
        blocks: the blocks that changed it.
        failed: the blocks that should have.
    """

    path: str
    base: bytes | None = None
    mode: str = "100644"
    text: TextFile | None = None
    origin: bytes | None = None
    refusal: str = ""
    gone: str = ""
    blocks: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)


class Overlay:
    """Reads the base lazily and holds what the blocks made of it."""

    def __init__(self, source: TreeSource) -> None:
        self._source = source
        self.entries: dict[str, Entry] = {}

    def entry(self, path: str) -> Entry:
        """The state of a path; read from the base on first use."""
        if path not in self.entries:
            self.entries[path] = self._load(path)
        return self.entries[path]

    def paths(self) -> Collection[str]:
        """The paths of all files as the blocks so far leave them."""
        known = dict.fromkeys(self._source.paths())
        for entry in self.entries.values():
            if entry.text is not None:
                known[entry.path] = None
            elif not entry.refusal:
                known.pop(entry.path, None)
        return known.keys()

    def blocked(self, path: str) -> str:
        """Why nothing can be at the path: a link, a submodule or a file is where a folder of it would be."""
        names = path.split("/")
        for depth in range(1, len(names)):
            above = "/".join(names[:depth])
            mode = self._mode(above)
            if mode == _LINK:
                return f"The path leads through {quote(above)}, which is a symbolic link."
            if mode == _SUBMODULE:
                return f"The path leads into {quote(above)}, which is a submodule: another repository."
            if mode and mode != _FOLDER:
                return f"{quote(above)} is a file, so nothing can be below it."
        return ""

    def no_room(self, path: str) -> str:
        """Why no new file can be made at the path: a folder has its name, or a file's name differs only in case."""
        folded = path.casefold()
        for known in self.paths():
            if known.startswith(f"{path}/"):
                return f"{quote(path)} is a folder."
            if known != path and known.casefold() == folded:
                return f"{quote(known)} differs from it only in upper and lower case: use that path."
        return ""

    def _mode(self, path: str) -> str | None:
        entry = self.entries.get(path)
        if entry is None or entry.refusal:
            return self._source.mode(path)
        return entry.mode if entry.text is not None else None

    def _load(self, path: str) -> Entry:
        mode = self._source.mode(path)
        if mode is None:
            return Entry(path)
        if mode == _LINK:
            return Entry(path, mode=mode, refusal="It is a symbolic link; links are not edited.")
        if mode == _SUBMODULE:
            return Entry(path, mode=mode, refusal="It is a submodule: another repository.")
        if mode == _FOLDER:
            return Entry(path, mode=mode, refusal="It is a folder.")
        data = self._source.read(path) or b""
        entry = Entry(path, base=data, mode=mode, origin=data)
        if len(data) > MAX_RESULT:
            entry.refusal = f"The file has {len(data)} bytes; files above {MAX_RESULT} are not edited."
            return entry
        entry.text = TextFile.decode(data)
        if entry.text is None:
            entry.refusal = "It is a binary file; only text is edited."
        return entry
