"""Which chunks of a diff have their syntax, and which are waiting for the worker thread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from navigator.model.diff import DiffLine, FileDiff
from navigator.tui.diff.highlight import CHUNK, Spans, highlight_chunk

JOBS_AT_ONCE = 4
"""Chunks lexed in one go: enough for a tall screen, few enough that what is on screen now comes soon."""


class ChunkKey(NamedTuple):
    """A chunk of `CHUNK` lines of one hunk."""

    file: int
    hunk: int
    chunk: int


class Job(NamedTuple):
    """What the worker needs, all of it immutable."""

    key: ChunkKey
    path: str
    lines: Sequence[DiffLine]


Result = Mapping[ChunkKey, Mapping[int, Spans]]


def lex(jobs: Sequence[Job]) -> Result:
    """Run in a worker thread: the spans of every job, by chunk and line."""
    return {job.key: highlight_chunk(job.path, job.lines, job.key.chunk) for job in jobs}


class SyntaxStore:
    """Spans by chunk. `generation` changes with the diff, so that late answers to old questions are dropped."""

    def __init__(self) -> None:
        self.generation = 0
        self._known: dict[ChunkKey, Mapping[int, Spans]] = {}
        self._wanted: dict[ChunkKey, None] = {}
        self._taken: list[ChunkKey] = []

    def clear(self) -> None:
        """Forget everything: there is another diff."""
        self.generation += 1
        self._known.clear()
        self._wanted.clear()
        self._taken = []

    def spans(self, file: int, hunk: int, line: int) -> Spans | None:
        """The spans of a line; None, and the chunk is wanted, when they are not known yet."""
        key = ChunkKey(file, hunk, line // CHUNK)
        known = self._known.get(key)
        if known is None:
            # Most recent last: what was asked for last is on screen.
            self._wanted.pop(key, None)
            self._wanted[key] = None
            return None
        return known.get(line, ())

    def take_jobs(self, files: Sequence[FileDiff]) -> list[Job]:
        """The chunks to lex next, newest first. The rest is dropped: it is asked for again if it is still on screen."""
        keys = list(reversed(self._wanted))[:JOBS_AT_ONCE]
        self._wanted.clear()
        self._taken = keys
        return [Job(key, files[key.file].path, files[key.file].hunks[key.hunk].lines) for key in keys]

    def add(self, generation: int, result: Result) -> bool:
        """Keep a result; False when it is about an earlier diff."""
        if generation != self.generation:
            return False
        self._known.update(result)
        return True

    def give_up(self) -> None:
        """The chunks taken last cannot be lexed: they stay without colours."""
        self._known.update((key, {}) for key in self._taken)
