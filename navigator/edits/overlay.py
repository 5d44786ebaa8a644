"""The base tree with an answer's blocks on top of it, in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from navigator.edits.paths import quote
from navigator.edits.textfile import BinaryContent, TextFile
from navigator.git.source import TreeSource

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
        moved: it went by renaming.
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
    moved: bool = False
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
        data = self._source.read(path)
        if data is None:
            return Entry(path)
        entry = Entry(path, base=data, mode=mode, origin=data)
        if len(data) > MAX_RESULT:
            entry.refusal = f"The file has {len(data)} bytes; files above {MAX_RESULT} are not edited."
            return entry
        try:
            entry.text = TextFile.decode(data)
        except BinaryContent:
            entry.refusal = "It is a binary file; only text is edited."
        return entry
