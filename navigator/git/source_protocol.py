"""What edits are read from, and what they are turned into."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol


class FileSource(Protocol):
    """The files of one pinned tree. Paths are from its root, with `/`, as git spells them."""

    def paths(self) -> Collection[str]:
        """Every file path of the tree that may be shown."""
        ...

    def read(self, path: str) -> bytes | None:
        """The bytes of a file; None where there is no such file."""
        ...

    def mode(self, path: str) -> str | None:
        """Git's mode (`100644`, `100755`, `120000`, `160000`, `040000`); None where nothing is at the path."""
        ...


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of one path.

    Attributes:
        content: the file's new bytes; None when the path is deleted.
        mode: git's mode for it; None leaves the choice to the writer (the base's mode, else `100644`).
    """

    content: bytes | None
    mode: str | None = None
