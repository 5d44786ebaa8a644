"""The end of the conductor's log."""

from __future__ import annotations

import os
from pathlib import Path

TAIL_BYTES = 64 * 1024


class LogTail:
    """Reads the end of a file again when it has changed. Blocks: call it in a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int] | None = None

    def read(self) -> list[str] | None:
        """The last lines, oldest first; None when nothing changed since the last call."""
        try:
            with self._path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                seen = (status.st_size, status.st_mtime_ns)
                if seen == self._seen:
                    return None
                stream.seek(max(0, status.st_size - TAIL_BYTES))
                data = stream.read(TAIL_BYTES)
        except FileNotFoundError:
            seen, data = (0, 0), b""
            if seen == self._seen:
                return None
        except OSError as error:
            seen, data = (0, -1), f"The log cannot be read: {error.strerror}.".encode()
            if seen == self._seen:
                return None
        self._seen = seen
        lines = data.decode("utf-8", "replace").split("\n")
        if len(data) == TAIL_BYTES:
            lines = lines[1:]  # the first one is cut
        return [line for line in lines if line]
